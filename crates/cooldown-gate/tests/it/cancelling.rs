//! Whatever is dropped, whenever: nothing stays behind, and the gate still works.

use std::task::Poll;
use std::time::Duration;

use proptest::prelude::*;
use tidegate_cooldown_gate::{CooldownGate, OwnedPass, Pace, PassingOwned, Reopen};
use tokio::time::advance;

use crate::{assert_idle, hint, poll_once, secs};

#[derive(Clone, Debug)]
enum Op {
    Ask,
    Poll(prop::sample::Index),
    Leave(prop::sample::Index),
    Success(prop::sample::Index),
    Throttled(prop::sample::Index, bool),
    Drop(prop::sample::Index),
    CloseFor(u64),
    Advance(u64),
    OpenNow,
    Wait,
}

fn op() -> impl Strategy<Value = Op> {
    let one = any::<prop::sample::Index>;
    prop_oneof![
        6 => Just(Op::Ask),
        8 => one().prop_map(Op::Poll),
        3 => one().prop_map(Op::Leave),
        2 => one().prop_map(Op::Success),
        2 => (one(), any::<bool>()).prop_map(|(one, hinted)| Op::Throttled(one, hinted)),
        3 => one().prop_map(Op::Drop),
        2 => (1_u64..100).prop_map(Op::CloseFor),
        5 => (1_u64..100).prop_map(Op::Advance),
        1 => Just(Op::OpenNow),
        1 => Just(Op::Wait),
    ]
}

fn reopen() -> impl Strategy<Value = Reopen> {
    prop_oneof![
        Just(Reopen::AtOnce),
        Just(Reopen::Spread(secs(20))),
        Just(Reopen::Paced(Pace::new())),
        Just(Reopen::Probe { in_flight: 2, successes: 3 }),
    ]
}

fn taken<T>(all: &mut Vec<T>, index: &prop::sample::Index) -> Option<T> {
    (!all.is_empty()).then(|| all.remove(index.index(all.len())))
}

async fn run(ops: Vec<Op>, reopen: Reopen) {
    let gate = CooldownGate::builder().cooldown(secs(30)).reopen(reopen).build();
    let mut asking: Vec<PassingOwned> = Vec::new();
    let mut passes: Vec<OwnedPass> = Vec::new();
    for op in &ops {
        match op {
            Op::Ask => asking.push(gate.pass_owned()),
            Op::Poll(index) if !asking.is_empty() => {
                let at = index.index(asking.len());
                if let Poll::Ready(pass) = poll_once(&mut asking[at]) {
                    drop(asking.remove(at));
                    passes.push(pass.unwrap());
                }
            }
            Op::Poll(_) => {}
            Op::Leave(index) => drop(taken(&mut asking, index)),
            Op::Success(index) => {
                if let Some(pass) = taken(&mut passes, index) {
                    pass.success();
                }
            }
            Op::Throttled(index, hinted) => {
                let hint = hint(secs(5)).filter(|_| *hinted);
                if let Some(pass) = taken(&mut passes, index) {
                    pass.throttled(hint);
                }
            }
            Op::Drop(index) => drop(taken(&mut passes, index)),
            Op::CloseFor(length) => {
                gate.close_for(secs(*length));
            }
            Op::Advance(length) => advance(secs(*length)).await,
            Op::OpenNow => gate.open_now(),
            Op::Wait => {
                let _ = poll_once(&mut gate.wait());
            }
        }
        let snapshot = gate.snapshot();
        assert!(snapshot.waiting <= asking.len(), "{snapshot:?}");
        assert!(snapshot.in_flight >= passes.len(), "{snapshot:?}");
        assert!(snapshot.in_flight + snapshot.waiting <= passes.len() + asking.len(), "{snapshot:?}");
    }
    drop(asking);
    drop(passes);
    assert_idle(&gate.snapshot());
    advance(gate.snapshot().remaining).await;
    if let Some(pace) = gate.snapshot().pace {
        advance(Duration::from_secs_f64(2.0 / pace)).await;
    }
    assert!(gate.is_open(), "wedged: {:?}", gate.snapshot());
    gate.try_pass().unwrap().success();
    assert_idle(&gate.snapshot());
}

proptest! {
    #[test]
    fn cg6_whatever_is_dropped_nothing_stays_behind(
        ops in prop::collection::vec(op(), 0..120),
        reopen in reopen(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        runtime.block_on(run(ops, reopen));
    }
}

#[tokio::test(start_paused = true)]
async fn cg6_waiters_aborted_in_every_state_leave_nothing_behind() {
    let gate = CooldownGate::new();
    gate.close_for(secs(10));
    let tasks: Vec<_> = (0..100)
        .map(|_| {
            let gate = gate.clone();
            tokio::spawn(async move {
                let pass = gate.pass().await.unwrap();
                tokio::time::sleep(secs(1)).await;
                pass.success();
            })
        })
        .collect();
    tokio::time::sleep(Duration::from_millis(10_500)).await;
    assert_eq!((gate.snapshot().waiting, gate.snapshot().in_flight), (99, 1));
    for task in tasks {
        task.abort();
        assert!(task.await.unwrap_err().is_cancelled());
    }
    assert_idle(&gate.snapshot());
    assert!(gate.try_pass().is_ok());
}
