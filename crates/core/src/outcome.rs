//! What an attempt tells a limiter.

/// How an attempt ended, as far as capacity is concerned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Outcome {
    /// The service did the work: there was capacity.
    Success,
    /// The service refused for want of capacity (a 429).
    Overload,
    /// Says nothing about capacity: the attempt was cancelled, panicked, or failed for a reason of its own.
    #[default]
    Ignored,
}
