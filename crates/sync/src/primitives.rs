//! Atomics, `Arc`, a mutex and threads: the real ones, or the model checker's under `--cfg tidegate_loom`.
//!
//! Only what both sides can do is here. Code that is to be modelled takes all its synchronisation from this module:
//! a `std`, tokio, parking_lot or dashmap primitive is invisible to the checker, which then reports success for
//! interleavings that it never tried.

#[cfg(not(tidegate_loom))]
pub use std::{sync::Arc, thread};

#[cfg(tidegate_loom)]
pub use loom::{sync::Arc, thread};

/// Atomics.
pub mod atomic {
    #[cfg(not(tidegate_loom))]
    pub use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering};

    #[cfg(tidegate_loom)]
    pub use loom::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering};
}

/// A mutex that is never poisoned: a panic under the lock leaves the data as it was at that moment.
///
/// parking_lot's: no poisoning, and a waiting thread parks instead of spinning for long.
#[derive(Debug, Default)]
pub struct Mutex<T: ?Sized>(Inner<T>);

#[cfg(not(tidegate_loom))]
type Inner<T> = parking_lot::Mutex<T>;
#[cfg(tidegate_loom)]
type Inner<T> = loom::sync::Mutex<T>;

/// The lock, held.
#[cfg(not(tidegate_loom))]
pub type MutexGuard<'a, T> = parking_lot::MutexGuard<'a, T>;
/// The lock, held.
#[cfg(tidegate_loom)]
pub type MutexGuard<'a, T> = loom::sync::MutexGuard<'a, T>;

impl<T> Mutex<T> {
    /// A free mutex around `value`.
    pub fn new(value: T) -> Self {
        Self(Inner::new(value))
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Waits until the lock is free and takes it.
    #[cfg(not(tidegate_loom))]
    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock()
    }

    /// Waits until the lock is free and takes it.
    #[cfg(tidegate_loom)]
    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
