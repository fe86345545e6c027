use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tidegate_sync::primitives::Mutex;
use tokio::task::JoinHandle;

use super::*;
use crate::store::LocalStore;

const KEY: &str = "api";

const fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

/// A local store that counts what it is told, and does not answer while it is down.
#[derive(Clone)]
struct Service {
    store: LocalStore,
    down: Arc<AtomicBool>,
    told: Arc<AtomicUsize>,
    tried: Arc<Mutex<Vec<Instant>>>,
}

#[derive(Debug)]
struct Down;

impl fmt::Display for Down {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the store is down")
    }
}

impl std::error::Error for Down {}

impl Service {
    fn new() -> Self {
        Self { store: LocalStore::new(), down: Arc::default(), told: Arc::default(), tried: Arc::default() }
    }

    fn set_down(&self, down: bool) {
        self.down.store(down, Ordering::Relaxed);
    }

    fn answers(&self) -> Result<(), Down> {
        self.tried.lock().push(Instant::now());
        if self.down.load(Ordering::Relaxed) { Err(Down) } else { Ok(()) }
    }

    async fn now(&self) -> Stored {
        self.store.watch(KEY).await.unwrap().next().await.unwrap()
    }

    fn told(&self) -> usize {
        self.told.load(Ordering::Relaxed)
    }
}

struct ServiceWatch(<LocalStore as GateStore>::Watch, Service);

impl GateStore for Service {
    type Error = Down;
    type Watch = ServiceWatch;

    async fn extend(&self, key: &str, cooldown: Duration, epoch: u64) -> Result<Stored, Down> {
        self.answers()?;
        self.told.fetch_add(1, Ordering::Relaxed);
        self.store.extend(key, cooldown, epoch).await.map_err(|never| match never {})
    }

    async fn watch(&self, key: &str) -> Result<ServiceWatch, Down> {
        self.answers()?;
        Ok(ServiceWatch(self.store.watch(key).await.map_err(|never| match never {})?, self.clone()))
    }
}

impl GateWatch for ServiceWatch {
    type Error = Down;

    async fn next(&mut self) -> Result<Stored, Down> {
        let stored = self.0.next().await.map_err(|never| match never {})?;
        if self.1.down.load(Ordering::Relaxed) { Err(Down) } else { Ok(stored) }
    }
}

fn linked(store: &Service) -> (CooldownGate, JoinHandle<()>) {
    let gate = CooldownGate::builder().cooldown(secs(60)).build();
    let link = Link::new(gate.clone(), store.clone(), KEY);
    (gate, tokio::spawn(link.run()))
}

async fn settle() {
    for _ in 0..64 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(start_paused = true)]
async fn cg1_what_closes_one_gate_closes_all_that_follow_the_key() {
    let store = Service::new();
    let ((one, _one), (two, _two)) = (linked(&store), linked(&store));
    settle().await;
    one.close_for(secs(30));
    settle().await;
    assert_eq!(two.snapshot().remaining, secs(30));
    tokio::time::advance(secs(10)).await;
    two.close_for(secs(40));
    settle().await;
    assert_eq!(one.snapshot().remaining, secs(40), "extended by the other");
    one.close_for(secs(1));
    settle().await;
    assert_eq!((one.snapshot().remaining, two.snapshot().remaining), (secs(40), secs(40)));
    let late = linked(&store);
    settle().await;
    assert_eq!(late.0.snapshot().remaining, secs(40), "whoever comes later learns it");
}

#[tokio::test(start_paused = true)]
async fn what_came_from_the_store_is_not_told_again() {
    let store = Service::new();
    let gates: Vec<_> = (0..5).map(|_| linked(&store)).collect();
    settle().await;
    gates[0].0.close_for(secs(30));
    settle().await;
    assert!(gates.iter().all(|(gate, _)| gate.snapshot().remaining == secs(30)));
    assert_eq!(store.told(), 1);
    // Everybody rings, and nobody has news.
    gates.iter().for_each(|(gate, _)| gate.echo().ring());
    settle().await;
    assert_eq!(store.told(), 1);
}

#[tokio::test(start_paused = true)]
async fn cg4_a_burst_over_several_processes_is_one_strike() {
    let store = Service::new();
    let gates: Vec<_> = (0..4).map(|_| linked(&store)).collect();
    settle().await;
    for (gate, _) in &gates {
        gate.pass().await.unwrap().throttled(None);
    }
    settle().await;
    assert_eq!((store.now().await.strikes, store.now().await.epoch), (1, 1), "one burst was several strikes");
    tokio::time::advance(secs(60)).await;
    // The probe of one of them fails: the second strike, and the others learn it.
    gates[2].0.try_pass().unwrap().throttled(None);
    settle().await;
    let stored = store.now().await;
    assert_eq!((stored.strikes, stored.remaining), (2, secs(120)));
    assert!(gates.iter().all(|(gate, _)| gate.snapshot().remaining == secs(120)));
}

