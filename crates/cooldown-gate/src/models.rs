//! Models of the machine: every interleaving under `--cfg tidegate_loom`, once as plain unit tests otherwise.
//!
//! Time is a number that each thread brings along, so a model says which look happens at which tick, and the checker
//! tries every order of the steps.

use std::future::poll_fn;
use std::task::{Context, Poll, Waker};

use tidegate_sync::model::{check, must_fail};
use tidegate_sync::parker::block_on;
use tidegate_sync::primitives::atomic::{AtomicBool, AtomicU64, Ordering};
use tidegate_sync::primitives::{Arc, thread};

use crate::cooldown::Cooldown;
use crate::line::Rules;
use crate::machine::{Grant, Machine, Numbers};
use crate::reopen::Reopen;
use crate::state::Closing;
use crate::voice::Voice;
use crate::waiter::{Kind, Standing, Waiter, Why};
use crate::word::{FAR, Phase, length};

mod paced;

/// A first cooldown of ten ticks, then twice as long each time.
fn machine_that(reopen: Reopen) -> Arc<Machine> {
    let cooldown = Cooldown::fixed(length(10)).longest(length(80));
    Arc::new(Machine::new(Rules { cooldown, reopen, patience: FAR }, Voice::default()))
}

fn machine() -> Arc<Machine> {
    machine_that(Reopen::AtOnce)
}

/// A pass of this epoch.
const fn pass(epoch: u64) -> Grant {
    Grant { epoch, sent: None }
}

/// Asks once at tick `now`, and leaves the line if not let through.
fn ask_once(machine: &Machine, now: u64) -> Option<u64> {
    let mut seat = None;
    if let Some(epoch) = machine.enter(Kind::Reports) {
        return Some(epoch);
    }
    match machine.poll(&mut seat, Kind::Reports, Waker::noop(), now) {
        Standing::Granted(epoch) => Some(epoch),
        Standing::ShutDown => None,
        Standing::Queued { .. } => seat.and_then(|waiter| machine.leave(&waiter)),
    }
}

/// Joins the line without a task, as a waiter that will not be polled by itself.
fn queue_up(machine: &Machine, now: u64) -> Option<Waiter> {
    let mut seat = None;
    let standing = machine.poll(&mut seat, Kind::Reports, Waker::noop(), now);
    assert!(matches!(standing, Standing::Queued { .. }), "{standing:?}");
    seat
}

/// Waits at tick `now` until it is let through or turned away: no timer helps it, only a wake.
fn wait(machine: &Machine, kind: Kind, now: u64) -> Standing {
    let mut seat = None;
    block_on(poll_fn(|cx: &mut Context<'_>| match machine.poll(&mut seat, kind, cx.waker(), now) {
        Standing::Queued { .. } => Poll::Pending,
        standing => Poll::Ready(standing),
    }))
}

fn idle(numbers: Numbers) {
    assert_eq!((numbers.waiting, numbers.in_flight), (0, 0), "somebody was left behind: {numbers:?}");
}

/// CG-1: whatever order three closings take, the latest deadline holds, and each is told the truth.
#[test]
fn cg1_racing_closes_never_shorten() {
    check("cg1_racing_closes_never_shorten", 20, || {
        let machine = machine();
        let closers = [20, 30].map(|deadline| {
            let machine = Arc::clone(&machine);
            thread::spawn(move || machine.close(deadline, 0))
        });
        let mut told = vec![machine.close(10, 0)];
        told.extend(closers.map(|closer| closer.join().unwrap()));
        assert_eq!(machine.phase(), Phase::Cooling { deadline: 30 }, "the cooldown was shortened");
        assert_eq!(told.iter().filter(|closing| **closing == Closing::Closed).count(), 1);
        assert_eq!(machine.look(0).epoch, 1);
    });
}

