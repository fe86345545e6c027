//! How much concurrency a retry round gets.

/// The concurrency of retry round `round` (the first pass is round 0): `cap / (round + 1)`, at least `floor`, at most
/// `cap`.
///
/// Items that failed once are likelier to fail again: each round goes about them more gently. Total for all inputs; zero
/// only if `cap` or `floor` is (and [`set_limit`](crate::AdaptiveSemaphore::set_limit) makes one of it).
///
/// ```
/// use tidegate_adaptive_semaphore::round_concurrency;
///
/// let rounds: Vec<_> = (0..3).map(|round| round_concurrency(32, round, 4)).collect();
/// assert_eq!(rounds, [32, 16, 10]);
/// ```
#[must_use]
pub fn round_concurrency(cap: usize, round: usize, floor: usize) -> usize {
    (cap / round.saturating_add(1)).max(floor).min(cap)
}

#[cfg(all(test, not(tidegate_loom)))]
mod tests {
    use super::*;

    #[test]
    fn rounds_shrink_to_the_floor_and_never_pass_the_cap() {
        assert_eq!(round_concurrency(32, 9, 4), 4);
        assert_eq!(round_concurrency(3, 1, 4), 3);
        assert_eq!(round_concurrency(32, 2, 1), 10);
    }

    #[test]
    fn any_input_has_an_answer() {
        assert_eq!(round_concurrency(0, 0, 4), 0);
        assert_eq!(round_concurrency(32, usize::MAX, 4), 4);
        assert_eq!(round_concurrency(usize::MAX, 0, 0), usize::MAX);
        assert_eq!(round_concurrency(32, usize::MAX, 0), 0);
    }
}
