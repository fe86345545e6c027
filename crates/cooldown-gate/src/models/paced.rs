//! Models of a paced gate: slots, closings and reports that race for them.

use super::*;
use crate::reopen::Pace;

/// Ticks between two slots.
const INTERVAL: u64 = 1000;

/// A gate that knows no pace but one pass each thousand ticks.
fn machine_with_a_pace() -> Arc<Machine> {
    let rate = 1e9 / 1000.0;
    machine_that(Reopen::Paced(Pace::new().at_least(rate).at_most(rate)))
}

/// A gate that was closed until tick 10, was found open by a probe at tick 10, and lets one in each thousand ticks: the next
/// at tick 1010.
fn paced() -> Arc<Machine> {
    let machine = machine_with_a_pace();
    let passes = [0, 1].map(|_| machine.enter(Kind::Reports));
    assert_eq!(passes, [Some(0); 2]);
    assert_eq!(machine.throttled(pass(0), None, 0), Closing::Closed);
    machine.dropped(0, || 0);
    assert_eq!(ask_once(&machine, 10), Some(1));
    machine.success(pass(1), || 10);
    assert_eq!(machine.phase(), Phase::Paced { epoch: 1 });
    machine
}

/// The tick of the next slot.
const NEXT: u64 = 10 + INTERVAL;

/// CG-5: one slot serves one caller, whoever asks at once.
#[test]
fn cg5_a_slot_serves_one_of_those_who_ask_at_once() {
    check("cg5_a_slot_serves_one_of_those_who_ask_at_once", 10, || {
        let machine = paced();
        let others = [0, 1].map(|_| {
            let machine = Arc::clone(&machine);
            thread::spawn(move || ask_once(&machine, NEXT))
        });
        let mut granted = vec![ask_once(&machine, NEXT)];
        granted.extend(others.map(|other| other.join().unwrap()));
        assert_eq!(granted.into_iter().flatten().count(), 1, "a slot served two");
        machine.dropped(1, || NEXT);
        idle(machine.look(NEXT));
    });
}

/// CG-5: at a slot the longest waiter goes, not who found that it is due.
#[test]
fn cg5_an_arrival_never_takes_the_slot_of_a_waiter() {
    check("cg5_an_arrival_never_takes_the_slot_of_a_waiter", 10, || {
        let machine = paced();
        let waiter = queue_up(&machine, 10).unwrap();
        let arrivals = [0, 1].map(|_| {
            let machine = Arc::clone(&machine);
            thread::spawn(move || ask_once(&machine, NEXT))
        });
        let arrived = arrivals.map(|arrival| arrival.join().unwrap());
        assert_eq!(arrived, [None, None], "an arrival overtook a waiter");
        assert_eq!(waiter.granted(), Some(Ok(1)));
    });
}

/// CG-5 and CG-6: the longest waiter leaves while its slot comes. Whoever is next gets that slot, or knows when its own is.
#[test]
fn cg6_a_waiter_that_leaves_its_slot_leaves_it_to_the_next() {
    check("cg6_a_waiter_that_leaves_its_slot_leaves_it_to_the_next", 10, || {
        let machine = paced();
        let leaver = queue_up(&machine, 10).unwrap();
        let next = {
            let machine = Arc::clone(&machine);
            thread::spawn(move || {
                let mut seat = None;
                // It has no timer: only a wake, or a slot that is due, ends this.
                block_on(poll_fn(|cx: &mut Context<'_>| {
                    match machine.poll(&mut seat, Kind::Reports, cx.waker(), 11) {
                        Standing::Queued { at, why: Why::Paced } if at > NEXT => Poll::Pending,
                        standing => Poll::Ready(standing),
                    }
                }));
                if let Some(waiter) = seat {
                    assert_eq!(machine.leave(&waiter), None);
                }
            })
        };
        assert_eq!(machine.leave(&leaver), None);
        next.join().unwrap();
        idle(machine.look(11));
    });
}

