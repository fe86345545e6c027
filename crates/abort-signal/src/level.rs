//! The three levels of a signal.

/// How urgently work is to end. Levels are ordered: [`Run`](Level::Run) < [`Drain`](Level::Drain) <
/// [`Abort`](Level::Abort), and a signal only ever rises (**AB-4**).
///
/// ```
/// use tidegate_abort_signal::Level;
/// assert!(Level::Run < Level::Drain && Level::Drain < Level::Abort);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
#[repr(u8)]
pub enum Level {
    /// Nothing was asked: go on.
    #[default]
    Run = 0,
    /// Take no new work; finish what was begun.
    Drain = 1,
    /// Stop now; what is in flight may be dropped.
    Abort = 2,
}

impl Level {
    /// The level in one lower-case word, for logs and tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Drain => "drain",
            Self::Abort => "abort",
        }
    }

    pub(crate) const fn from_word(word: u8) -> Self {
        match word {
            0 => Self::Run,
            1 => Self::Drain,
            _ => Self::Abort,
        }
    }
}
