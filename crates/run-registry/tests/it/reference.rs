//! Any sequence of operations gives what a naive registry gives: one list of runs, searched from end to end.

use std::time::Duration;

use proptest::prelude::*;
use tidegate_run_registry::{
    Admission, CancelOutcome, Ending, OnConflict, Run, RunId, RunRegistry, RunSpec, Status, TRANSITIONS,
    ThreadId,
};

#[derive(Clone, Debug)]
enum Op {
    Create { thread: u8, return_existing: bool },
    Start(prop::sample::Index),
    Finish(prop::sample::Index, Ending),
    Cancel(prop::sample::Index),
    DropHandle(prop::sample::Index),
    Advance(u8),
    Cleanup(u8),
}

fn op() -> impl Strategy<Value = Op> {
    let run = any::<prop::sample::Index>;
    let ending = prop::sample::select(vec![
        Ending::Success,
        Ending::Success,
        Ending::error("x"),
        Ending::Timeout,
        Ending::Interrupted,
    ]);
    prop_oneof![
        6 => (0..4u8, any::<bool>())
            .prop_map(|(thread, return_existing)| Op::Create { thread, return_existing }),
        4 => run().prop_map(Op::Start),
        4 => (run(), ending).prop_map(|(run, ending)| Op::Finish(run, ending)),
        3 => run().prop_map(Op::Cancel),
        2 => run().prop_map(Op::DropHandle),
        2 => (0..5u8).prop_map(Op::Advance),
        2 => (0..5u8).prop_map(Op::Cleanup),
    ]
}

/// A run as the naive registry sees it.
struct Naive {
    id: RunId,
    thread: u8,
    status: Status,
    finished: Option<u64>,
    known: bool,
    handle: Option<Run>,
}

impl Naive {
    fn enter(&mut self, next: Status, now: u64) -> bool {
        let row = TRANSITIONS.iter().find(|(from, _)| *from == self.status).unwrap();
        let allowed = row.1.contains(&next);
        if allowed {
            self.status = next;
            self.finished = next.is_terminal().then_some(now);
        }
        allowed
    }
}

#[derive(Default)]
struct World {
    registry: RunRegistry,
    runs: Vec<Naive>,
    now: u64,
}

fn thread_id(thread: u8) -> ThreadId {
    format!("thread-{thread}").into()
}

impl World {
    fn create(&mut self, thread: u8, return_existing: bool) {
        let blocking =
            self.runs.iter().find(|run| run.thread == thread && run.status.is_live()).map(|run| run.id);
        let policy = if return_existing { OnConflict::ReturnExisting } else { OnConflict::Reject };
        match (self.registry.create(thread_id(thread), RunSpec::new(), policy), blocking) {
            (Ok(Admission::Created(run)), None) => {
                let status = Status::Pending;
                let naive =
                    Naive { id: run.id(), thread, status, finished: None, known: true, handle: Some(run) };
                self.runs.push(naive);
            }
            (Ok(Admission::Existing(record)), Some(id)) => {
                assert!(return_existing);
                assert_eq!(record.id, id);
            }
            (Err(conflict), Some(id)) => {
                assert!(!return_existing);
                assert_eq!(conflict.run_id, id);
            }
            (other, blocking) => panic!("{other:?} although {blocking:?} blocks"),
        }
    }

    fn change(&mut self, at: usize, ending: Option<Ending>) {
        let now = self.now;
        let run = &mut self.runs[at];
        let next = ending.as_ref().map_or(Status::Running, Ending::status);
        let result = match ending {
            None => self.registry.try_start(run.id),
            Some(ending) => self.registry.finish(run.id, ending),
        };
        let expected = run.known && run.enter(next, now);
        assert_eq!(result.is_ok(), expected, "{result:?}");
    }

    fn cancel(&mut self, at: usize) {
        let now = self.now;
        let run = &mut self.runs[at];
        let expected = match run.status {
            _ if !run.known => CancelOutcome::Unknown,
            Status::Pending => CancelOutcome::Cancelled,
            Status::Running | Status::Cancelling => CancelOutcome::Cancelling,
            terminal => CancelOutcome::AlreadyTerminal(terminal),
        };
        assert_eq!(self.registry.cancel(run.id), expected);
        match expected {
            CancelOutcome::Cancelled => assert!(run.enter(Status::Interrupted, now)),
            CancelOutcome::Cancelling => drop(run.enter(Status::Cancelling, now)),
            _ => {}
        }
    }

    fn drop_handle(&mut self, at: usize) {
        let now = self.now;
        let run = &mut self.runs[at];
        if run.handle.take().is_some() && run.status.is_live() {
            let next = if run.status == Status::Running { Status::Error } else { Status::Interrupted };
            assert!(run.enter(next, now));
        }
    }

    fn cleanup(&mut self, retention: u64) {
        let mut removed = 0;
        for run in self.runs.iter_mut().filter(|run| run.known) {
            if run.finished.is_some_and(|finished| self.now - finished >= retention) {
                run.known = false;
                removed += 1;
            }
        }
        assert_eq!(self.registry.cleanup(Duration::from_secs(retention)), removed);
    }

    async fn apply(&mut self, op: Op) {
        let index = |index: &prop::sample::Index, runs: &[Naive]| {
            if runs.is_empty() { None } else { Some(index.index(runs.len())) }
        };
        match op {
            Op::Create { thread, return_existing } => self.create(thread, return_existing),
            Op::Start(run) => index(&run, &self.runs).into_iter().for_each(|at| self.change(at, None)),
            Op::Finish(run, ending) => {
                index(&run, &self.runs).into_iter().for_each(|at| self.change(at, Some(ending.clone())));
            }
            Op::Cancel(run) => index(&run, &self.runs).into_iter().for_each(|at| self.cancel(at)),
            Op::DropHandle(run) => index(&run, &self.runs).into_iter().for_each(|at| self.drop_handle(at)),
            Op::Advance(seconds) => {
                self.now += u64::from(seconds);
                tokio::time::advance(Duration::from_secs(seconds.into())).await;
            }
            Op::Cleanup(retention) => self.cleanup(retention.into()),
        }
    }

    fn compare(&self) {
        let known = || self.runs.iter().filter(|run| run.known);
        assert_eq!(self.registry.len(), known().count());
        for run in &self.runs {
            let status = self.registry.get(run.id).map(|record| record.status);
            assert_eq!(status, run.known.then_some(run.status));
        }
        for thread in 0..4 {
            let listed = self.registry.list_by_thread(&thread_id(thread));
            let listed: Vec<_> = listed.iter().map(|record| (record.id, record.status)).collect();
            let expected: Vec<_> =
                known().filter(|run| run.thread == thread).map(|run| (run.id, run.status)).collect();
            assert_eq!(listed, expected);
            let live = listed.iter().filter(|(_, status)| status.is_live()).count();
            assert!(live <= 1);
            assert_eq!(self.registry.has_inflight(&thread_id(thread)), live == 1);
        }
        let snapshot = self.registry.snapshot();
        assert_eq!(snapshot.live() + snapshot.finished(), self.registry.len());
    }
}

fn run(ops: Vec<Op>) {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let mut world = World::default();
        for op in ops {
            world.apply(op).await;
            world.compare();
        }
    });
}

proptest! {
    #[test]
    fn rr1_rr4_rr6_any_sequence_equals_a_naive_registry(ops in prop::collection::vec(op(), 0..80)) {
        run(ops);
    }
}
