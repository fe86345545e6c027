//! What every store of shared closings has to pass. Call [`check`] from a test of the store.
//!
//! The suite uses keys of its own under a prefix, so it can run against a store that others use, and again with another
//! prefix. It needs tokio's timer; under a paused clock it takes no time, in real time a few hundredths of a second. It
//! holds remaining durations to within a minute of an hour, so a slow machine does not fail it.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread", start_paused = true)] async fn main() {
//! use tidegate_cooldown_gate::store::{LocalStore, conformance};
//!
//! conformance::check(&LocalStore::new(), "a run of its own").await;
//! # }
//! ```

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use super::{GateStore, GateWatch, Stored};

const HOUR: Duration = Duration::from_secs(3600);
const MINUTE: Duration = Duration::from_secs(60);

/// Runs the whole suite.
///
/// # Panics
/// If the store breaks its contract or does not answer. The message says where.
pub async fn check<S: GateStore>(store: &S, prefix: &str) {
    let of = |case: &str| Key { store, key: format!("{prefix}/{case}") };
    an_unknown_key_is_open(&of("unknown")).await;
    a_closing_never_shortens(&of("extends")).await;
    a_longer_closing_extends(&of("longer")).await;
    an_older_epoch_is_no_strike(&of("older")).await;
    a_burst_is_one_strike(&of("burst")).await;
    a_greater_epoch_is_outgrown(&of("greater")).await;
    no_cooldown_changes_nothing(&of("zero")).await;
    the_longest_cooldown_is_far(&of("longest")).await;
    keys_are_apart(&of("one"), &of("two")).await;
    a_watch_begins_with_the_present(&of("present")).await;
    a_watch_tells_what_others_do(&of("others")).await;
    a_dropped_next_loses_nothing(&of("dropped")).await;
    a_deadline_passes(&of("passes")).await;
}

struct Key<'a, S> {
    store: &'a S,
    key: String,
}

impl<S: GateStore> Key<'_, S> {
    async fn extend(&self, cooldown: Duration, epoch: u64) -> Stored {
        answered(self.store.extend(&self.key, cooldown, epoch).await, &self.key)
    }

    async fn watch(&self) -> S::Watch {
        answered(self.store.watch(&self.key).await, &self.key)
    }

    async fn next(&self, watch: &mut S::Watch) -> Stored {
        answered(watch.next().await, &self.key)
    }

    async fn now(&self) -> Stored {
        let mut watch = self.watch().await;
        self.next(&mut watch).await
    }
}

#[expect(clippy::panic, reason = "the suite fails as a test does")]
fn answered<T, E: std::error::Error>(answer: Result<T, E>, key: &str) -> T {
    match answer {
        Ok(answer) => answer,
        Err(error) => panic!("{key}: the store did not answer: {error}"),
    }
}

#[track_caller]
fn about(stored: Stored, expected: Duration, what: &str) {
    let remaining = stored.remaining;
    let least = expected.saturating_sub(MINUTE);
    assert!(remaining <= expected, "{what}: {remaining:?} is longer than {expected:?}");
    assert!(remaining >= least, "{what}: {remaining:?} is shorter than {expected:?}");
}

async fn an_unknown_key_is_open<S: GateStore>(key: &Key<'_, S>) {
    let stored = key.now().await;
    assert_eq!(stored.remaining, Duration::ZERO, "a key that nobody closed is closed");
    assert_eq!(stored.strikes, 0, "a key that nobody closed has strikes");
}

/// CG-1 across processes.
async fn a_closing_never_shortens<S: GateStore>(key: &Key<'_, S>) {
    let first = key.extend(HOUR, key.now().await.epoch).await;
    let second = key.extend(MINUTE, first.epoch).await;
    about(second, HOUR, "a shorter closing of the latest epoch");
    let third = key.extend(MINUTE, 0).await;
    about(third, HOUR, "a shorter closing of an older epoch");
    about(key.now().await, HOUR, "as others see it");
}

async fn a_longer_closing_extends<S: GateStore>(key: &Key<'_, S>) {
    let first = key.extend(HOUR, key.now().await.epoch).await;
    about(first, HOUR, "the first closing");
    about(key.extend(3 * HOUR, first.epoch).await, 3 * HOUR, "a longer closing");
}

/// CG-4 across processes.
async fn an_older_epoch_is_no_strike<S: GateStore>(key: &Key<'_, S>) {
    let before = key.now().await.epoch;
    let first = key.extend(HOUR, before).await;
    assert_eq!(first.strikes, 1, "the first closing is a strike");
    assert!(first.epoch > before, "a strike begins an epoch");
    let same_burst = key.extend(2 * HOUR, before).await;
    assert_eq!((same_burst.epoch, same_burst.strikes), (first.epoch, 1), "one burst was two strikes");
    about(same_burst, 2 * HOUR, "an older epoch extends all the same");
    let next = key.extend(HOUR, first.epoch).await;
    assert_eq!(next.strikes, 2, "a closing of the latest epoch is a strike");
    assert!(next.epoch > first.epoch, "a strike begins an epoch");
}

