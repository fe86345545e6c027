//! The sink that hands its items to a single writer.
//!
//! One worker keeps up to [`OUTSTANDING`] receipts and looks at the oldest first: a writer answers in the order of the
//! sends. At an abort it sends nothing more, but still takes the answers to what was sent, so that a record that is
//! committed is counted as such.

use std::collections::VecDeque;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;

use tidegate_core::{Class, Classify};
use tidegate_single_writer::{Receipt, Sink, WriteError, Writer};
use tokio::time::Instant;

use crate::channel::Input;
use crate::control::Control;
use crate::count::{Count, Span, waiting};
use crate::run::{Launched, Part};
use crate::stage::{caught, closing};
use crate::tally::{Item, Tally};

/// How many records may be sent and not yet answered: enough for several of a writer's batches.
const OUTSTANDING: usize = 1024;

/// A writer's sink that was declared and does not run yet.
pub(crate) struct WriterSink<S: Sink, C> {
    pub(crate) tally: Arc<Tally>,
    pub(crate) input: Arc<Input<S::Record>>,
    pub(crate) writer: Writer<S>,
    pub(crate) classify: C,
}

/// Only a refused record fails alone: after anything else the writer cannot be trusted to write the next one.
pub(crate) fn by_kind<E>(error: &WriteError<E>) -> Class {
    match error {
        WriteError::Refused(_) => Class::Terminal,
        _ => Class::Fatal,
    }
}

impl<S, C> Part for WriterSink<S, C>
where
    S: Sink,
    C: Classify<WriteError<S::Error>> + Send + Sync + 'static,
{
    fn tally(&self) -> &Arc<Tally> {
        &self.tally
    }

    fn connect(&mut self) -> bool {
        true
    }

    fn launch(self: Box<Self>, control: &Arc<Control>) -> Launched {
        let tally = Arc::clone(&self.tally);
        let close = closing(Arc::clone(&self.input), Arc::clone(&tally));
        let worker = Box::pin(self.write(Arc::clone(control)));
        Launched { tally, workers: vec![worker], close: Some(close) }
    }
}

/// A record that was sent.
struct Sent<'a, S: Sink> {
    taken: Item<'a>,
    at: Instant,
    receipt: Receipt<S::Ack, S::Error>,
}

/// What a worker can go on with.
enum Next<S: Sink> {
    Aborted,
    Answer(Result<(), WriteError<S::Error>>),
    Record(Option<S::Record>),
}

impl<S, C> WriterSink<S, C>
where
    S: Sink,
    C: Classify<WriteError<S::Error>>,
{
    async fn write(self: Box<Self>, control: Arc<Control>) {
        let tally = &*self.tally;
        // With records under way, waiting for the next one is not starving.
        let (blocked, waited) = (Count::default(), Count::default());
        let mut aborted = pin!(control.signal.aborted());
        let mut sent: VecDeque<Sent<'_, S>> = VecDeque::new();
        let mut busy = None;
        let mut open = true;
        while open || !sent.is_empty() {
            let wait = if sent.is_empty() { &tally.starved } else { &waited };
            let (some, room) = (!sent.is_empty(), sent.len() < OUTSTANDING);
            let next = tokio::select! {
                biased;
                () = &mut aborted => Next::<S>::Aborted,
                answer = oldest(&mut sent), if some => Next::Answer(answer),
                record = waiting(self.input.next(), [wait]), if open && room => Next::Record(record),
            };
            match next {
                Next::Aborted => break,
                Next::Answer(answer) => self.answered(sent.pop_front(), answer, &control),
                Next::Record(None) => open = false,
                Next::Record(Some(record)) => {
                    let taken = tally.take();
                    if control.signal.is_aborted() {
                        break;
                    }
                    busy.get_or_insert_with(|| Span::start(&tally.busy, &blocked));
                    let at = Instant::now();
                    let sending = caught(self.writer.send(record));
                    let receipt = tokio::select! {
                        biased;
                        () = &mut aborted => break,
                        sending = waiting(sending, [&tally.blocked, &blocked]) => sending,
                    };
                    match receipt {
                        Ok(Ok(receipt)) => sent.push_back(Sent { taken, at, receipt }),
                        Ok(Err(_)) => control.fatal(tally, WriteError::<S::Error>::Closed.to_string().into()),
                        Err(message) => {
                            taken.settle(|tally| &tally.panicked);
                            control.panicked(tally, message, false);
                        }
                    }
                }
            }
            if sent.is_empty() {
                busy = None;
            }
        }
        if control.signal.is_aborted() && open {
            tally.stop();
        }
        // After an abort: nothing more is sent, what was sent is answered.
        while !sent.is_empty() {
            let answer = oldest(&mut sent).await;
            self.answered(sent.pop_front(), answer, &control);
        }
        drop(busy);
    }

    /// Counts a record by its answer.
    fn answered(
        &self,
        sent: Option<Sent<'_, S>>,
        answer: Result<(), WriteError<S::Error>>,
        control: &Control,
    ) {
        let Some(Sent { taken, at, .. }) = sent else { return };
        let tally = &*self.tally;
        let error = match answer {
            Ok(()) => {
                tally.times.record(at.elapsed());
                return taken.settle(|tally| &tally.completed);
            }
            Err(error) => error,
        };
        if error.was_left() {
            // Dropped unsettled: left. A writer that stopped by itself can take no other record either.
            if !control.signal.is_aborted() {
                control.fatal(tally, Box::new(error));
            }
            return;
        }
        tally.times.record(at.elapsed());
        let class = self.classify.classify(&error);
        if let WriteError::Panicked(message) = error {
            taken.settle(|tally| &tally.panicked);
            return control.panicked(tally, message, class != Class::Fatal);
        }
        match class {
            Class::Throttled(_) => taken.settle(|tally| &tally.throttled),
            _ => taken.settle(|tally| &tally.failed),
        }
        if class == Class::Fatal {
            control.fatal(tally, Box::new(error));
        } else {
            tally.note_error(&error);
        }
    }
}

/// The answer to the oldest record that was sent; pending if there is none. Dropped while pending, it loses nothing.
async fn oldest<S: Sink>(sent: &mut VecDeque<Sent<'_, S>>) -> Result<(), WriteError<S::Error>> {
    std::future::poll_fn(|context| match sent.front_mut() {
        Some(sent) => Pin::new(&mut sent.receipt).poll(context).map_ok(drop),
        None => Poll::Pending,
    })
    .await
}
