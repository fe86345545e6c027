//! How an item ends.

use std::convert::Infallible;
use std::error::Error;
use std::fmt;

/// An error of any type, as [`Step::fail`] takes it: `&str` and `String` are converted too.
pub type BoxError = Box<dyn Error + Send + Sync>;

/// What a stage's closure says about its item: how it ends, and what goes on to the next stage.
///
/// | made by | counted as | then |
/// |---|---|---|
/// | [`emit`](Step::emit), [`done`](Step::done) | completed | the run goes on |
/// | [`filter`](Step::filter) | filtered | the run goes on |
/// | [`fail`](Step::fail) | failed | the run goes on; the error is kept in the report |
/// | [`throttled`](Step::throttled) | throttled | the same: given up because the service kept refusing |
/// | [`fatal`](Step::fatal) | failed | the pipeline aborts with this error as its cause |
///
/// The count and the output are independent: [`and_emit`](Step::and_emit) and [`aside`](Step::aside) send a value on from
/// any end but a fatal one, so that a failure can become an *error record* on its way to the writer and still be counted as
/// failed. Whoever emits more than one item uses [`Cx::emit`](crate::Cx::emit), and ends with [`done`](Step::done).
///
/// ```
/// use tidegate_pipeline::Step;
///
/// fn parse(text: &str) -> Step<u32, String> {
///     match text.parse() {
///         Ok(number) => Step::emit(number),
///         Err(error) => Step::fail(error).aside(format!("`{text}` is no number")),
///     }
/// }
/// # parse("7");
/// ```
#[must_use = "it says how the item ends"]
pub struct Step<U, E = Infallible> {
    pub(crate) end: End,
    pub(crate) main: Option<U>,
    pub(crate) side: Option<E>,
}

pub(crate) enum End {
    Completed,
    Filtered,
    Failed(BoxError),
    Throttled(BoxError),
    Fatal(BoxError),
}

impl<U, E> Step<U, E> {
    const fn of(end: End) -> Self {
        Self { end, main: None, side: None }
    }

    /// Completed, and `item` goes on to the next stage.
    pub fn emit(item: U) -> Self {
        Self::of(End::Completed).and_emit(item)
    }

    /// Completed, with nothing more to emit.
    pub const fn done() -> Self {
        Self::of(End::Completed)
    }

    /// Looked at and left out.
    pub const fn filter() -> Self {
        Self::of(End::Filtered)
    }

    /// This item failed; the others are not concerned.
    pub fn fail(error: impl Into<BoxError>) -> Self {
        Self::of(End::Failed(error.into()))
    }

    /// This item was given up because the service kept throttling it.
    pub fn throttled(error: impl Into<BoxError>) -> Self {
        Self::of(End::Throttled(error.into()))
    }

    /// No other item can fare better: the whole pipeline aborts, and `error` is its cause. Nothing is emitted with it.
    pub fn fatal(error: impl Into<BoxError>) -> Self {
        Self::of(End::Fatal(error.into()))
    }

    /// Sends `item` on to the next stage, however this one ends. The last call counts.
    pub fn and_emit(mut self, item: U) -> Self {
        self.main = Some(item);
        self
    }

    /// Sends `item` to the second output of [`stage_aside`](crate::Pipeline::stage_aside), however this one ends. The last
    /// call counts. It goes out after the item of the first output; where a reader of both needs it before, send it with
    /// [`Cx::emit_aside`](crate::Cx::emit_aside) first.
    pub fn aside(mut self, item: E) -> Self {
        self.side = Some(item);
        self
    }
}

/// `Ok` is [`Step::emit`], `Err` is [`Step::fail`].
impl<U, E, X: Into<BoxError>> From<Result<U, X>> for Step<U, E> {
    fn from(result: Result<U, X>) -> Self {
        result.map_or_else(Self::fail, Self::emit)
    }
}

/// Shows the end and whether something is emitted, never the items.
impl<U, E> fmt::Debug for Step<U, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (end, error) = match &self.end {
            End::Completed => ("completed", None),
            End::Filtered => ("filtered", None),
            End::Failed(error) => ("failed", Some(error)),
            End::Throttled(error) => ("throttled", Some(error)),
            End::Fatal(error) => ("fatal", Some(error)),
        };
        let mut step = f.debug_struct("Step");
        step.field("end", &end).field("emits", &self.main.is_some()).field("aside", &self.side.is_some());
        if let Some(error) = error {
            step.field("error", error);
        }
        step.finish()
    }
}

/// What a source's future may end with: nothing, or a result whose error aborts the pipeline.
///
/// An error that is (or was caused by) a [`Rejected`](crate::Rejected) send is no failure: the source was told to stop, and
/// `?` on [`Tx::send`](crate::Tx::send) is a good way to do so.
pub trait SourceEnd {
    /// The end as a result.
    ///
    /// # Errors
    /// The source's own, boxed.
    fn into_end(self) -> Result<(), BoxError>;
}

impl SourceEnd for () {
    fn into_end(self) -> Result<(), BoxError> {
        Ok(())
    }
}

impl<X: Into<BoxError>> SourceEnd for Result<(), X> {
    fn into_end(self) -> Result<(), BoxError> {
        self.map_err(Into::into)
    }
}
