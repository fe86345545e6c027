//! What a change of the gate does to the world outside: tasks to wake, events to tell. Collected under the lock, let out
//! after it.

use tidegate_sync::WakeBatch;

use crate::echo::Echo;

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
    /// The pace changed while it was open.
    Paced {
        epoch: u64,
        pace: f64,
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

    pub(crate) fn tell(&mut self, event: Event) {
        if let Some(free) = self.events.iter_mut().find(|place| place.is_none()) {
            *free = Some(event);
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

/// Through which the gate tells what happens to it.
#[derive(Debug, Default)]
pub(crate) struct Voice {
    pub(crate) name: Option<Box<str>>,
    pub(crate) echo: Echo,
}

impl Voice {
    pub(crate) fn say(&self, event: Event) {
        if matches!(event, Event::Closed { .. } | Event::Extended { .. } | Event::ShutDown) {
            self.echo.ring();
        }
    }
}
