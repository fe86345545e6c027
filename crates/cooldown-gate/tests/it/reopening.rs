//! Half-open: who goes first, and what the others do meanwhile.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tidegate_cooldown_gate::{Closed, CooldownGate, GateState, Reopen};
use tokio::time::{Instant, advance, sleep};

use crate::{assert_idle, assert_took, hint, let_others_run, poll_once, secs, timed};

/// A gate that opens for everybody once a probe succeeded.
fn at_once() -> CooldownGate {
    CooldownGate::builder().reopen(Reopen::AtOnce).build()
}

/// Two hundred wait, the cooldown is extended under them, one goes first, and the rest follow in order.
#[tokio::test(start_paused = true)]
async fn cg2_two_hundred_waiters_outlast_an_extension_and_follow_the_probe_in_order() {
    let gate = at_once();
    let start = Instant::now();
    let order = Arc::new(Mutex::new(Vec::new()));
    gate.close_for(secs(60));
    let tasks: Vec<_> = (0..200)
        .map(|number| {
            let (gate, order) = (gate.clone(), Arc::clone(&order));
            tokio::spawn(async move {
                let pass = gate.pass().await.unwrap();
                order.lock().unwrap().push((number, start.elapsed()));
                sleep(secs(2)).await;
                pass.success();
            })
        })
        .collect();
    sleep(secs(30)).await;
    assert_eq!(gate.snapshot().waiting, 200);
    gate.close_for(secs(60));
    sleep(secs(31)).await;
    assert_eq!(gate.snapshot().waiting, 200, "somebody passed at the old deadline");
    sleep(secs(30)).await;
    assert_eq!((gate.state(), gate.snapshot().waiting), (GateState::HalfOpen, 199));
    for task in tasks {
        task.await.unwrap();
    }

    let order = order.lock().unwrap();
    let numbers: Vec<_> = order.iter().map(|(number, _)| *number).collect();
    assert_eq!(numbers, (0..200).collect::<Vec<_>>());
    assert_took(order[0].1, secs(90));
    for (_, at) in &order[1..] {
        assert_took(*at, secs(92));
    }
    assert_eq!(gate.epoch(), 1);
    assert_idle(&gate.snapshot());
}

#[tokio::test(start_paused = true)]
async fn of_a_hundred_who_ask_at_the_deadline_one_gets_a_pass() {
    let gate = at_once();
    gate.close_for(secs(5));
    advance(secs(5)).await;
    let mut asked: Vec<_> = (0..100).map(|_| gate.try_pass()).collect();
    assert!(asked[1..].iter().all(|pass| matches!(pass, Err(Closed::Probing))));
    let probe = asked.swap_remove(0).unwrap();
    assert!(probe.still_valid());
    drop(asked);
    assert_eq!(gate.snapshot().in_flight, 1);
    probe.success();
    assert!((0..100).all(|_| gate.try_pass().is_ok()));
}

#[tokio::test(start_paused = true)]
async fn an_arrival_at_the_deadline_goes_behind_those_who_wait() {
    let gate = CooldownGate::new();
    gate.close_for(secs(5));
    let mut first = gate.pass();
    assert!(poll_once(&mut first).is_pending());
    advance(secs(5)).await;
    assert!(!gate.is_open());
    assert_eq!(gate.try_pass().unwrap_err(), Closed::Probing);
    let probe = first.await.unwrap();
    assert_eq!(probe.epoch(), 1);
    drop(probe);
    assert!(gate.try_pass().is_ok(), "the probe's slot came back");
}

#[tokio::test(start_paused = true)]
async fn cg6_a_probe_dropped_without_a_word_goes_to_the_next_waiter() {
    let gate = at_once();
    gate.close_for(secs(5));
    let mut waiters = [gate.pass(), gate.pass(), gate.pass()];
    for waiter in &mut waiters {
        assert!(poll_once(waiter).is_pending());
    }
    let [first, second, third] = waiters;
    let probe = first.await.unwrap();
    drop(probe);
    // The second was granted by that drop, and leaves without looking.
    assert_eq!((gate.snapshot().waiting, gate.snapshot().in_flight), (1, 1));
    drop(second);
    let (took, probe) = timed(third).await;
    assert_eq!(took, Duration::ZERO);
    probe.unwrap().success();
    assert_idle(&gate.snapshot());
    assert_eq!((gate.state(), gate.epoch()), (GateState::Open, 1));
}

#[tokio::test(start_paused = true)]
async fn cg6_a_probe_whose_task_panics_goes_to_the_next_waiter() {
    let gate = CooldownGate::new();
    gate.close_for(secs(5));
    let failing = {
        let gate = gate.clone();
        tokio::spawn(async move {
            let _pass = gate.pass_owned().await.unwrap();
            std::panic::resume_unwind(Box::new("the call panicked"));
        })
    };
    let_others_run().await;
    let (took, next) = timed(gate.pass()).await;
    assert_took(took, secs(5));
    assert!(failing.await.unwrap_err().is_panic());
    next.unwrap().success();
    assert_idle(&gate.snapshot());
}

