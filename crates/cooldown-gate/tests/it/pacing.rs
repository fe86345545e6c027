//! Reopening without a herd: who goes when.

use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use proptest::prelude::*;
use tidegate_cooldown_gate::{
    Closing, Cooldown, CooldownGate, GateState, Learned, OwnedPass, Pace, PassingOwned, Reopen,
};
use tokio::task::JoinSet;
use tokio::time::{Instant, advance, sleep};

use crate::{assert_idle, hint, poll_once, secs};

const fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// A gate that knows the pace of its service.
fn knows(pace: f64) -> CooldownGate {
    CooldownGate::builder().restore(Learned { pace: Some(pace), cooldown: None }).build()
}

/// So many tasks wait for a pass each, call for a tenth of a second, and report success. When each went, in order.
async fn times(gate: &CooldownGate, tasks: usize) -> Vec<(usize, Duration)> {
    let (start, times) = (Instant::now(), Arc::new(Mutex::new(Vec::new())));
    let mut callers = JoinSet::new();
    for task in 0..tasks {
        let (gate, times) = (gate.clone(), Arc::clone(&times));
        callers.spawn(async move {
            let pass = gate.pass().await.unwrap();
            times.lock().unwrap().push((task, start.elapsed()));
            sleep(millis(100)).await;
            pass.success();
        });
    }
    while let Some(called) = callers.join_next().await {
        called.unwrap();
    }
    assert_idle(&gate.snapshot());
    std::mem::take(&mut *times.lock().unwrap())
}

