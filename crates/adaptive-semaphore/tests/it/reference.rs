//! Any sequence of operations does what a naive semaphore of plain lists does.

use std::task::Poll;

use proptest::prelude::*;
use proptest::sample::Index;
use tidegate_adaptive_semaphore::{
    AcquireOwned, AdaptiveSemaphore, Closed, Outcome, OwnedPermit, Ramp, TryAcquireError,
};

use crate::common::poll;

const STEP: usize = 2;

#[derive(Clone, Debug)]
enum Op {
    Acquire,
    Try,
    Poll(Index),
    Cancel(Index),
    Tag(Index, u64),
    Release(Index, Outcome),
    SetLimit(usize),
    SetBounds(usize, usize),
    BeginEpoch,
    Close,
}

fn op() -> impl Strategy<Value = Op> {
    let outcome =
        prop_oneof![5 => Just(Outcome::Success), 2 => Just(Outcome::Overload), 1 => Just(Outcome::Ignored)];
    prop_oneof![
        12 => Just(Op::Acquire),
        4 => Just(Op::Try),
        8 => any::<Index>().prop_map(Op::Poll),
        4 => any::<Index>().prop_map(Op::Cancel),
        3 => (any::<Index>(), 0_u64..4).prop_map(|(index, tag)| Op::Tag(index, tag)),
        12 => (any::<Index>(), outcome).prop_map(|(index, outcome)| Op::Release(index, outcome)),
        3 => (0_usize..10).prop_map(Op::SetLimit),
        1 => (0_usize..10, 0_usize..10).prop_map(|(min, max)| Op::SetBounds(min, max)),
        1 => Just(Op::BeginEpoch),
        1 => prop_oneof![9 => Just(Op::BeginEpoch), 1 => Just(Op::Close)],
    ]
}

#[derive(Clone, Copy)]
struct Paper {
    id: usize,
    own: u64,
    tag: Option<u64>,
    full: bool,
}

/// What a semaphore is, said plainly.
struct Naive {
    limit: usize,
    min: usize,
    max: usize,
    closed: bool,
    epoch: u64,
    last_tag: Option<u64>,
    successes: usize,
    queue: Vec<usize>,
    granted: Vec<usize>,
    held: Vec<Paper>,
}

impl Naive {
    fn new(limit: usize) -> Self {
        Self {
            limit,
            min: 1,
            max: 32,
            closed: false,
            epoch: 0,
            last_tag: None,
            successes: 0,
            queue: Vec::new(),
            granted: Vec::new(),
            held: Vec::new(),
        }
    }

    fn out(&self) -> usize {
        self.granted.len() + self.held.len()
    }

    fn hold(&mut self, id: usize, waited: bool) {
        // Counted already if it was granted to a waiter.
        let out = self.out() + usize::from(!waited);
        self.granted.retain(|granted| *granted != id);
        self.held.push(Paper { id, own: self.epoch, tag: None, full: waited || out >= self.limit });
    }

    fn try_acquire(&mut self, id: usize) -> Result<(), TryAcquireError> {
        if self.closed {
            return Err(TryAcquireError::Closed);
        }
        if !self.queue.is_empty() || self.out() >= self.limit {
            return Err(TryAcquireError::NoPermits);
        }
        self.hold(id, false);
        Ok(())
    }

    fn acquire(&mut self, id: usize) -> Option<Result<(), Closed>> {
        match self.try_acquire(id) {
            Ok(()) => Some(Ok(())),
            Err(TryAcquireError::Closed) => Some(Err(Closed)),
            Err(_) => {
                self.queue.push(id);
                None
            }
        }
    }

    fn poll(&mut self, id: usize) -> Option<Result<(), Closed>> {
        if self.granted.contains(&id) {
            self.hold(id, true);
            return Some(Ok(()));
        }
        if self.queue.contains(&id) { None } else { Some(Err(Closed)) }
    }

    fn cancel(&mut self, id: usize) {
        self.queue.retain(|queued| *queued != id);
        self.granted.retain(|granted| *granted != id);
        self.hand_out();
    }

    fn stale(&self, paper: Paper) -> bool {
        let old_tag = paper.tag.is_some_and(|tag| self.last_tag.is_some_and(|last| tag <= last));
        paper.own < self.epoch || old_tag
    }

    fn release(&mut self, at: usize, outcome: Outcome) {
        let full = self.out() >= self.limit || !self.queue.is_empty();
        let paper = self.held.swap_remove(at);
        if !self.stale(paper) {
            match outcome {
                Outcome::Success if paper.full || full => {
                    self.successes += 1;
                    if self.successes >= STEP.max(self.limit) {
                        self.successes = 0;
                        self.limit = (self.limit + 1).min(self.max);
                    }
                }
                Outcome::Overload => {
                    self.successes = 0;
                    self.limit = (self.limit * 3 / 4).max(self.min);
                    self.epoch += 1;
                    if let Some(tag) = paper.tag {
                        self.last_tag = Some(tag);
                    }
                }
                _ => {}
            }
        }
        self.hand_out();
    }

    fn set_limit(&mut self, limit: usize) -> usize {
        self.limit = limit.max(self.min).min(self.max);
        self.successes = 0;
        self.hand_out();
        self.limit
    }

    fn set_bounds(&mut self, min: usize, max: usize) -> usize {
        self.min = min.max(1);
        self.max = max.max(self.min);
        self.set_limit(self.limit)
    }