/// CG-1, the broken form: a deadline that is read, compared and then stored.
#[test]
fn cg1_load_then_store_shortens() {
    must_fail("cg1_load_then_store_shortens", "the cooldown was shortened", || {
        fn close(word: &AtomicU64, deadline: u64) {
            // Ordering: Acquire and Release; no stronger one would help, the fault is the gap between the two.
            if word.load(Ordering::Acquire) < deadline {
                word.store(deadline, Ordering::Release);
            }
        }
        let word = Arc::new(AtomicU64::new(0));
        let closer = {
            let word = Arc::clone(&word);
            thread::spawn(move || close(&word, 30))
        };
        close(&word, 20);
        closer.join().unwrap();
        // Ordering: Acquire; the closer was joined.
        assert_eq!(word.load(Ordering::Acquire), 30, "the cooldown was shortened");
    });
}

/// CG-1 and CG-2: a look that finds the deadline passed races with a closing that extends it. Whoever is second sees
/// the other: an extended cooldown lets nobody in, and a closing after the grant begins a new epoch.
#[test]
fn cg1_an_extension_is_never_undone_by_a_racing_opening() {
    check("cg1_an_extension_is_never_undone_by_a_racing_opening", 10, || {
        let machine = machine();
        assert_eq!(machine.close(10, 0), Closing::Closed);
        let closer = {
            let machine = Arc::clone(&machine);
            thread::spawn(move || machine.close(20, 9))
        };
        let granted = ask_once(&machine, 10);
        assert_ne!(closer.join().unwrap(), Closing::Kept);
        assert_eq!(machine.phase(), Phase::Cooling { deadline: 20 }, "the extension was lost");
        if let Some(epoch) = granted {
            machine.dropped(epoch, || 10);
        }
        idle(machine.look(10));
    });
}

/// CG-2: no pass is granted before the deadline that is in force at that moment.
#[test]
fn cg2_an_extended_cooldown_grants_nothing_before_its_new_deadline() {
    check("cg2_an_extended_cooldown_grants_nothing_before_its_new_deadline", 10, || {
        let machine = machine();
        assert_eq!(machine.close(10, 0), Closing::Closed);
        let closer = {
            let machine = Arc::clone(&machine);
            thread::spawn(move || machine.close(20, 9))
        };
        let granted = ask_once(&machine, 10);
        match closer.join().unwrap() {
            Closing::Extended => assert_eq!(granted, None, "granted before the deadline in force"),
            Closing::Closed => assert_eq!(granted, Some(1), "closed although nobody was let in"),
            other => panic!("a later deadline was refused: {other:?}"),
        }
    });
}

/// CG-2: who knows of a closing gets no pass, and a pass in flight learns of it.
#[test]
fn cg2_nobody_passes_a_gate_that_is_known_to_be_closed() {
    check("cg2_nobody_passes_a_gate_that_is_known_to_be_closed", 5, || {
        let machine = machine();
        assert_eq!(machine.enter(Kind::Reports), Some(0));
        let told = Arc::new(AtomicBool::new(false));
        let closer = {
            let (machine, told) = (Arc::clone(&machine), Arc::clone(&told));
            thread::spawn(move || {
                let closing = machine.throttled(pass(0), None, 0);
                // Ordering: Release; pairs with the load below.
                told.store(true, Ordering::Release);
                closing
            })
        };
        // Ordering: Acquire; pairs with the store above.
        let known = told.load(Ordering::Acquire);
        let granted = ask_once(&machine, 9);
        assert_eq!(closer.join().unwrap(), Closing::Closed);
        assert!(!(known && granted.is_some()), "passed a gate known to be closed");
        assert!(matches!(granted, None | Some(0)), "granted before the deadline");
        assert_eq!(machine.phase().granting(), None, "a pass from before the closing looks valid");
    });
}

