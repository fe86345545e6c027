//! Runs a model: under `--cfg tidegate_loom` in every interleaving, otherwise once, as a plain unit test.
//!
//! A model that explored one interleaving modelled nothing, so each states how many it expects at least. The
//! preemption bound comes from `TIDEGATE_LOOM_BOUND` (3 unless set). There is no limit on time or on permutations: both
//! would stop the exploration silently.

/// Runs `model` and demands that at least `least` interleavings were explored.
///
/// # Panics
/// If the model fails in any interleaving, or if fewer than `least` were explored (under `--cfg tidegate_loom`).
pub fn check(name: &str, least: usize, model: impl Fn() + Send + Sync + 'static) {
    let explored = explore(model);
    report(name, &format!("{explored} iterations"));
    assert!(!cfg!(tidegate_loom) || explored >= least, "{name}: {explored} interleavings, expected {least}");
}

/// Runs a model that is *known to be broken* and demands that some interleaving fails with `message`.
///
/// It proves that the checker can see the fault which a neighbouring model claims to exclude. The model must make its
/// assertion in the main thread after joining the others. Without the cfg nothing is run: one interleaving finds nothing.
///
/// # Panics
/// If no interleaving fails, or if one fails with another message.
pub fn must_fail(name: &str, message: &str, model: impl Fn() + Send + Sync + 'static) {
    if !cfg!(tidegate_loom) {
        return;
    }
    let failed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| explore(model)));
    let text = match &failed {
        Ok(explored) => format!("nothing in {explored} interleavings"),
        Err(cause) => text_of(cause.as_ref()),
    };
    assert!(failed.is_err() && text.contains(message), "{name}: expected `{message}`, saw `{text}`");
    report(name, "failed as it must");
}

fn text_of(cause: &(dyn std::any::Any + Send)) -> String {
    let text = cause.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| cause.downcast_ref::<&str>().copied()).unwrap_or("a panic without a text").to_owned()
}

#[expect(
    clippy::print_stdout,
    reason = "the line is collected into a table by the command that runs the models"
)]
fn report(name: &str, result: &str) {
    if cfg!(tidegate_loom) {
        println!("loom-model: {name} {result}");
    }
}

#[cfg(tidegate_loom)]
fn explore(model: impl Fn() + Send + Sync + 'static) -> usize {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    let bound = std::env::var("TIDEGATE_LOOM_BOUND").map_or(Ok(3), |text| text.parse());
    assert!(bound.is_ok(), "TIDEGATE_LOOM_BOUND must be a number of preemptions, such as 3");
    let explored = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&explored);
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = bound.ok();
    builder.max_branches = 10_000;
    builder.max_permutations = None;
    builder.max_duration = None;
    builder.check(move || {
        // Ordering: Relaxed; a count of its own, std's so that the checker does not see it, read after the run.
        counter.fetch_add(1, Ordering::Relaxed);
        model();
    });
    // Ordering: Relaxed; the checker has returned.
    explored.load(Ordering::Relaxed)
}

#[cfg(not(tidegate_loom))]
fn explore(model: impl Fn() + Send + Sync + 'static) -> usize {
    model();
    1
}
