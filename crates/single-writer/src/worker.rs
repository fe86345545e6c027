//! The owner thread: waits, gathers a batch, writes it, answers, and at the end closes the sink.
//!
//! # Phases
//! | phase | takes commands | ends |
//! |---|---|---|
//! | open | yes | never by itself |
//! | draining | what is queued; the queue is closed to producers | once the queue is empty: [`End::Drained`] |
//! | over | no | with the [`End`] it carries |
//!
//! A phase only ever moves down this table. The stop and the cut are looked at before every batch, and the stop before
//! every record too.
//!
//! # Invariants
//! - I1: every command that was taken from the queue is settled before the next wait.
//! - I2: after the end is said, commands still come from producers who got their place before the queue was closed:
//!   they are answered until no place is out any more, so no receipt is left waiting.
//! - I3: no code of the user's runs under the book's lock.

use std::convert::Infallible;
use std::future::poll_fn;
use std::mem;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tidegate_core::Stop;
use tidegate_sync::{Clock, parker};
use tokio::sync::mpsc::error::TryRecvError;
use tokio::sync::{mpsc, oneshot};

use crate::batch::{AnswerOf, Batch, Entry, Fault, Item, Written, guard};
use crate::builder::OnFailure;
use crate::owner::Heard;
use crate::shared::{Command, Finish, Shared};
use crate::{End, Sink, WriteError};

/// What bounds a batch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) max_batch: usize,
    pub(crate) max_batch_bytes: usize,
    pub(crate) linger: Duration,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Open,
    Draining,
    Over(End),
}

pub(crate) struct Worker<S: Sink> {
    queue: mpsc::Receiver<Command<S>>,
    orders: Heard,
    shared: Shared<S::Error>,
    finish: Finish,
    limits: Limits,
    on_failure: Option<OnFailure<S::Error>>,
    phase: Phase,
    entries: Vec<Entry<S>>,
    flushes: Vec<oneshot::Sender<Infallible>>,
}

impl<S: Sink> Worker<S> {
    pub(crate) fn new(
        queue: mpsc::Receiver<Command<S>>,
        orders: Heard,
        shared: Shared<S::Error>,
        finish: Finish,
        limits: Limits,
        on_failure: Option<OnFailure<S::Error>>,
    ) -> Self {
        let (phase, entries, flushes) = (Phase::Open, Vec::new(), Vec::new());
        Self { queue, orders, shared, finish, limits, on_failure, phase, entries, flushes }
    }

    /// The life of the thread.
    pub(crate) fn run<P: Stop>(mut self, mut sink: S, stop: &P) {
        let mut stopped = pin!(stop.stopped());
        let end = loop {
            match parker::block_on(poll_fn(|cx| self.poll_next(cx, stopped.as_mut()))) {
                Ok(first) => self.gather(first, stopped.as_mut()),
                Err(end) => break end,
            }
            self.write(&mut sink, stop);
            if self.queue.is_empty() {
                self.guarded(|| sink.idle());
            }
        };
        self.end(sink, end);
    }

    /// The next command, or the end if the phase is over.
    fn poll_next<F: Future<Output = ()>>(
        &mut self,
        cx: &mut Context<'_>,
        stopped: Pin<&mut F>,
    ) -> Poll<Result<Command<S>, End>> {
        if let Phase::Over(end) = self.phase {
            return Poll::Ready(Err(end));
        }
        if stopped.poll(cx).is_ready() {
            return self.over(End::Aborted);
        }
        if self.orders.cut.given(cx) {
            return self.over(End::Deadline);
        }
        if self.orders.drain.given(cx) {
            self.phase = Phase::Draining;
            self.queue.close();
        }
        match self.queue.poll_recv(cx) {
            Poll::Ready(Some(command)) => Poll::Ready(Ok(command)),
            Poll::Ready(None) => self.over(End::Drained),
            Poll::Pending => Poll::Pending,
        }
    }

    fn over(&mut self, end: End) -> Poll<Result<Command<S>, End>> {
        self.phase = Phase::Over(end);
        Poll::Ready(Err(end))
    }