    fn hand_out(&mut self) {
        while self.out() < self.limit && !self.queue.is_empty() {
            let id = self.queue.remove(0);
            self.granted.push(id);
        }
    }

    fn close(&mut self) {
        self.closed = true;
        self.queue.clear();
    }
}

struct Both {
    real: AdaptiveSemaphore,
    naive: Naive,
    waiting: Vec<(usize, AcquireOwned)>,
    permits: Vec<(usize, OwnedPermit)>,
    next: usize,
}

impl Both {
    fn new(limit: usize) -> Self {
        let real = AdaptiveSemaphore::builder().initial(limit).limit(Ramp::new().step_every(STEP)).build();
        Self { real, naive: Naive::new(limit), waiting: Vec::new(), permits: Vec::new(), next: 0 }
    }

    fn answered(
        &mut self,
        id: usize,
        mut acquire: AcquireOwned,
        expected: Option<Result<(), Closed>>,
    ) -> Result<(), TestCaseError> {
        match poll(&mut acquire) {
            Poll::Pending => {
                prop_assert_eq!(expected, None);
                self.waiting.push((id, acquire));
            }
            Poll::Ready(Ok(permit)) => {
                prop_assert_eq!(expected, Some(Ok(())));
                self.permits.push((id, permit));
            }
            Poll::Ready(Err(closed)) => prop_assert_eq!(expected, Some(Err(closed))),
        }
        Ok(())
    }

    fn apply(&mut self, op: &Op) -> Result<(), TestCaseError> {
        match op {
            Op::Acquire => {
                self.next += 1;
                let expected = self.naive.acquire(self.next);
                self.answered(self.next, self.real.acquire_owned(), expected)?;
            }
            Op::Try => {
                self.next += 1;
                let taken = self.real.try_acquire_owned();
                prop_assert_eq!(
                    taken.as_ref().map(|_| ()).map_err(|e| *e),
                    self.naive.try_acquire(self.next)
                );
                self.permits.extend(taken.ok().map(|permit| (self.next, permit)));
            }
            Op::Poll(index) if !self.waiting.is_empty() => {
                let (id, acquire) = self.waiting.remove(index.index(self.waiting.len()));
                let expected = self.naive.poll(id);
                self.answered(id, acquire, expected)?;
            }
            Op::Cancel(index) if !self.waiting.is_empty() => {
                let (id, acquire) = self.waiting.swap_remove(index.index(self.waiting.len()));
                drop(acquire);
                self.naive.cancel(id);
            }
            Op::Tag(index, tag) if !self.permits.is_empty() => {
                let at = index.index(self.permits.len());
                let id = self.permits[at].0;
                self.permits[at].1.tag_epoch(*tag);
                for paper in self.naive.held.iter_mut().filter(|paper| paper.id == id) {
                    paper.tag = Some(*tag);
                }
            }
            Op::Release(index, outcome) if !self.permits.is_empty() => {
                let (id, mut permit) = self.permits.swap_remove(index.index(self.permits.len()));
                permit.set_outcome(*outcome);
                drop(permit);
                let at = self.naive.held.iter().position(|paper| paper.id == id).unwrap();
                self.naive.release(at, *outcome);
            }
            Op::SetLimit(limit) => prop_assert_eq!(self.real.set_limit(*limit), self.naive.set_limit(*limit)),
            Op::SetBounds(min, max) => {
                prop_assert_eq!(self.real.set_bounds(*min..=*max), self.naive.set_bounds(*min, *max));
            }
            Op::BeginEpoch => {
                self.naive.epoch += 1;
                prop_assert_eq!(self.real.begin_epoch(), self.naive.epoch);
            }
            Op::Close => {
                self.real.close();
                self.naive.close();
            }
            Op::Poll(_) | Op::Cancel(_) | Op::Tag(..) | Op::Release(..) => {}
        }
        self.equal()
    }

    fn equal(&self) -> Result<(), TestCaseError> {
        let (state, naive) = (self.real.snapshot(), &self.naive);
        prop_assert_eq!((state.limit, state.min, state.max), (naive.limit, naive.min, naive.max));
        prop_assert_eq!((state.in_flight, state.waiting), (naive.out(), naive.queue.len()));
        prop_assert_eq!((state.epoch, state.closed), (naive.epoch, naive.closed));
        for (id, permit) in &self.permits {
            let paper = naive.held.iter().find(|paper| paper.id == *id).unwrap();
            prop_assert_eq!(permit.is_stale(), naive.stale(*paper));
        }
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn as1_any_sequence_of_operations_equals_a_naive_semaphore(
        limit in 1_usize..8,
        ops in prop::collection::vec(op(), 0..150),
    ) {
        let mut both = Both::new(limit);
        for op in ops {
            both.apply(&op)?;
        }
        // Everything comes back, and exactly the limit is there again.
        both.waiting.clear();
        both.permits.clear();
        let state = both.real.snapshot();
        prop_assert_eq!((state.in_flight, state.waiting), (0, 0));
        let summary = both.real.summary();
        prop_assert_eq!(summary.granted, summary.successes + summary.overloads + summary.ignored);
        if !state.closed {
            let all: Vec<_> = (0..state.limit).map(|_| both.real.try_acquire().unwrap()).collect();
            prop_assert_eq!(both.real.try_acquire().unwrap_err(), TryAcquireError::NoPermits);
            drop(all);
        }
    }
}