/// CG-1: the success of a probe races with a closing. The closing stands, whichever was first.
#[test]
fn cg1_a_success_never_undoes_a_racing_closing() {
    check("cg1_a_success_never_undoes_a_racing_closing", 10, || {
        let machine = probing();
        let closer = {
            let machine = Arc::clone(&machine);
            thread::spawn(move || machine.close(30, 10))
        };
        machine.success(pass(1), || 10);
        assert_eq!(closer.join().unwrap(), Closing::Closed);
        assert_eq!(machine.phase(), Phase::Cooling { deadline: 30 }, "the closing was lost");
        assert_eq!(machine.look(10).epoch, 2);
        idle(machine.look(10));
    });
}

/// A gate whose first cooldown ended at tick 10, with its probe, of epoch 1, out.
fn probing() -> Arc<Machine> {
    let machine = machine();
    assert_eq!(machine.close(10, 0), Closing::Closed);
    assert_eq!(ask_once(&machine, 10), Some(1));
    machine
}

/// Has a reporting and a silent waiter ask at tick 10 in threads of their own while `change` is made, which is to
/// release both without a timer.
fn two_waiters(machine: &Arc<Machine>, change: impl FnOnce(&Machine)) -> [Standing; 2] {
    let waiters = [Kind::Reports, Kind::Silent].map(|kind| {
        let machine = Arc::clone(machine);
        thread::spawn(move || wait(&machine, kind, 10))
    });
    change(machine);
    waiters.map(|waiter| waiter.join().unwrap())
}

/// CG-3: an early opening wakes everybody, those in the middle of joining the line among them.
#[test]
fn cg3_open_now_wakes_every_waiter() {
    check("cg3_open_now_wakes_every_waiter", 20, || {
        let machine = machine();
        assert_eq!(machine.close(FAR, 0), Closing::Closed);
        let standings = two_waiters(&machine, |machine| machine.open_now(10));
        assert_eq!(standings, [Standing::Granted(1), Standing::Granted(1)]);
        machine.dropped(1, || 10);
        idle(machine.look(10));
    });
}

/// CG-3: a shutdown turns everybody away.
#[test]
fn cg3_shutdown_wakes_every_waiter() {
    check("cg3_shutdown_wakes_every_waiter", 20, || {
        let machine = machine();
        assert_eq!(machine.close(FAR, 0), Closing::Closed);
        let standings = two_waiters(&machine, Machine::shut_down);
        assert_eq!(standings, [Standing::ShutDown, Standing::ShutDown]);
        idle(machine.look(10));
    });
}

/// CG-3: a probe that succeeds wakes everybody.
#[test]
fn cg3_a_successful_probe_wakes_every_waiter() {
    check("cg3_a_successful_probe_wakes_every_waiter", 20, || {
        let machine = probing();
        let standings = two_waiters(&machine, |machine| machine.success(pass(1), || 10));
        assert_eq!(standings, [Standing::Granted(1), Standing::Granted(1)]);
        machine.dropped(1, || 10);
        idle(machine.look(10));
    });
}

/// The tick that somebody who joins the line at tick 10 learns once it waits for `what`: no timer helps it, only a wake.
fn learn(machine: &Machine, what: Why) -> u64 {
    let mut seat = None;
    let learnt = block_on(poll_fn(|cx: &mut Context<'_>| {
        match machine.poll(&mut seat, Kind::Reports, cx.waker(), 10) {
            Standing::Queued { at, why } if why == what => Poll::Ready(at),
            _ => Poll::Pending,
        }
    }));
    assert_eq!(seat.and_then(|waiter| machine.leave(&waiter)), None);
    learnt
}

/// Whether a waiter that joined while a probe was out learns of the cooldown that ends it, and of its deadline.
fn learns_of_the_next_deadline(close: impl FnOnce(&Machine)) {
    let machine = probing();
    let waiter = {
        let machine = Arc::clone(&machine);
        thread::spawn(move || learn(&machine, Why::Cooling))
    };
    close(&machine);
    assert_eq!(waiter.join().unwrap(), 20);
    assert_eq!(machine.look(10).waiting, 0);
}