    /// Takes what is queued, up to the limits, and lingers for more if it may.
    fn gather<F: Future<Output = ()>>(&mut self, first: Command<S>, mut stopped: Pin<&mut F>) {
        let linger = (!self.limits.linger.is_zero()).then(|| {
            let clock = Clock::default();
            let until = clock.now().saturating_add(self.limits.linger);
            (clock, until)
        });
        let mut bytes = self.take(first);
        for _ in 1..self.limits.max_batch {
            if bytes >= self.limits.max_batch_bytes {
                break;
            }
            let next = match (self.queue.try_recv(), &linger) {
                (Ok(command), _) => Some(command),
                (Err(TryRecvError::Empty), Some((clock, until))) if self.may_linger() => {
                    let next = poll_fn(|cx| self.poll_next(cx, stopped.as_mut()));
                    parker::block_on_until(next, clock, *until).and_then(Result::ok)
                }
                (Err(_), _) => None,
            };
            let Some(command) = next else { break };
            bytes = bytes.saturating_add(self.take(command));
        }
    }

    /// A flush and a drain have somebody who waits for this very batch.
    fn may_linger(&self) -> bool {
        self.flushes.is_empty() && self.phase == Phase::Open
    }

    /// Puts a command into the batch in hand and gives its weight.
    fn take(&mut self, command: Command<S>) -> usize {
        match command {
            Command::Write(item) => {
                let weight = item.weight;
                self.entries.push(Entry::new(item));
                weight
            }
            Command::Flush(done) => {
                self.flushes.push(done);
                0
            }
        }
    }

    /// Writes the batch in hand and settles it.
    fn write<P: Stop>(&mut self, sink: &mut S, stop: &P) {
        if !self.entries.is_empty() {
            let batches = self.shared.stats().batches;
            let written = Batch::new(sink, &mut self.entries, stop, batches).write();
            self.book(&written);
            self.tell_failures();
            let mut entries = mem::take(&mut self.entries);
            for (item, answer) in entries.drain(..).map(Entry::into_answer) {
                self.settle(item, answer);
            }
            self.entries = entries;
        }
        self.flushes.clear();
    }

    /// Counts before anybody is answered: who holds an answer finds itself in the numbers.
    fn book(&mut self, written: &Written) {
        let failures: Vec<_> = self.entries.iter().filter_map(Entry::failure).collect();
        let rows = self.entries.len() - failures.len();
        self.shared.tally(|tally| {
            tally.stats.batches = written.batches;
            tally.stats.rows += rows as u64;
            tally.stats.replayed += u64::from(written.replayed);
            for failure in &failures {
                tally.count_failure(failure);
            }
            for text in &written.panics {
                tally.count_panic(text);
            }
        });
    }

    fn tell_failures(&mut self) {
        let Some(mut on_failure) = self.on_failure.take() else { return };
        for failure in self.entries.iter().filter_map(Entry::failure) {
            self.guarded(|| on_failure(&failure));
        }
        self.on_failure = Some(on_failure);
    }

    /// The queue is over: answers what is left in it, closes the sink, says the end, and answers stragglers.
    fn end(mut self, mut sink: S, end: End) {
        let reason = if end == End::Aborted { WriteError::Aborted } else { WriteError::Closed };
        self.queue.close();
        while let Ok(command) = self.queue.try_recv() {
            self.leave(command, &reason);
        }
        let closed = guard(|| sink.close());
        self.shared.tally(|tally| match closed {
            Ok(()) => {}
            Err(Fault::Error(error)) => tally.close_error = Some(Arc::new(error)),
            Err(Fault::Panic(text)) => tally.count_panic(&text),
        });
        self.guarded(|| drop(sink));
        self.finish.say(end);
        while let Some(command) = parker::block_on(self.queue.recv()) {
            self.leave(command, &reason);
        }
    }

    /// Answers a command that is not tried.
    fn leave(&mut self, command: Command<S>, reason: &WriteError<S::Error>) {
        let Command::Write(item) = command else { return };
        self.shared.tally(|tally| tally.count_failure(reason));
        if let Some(mut on_failure) = self.on_failure.take() {
            self.guarded(|| on_failure(reason));
            self.on_failure = Some(on_failure);
        }
        self.settle(item, Err(reason.clone()));
    }

    /// Drops the record and answers its receipt, if anybody still holds it.
    fn settle(&self, item: Item<S>, answer: AnswerOf<S>) {
        let Item { record, weight: _, reply } = item;
        self.guarded(|| drop(record));
        // An error says that the receipt was dropped: its holder wants no answer.
        self.guarded(|| drop(reply.send(answer)));
    }

    /// Runs code of the user's that has no answer of its own; a panic in it is counted.
    fn guarded(&self, code: impl FnOnce()) {
        let run = guard(|| {
            code();
            Ok::<(), Infallible>(())
        });
        if let Err(Fault::Panic(text)) = run {
            self.shared.tally(|tally| tally.count_panic(&text));
        }
    }
}
