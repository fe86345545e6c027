//! A client who knows everything: it is never rejected, and what the server would admit is never late.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::model::Model;
use crate::server::{Server, Verdict};

impl Model {
    /// Seconds that a client takes for `requests` requests who has `in_flight` under way, never gets a 429, and whose
    /// requests arrive the moment that this server, with this seed, admits one.
    ///
    /// Found by playing it through, so it has the luck of that seed: where the borders of a window are, how long
    /// answers take.
    #[must_use]
    pub fn ideal(&self, requests: usize, in_flight: usize, seed: u64) -> f64 {
        let mut server = Server::new(self, seed);
        let mut at_the_door: BinaryHeap<Reverse<Time>> =
            (0..in_flight).map(|_| Reverse(Time(server.travel_time()))).collect();
        let mut in_service: BinaryHeap<Reverse<Time>> = BinaryHeap::new();
        let (mut now, mut end) = (0.0_f64, 0.0_f64);
        for _ in 0..requests {
            let Some(Reverse(Time(arrival))) = at_the_door.pop() else { break };
            now = now.max(arrival);
            loop {
                while in_service.peek().is_some_and(|Reverse(Time(left))| *left <= now) {
                    in_service.pop();
                    server.leave();
                }
                let wait = server.wait(now);
                if wait <= 0.0 {
                    break;
                }
                // The place that a cap lacks comes when somebody leaves, if not before.
                let next = in_service.peek().map_or(f64::INFINITY, |Reverse(Time(left))| *left);
                // A wait that rounding made too small to move the time is made long enough to.
                now = (now + wait.max(1e-6)).min(next);
            }
            let verdict = server.admit(now);
            debug_assert_eq!(verdict, Verdict::Admitted, "it does not ask in vain");
            let left = now + server.service_time();
            in_service.push(Reverse(Time(left)));
            let answered = left + server.travel_time();
            end = end.max(answered);
            at_the_door.push(Reverse(Time(answered + server.travel_time())));
        }
        end
    }
}

/// A finite time, in order.
#[derive(Clone, Copy, Debug)]
struct Time(f64);

impl Ord for Time {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl PartialOrd for Time {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Time {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Time {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ServerId;

    #[test]
    fn the_ideal_client_of_each_named_server_takes_what_the_table_says() {
        for id in ServerId::ALL {
            let model = Model::named(id);
            let mut ideals: Vec<f64> = (0..21).map(|seed| model.ideal(1000, 32, seed)).collect();
            ideals.sort_by(f64::total_cmp);
            let ratio = ideals[10] / f64::from(id.ideal_for_1000());
            assert!((ratio - 1.0).abs() < 0.02, "{id}: {:.1} s, {ratio:.3} of the table's", ideals[10]);
        }
    }

    #[test]
    fn whoever_has_fewer_under_way_is_not_faster() {
        let model = Model::named(ServerId::C1);
        let few = model.ideal(1000, 4, 1);
        assert!(few > 1.2 * model.ideal(1000, 32, 1), "{few}");
        assert!(model.ideal(0, 32, 1).abs() < 1e-9);
    }
}