/// CG-1 and CG-5: a closing races with a slot that is due. Whichever is second sees the other.
#[test]
fn cg1_a_slot_is_never_served_by_a_gate_that_was_closed() {
    check("cg1_a_slot_is_never_served_by_a_gate_that_was_closed", 10, || {
        let machine = paced();
        let told = Arc::new(AtomicBool::new(false));
        let closer = {
            let (machine, told) = (Arc::clone(&machine), Arc::clone(&told));
            thread::spawn(move || {
                let closing = machine.close(2 * NEXT, NEXT);
                // Ordering: Release; pairs with the load below.
                told.store(true, Ordering::Release);
                closing
            })
        };
        // Ordering: Acquire; pairs with the store above.
        let known = told.load(Ordering::Acquire);
        let granted = ask_once(&machine, NEXT);
        assert_eq!(closer.join().unwrap(), Closing::Closed);
        assert!(!(known && granted.is_some()), "a slot was served by a closed gate");
        assert_eq!(machine.phase(), Phase::Cooling { deadline: 2 * NEXT }, "the closing was lost");
        assert_eq!(machine.look(NEXT).epoch, 2);
    });
}

/// CG-4: of two throttles of one burst, reported at once, the first lowers the pace and the second closes: one strike.
#[test]
fn cg4_a_burst_of_a_paced_gate_is_at_most_one_strike() {
    check("cg4_a_burst_of_a_paced_gate_is_at_most_one_strike", 10, || {
        let machine = paced();
        assert_eq!(ask_once(&machine, NEXT), Some(1));
        assert_eq!(ask_once(&machine, NEXT + INTERVAL), Some(1));
        assert_eq!(ask_once(&machine, NEXT + 2 * INTERVAL), Some(1));
        let now = NEXT + 2 * INTERVAL + 1;
        let told = burst(&machine, 1, now);
        let count = |what| told.iter().filter(|closing| **closing == what).count();
        let counts = [Closing::Slowed, Closing::Closed, Closing::Kept].map(count);
        assert_eq!(counts, [1, 1, 1], "a burst is one strike");
        assert_eq!((machine.look(now).strikes, machine.look(now).epoch), (1, 2), "a burst is one strike");
    });
}

/// CG-3: the probe succeeds while somebody joins the line: it learns of the slot, with no timer to help it.
#[test]
fn cg3_a_waiter_learns_of_its_slot_when_the_gate_is_paced() {
    check("cg3_a_waiter_learns_of_its_slot_when_the_gate_is_paced", 10, || {
        let machine = machine_with_a_pace();
        assert_eq!(machine.enter(Kind::Reports), Some(0));
        assert_eq!(machine.throttled(pass(0), None, 0), Closing::Closed);
        assert_eq!(ask_once(&machine, 10), Some(1));
        let waiter = {
            let machine = Arc::clone(&machine);
            thread::spawn(move || learn(&machine, Why::Paced))
        };
        machine.success(pass(1), || 10);
        assert_eq!(waiter.join().unwrap(), NEXT);
    });
}

/// Half-open: a probe waits until half of what failed has ended, and the pass that ends last lets it out.
#[test]
fn cg3_the_end_of_a_pass_lets_the_probe_out() {
    check("cg3_the_end_of_a_pass_lets_the_probe_out", 10, || {
        let machine = machine();
        let passes = [0, 1, 2].map(|_| machine.enter(Kind::Reports));
        assert_eq!(passes, [Some(0); 3]);
        assert_eq!(machine.throttled(pass(0), None, 0), Closing::Closed);
        // Two of three are out; one may be.
        let waiter = {
            let machine = Arc::clone(&machine);
            thread::spawn(move || wait(&machine, Kind::Reports, 10))
        };
        machine.success(pass(0), || 10);
        assert_eq!(waiter.join().unwrap(), Standing::Granted(1));
        machine.success(pass(1), || 10);
        machine.dropped(0, || 10);
        idle(machine.look(10));
    });
}
