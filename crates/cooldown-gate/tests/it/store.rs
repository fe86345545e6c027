//! The store within one process.

use std::error::Error;
use std::time::Duration;

use tidegate_cooldown_gate::store::{AnyGateStore, GateStore, GateWatch, LocalStore, Stored};
use tidegate_sync::Clock;

use super::{poll_once, secs};

async fn extend(store: &LocalStore, key: &str, cooldown: Duration, epoch: u64) -> Stored {
    store.extend(key, cooldown, epoch).await.unwrap()
}

async fn now(store: &LocalStore, key: &str) -> Stored {
    store.watch(key).await.unwrap().next().await.unwrap()
}

#[cfg(feature = "conformance")]
#[tokio::test(start_paused = true)]
async fn cg1_cg4_the_local_store_conforms() {
    use tidegate_cooldown_gate::store::conformance;
    let store = LocalStore::new();
    conformance::check(&store, "first").await;
    conformance::check(&store, "second").await;
    conformance::check(&AnyGateStore::new(store), "any").await;
}

#[tokio::test]
async fn keys_whose_deadline_passed_long_ago_leave() {
    let clock = Clock::manual();
    let hand = clock.hand().unwrap();
    let store = LocalStore::builder().keep(secs(10)).clock(clock).build();
    let mut most = 0;
    for key in 0..100_000 {
        extend(&store, &key.to_string(), secs(1), 0).await;
        hand.advance(Duration::from_millis(100));
        most = most.max(store.len());
    }
    // 110 are remembered at any time; memory at most doubles between two sweeps.
    assert!(most <= 222, "{most} keys were kept at once");
}

#[tokio::test]
async fn cg1_a_cooldown_in_force_is_never_forgotten() {
    let clock = Clock::manual();
    let hand = clock.hand().unwrap();
    let store = LocalStore::builder().keep(Duration::ZERO).clock(clock).build();
    extend(&store, "closed", secs(10_000), 0).await;
    let mut watch = store.watch("followed").await.unwrap();
    watch.next().await.unwrap();
    for key in 0..1_000 {
        extend(&store, &key.to_string(), secs(1), 0).await;
        hand.advance(secs(2));
    }
    assert_eq!(now(&store, "closed").await.remaining, secs(8_000));
    let told = extend(&store, "followed", secs(5), 0).await;
    assert_eq!(watch.next().await.unwrap(), told, "somebody followed a key that had left");
}

#[tokio::test]
async fn after_a_quiet_time_strikes_start_again_and_the_epoch_goes_on() {
    let clock = Clock::manual();
    let hand = clock.hand().unwrap();
    let store = LocalStore::builder().keep(secs(60)).clock(clock).build();
    let first = extend(&store, "a", secs(10), 0).await;
    let second = extend(&store, "a", secs(10), first.epoch).await;
    assert_eq!((second.strikes, second.epoch), (2, 2));
    hand.advance(secs(69));
    assert_eq!(now(&store, "a").await.strikes, 2);
    hand.advance(secs(1));
    assert_eq!(now(&store, "a").await.strikes, 0);
    let third = extend(&store, "a", secs(10), 0).await;
    assert_eq!((third.strikes, third.epoch), (1, 3));
    // Also when it was swept meanwhile.
    hand.advance(secs(1_000));
    for key in 0..200 {
        extend(&store, &key.to_string(), secs(1), 0).await;
    }
    assert!(now(&store, "a").await.epoch >= 3, "an epoch fell");
}

#[tokio::test]
async fn a_watch_that_is_dropped_leaves_no_waker() {
    let store = LocalStore::new();
    let mut watch = store.watch("a").await.unwrap();
    watch.next().await.unwrap();
    assert!(poll_once(&mut Box::pin(watch.next())).is_pending());
    drop(watch);
    assert_eq!(extend(&store, "a", secs(1), 0).await.strikes, 1);
}

/// A store that never answers.
struct Dead;
struct DeadWatch;

impl GateStore for Dead {
    type Error = std::fmt::Error;
    type Watch = DeadWatch;
    async fn extend(&self, _: &str, _: Duration, _: u64) -> Result<Stored, std::fmt::Error> {
        Err(std::fmt::Error)
    }
    async fn watch(&self, _: &str) -> Result<DeadWatch, std::fmt::Error> {
        Ok(DeadWatch)
    }
}

impl GateWatch for DeadWatch {
    type Error = std::fmt::Error;
    async fn next(&mut self) -> Result<Stored, std::fmt::Error> {
        Err(std::fmt::Error)
    }
}

#[tokio::test]
async fn any_store_hands_the_error_on() {
    let store = AnyGateStore::new(Dead);
    let error = store.extend("a", secs(1), 0).await.unwrap_err();
    assert!(error.source().unwrap().is::<std::fmt::Error>());
    assert!(store.watch("a").await.unwrap().next().await.is_err());
}

#[test]
fn stores_can_be_sent_and_shared_and_show_no_key() {
    fn sent_and_shared<T: Send + Sync + 'static>(_: &T) {}
    let (local, any) = (LocalStore::new(), AnyGateStore::new(LocalStore::new()));
    sent_and_shared(&local);
    sent_and_shared(&any);
    assert!(poll_once(&mut Box::pin(local.extend("secret", secs(1), 0))).is_ready());
    assert!(!format!("{local:?}{any:?}").contains("secret"));
}
