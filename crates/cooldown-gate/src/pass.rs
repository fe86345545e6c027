//! Passes: the right to make one call, and the word about how it went.

use std::ops::Deref;

use tidegate_core::RetryHint;
use tidegate_sync::primitives::Arc;

use crate::machine::Grant;
use crate::shared::Shared;
use crate::state::Closing;
use crate::word::tick;

/// What both faces of a pass do, over any way of holding on to the gate.
#[derive(Debug)]
pub(crate) struct Granted<H: Deref<Target = Shared>> {
    gate: H,
    grant: Grant,
    reported: bool,
}

impl<H: Deref<Target = Shared>> Granted<H> {
    /// Takes over a pass that the machine has counted.
    #[inline]
    pub(crate) const fn new(gate: H, grant: Grant) -> Self {
        Self { gate, grant, reported: false }
    }

    #[inline]
    fn success(mut self) {
        self.reported = true;
        self.gate.machine.success(self.grant, || self.gate.now());
    }

    fn throttled(mut self, hint: Option<RetryHint>) -> Closing {
        self.reported = true;
        let hint = hint.and_then(|hint| hint.capped(self.gate.hint_cap)).map(|hint| tick(hint.delay()));
        self.gate.machine.throttled(self.grant, hint, self.gate.now())
    }

    #[inline]
    fn still_valid(&self) -> bool {
        self.gate.machine.phase().granting() == Some(self.grant.epoch)
    }
}

impl<H: Deref<Target = Shared>> Drop for Granted<H> {
    #[inline]
    fn drop(&mut self) {
        if !self.reported {
            self.gate.machine.dropped(self.grant.epoch, || self.gate.now());
        }
    }
}

macro_rules! pass {
    ($(#[$doc:meta])* $name:ident $(<$life:lifetime>)? over $holder:ty) => {
        $(#[$doc])*
        #[must_use = "a pass that is dropped says nothing: call `success` or `throttled` when the outcome is known"]
        #[derive(Debug)]
        pub struct $name $(<$life>)? (pub(crate) Granted<$holder>);

        impl $(<$life>)? $name $(<$life>)? {
            /// Reports that the service did the work.
            ///
            /// If this pass is the probe of a half-open gate, the gate [reopens](crate::Reopen), and the next strike is the
            /// first of a row again. At a paced gate it is what the pace rises by. Otherwise nothing happens.
            #[inline]
            pub fn success(self) {
                self.0.success();
            }

            /// Reports that the service asked for fewer calls, and what it said about when to come back.
            ///
            /// A hint is believed as far as the gate's [cap](crate::CooldownGateBuilder::hint_cap) goes.
            ///
            /// If the gate has not been closed since this pass was granted, it closes for as long as the hint says, or
            /// for the default cooldown without one; that is one strike. A paced gate forgives the first without a hint
            /// for a while: it only becomes [slower](Closing::Slowed). If the gate was closed since (this pass is one of a
            /// burst, **CG-4**), a hint may extend the cooldown, and nothing else happens.
            pub fn throttled(self, hint: Option<RetryHint>) -> Closing {
                self.0.throttled(hint)
            }

            /// Whether the gate has not been closed since this pass was granted. One atomic load.
            ///
            /// To be asked again after a wait for something else, such as a permit, before the call is made.
            #[must_use]
            #[inline]
            pub fn still_valid(&self) -> bool {
                self.0.still_valid()
            }

            /// The epoch in force when this pass was granted.
            #[must_use]
            pub const fn epoch(&self) -> u64 {
                self.0.grant.epoch
            }
        }
    };
}

pass! {
    /// The right to make one call, granted by a [`CooldownGate`](crate::CooldownGate).
    ///
    /// Report how the call went with [`success`](Pass::success) or [`throttled`](Pass::throttled). Dropped without a
    /// word, which is also what a panic or a cancelled task does, it teaches nothing; if it was the probe of a
    /// half-open gate, the next waiter becomes the probe (**CG-6**). Any other failure of the call is no news about
    /// throttling: drop the pass.
    Pass<'a> over &'a Shared
}

pass! {
    /// A [`Pass`] that keeps its gate alive: `'static`, to be moved into another task.
    OwnedPass over Arc<Shared>
}