/// The timer is exact to the millisecond and never early, and its lateness does not add up.
#[track_caller]
fn assert_times(times: &[(usize, Duration)], expected: impl Iterator<Item = Duration>) {
    let expected: Vec<_> = expected.collect();
    assert_eq!(times.len(), expected.len());
    for (place, ((task, at), expected)) in times.iter().zip(expected).enumerate() {
        assert_eq!(*task, place, "first come, first served: {times:?}");
        assert!(
            *at >= expected && *at <= expected + millis(2),
            "{task} went at {at:?}, not {expected:?}: {times:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn cg5_after_a_known_pace_the_probe_goes_first_and_one_a_slot_after_it() {
    let gate = knows(2.0);
    gate.close_for(secs(10));
    let probe = [secs(10)].into_iter();
    // One fewer than would raise a narrow bracket.
    let slots = (1..15).map(|slot| millis(10_100 + 500 * slot));
    assert_times(&times(&gate, 15).await, probe.chain(slots));
    assert_eq!(gate.state(), GateState::Paced);
}

#[tokio::test(start_paused = true)]
async fn cg5_a_pace_faster_than_timers_is_kept() {
    let gate = CooldownGate::builder()
        .reopen(Reopen::Paced(Pace::new().at_least(5000.0).at_most(5000.0)))
        .restore(Learned { pace: Some(5000.0), cooldown: None })
        .build();
    let times = times(&gate, 5000).await;
    let last = times.last().unwrap().1;
    assert!(last >= millis(998) && last <= millis(1002), "{last:?}");
}

#[tokio::test(start_paused = true)]
async fn cg5_nobody_gets_the_slots_that_nobody_took() {
    let gate = knows(2.0);
    sleep(secs(3600)).await;
    assert_times(&times(&gate, 10).await, (0..10).map(|slot| millis(500 * slot)));
    sleep(millis(700)).await;
    assert_times(&times(&gate, 2).await, (0..2).map(|slot| millis(500 * slot)));
}

#[tokio::test(start_paused = true)]
async fn cg5_those_who_wait_are_spread_evenly_and_then_everybody_goes() {
    let gate = CooldownGate::builder().reopen(Reopen::Spread(secs(20))).build();
    gate.close_for(secs(10));
    let late = {
        let gate = gate.clone();
        tokio::spawn(async move {
            sleep(millis(30_200)).await;
            (0..100).all(|_| gate.try_pass().is_ok())
        })
    };
    // Nine wait when the probe comes back.
    let spread = (0..9).map(|place| millis(10_100) + secs(20) * place / 9);
    assert_times(&times(&gate, 10).await, [secs(10)].into_iter().chain(spread));
    assert!(late.await.unwrap(), "everybody goes once the time is over");
    assert_eq!((gate.state(), gate.snapshot().pace), (GateState::Open, None));
}

#[tokio::test(start_paused = true)]
async fn cg5_no_more_probes_are_out_than_allowed_until_enough_succeeded() {
    let gate = CooldownGate::builder().reopen(Reopen::Probe { in_flight: 2, successes: 5 }).build();
    gate.close_for(secs(10));
    // Two at a time, a tenth of a second each; the fifth success comes with the sixth.
    let probes = [10_000, 10_000, 10_100, 10_100, 10_200, 10_200].map(millis);
    let others = [millis(10_300); 94];
    assert_times(&times(&gate, 100).await, probes.into_iter().chain(others));
    assert_eq!(gate.state(), GateState::Open);
}

#[tokio::test(start_paused = true)]
async fn cg5_a_throttled_probe_of_several_closes_for_all() {
    let gate = CooldownGate::builder().reopen(Reopen::Probe { in_flight: 3, successes: 3 }).build();
    gate.close_for(secs(10));
    advance(secs(10)).await;
    let mut probes: Vec<_> = (0..3).map(|_| gate.try_pass().unwrap()).collect();
    assert!(gate.try_pass().is_err());
    probes.pop().unwrap().success();
    assert_eq!(probes.pop().unwrap().throttled(None), Closing::Closed);
    assert_eq!(probes.pop().unwrap().throttled(None), Closing::Kept);
    let snapshot = gate.snapshot();
    assert_eq!((snapshot.epoch, snapshot.strikes, snapshot.remaining), (2, 1, secs(1)));
}

#[tokio::test(start_paused = true)]
async fn a_throttle_of_a_known_pace_slows_first_closes_next_and_closes_at_once_with_a_hint() {
    let gate = knows(2.0);
    assert_eq!(gate.pass().await.unwrap().throttled(None), Closing::Slowed);
    let snapshot = gate.snapshot();
    assert_eq!((snapshot.state, snapshot.epoch, snapshot.strikes), (GateState::Paced, 0, 0));
    assert!(snapshot.pace.unwrap() < 2.0, "{snapshot:?}");
    let asked = Instant::now();
    let pass = gate.pass().await.unwrap();
    assert!(
        asked.elapsed() >= Duration::from_secs_f64(1.0 / snapshot.pace.unwrap()),
        "it paused for an interval"
    );
    assert_eq!(pass.throttled(None), Closing::Closed);
    assert_eq!((gate.epoch(), gate.snapshot().strikes), (1, 1));

    let gate = knows(2.0);
    assert_eq!(gate.pass().await.unwrap().throttled(hint(secs(5))), Closing::Closed);
    assert_eq!(gate.snapshot().remaining, secs(5));
}

#[tokio::test(start_paused = true)]
async fn a_pace_keeps_to_its_bounds() {
    let bounds = Pace::new().at_least(1.0).at_most(4.0);
    for (learned, kept) in [(0.1, 1.0), (2.0, 2.0), (50.0, 4.0)] {
        let learned = Learned { pace: Some(learned), cooldown: None };
        let gate = CooldownGate::builder().reopen(Reopen::Paced(bounds)).restore(learned).build();
        assert_eq!(gate.snapshot().pace, Some(kept));
    }
}

/// A service that lets `burst` calls through, one more every `interval`, and says no more than "429".
struct Bucket {
    burst: f64,
    per_second: f64,
    tokens: f64,
    filled_at: Instant,
    /// When each call came, and whether it was refused.
    calls: Vec<(Duration, bool)>,
    start: Instant,
}

impl Bucket {
    fn new(burst: f64, per_second: f64) -> Arc<Mutex<Self>> {
        let now = Instant::now();
        let bucket = Self { burst, per_second, tokens: burst, filled_at: now, calls: Vec::new(), start: now };
        Arc::new(Mutex::new(bucket))
    }

    fn call(&mut self) -> bool {
        let now = Instant::now();
        let filled = (now - self.filled_at).as_secs_f64() * self.per_second;
        (self.tokens, self.filled_at) = ((self.tokens + filled).min(self.burst), now);
        let served = self.tokens >= 1.0;
        if served {
            self.tokens -= 1.0;
        }
        self.calls.push((now - self.start, !served));
        served
    }

    /// The most calls that came in one second after the first refusal was known to everybody.
    fn most_in_a_second_after(&self, after: Duration) -> usize {
        let later: Vec<_> = self.calls.iter().map(|(at, _)| *at).filter(|at| *at > after).collect();
        later
            .iter()
            .map(|from| later.iter().filter(|at| **at >= *from && **at < *from + secs(1)).count())
            .max()
            .unwrap_or(0)
    }
}

/// The use of the article: wait, call, close for a minute on 429. Nobody reports anything else.
#[tokio::test(start_paused = true)]
async fn cg5_a_gate_that_is_only_waited_at_and_closed_by_hand_does_not_herd() {
    const TASKS: usize = 50;
    let gate = CooldownGate::new();
    let bucket = Bucket::new(20.0, 10.0);
    let mut tasks = JoinSet::new();
    for _ in 0..TASKS {
        let (gate, bucket) = (gate.clone(), Arc::clone(&bucket));
        tasks.spawn(async move {
            for _ in 0..20 {
                loop {
                    gate.wait().await.unwrap();
                    let served = bucket.lock().unwrap().call();
                    sleep(if served { millis(200) } else { millis(100) }).await;
                    if served {
                        break;
                    }
                    gate.close_for(secs(60));
                }
            }
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap();
    }
    let bucket = bucket.lock().unwrap();
    let refused: Vec<_> =
        bucket.calls.iter().filter(|(_, refused)| *refused).map(|(at, _)| at.as_secs()).collect();
    let first_burst = refused.iter().filter(|at| **at == 0).count();
    assert_eq!(first_burst, TASKS - 20, "nobody knew anything yet");
    assert!(
        refused.len() - first_burst <= TASKS / 2,
        "a herd of {TASKS} is refused again and again: {refused:?}"
    );
    let most = bucket.most_in_a_second_after(secs(1));
    assert!(most < TASKS, "{most} came in one second: all who waited");
    assert_eq!(bucket.calls.len() - refused.len(), TASKS * 20, "all work was done");
}

/// The same tasks at a gate that opens for everybody at once: what the test above would see of a herd.
#[tokio::test(start_paused = true)]
async fn a_gate_that_opens_at_once_herds_as_it_says() {
    let gate = CooldownGate::builder().reopen(Reopen::AtOnce).build();
    gate.close_for(secs(60));
    let mut tasks = JoinSet::new();
    for _ in 0..50 {
        let gate = gate.clone();
        tasks.spawn(async move {
            gate.wait().await.unwrap();
            Instant::now()
        });
    }
    let went = tasks.join_all().await;
    assert!(went.iter().all(|at| *at == went[0]));
}

#[derive(Clone, Debug)]
enum Op {
    Ask,
    TryPass,
    Poll(prop::sample::Index),
    Leave(prop::sample::Index),
    Success(prop::sample::Index),
    Drop(prop::sample::Index),
    Throttled(prop::sample::Index, bool),
    CloseFor(u64),
    Advance(u64),
}

fn op() -> impl Strategy<Value = Op> {
    let one = any::<prop::sample::Index>;
    prop_oneof![
        6 => Just(Op::Ask),
        3 => Just(Op::TryPass),
        12 => one().prop_map(Op::Poll),
        2 => one().prop_map(Op::Leave),
        4 => one().prop_map(Op::Success),
        2 => one().prop_map(Op::Drop),
        1 => (one(), any::<bool>()).prop_map(|(one, hinted)| Op::Throttled(one, hinted)),
        1 => (1_u64..5_000).prop_map(Op::CloseFor),
        8 => (1_u64..2_000).prop_map(Op::Advance),
    ]
}

/// The pace is fixed, so that slots can be counted.
const INTERVAL: Duration = millis(500);

fn at_a_fixed_pace() -> CooldownGate {
    CooldownGate::builder()
        .cooldown(Cooldown::fixed(secs(3)))
        .reopen(Reopen::Paced(Pace::new().at_least(2.0).at_most(2.0)))
        .restore(Learned { pace: Some(2.0), cooldown: None })
        .build()
}

/// Those who wait at a gate or passed it.
#[derive(Default)]
struct Callers {
    asking: Vec<PassingOwned>,
    passes: Vec<OwnedPass>,
}

impl Callers {
    fn pass(&mut self, index: &prop::sample::Index) -> Option<OwnedPass> {
        (!self.passes.is_empty()).then(|| self.passes.remove(index.index(self.passes.len())))
    }

    /// Polls one who waits; those who are let in leave the line.
    fn poll(&mut self, index: &prop::sample::Index) -> Option<OwnedPass> {
        let at = (!self.asking.is_empty()).then(|| index.index(self.asking.len()))?;
        let Poll::Ready(pass) = poll_once(&mut self.asking[at]) else { return None };
        drop(self.asking.remove(at));
        pass.ok()
    }

    /// How many passes ended by it.
    async fn act(&mut self, gate: &CooldownGate, op: &Op) -> usize {
        let ended = match op {
            Op::Ask => return self.ask(gate),
            Op::TryPass => {
                self.passes.extend(gate.try_pass_owned());
                return 0;
            }
            Op::Poll(index) => {
                let pass = self.poll(index);
                self.passes.extend(pass);
                return 0;
            }
            Op::CloseFor(length) => {
                gate.close_for(millis(*length));
                return 0;
            }
            Op::Advance(length) => {
                advance(millis(*length)).await;
                return 0;
            }
            Op::Leave(index) => {
                let pass = self.poll(index);
                if pass.is_none() && !self.asking.is_empty() {
                    drop(self.asking.remove(index.index(self.asking.len())));
                }
                pass.map(drop)
            }
            Op::Success(index) => self.pass(index).map(OwnedPass::success),
            Op::Drop(index) => self.pass(index).map(drop),
            Op::Throttled(index, hinted) => {
                let hint = hint(secs(5)).filter(|_| *hinted);
                self.pass(index).map(|pass| _ = pass.throttled(hint))
            }
        };
        usize::from(ended.is_some())
    }

    fn ask(&mut self, gate: &CooldownGate) -> usize {
        self.asking.push(gate.pass_owned());
        0
    }
}

async fn run(ops: Vec<Op>) -> Result<usize, TestCaseError> {
    let (gate, mut callers, start) = (at_a_fixed_pace(), Callers::default(), Instant::now());
    let mut slots: Vec<(u64, Duration)> = Vec::new();
    for op in &ops {
        let before = gate.snapshot();
        let ended = callers.act(&gate, op).await;
        let after = gate.snapshot();
        prop_assert_eq!(after.pace, Some(2.0));
        let granted = after.in_flight + ended - before.in_flight;
        match after.state {
            GateState::Paced => slots.extend(std::iter::repeat_n((after.epoch, start.elapsed()), granted)),
            GateState::HalfOpen => prop_assert!(granted <= 1, "{granted} probes at once"),
            GateState::Cooling { .. } => prop_assert_eq!(granted, 0),
            other => prop_assert!(false, "{other:?} is no state of this gate"),
        }
    }
    for (first, (epoch, from)) in slots.iter().enumerate() {
        let later = slots[first..].iter().filter(|(other, _)| other == epoch);
        for (between, (_, at)) in later.enumerate() {
            // The first may have been as late as a timer is.
            let most = (*at - *from + millis(2)).as_nanos() / INTERVAL.as_nanos() + 1;
            prop_assert!((between as u128) < most, "{} passes in {:?}: {slots:?}", between + 1, *at - *from);
        }
    }
    Ok(slots.len())
}

proptest! {
    #[test]
    fn cg5_whatever_happens_no_epoch_grants_more_than_its_slots(ops in prop::collection::vec(op(), 0..150)) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        runtime.block_on(run(ops))?;
    }
}
