//! What the world outside hears of a gate: those who wait for its closing, the log, and the metrics.
//!
//! The machine says each [`Event`] once, outside its lock, so whoever listens may be slow, or ask the gate.

use std::sync::Arc;

use crate::echo::Echo;
use crate::effects::Event;

/// A gate's name: copied for each metric, so not by its letters.
pub(crate) type Name = Arc<str>;

/// Through which the gate tells what happens to it.
#[derive(Debug, Default)]
pub(crate) struct Voice {
    pub(crate) name: Option<Name>,
    pub(crate) echo: Echo,
}

impl Voice {
    pub(crate) fn say(&self, event: Event) {
        if matches!(event, Event::Closed { .. } | Event::Extended { .. } | Event::ShutDown) {
            self.echo.ring();
        }
        #[cfg(feature = "tracing")]
        self.log(event);
        #[cfg(feature = "metrics")]
        self.count(event);
    }
}

#[cfg(feature = "tracing")]
mod log {
    use tracing::{debug, info};

    use super::Voice;
    use crate::effects::Event;
    use crate::word::length;

    const TARGET: &str = "tidegate_cooldown_gate";

    impl Voice {
        pub(super) fn log(&self, event: Event) {
            let gate = self.name.as_deref();
            match event {
                Event::Closed { epoch, length: ticks, strikes } => {
                    info!(target: TARGET, gate, epoch, cooldown = ?length(ticks), strikes, "gate closed");
                }
                Event::Extended { length: ticks } => {
                    info!(target: TARGET, gate, cooldown = ?length(ticks), "gate closed for longer");
                }
                Event::Probing { epoch } => debug!(target: TARGET, gate, epoch, "gate sends a probe"),
                Event::Opened { epoch, pace } => {
                    info!(target: TARGET, gate, epoch, pace_per_second = pace, "gate opened");
                }
                Event::Paced { epoch, pace: Some(pace) } => {
                    debug!(target: TARGET, gate, epoch, pace_per_second = pace, "gate changed its pace");
                }
                Event::Paced { epoch, pace: None } => {
                    debug!(target: TARGET, gate, epoch, "gate lets everybody in");
                }
                Event::ShutDown => info!(target: TARGET, gate, "gate shut down"),
            }
        }
    }
}

#[cfg(feature = "metrics")]
pub(crate) mod count {
    use metrics::{
        SharedString, Unit, counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram,
    };

    use super::Voice;
    use crate::effects::Event;
    use crate::word::length;

    const CLOSINGS: &str = "tidegate_gate_closings_total";
    const EXTENSIONS: &str = "tidegate_gate_extensions_total";
    const PROBES: &str = "tidegate_gate_probes_total";
    const OPENINGS: &str = "tidegate_gate_openings_total";
    const COOLDOWN: &str = "tidegate_gate_cooldown_seconds";
    const PACE: &str = "tidegate_gate_pace_per_second";

    /// Tells the recorder that is installed what the metrics of gates mean, and in which units they are.
    ///
    /// To be called once, after the recorder was installed; the metrics are there without it. The
    /// [table](crate#events-and-metrics) names them.
    pub fn describe_metrics() {
        describe_counter!(CLOSINGS, Unit::Count, "How often the gate was closed.");
        describe_counter!(EXTENSIONS, Unit::Count, "How often a closed gate was closed for longer.");
        describe_counter!(PROBES, Unit::Count, "How often a cooldown was over and a probe went out.");
        describe_counter!(OPENINGS, Unit::Count, "How often the gate opened.");
        describe_histogram!(COOLDOWN, Unit::Seconds, "For how long the gate was closed.");
        describe_gauge!(PACE, Unit::CountPerSecond, "The pace that the gate learned, in calls per second.");
    }

    impl Voice {
        pub(super) fn count(&self, event: Event) {
            let gate = || self.name.clone().map_or(SharedString::const_str("unnamed"), SharedString::from);
            match event {
                Event::Closed { length: ticks, .. } => {
                    counter!(CLOSINGS, "gate" => gate()).increment(1);
                    histogram!(COOLDOWN, "gate" => gate()).record(length(ticks));
                }
                Event::Extended { .. } => counter!(EXTENSIONS, "gate" => gate()).increment(1),
                Event::Probing { .. } => counter!(PROBES, "gate" => gate()).increment(1),
                Event::Opened { pace, .. } => {
                    counter!(OPENINGS, "gate" => gate()).increment(1);
                    if let Some(pace) = pace {
                        gauge!(PACE, "gate" => gate()).set(pace);
                    }
                }
                Event::Paced { pace: Some(pace), .. } => gauge!(PACE, "gate" => gate()).set(pace),
                Event::Paced { pace: None, .. } | Event::ShutDown => {}
            }
        }
    }
}