/// CG-3: a probe that is throttled has everybody set a timer to the new deadline.
#[test]
fn cg3_a_throttled_probe_has_the_waiters_look_again() {
    check("cg3_a_throttled_probe_has_the_waiters_look_again", 10, || {
        learns_of_the_next_deadline(|machine| {
            assert_eq!(machine.throttled(pass(1), None, 10), Closing::Closed);
        });
    });
}

/// CG-3: so has a closing by hand while a probe is out.
#[test]
fn cg3_a_closing_beside_a_probe_has_the_waiters_look_again() {
    check("cg3_a_closing_beside_a_probe_has_the_waiters_look_again", 10, || {
        learns_of_the_next_deadline(|machine| assert_eq!(machine.close(20, 10), Closing::Closed));
    });
}

/// What three passes of one epoch are told that report at once that they were throttled.
fn burst(machine: &Arc<Machine>, epoch: u64, now: u64) -> Vec<Closing> {
    let others = [0, 1].map(|_| {
        let machine = Arc::clone(machine);
        thread::spawn(move || machine.throttled(pass(epoch), None, now))
    });
    let mut told = vec![machine.throttled(pass(epoch), None, now)];
    told.extend(others.map(|report| report.join().unwrap()));
    told
}

/// CG-4: throttles reported at once by passes of one epoch are one strike.
#[test]
fn cg4_one_burst_is_one_strike() {
    check("cg4_one_burst_is_one_strike", 5, || {
        let machine = machine();
        let passes = [0, 1, 2].map(|_| machine.enter(Kind::Reports));
        assert_eq!(passes, [Some(0); 3]);
        let told = burst(&machine, 0, 0);
        let numbers = machine.look(0);
        assert_eq!((numbers.strikes, numbers.throttled, numbers.epoch), (1, 3, 1), "a burst is one strike");
        assert_eq!(told.iter().filter(|closing| **closing == Closing::Closed).count(), 1);
        assert_eq!(machine.phase(), Phase::Cooling { deadline: 10 });
        idle(numbers);
    });
}

/// CG-4: a throttle of an older epoch, reported while the probe of the next goes out, takes nothing from the probe.
#[test]
fn cg4_a_late_report_strikes_nothing() {
    check("cg4_a_late_report_strikes_nothing", 5, || {
        let machine = machine();
        let passes = [0, 1].map(|_| machine.enter(Kind::Reports));
        assert_eq!(passes, [Some(0); 2]);
        assert_eq!(machine.throttled(pass(0), None, 0), Closing::Closed);
        let late = {
            let machine = Arc::clone(&machine);
            thread::spawn(move || machine.throttled(pass(0), None, 10))
        };
        assert_eq!(ask_once(&machine, 10), Some(1));
        assert_eq!(late.join().unwrap(), Closing::Kept, "a late report struck");
        let numbers = machine.look(10);
        assert_eq!(
            (numbers.strikes, numbers.phase),
            (1, Phase::Probing { epoch: 1 }),
            "a late report struck"
        );
        machine.success(pass(1), || 10);
        idle(machine.look(10));
    });
}

/// CG-4: the hint of an older epoch extends a cooldown, but never ends a probe.
#[test]
fn cg4_a_late_hint_extends_a_cooldown_or_does_nothing() {
    check("cg4_a_late_hint_extends_a_cooldown_or_does_nothing", 5, || {
        let machine = machine();
        let passes = [0, 1].map(|_| machine.enter(Kind::Reports));
        assert_eq!(passes, [Some(0); 2]);
        assert_eq!(machine.throttled(pass(0), None, 0), Closing::Closed);
        let late = {
            let machine = Arc::clone(&machine);
            thread::spawn(move || machine.throttled(pass(0), Some(10), 5))
        };
        let granted = ask_once(&machine, 10);
        let expected = match late.join().unwrap() {
            Closing::Extended => (None, Phase::Cooling { deadline: 15 }),
            _ => (Some(1), Phase::Probing { epoch: 1 }),
        };
        assert_eq!((granted, machine.phase()), expected);
        assert_eq!(machine.look(10).strikes, 1);
    });
}