/// Waiters sleep to the end of the patience while a probe is out: a nearer deadline must reach them.
#[tokio::test(start_paused = true)]
async fn cg3_waiters_wake_at_the_deadline_of_the_cooldown_that_ends_a_probe() {
    for by_hand in [false, true] {
        let gate = CooldownGate::new();
        gate.close_for(secs(5));
        let probe = gate.pass().await.unwrap();
        let waiter = {
            let gate = gate.clone();
            tokio::spawn(async move { timed(gate.pass()).await.0 })
        };
        let_others_run().await;
        if by_hand {
            gate.close_for(secs(1));
            drop(probe);
        } else {
            probe.throttled(hint(secs(1)));
        }
        assert_took(waiter.await.unwrap(), secs(1));
        assert_eq!(gate.epoch(), 2);
    }
}

#[tokio::test(start_paused = true)]
async fn a_waiter_that_is_never_polled_again_does_not_freeze_the_others() {
    let gate = CooldownGate::builder().reopen(Reopen::AtOnce).probe_patience(secs(20)).build();
    gate.close_for(secs(5));
    let mut stuck = gate.pass();
    assert!(poll_once(&mut stuck).is_pending());
    let (took, probe) = timed(gate.pass()).await;
    assert_took(took, secs(25));
    probe.unwrap().success();
    assert_eq!(gate.state(), GateState::Open);
    assert!(stuck.await.unwrap().still_valid());
}

#[tokio::test(start_paused = true)]
async fn a_silent_probe_is_joined_by_another_and_either_decides() {
    for first_decides in [false, true] {
        let gate = CooldownGate::builder().reopen(Reopen::AtOnce).probe_patience(secs(20)).build();
        gate.close_for(secs(5));
        let first = gate.pass().await.unwrap();
        advance(secs(19)).await;
        assert_eq!(gate.try_pass().unwrap_err(), Closed::Probing);
        advance(secs(1)).await;
        let second = gate.try_pass().unwrap();
        assert_eq!(gate.try_pass().unwrap_err(), Closed::Probing);
        let (decides, other) = if first_decides { (first, second) } else { (second, first) };
        decides.success();
        assert_eq!(gate.state(), GateState::Open);
        assert!(other.still_valid());
        drop(other);
        assert_idle(&gate.snapshot());
    }
}

#[tokio::test(start_paused = true)]
async fn one_of_two_silent_probes_that_is_dropped_hands_nothing_on() {
    let gate = CooldownGate::builder().reopen(Reopen::AtOnce).probe_patience(secs(20)).build();
    gate.close_for(secs(5));
    let first = gate.pass().await.unwrap();
    advance(secs(20)).await;
    let second = gate.try_pass().unwrap();
    drop(first);
    assert_eq!(gate.try_pass().unwrap_err(), Closed::Probing);
    drop(second);
    assert!(gate.try_pass().is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_gate_that_is_only_waited_at_opens_by_time_alone() {
    let gate = at_once();
    gate.close_for(secs(60));
    let waiters: Vec<_> = (0..20)
        .map(|_| {
            let gate = gate.clone();
            tokio::spawn(async move { timed(gate.wait()).await })
        })
        .collect();
    for waiter in waiters {
        let (took, result) = waiter.await.unwrap();
        assert_took(took, secs(60));
        assert_eq!(result, Ok(()));
    }
    assert_eq!(gate.state(), GateState::Open);

    gate.close_for(secs(10));
    advance(secs(10)).await;
    assert!(gate.is_open());
    assert_eq!(poll_once(&mut gate.wait()), std::task::Poll::Ready(Ok(())));
    assert_eq!((gate.state(), gate.epoch()), (GateState::Open, 2));
}

#[tokio::test(start_paused = true)]
async fn a_wait_behind_a_probe_goes_when_the_probe_succeeds() {
    let gate = at_once();
    gate.close_for(secs(5));
    let mut probe = gate.pass();
    assert!(poll_once(&mut probe).is_pending());
    let mut wait = gate.wait();
    assert!(poll_once(&mut wait).is_pending());
    let probe = probe.await.unwrap();
    assert!(poll_once(&mut wait).is_pending());
    probe.success();
    let (took, result) = timed(wait).await;
    assert_eq!((took, result), (Duration::ZERO, Ok(())));
}

#[tokio::test(start_paused = true)]
async fn refusals_charge_nothing_and_fifty_waits_do_not_add_up() {
    let gate = at_once();
    gate.close_for(secs(2));
    for _ in 0..1000 {
        assert!(gate.try_pass().is_err());
        assert!(gate.pass_by(Instant::now() + secs(1)).await.is_err());
    }
    assert_eq!(gate.snapshot().remaining, secs(2));
    assert_idle(&gate.snapshot());
    let waiters: Vec<_> = (0..50)
        .map(|_| {
            let gate = gate.clone();
            tokio::spawn(async move {
                let (took, pass) = timed(gate.pass()).await;
                pass.unwrap().success();
                took
            })
        })
        .collect();
    for waiter in waiters {
        assert_took(waiter.await.unwrap(), secs(2));
    }
    assert_idle(&gate.snapshot());
}
