//! What all stages of a pipeline share: the signal, why it was raised, and the numbers.

use std::any::Any;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use tidegate_abort_signal::{AbortSignal, Level};

use crate::Cause;
use crate::report::StagePanic;
use crate::step::BoxError;
use crate::tally::Tally;

/// How many panics are kept with their text.
pub(crate) const PANICS: usize = 64;

pub(crate) struct Control {
    pub(crate) name: Arc<str>,
    pub(crate) signal: AbortSignal,
    cause: OnceLock<Cause>,
    drained: AtomicBool,
    panics: Mutex<Vec<StagePanic>>,
    tallies: Mutex<Vec<Arc<Tally>>>,
}

impl Control {
    pub(crate) fn new(name: Arc<str>, signal: AbortSignal) -> Self {
        Self {
            name,
            signal,
            cause: OnceLock::new(),
            drained: AtomicBool::new(false),
            panics: Mutex::new(Vec::new()),
            tallies: Mutex::new(Vec::new()),
        }
    }

    pub(crate) fn register(&self, tally: Tally) -> Arc<Tally> {
        let tally = Arc::new(tally);
        self.tallies.lock().push(Arc::clone(&tally));
        tally
    }

    pub(crate) fn tallies(&self) -> Vec<Arc<Tally>> {
        self.tallies.lock().clone()
    }

    /// Raises the signal; the first to do so is the cause.
    pub(crate) fn abort(&self, cause: Cause) {
        if self.signal.abort(cause.reason()) {
            // Cannot be set already: the signal is raised once, and only who raised it comes here.
            let _ = self.cause.set(cause);
        }
    }

    pub(crate) fn fatal(&self, tally: &Tally, error: BoxError) {
        tally.note_error(&*error);
        self.abort(Cause::Fatal { stage: Arc::clone(&tally.name), error: Arc::from(error) });
    }

    /// The output of this stage leads nowhere. After an abort that is how it should be.
    pub(crate) fn disconnected(&self, tally: &Tally) {
        if !self.signal.is_aborted() {
            self.abort(Cause::Disconnected { stage: Arc::clone(&tally.name) });
        }
    }

    /// Lists a panic, and aborts unless it is to be skipped.
    pub(crate) fn panicked(&self, tally: &Tally, message: Arc<str>, skip: bool) {
        {
            let mut panics = self.panics.lock();
            if panics.len() < PANICS {
                panics.push(StagePanic { stage: tally.name.to_string(), message: message.to_string() });
            }
        }
        if !skip {
            self.abort(Cause::Panicked { stage: Arc::clone(&tally.name), message });
        }
    }

    pub(crate) fn panics(&self) -> Vec<StagePanic> {
        self.panics.lock().clone()
    }

    /// A source ends, or is refused: if the signal drains, it ends early, and the run counts as drained.
    pub(crate) fn source_ended(&self) {
        if self.signal.level() >= Level::Drain {
            // Ordering: Relaxed; read after the workers were joined.
            self.drained.store(true, Ordering::Relaxed);
        }
    }

    pub(crate) fn was_drained(&self) -> bool {
        // Ordering: Relaxed; see `source_ended`.
        self.drained.load(Ordering::Relaxed)
    }

    /// Why the pipeline aborted, if it did: its own cause, or the reason that came from outside.
    pub(crate) fn cause(&self) -> Option<Cause> {
        let outside = || self.signal.reason_of(Level::Abort).map(Cause::Signal);
        self.cause.get().cloned().or_else(outside)
    }

    /// Whether the cause lies in this pipeline.
    pub(crate) fn has_own_cause(&self) -> bool {
        self.cause.get().is_some()
    }
}

/// The text of a panic. The payload itself is leaked if it is anything but a text: its drop could panic again.
pub(crate) fn text_of(payload: Box<dyn Any + Send>) -> Arc<str> {
    match payload.downcast::<String>() {
        Ok(text) => Arc::from(*text),
        Err(payload) => match payload.downcast::<&'static str>() {
            Ok(text) => Arc::from(*text),
            Err(payload) => {
                std::mem::forget(payload);
                Arc::from("a panic without a text")
            }
        },
    }
}