#[tokio::test(start_paused = true)]
async fn cg4_an_extension_is_told_and_is_no_strike() {
    let store = Service::new();
    let (gate, _link) = linked(&store);
    settle().await;
    gate.close_for(secs(30));
    settle().await;
    gate.close_for(secs(90));
    settle().await;
    let stored = store.now().await;
    assert_eq!((stored.strikes, stored.remaining), (1, secs(90)), "an extension was a strike");
    assert_eq!(store.told(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_store_that_does_not_answer_leaves_the_gate_to_its_callers() {
    let store = Service::new();
    store.set_down(true);
    let (gate, _link) = linked(&store);
    settle().await;
    gate.pass().await.unwrap().throttled(None);
    assert_eq!(gate.snapshot().remaining, secs(60));
    tokio::time::sleep(secs(60)).await;
    gate.pass().await.unwrap().success();
    assert_eq!(gate.state(), GateState::Paced);
    assert_eq!(store.told(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_store_that_does_not_answer_is_tried_less_and_less_often() {
    let store = Service::new();
    store.set_down(true);
    let (_gate, _link) = linked(&store);
    tokio::time::sleep(secs(300)).await;
    let tried = store.tried.lock().clone();
    let mut whole = Duration::from_millis(100);
    for pair in tried.windows(2) {
        let pause = pair[1] - pair[0];
        let most = whole + Duration::from_millis(1);
        assert!(pause >= whole / 2 && pause <= most, "{pause:?} where {whole:?} is the whole pause");
        whole = (whole * 2).min(secs(30));
    }
    assert!(tried.len() > 15, "tried {} times only", tried.len());
}

#[tokio::test(start_paused = true)]
async fn a_store_that_comes_back_is_told_what_remains() {
    let store = Service::new();
    let (gate, _link) = linked(&store);
    settle().await;
    store.set_down(true);
    gate.close_for(secs(100));
    tokio::time::sleep(secs(40)).await;
    assert_eq!(store.told(), 0);
    store.set_down(false);
    tokio::time::sleep(secs(30)).await;
    let (stored, remaining) = (store.now().await, gate.snapshot().remaining);
    assert_eq!((stored.remaining, stored.strikes), (remaining, 1));
    assert!(remaining <= secs(30) && !remaining.is_zero());
}

#[tokio::test(start_paused = true)]
async fn a_cooldown_that_is_over_is_no_news() {
    let store = Service::new();
    let (gate, _link) = linked(&store);
    settle().await;
    store.set_down(true);
    gate.close_for(secs(1));
    tokio::time::sleep(secs(50)).await;
    store.set_down(false);
    tokio::time::sleep(secs(50)).await;
    assert_eq!((store.told(), store.now().await.strikes), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_gate_that_was_closed_before_it_was_linked_is_told() {
    let store = Service::new();
    let gate = CooldownGate::new();
    let _ = gate.close_for(secs(30));
    let _link = tokio::spawn(Link::new(gate.clone(), store.clone(), KEY).run());
    settle().await;
    assert_eq!((store.now().await.remaining, store.now().await.strikes), (secs(30), 1));
}

#[tokio::test(start_paused = true)]
async fn a_link_ends_with_its_gate_even_while_the_store_is_down() {
    let store = Service::new();
    store.set_down(true);
    let (gate, link) = linked(&store);
    settle().await;
    gate.shutdown();
    settle().await;
    assert!(link.is_finished());
}

#[tokio::test(start_paused = true)]
async fn a_link_that_is_dropped_leaves_nothing_behind() {
    let store = LocalStore::builder().keep(Duration::ZERO).build();
    let mut gate = CooldownGate::new();
    let link = tokio::spawn(Link::new(gate.clone(), store.clone(), KEY).run());
    settle().await;
    assert_eq!(store.len(), 1);
    link.abort();
    settle().await;
    assert!(gate.is_sole());
}

#[test]
fn a_link_can_be_sent_and_shows_no_key() {
    fn sent(_: impl Send + 'static) {}
    let link = Link::new(CooldownGate::new(), LocalStore::new(), "secret");
    let shown = format!("{link:?}");
    assert!(shown.contains("Link") && !shown.contains("secret"), "{shown}");
    sent(link.run());
}
