//! What a change of the gate does to the world outside: tasks to wake, events to tell. Collected under the lock, let out
//! after it.

use tidegate_sync::WakeBatch;

use crate::voice::Voice;

/// Something that happened to the gate, once for each time that it did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Event {
    /// It was open or half-open, and closed.
    Closed {
        epoch: u64,
        length: u64,
        strikes: u32,
    },
    /// It was closed, and is for longer.
    Extended {
        length: u64,
    },
    /// The cooldown is over, and a probe goes out.
    Probing {
        epoch: u64,
    },
    /// It lets callers in: at a pace, or all of them.
    Opened {
        epoch: u64,
        pace: Option<f64>,
    },
    /// The pace changed while it was open; none if it lets everybody in from now on.
    Paced {
        epoch: u64,
        pace: Option<f64>,
    },
    ShutDown,
}

/// More events than one step can cause.
const MOST: usize = 4;

/// What one step of the machine causes.
#[derive(Debug)]
#[must_use = "tasks that are not woken sleep on; bind it so that it outlives the lock"]
pub(crate) struct Effects {
    pub(crate) wakes: WakeBatch,
    events: [Option<Event>; MOST],
}

impl Effects {
    pub(crate) const fn new() -> Self {
        Self { wakes: WakeBatch::new(), events: [None; MOST] }
    }

    /// Of several paces in a row only the last is told.
    pub(crate) fn tell(&mut self, event: Event) {
        let told = self.events.iter().flatten().count();
        let paced = |event| matches!(event, Some(Event::Paced { .. }));
        let again = paced(Some(event)) && self.events[..told].last().copied().is_some_and(paced);
        if let Some(place) = self.events.get_mut(told - usize::from(again)) {
            *place = Some(event);
        } else {
            debug_assert!(false, "{event:?} is one more than a step can cause");
        }
    }

    /// Lets everything out: the wakes first. Not under the lock.
    pub(crate) fn release(self, voice: &Voice) {
        let Self { wakes, events } = self;
        wakes.wake();
        for event in events.into_iter().flatten() {
            voice.say(event);
        }
    }
}
