//! Tasks that work through papers.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::task::JoinSet;

/// Does one paper after the other.
pub(crate) trait Fetch: Send + Sync + 'static {
    /// Whether the paper was done; otherwise it was given up.
    fn fetch(&self, paper: usize) -> impl Future<Output = bool> + Send;
}

/// Lets `tasks` tasks work through `papers`, in order, and returns those that were given up, in the order in which they
/// were.
pub(crate) async fn work(tasks: usize, papers: Vec<usize>, fetch: Arc<impl Fetch>) -> Vec<usize> {
    let queue = Arc::new((papers, AtomicUsize::new(0)));
    let mut crew = JoinSet::new();
    for _ in 0..tasks {
        let (fetch, queue) = (Arc::clone(&fetch), Arc::clone(&queue));
        crew.spawn(async move {
            let mut given_up = Vec::new();
            // Ordering: Relaxed; hands out each index once, and the papers never change.
            while let Some(&paper) = queue.0.get(queue.1.fetch_add(1, Ordering::Relaxed)) {
                if !fetch.fetch(paper).await {
                    given_up.push(paper);
                }
            }
            given_up
        });
    }
    crew.join_all().await.concat()
}
