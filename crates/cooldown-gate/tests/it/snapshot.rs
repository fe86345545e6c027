//! What a gate says about itself, in every phase, and what it learned.

use tidegate_cooldown_gate::{
    Closing, Cooldown, CooldownGate, GateMap, GateSnapshot, GateState, Learned, Reopen,
};
use tokio::time::advance;

use crate::{hint, poll_once, secs};

/// Everything but the pace, which the tests of the law know.
fn numbers(snapshot: &GateSnapshot) -> (GateState, u64, usize, usize, u64, u64, u32) {
    let GateSnapshot { state, epoch, waiting, in_flight, closures, throttled, strikes, .. } = *snapshot;
    (state, epoch, waiting, in_flight, closures, throttled, strikes)
}

#[tokio::test(start_paused = true)]
async fn a_snapshot_tells_every_phase_apart() {
    let gate = CooldownGate::builder().cooldown(Cooldown::fixed(secs(10))).build();
    let snapshot = || numbers(&gate.snapshot());
    assert_eq!(snapshot(), (GateState::Open, 0, 0, 0, 0, 0, 0));

    let (first, second) = (gate.try_pass().unwrap(), gate.try_pass().unwrap());
    assert_eq!(snapshot(), (GateState::Open, 0, 0, 2, 0, 0, 0));

    first.throttled(None);
    let mut waiters = [gate.pass(), gate.pass()];
    assert!(waiters.iter_mut().all(|waiter| poll_once(waiter).is_pending()));
    assert_eq!(snapshot(), (GateState::Cooling { remaining: secs(10) }, 1, 2, 1, 1, 1, 1));
    assert_eq!(
        (gate.snapshot().remaining, gate.state()),
        (secs(10), GateState::Cooling { remaining: secs(10) })
    );

    second.throttled(hint(secs(12)));
    assert_eq!(snapshot(), (GateState::Cooling { remaining: secs(12) }, 1, 2, 0, 1, 2, 1));

    advance(secs(12)).await;
    assert_eq!(snapshot(), (GateState::HalfOpen, 1, 1, 1, 1, 2, 1), "the longest waiter is the probe");
    assert_eq!(gate.snapshot().remaining, secs(0));

    let [probe, next] = waiters;
    advance(secs(1)).await;
    probe.await.unwrap().success();
    assert_eq!(snapshot(), (GateState::Paced, 1, 1, 0, 1, 2, 0));
    assert!(gate.snapshot().pace.is_some());
    next.await.unwrap().success();

    gate.open_now();
    assert_eq!(gate.state(), GateState::Open);
    gate.shutdown();
    assert_eq!((gate.state(), gate.snapshot().in_flight), (GateState::ShutDown, 0));
}

#[tokio::test(start_paused = true)]
async fn a_map_counts_its_gates_by_their_phase() {
    let builder = CooldownGate::builder().restore(Learned { pace: Some(2.0), cooldown: None });
    let map: GateMap<u32> = GateMap::<u32>::builder().gate(builder.clone()).build();
    let at_once: GateMap<u32> =
        GateMap::<u32>::builder().gate(CooldownGate::builder().reopen(Reopen::AtOnce)).build();
    for key in 0..6 {
        map.gate(&key).unwrap();
        at_once.gate(&key).unwrap();
    }
    map.gate(&0).unwrap().close_for(secs(5));
    map.gate(&1).unwrap().close_for(secs(1));
    map.gate(&2).unwrap().shutdown();
    advance(secs(2)).await;
    let snapshot = map.snapshot();
    assert_eq!((snapshot.gates, snapshot.open, snapshot.paced), (6, 0, 3));
    assert_eq!((snapshot.cooling, snapshot.half_open, snapshot.shut_down, snapshot.waiting), (1, 1, 1, 0));
    assert_eq!((at_once.snapshot().open, at_once.snapshot().paced), (6, 0));
}

#[tokio::test(start_paused = true)]
async fn what_was_learned_makes_the_next_gate_begin_where_this_one_is() {
    let gate = CooldownGate::new();
    // Two trips with twenty calls between them, and a cooldown that worked, of four seconds or an interval more.
    let mut worked = secs(0);
    for _ in 0..2 {
        // The second time the first is forgiven.
        while gate.pass().await.unwrap().throttled(None) != Closing::Closed {}
        // The ladder begins where the pace puts it.
        while gate.snapshot().remaining < secs(4) {
            advance(gate.snapshot().remaining).await;
            gate.try_pass().unwrap().throttled(None);
        }
        worked = gate.snapshot().remaining;
        advance(worked).await;
        for _ in 0..20 {
            let pass = gate.pass().await.unwrap();
            advance(secs(1)).await;
            pass.success();
        }
    }
    let learned = gate.learned();
    assert_eq!(learned.cooldown, Some(worked));
    let pace = learned.pace.unwrap();
    assert_eq!(gate.snapshot().pace, Some(pace));

    let next = CooldownGate::builder().restore(learned).build();
    assert_eq!((next.state(), next.snapshot().pace), (GateState::Paced, Some(pace)));
    assert_eq!(next.learned(), learned);
    next.try_pass().unwrap().throttled(hint(secs(1)));
    assert_eq!(next.learned().cooldown, learned.cooldown, "a hint says nothing about the default cooldown");
}

#[tokio::test(start_paused = true)]
async fn a_gate_that_was_never_throttled_has_learned_nothing() {
    let gate = CooldownGate::new();
    for _ in 0..100 {
        gate.pass().await.unwrap().success();
    }
    assert_eq!(gate.learned(), Learned::default());
    assert_eq!(CooldownGate::builder().restore(gate.learned()).build().state(), GateState::Open);
}

#[cfg(feature = "serde")]
mod serde {
    use std::time::Duration;

    use proptest::prelude::*;
    use tidegate_cooldown_gate::{CooldownGate, Learned};

    use crate::secs;

    proptest! {
        #[test]
        fn what_was_learned_survives_a_round_trip(
            pace in prop::option::of(any::<f64>().prop_filter("a rate", |pace| pace.is_finite())),
            cooldown in prop::option::of(any::<Duration>()),
        ) {
            let learned = Learned { pace, cooldown };
            let text = serde_json::to_string(&learned).unwrap();
            prop_assert_eq!(serde_json::from_str::<Learned>(&text).unwrap(), learned);
        }
    }

    #[test]
    fn what_was_learned_is_written_in_this_form() {
        let learned = Learned { pace: Some(2.5), cooldown: Some(Duration::from_millis(64_500)) };
        let text = r#"{"pace":2.5,"cooldown":{"secs":64,"nanos":500000000}}"#;
        assert_eq!(serde_json::to_string(&learned).unwrap(), text);
        assert_eq!(
            serde_json::from_str::<Learned>("{}").unwrap(),
            Learned::default(),
            "what is missing is unknown"
        );
    }

    #[test]
    fn a_snapshot_can_be_written() {
        let gate = CooldownGate::new();
        gate.shutdown();
        gate.close_for(secs(1));
        let value = serde_json::to_value(gate.snapshot()).unwrap();
        assert_eq!(
            (&value["state"], &value["epoch"], &value["pace"]),
            (&"ShutDown".into(), &0.into(), &().into())
        );
    }
}