/// CG-4, CG-1: of many at once with one epoch, one makes the strike, and the longest holds.
async fn a_burst_is_one_strike<S: GateStore>(key: &Key<'_, S>) {
    let epoch = key.now().await.epoch;
    let lengths = [1_u32, 5, 3, 2, 4];
    let mut calls: Vec<Pin<Box<dyn Future<Output = Stored> + Send + '_>>> = Vec::new();
    for length in lengths {
        calls.push(Box::pin(key.extend(HOUR * length, epoch)));
    }
    poll_fn(|cx| {
        calls.retain_mut(|call| call.as_mut().poll(cx).is_pending());
        if calls.is_empty() { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    let stored = key.now().await;
    assert_eq!(stored.strikes, 1, "a burst of {} was {} strikes", lengths.len(), stored.strikes);
    about(stored, 5 * HOUR, "the longest of a burst");
}

async fn a_greater_epoch_is_outgrown<S: GateStore>(key: &Key<'_, S>) {
    let ahead = key.extend(HOUR, 0).await.epoch + 40;
    let stored = key.extend(HOUR, ahead).await;
    assert!(stored.epoch > ahead, "epoch {} after a closing with {ahead}", stored.epoch);
    assert_eq!(stored.strikes, 2, "a closing with a greater epoch is a strike");
}

async fn no_cooldown_changes_nothing<S: GateStore>(key: &Key<'_, S>) {
    let before = key.now().await;
    assert_eq!(key.extend(Duration::ZERO, before.epoch).await, before, "a closing of no length");
}

async fn the_longest_cooldown_is_far<S: GateStore>(key: &Key<'_, S>) {
    let stored = key.extend(Duration::MAX, 0).await;
    assert!(stored.remaining > 24 * 365 * HOUR, "the longest cooldown is {:?}", stored.remaining);
    let stored = key.extend(Duration::MAX, stored.epoch).await;
    assert!(stored.remaining > 24 * 365 * HOUR, "extended by the longest: {:?}", stored.remaining);
}

async fn keys_are_apart<S: GateStore>(one: &Key<'_, S>, two: &Key<'_, S>) {
    let _ = one.extend(HOUR, 0).await;
    assert_eq!(two.now().await.remaining, Duration::ZERO, "one key closed another");
}

async fn a_watch_begins_with_the_present<S: GateStore>(key: &Key<'_, S>) {
    let told = key.extend(HOUR, 0).await;
    let seen = key.now().await;
    about(seen, HOUR, "what a watch begins with");
    assert_eq!((seen.epoch, seen.strikes), (told.epoch, told.strikes), "what a watch begins with");
}

async fn a_watch_tells_what_others_do<S: GateStore>(key: &Key<'_, S>) {
    let mut watch = key.watch().await;
    let begun = key.next(&mut watch).await;
    let told = key.extend(HOUR, begun.epoch).await;
    let seen = key.next(&mut watch).await;
    about(seen, HOUR, "what a watch was told");
    assert_eq!(seen.epoch, told.epoch, "what a watch was told");
    let _ = key.extend(2 * HOUR, begun.epoch).await;
    about(key.next(&mut watch).await, 2 * HOUR, "an extension without a strike");
}

async fn a_dropped_next_loses_nothing<S: GateStore>(key: &Key<'_, S>) {
    let mut watch = key.watch().await;
    let begun = key.next(&mut watch).await;
    {
        let next = pin!(watch.next());
        let polled = next.poll(&mut Context::from_waker(Waker::noop()));
        assert!(polled.is_pending(), "a watch told of a change that nobody made");
    }
    let told = key.extend(HOUR, begun.epoch).await;
    // It may be ready now, and is dropped all the same, unpolled.
    drop(watch.next());
    assert_eq!(key.next(&mut watch).await.epoch, told.epoch, "a dropped future took the change with it");
}

async fn a_deadline_passes<S: GateStore>(key: &Key<'_, S>) {
    let short = Duration::from_millis(20);
    let first = key.extend(short, key.now().await.epoch).await;
    assert!(first.remaining <= short, "{:?} of {short:?} remain", first.remaining);
    tokio::time::sleep(2 * short).await;
    let passed = key.now().await;
    assert_eq!(passed.remaining, Duration::ZERO, "a deadline did not pass");
    assert_eq!(passed.epoch, first.epoch, "a deadline that passed is no new epoch");
    let next = key.extend(HOUR, passed.epoch).await;
    assert_eq!(next.strikes, 2, "a strike soon after another is the second in a row");
}
