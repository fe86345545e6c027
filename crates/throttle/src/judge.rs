//! What an attempt's result means.

use std::fmt;
use std::fmt::Display;

use tidegate_core::{Class, Classify};

/// Judges the result of an attempt: a success, or a class of failure.
///
/// It sees the whole `Result`, because a 429 usually arrives as an `Ok`: the exchange worked, the answer is "not now".
/// Called once for each attempt that ran to its end, outside every lock.
pub trait Judge<T, E> {
    /// `None` for a success, else what kind of failure this was.
    fn judge(&self, result: &Result<T, E>) -> Option<Class>;

    /// Why everybody has to stop, after [`judge`](Judge::judge) said [`Class::Fatal`]. It becomes the reason of the
    /// abort signal, so it must not hold a secret.
    fn why(&self, result: &Result<T, E>) -> String;
}

/// Judges errors only: every `Ok` is a success, every `Err` is classified.
///
/// ```
/// use tidegate_core::Class;
/// use tidegate_throttle::{Errors, Judge};
///
/// let judge = Errors(|error: &std::io::Error| match error.kind() {
///     std::io::ErrorKind::TimedOut => Class::Transient,
///     _ => Class::Terminal,
/// });
/// assert_eq!(judge.judge(&Ok(1)), None);
/// ```
#[derive(Clone, Copy, Default)]
pub struct Errors<C>(pub C);

impl<T, E: Display, C: Classify<E>> Judge<T, E> for Errors<C> {
    fn judge(&self, result: &Result<T, E>) -> Option<Class> {
        result.as_ref().err().map(|error| self.0.classify(error))
    }

    fn why(&self, result: &Result<T, E>) -> String {
        result.as_ref().err().map_or_else(String::new, E::to_string)
    }
}

impl<C> fmt::Debug for Errors<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Errors")
    }
}

/// The judge of a throttle that was given none: every `Ok` is a success, every `Err` is
/// [`Transient`](Class::Transient).
#[derive(Clone, Copy, Debug, Default)]
pub struct EveryErrorTransient;

impl<T, E: Display> Judge<T, E> for EveryErrorTransient {
    fn judge(&self, result: &Result<T, E>) -> Option<Class> {
        result.as_ref().err().map(|_| Class::Transient)
    }

    fn why(&self, result: &Result<T, E>) -> String {
        result.as_ref().err().map_or_else(String::new, E::to_string)
    }
}

/// Judges the whole result by a closure.
///
/// ```
/// use tidegate_core::Class;
/// use tidegate_throttle::{Judge, Outcomes};
///
/// let judge = Outcomes(|result: &Result<u16, std::io::Error>| match result {
///     Ok(200) => None,
///     Ok(429) => Some(Class::Throttled(None)),
///     Ok(_) => Some(Class::Terminal),
///     Err(_) => Some(Class::Transient),
/// });
/// assert_eq!(judge.judge(&Ok(429)), Some(Class::Throttled(None)));
/// ```
#[derive(Clone, Copy)]
pub struct Outcomes<F>(pub F);

impl<T, E, F: Fn(&Result<T, E>) -> Option<Class>> Judge<T, E> for Outcomes<F> {
    fn judge(&self, result: &Result<T, E>) -> Option<Class> {
        self.0(result)
    }

    fn why(&self, _: &Result<T, E>) -> String {
        "a call failed fatally".to_owned()
    }
}

impl<F> fmt::Debug for Outcomes<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Outcomes")
    }
}
