//! Why an item was not sent, and why a pipeline aborted.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use tidegate_abort_signal::Reason;

use crate::PipelineReport;

/// An item that was not sent, because the pipeline stops: it drains (for a source), is aborted, or is over. The item comes
/// back.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Rejected<T>(pub T);

impl<T> Rejected<T> {
    /// The item.
    #[must_use]
    pub fn into_inner(self) -> T {
        self.0
    }
}

/// Never shows the item.
impl<T> fmt::Debug for Rejected<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Rejected(..)")
    }
}

impl<T> fmt::Display for Rejected<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the item was not sent")
    }
}

impl<T> Error for Rejected<T> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&Stopping)
    }
}

/// The source of every [`Rejected`], by which a chain of errors shows that a stop is at its root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopping;

impl fmt::Display for Stopping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the pipeline is stopping")
    }
}

impl Error for Stopping {}

/// Why a pipeline aborted.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Cause {
    /// A stage met an error after which no item can fare better.
    Fatal {
        /// The stage that met it.
        stage: Arc<str>,
        /// The error.
        error: Arc<dyn Error + Send + Sync>,
    },
    /// A closure panicked.
    Panicked {
        /// The stage whose closure it was.
        stage: Arc<str>,
        /// The text of the panic.
        message: Arc<str>,
    },
    /// A stage ended, but senders that it gave away stayed alive and silent, so that the next stage could not end.
    HeldOpen {
        /// The stage whose output was kept open.
        stage: Arc<str>,
        /// How many senders ([`Tx`](crate::Tx), [`Cx`](crate::Cx) and clones) were left.
        senders: usize,
    },
    /// Nothing reads the output of a stage: its [`Flow`](crate::Flow) was dropped, or leads into a pipeline that is over.
    Disconnected {
        /// The stage whose output leads nowhere.
        stage: Arc<str>,
    },
    /// The signal was aborted from outside, or by another pipeline that shares it.
    Signal(Arc<Reason>),
}

impl Cause {
    /// The stage it came from; none if it came from outside.
    #[must_use]
    pub fn stage(&self) -> Option<&str> {
        match self {
            Self::Fatal { stage, .. }
            | Self::Panicked { stage, .. }
            | Self::HeldOpen { stage, .. }
            | Self::Disconnected { stage } => Some(stage),
            Self::Signal(_) => None,
        }
    }

    /// The reason to raise the signal with.
    pub(crate) fn reason(&self) -> Reason {
        match self {
            Self::Fatal { stage, error } => Reason::new(format!("stage `{stage}` met a fatal error"))
                .with_source(Shared(Arc::clone(error))),
            Self::Signal(reason) => Reason::clone(reason),
            other => Reason::new(other.to_string()),
        }
    }
}

/// One line that holds the text of the error behind it too, and of what caused that.
impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fatal { stage, error } => {
                write!(f, "stage `{stage}` met a fatal error: {}", Chain(&**error))
            }
            Self::Panicked { stage, message } => write!(f, "stage `{stage}` panicked: {message}"),
            Self::HeldOpen { stage, senders } => {
                write!(f, "stage `{stage}` ended, but {senders} of its senders kept its output open")
            }
            Self::Disconnected { stage } => write!(f, "nothing reads the output of stage `{stage}`"),
            Self::Signal(reason) => reason.fmt(f),
        }
    }
}

/// Shows an error with what caused it: `outer: inner: innermost`.
pub(crate) struct Chain<'a>(pub(crate) &'a (dyn Error + 'static));

impl fmt::Display for Chain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)?;
        let mut link = self.0.source();
        while let Some(error) = link {
            write!(f, ": {error}")?;
            link = error.source();
        }
        Ok(())
    }
}

/// An error that the cause and the signal's reason share.
#[derive(Debug)]
struct Shared(Arc<dyn Error + Send + Sync>);

impl fmt::Display for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Error for Shared {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source()
    }
}

/// A pipeline that was aborted: the report as an error. Displays the cause.
#[derive(Debug)]
pub struct PipelineError {
    report: Box<PipelineReport>,
    cause: Cause,
}

impl PipelineError {
    pub(crate) fn new(report: PipelineReport, cause: Cause) -> Self {
        Self { report: Box::new(report), cause }
    }

    /// Why it was aborted.
    #[must_use]
    pub fn cause(&self) -> &Cause {
        &self.cause
    }

    /// Every number up to the abort.
    pub fn report(&self) -> &PipelineReport {
        &self.report
    }

    /// The report, by value.
    pub fn into_report(self) -> PipelineReport {
        *self.report
    }
}

impl fmt::Display for PipelineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = &self.report.name;
        match &self.cause {
            Cause::Fatal { stage, .. } => write!(f, "{name} aborted: stage `{stage}` met a fatal error"),
            other => write!(f, "{name} aborted: {other}"),
        }
    }
}

/// The source is the fatal error itself, or what stands behind the signal's reason.
impl Error for PipelineError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.cause {
            Cause::Fatal { error, .. } => Some(&**error),
            Cause::Signal(reason) => reason.source(),
            _ => None,
        }
    }
}
