//! The reason of a signal that needs no type of its own.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

/// Why a signal was raised: a text, and the error behind it if there is one.
///
/// The default reason of [`AbortSignal`](crate::AbortSignal). Cloning shares the text. Where callers must tell causes
/// apart, use a type of your own with [`AbortSignal::typed`](crate::AbortSignal::typed).
///
/// ```
/// use std::error::Error;
/// use tidegate_abort_signal::Reason;
///
/// let full = std::io::Error::from(std::io::ErrorKind::StorageFull);
/// let reason = Reason::new("cannot write results").with_source(full);
/// assert_eq!(reason.to_string(), "cannot write results");
/// assert!(reason.source().is_some());
/// ```
#[derive(Clone)]
pub struct Reason {
    text: Arc<str>,
    source: Option<Arc<dyn Error + Send + Sync>>,
}

impl Reason {
    /// A reason with a text: a `&str`, `String`, `Box<str>`, `Cow<str>` or `Arc<str>`.
    #[must_use]
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self { text: text.into(), source: None }
    }

    /// The same reason with the error behind it, which [`source`](Error::source) then gives. The text should not repeat
    /// that error's: whoever prints the chain prints both.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.source = Some(Arc::from(source.into()));
        self
    }

    /// The text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

impl fmt::Debug for Reason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut reason = formatter.debug_struct("Reason");
        reason.field("text", &self.text);
        if let Some(source) = &self.source {
            reason.field("source", source);
        }
        reason.finish()
    }
}

impl Error for Reason {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as &(dyn Error + 'static))
    }
}

impl From<&str> for Reason {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl From<String> for Reason {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}
