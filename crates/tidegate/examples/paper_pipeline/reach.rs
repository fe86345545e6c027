//! Which hosts can be reached at all, so that a thousand papers do not each find out that nobody listens.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// So many papers must find that a host refuses every connection before it is given up.
const PROOF: u32 = 3;

/// What is known of each host.
#[derive(Default)]
pub(crate) struct Reach(Mutex<HashMap<String, Known>>);

#[derive(Clone, Copy)]
enum Known {
    Answered,
    Refused(u32),
}

impl Reach {
    /// The host answered, whatever it said.
    pub(crate) fn answered(&self, host: &str) {
        self.update(host, |_| Known::Answered);
    }

    /// A paper was given up because the host refused every connection.
    pub(crate) fn refused(&self, host: &str) {
        self.update(host, |known| match known {
            Known::Refused(papers) => Known::Refused(papers + 1),
            Known::Answered => Known::Answered,
        });
    }

    /// Whether it is pointless to try: the host has never answered, and refused often enough.
    pub(crate) fn is_hopeless(&self, host: &str) -> bool {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        matches!(known.get(host), Some(Known::Refused(PROOF..)))
    }

    fn update(&self, host: &str, change: impl FnOnce(Known) -> Known) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match all.get_mut(host) {
            Some(known) => *known = change(*known),
            None => drop(all.insert(host.to_owned(), change(Known::Refused(0)))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_given_up_after_three_papers_unless_it_ever_answered() {
        let reach = Reach::default();
        for host in ["dead", "alive"] {
            reach.refused(host);
            reach.refused(host);
            assert!(!reach.is_hopeless(host));
        }
        reach.answered("alive");
        for host in ["dead", "alive", "other"] {
            reach.refused(host);
        }
        assert!(reach.is_hopeless("dead"));
        assert!(!reach.is_hopeless("alive") && !reach.is_hopeless("other"));
    }
}