/// CG-6: a probe that is dropped without a word goes to the next waiter.
#[test]
fn cg6_a_dropped_probe_is_handed_on() {
    check("cg6_a_dropped_probe_is_handed_on", 10, || {
        let machine = probing();
        let waiter = {
            let machine = Arc::clone(&machine);
            thread::spawn(move || wait(&machine, Kind::Reports, 10))
        };
        machine.dropped(1, || 10);
        assert_eq!(waiter.join().unwrap(), Standing::Granted(1));
        machine.dropped(1, || 10);
        assert_eq!(machine.phase(), Phase::Ready { epoch: 1 }, "the slot was not given back");
        idle(machine.look(10));
    });
}

/// CG-6: a waiter that is granted the probe while it leaves passes the probe on.
#[test]
fn cg6_a_waiter_that_leaves_with_the_probe_passes_it_on() {
    check("cg6_a_waiter_that_leaves_with_the_probe_passes_it_on", 10, || {
        let machine = machine();
        assert_eq!(machine.close(10, 0), Closing::Closed);
        let leaver = queue_up(&machine, 0).unwrap();
        let waiter = {
            let machine = Arc::clone(&machine);
            thread::spawn(move || wait(&machine, Kind::Reports, 10))
        };
        if let Some(epoch) = machine.leave(&leaver) {
            machine.dropped(epoch, || 10);
        }
        assert_eq!(waiter.join().unwrap(), Standing::Granted(1));
        machine.success(pass(1), || 10);
        idle(machine.look(10));
    });
}

/// CG-6: waiters and passes that go while the gate opens leave no count behind.
#[test]
fn cg6_leaving_while_the_gate_opens_leaves_nothing_behind() {
    check("cg6_leaving_while_the_gate_opens_leaves_nothing_behind", 5, || {
        let machine = machine();
        assert_eq!(machine.close(FAR, 0), Closing::Closed);
        let leavers = [queue_up(&machine, 0).unwrap(), queue_up(&machine, 0).unwrap()];
        let opener = {
            let machine = Arc::clone(&machine);
            thread::spawn(move || machine.open_now(0))
        };
        for leaver in &leavers {
            if let Some(epoch) = machine.leave(leaver) {
                machine.dropped(epoch, || 0);
            }
        }
        opener.join().unwrap();
        idle(machine.look(0));
        assert_eq!(machine.phase(), Phase::Open { epoch: 1 });
    });
}

/// A gate whose deadline passed lets exactly one of those out who ask at once.
#[test]
fn a_half_open_gate_lets_exactly_one_probe_out() {
    check("a_half_open_gate_lets_exactly_one_probe_out", 10, || {
        let machine = machine();
        assert_eq!(machine.close(10, 0), Closing::Closed);
        let others = [0, 1].map(|_| {
            let machine = Arc::clone(&machine);
            thread::spawn(move || ask_once(&machine, 10))
        });
        let mut granted = vec![ask_once(&machine, 10)];
        granted.extend(others.map(|other| other.join().unwrap()));
        assert_eq!(granted.into_iter().flatten().collect::<Vec<_>>(), [1], "more or less than one probe");
    });
}

/// Whoever finds the deadline passed grants the probe to the longest waiter, not to itself.
#[test]
fn an_arrival_never_overtakes_a_waiter() {
    check("an_arrival_never_overtakes_a_waiter", 10, || {
        let machine = machine();
        assert_eq!(machine.close(10, 0), Closing::Closed);
        let waiter = queue_up(&machine, 0).unwrap();
        let arrivals = [0, 1].map(|_| {
            let machine = Arc::clone(&machine);
            thread::spawn(move || ask_once(&machine, 10))
        });
        assert_eq!(
            arrivals.map(|arrival| arrival.join().unwrap()),
            [None, None],
            "an arrival overtook a waiter"
        );
        assert_eq!(waiter.granted(), Some(Ok(1)));
    });
}
