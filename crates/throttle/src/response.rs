//! Responses as results of attempts.

use tidegate_core::{ByStatus, Class, Classify, ShowsStatus};

use crate::Judge;

/// A response judged a failure is not lost: it comes back in [`CallError::last`](crate::CallError::last), body unread.
impl<T: ShowsStatus, E, C: Classify<E>> Judge<T, E> for ByStatus<C> {
    fn judge(&self, result: &Result<T, E>) -> Option<Class> {
        self.judge(result)
    }

    fn why(&self, result: &Result<T, E>) -> String {
        match result {
            Ok(response) => format!("the service answered {}", response.status()),
            Err(_) => "the call failed fatally".to_owned(),
        }
    }
}
