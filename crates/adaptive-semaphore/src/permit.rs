//! Permits: one private core, generic over how it holds the semaphore, with two public faces.

use std::fmt;
use std::ops::Deref;

use tidegate_core::Outcome;
use tidegate_sync::primitives::Arc;

use crate::front::{Grant, Taken};
use crate::semaphore::Shared;

/// A permit, held. It comes back when dropped, with the outcome it has by then.
pub(crate) struct Held<H: Deref<Target = Shared>> {
    shared: H,
    grant: Grant,
    outcome: Outcome,
}

impl<H: Deref<Target = Shared>> Held<H> {
    #[inline]
    pub(crate) fn new(shared: H, taken: Taken) -> Self {
        let grant = shared.front.grant(taken);
        Self { shared, grant, outcome: Outcome::Ignored }
    }

    fn is_stale(&self) -> bool {
        self.shared.front.is_stale(&self.grant)
    }

    fn restart_clock(&mut self) {
        self.shared.front.restart(&mut self.grant);
    }
}

impl<H: Deref<Target = Shared>> Drop for Held<H> {
    #[inline]
    fn drop(&mut self) {
        self.shared.release(&self.grant, self.outcome);
    }
}

macro_rules! permit {
    ($(#[$doc:meta])* $name:ident $(<$life:lifetime>)?, $hold:ty) => {
        $(#[$doc])*
        #[must_use = "a permit that is dropped at once limits nothing"]
        pub struct $name $(<$life>)? (Held<$hold>);

        impl $(<$life>)? $name $(<$life>)? {
            #[inline]
            pub(crate) fn new(held: Held<$hold>) -> Self {
                Self(held)
            }

            /// The epoch it belongs to: its [tag](Self::tag_epoch) if it has one, else the semaphore's epoch when the
            /// permit was taken.
            #[must_use]
            pub fn epoch(&self) -> u64 {
                self.0.grant.epoch()
            }

            /// Ties the permit to an epoch of someone else's, such as a gate's: one cut at most for all permits that
            /// carry the same tag. Tags must rise with time; they are compared with tags only. The semaphore's own
            /// epoch goes on to count beside it.
            pub fn tag_epoch(&mut self, epoch: u64) {
                self.0.grant.tag_with(epoch);
            }

            /// Whether what this permit learns would come too late: the limit was cut, or an epoch begun, since it was
            /// taken, or a permit with its tag or a later one has led to a cut.
            #[must_use]
            pub fn is_stale(&self) -> bool {
                self.0.is_stale()
            }

            /// The attempt begins now: what came before shall not count into its [latency](crate::Sample::latency). No
            /// clock is read unless this permit's time is taken.
            pub fn restart_clock(&mut self) {
                self.0.restart_clock();
            }

            /// Gives the permit back: there was capacity.
            #[inline]
            pub fn success(mut self) {
                self.0.outcome = Outcome::Success;
            }

            /// Gives the permit back: the service refused for want of capacity.
            pub fn overload(mut self) {
                self.0.outcome = Outcome::Overload;
            }

            /// Gives the permit back: the attempt says nothing about capacity. The same as dropping a permit whose
            /// outcome was not set.
            pub fn ignore(mut self) {
                self.0.outcome = Outcome::Ignored;
            }

            /// Says beforehand with which outcome the permit comes back when it is dropped.
            /// [`Ignored`](Outcome::Ignored) until set.
            pub fn set_outcome(&mut self, outcome: Outcome) {
                self.0.outcome = outcome;
            }
        }

        impl $(<$life>)? fmt::Debug for $name $(<$life>)? {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name))
                    .field("epoch", &self.epoch())
                    .field("outcome", &self.0.outcome)
                    .finish_non_exhaustive()
            }
        }
    };
}

permit! {
    /// The right to make one attempt. Comes back when dropped, also by a panic: then with
    /// [`Outcome::Ignored`], unless [`set_outcome`](Self::set_outcome) said otherwise.
    ///
    /// Leaking it (`mem::forget`) leaks the permit.
    Permit<'a>, &'a Shared
}

permit! {
    /// A [`Permit`] that borrows nothing: it can go into a spawned task or a struct.
    OwnedPermit, Arc<Shared>
}
