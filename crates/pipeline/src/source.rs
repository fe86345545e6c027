//! A source: one future that sends items until it has no more, or is told to stop.

use std::error::Error;
use std::pin::pin;
use std::sync::Arc;

use crate::channel::{Outlet, Tx};
use crate::control::Control;
use crate::count::{Count, Span};
use crate::error::Stopping;
use crate::flow::Slot;
use crate::run::{Launched, Part};
use crate::stage::caught;
use crate::step::SourceEnd;
use crate::tally::Tally;

/// A source that was declared and does not run yet.
pub(crate) struct Source<T, F> {
    pub(crate) tally: Arc<Tally>,
    pub(crate) output: Slot<T>,
    pub(crate) open: F,
}

impl<T, F, Fut> Part for Source<T, F>
where
    T: Send + 'static,
    F: FnOnce(Tx<T>) -> Fut + Send + 'static,
    Fut: Future + Send + 'static,
    Fut::Output: SourceEnd,
{
    fn tally(&self) -> &Arc<Tally> {
        &self.tally
    }

    fn connect(&mut self) -> bool {
        self.output.connect()
    }

    fn launch(self: Box<Self>, control: &Arc<Control>) -> Launched {
        let Self { tally, output, open } = *self;
        let blocked = Arc::default();
        let outlet = output.wire().map(|wire| Outlet::new(wire, &tally, control, &blocked));
        let task = feed(outlet, open, Arc::clone(&tally), Arc::clone(control), blocked);
        Launched { tally, workers: vec![Box::pin(task)], close: None }
    }
}

/// Runs a source to its end, or until the abort. Without an outlet the pipeline is aborted already.
async fn feed<T, F, Fut>(
    outlet: Option<Outlet<T>>,
    open: F,
    tally: Arc<Tally>,
    control: Arc<Control>,
    blocked: Arc<Count>,
) where
    F: FnOnce(Tx<T>) -> Fut,
    Fut: Future,
    Fut::Output: SourceEnd,
{
    let span = Span::start(&tally.busy, &blocked);
    let source = async move {
        match outlet {
            Some(outlet) => open(Tx::new(outlet)).await.into_end(),
            None => Ok(()),
        }
    };
    let end = tokio::select! {
        biased;
        () = control.signal.aborted() => None,
        end = pin!(caught(source)) => Some(end),
    };
    drop(span);
    match end {
        None => tally.stop(),
        Some(Ok(Ok(()))) => {}
        Some(Ok(Err(error))) => {
            if !stems_from_stopping(&*error) {
                control.fatal(&tally, error);
            }
        }
        Some(Err(message)) => {
            control.panicked(&tally, message, false);
        }
    }
    control.source_ended();
}

/// Whether the pipeline's own stop is at the root of the error.
fn stems_from_stopping(error: &(dyn Error + 'static)) -> bool {
    let mut link = Some(error);
    while let Some(error) = link {
        if error.is::<Stopping>() {
            return true;
        }
        link = error.source();
    }
    false
}
