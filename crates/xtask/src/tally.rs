//! Counting: what passed, failed and was skipped, read from the words of nextest and libtest.

use std::fmt;
use std::ops::AddAssign;

/// How many passed, failed and were skipped. Displays as the last line of every command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) passed: usize,
    pub(crate) failed: usize,
    pub(crate) skipped: usize,
}

impl Tally {
    /// One thing that passed or failed.
    pub(crate) fn one(passed: bool) -> Self {
        Self { passed: usize::from(passed), failed: usize::from(!passed), skipped: 0 }
    }

    pub(crate) fn skipped(skipped: usize) -> Self {
        Self { skipped, ..Self::default() }
    }

    /// How many ran.
    pub(crate) fn ran(self) -> usize {
        self.passed + self.failed
    }

    /// Nothing failed and something ran.
    pub(crate) fn good(self) -> bool {
        self.failed == 0 && self.passed > 0
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)?;
        if self.skipped > 0 {
            write!(f, ", {} skipped", self.skipped)?;
        }
        Ok(())
    }
}

/// The Summary line of nextest, `Summary [ 0.1s] 5 tests run: 3 passed (1 slow), 1 failed, 1 timed out, 2 skipped`.
/// What nextest calls skipped was filtered out, so it is not counted. `None` without such a line: nothing was run.
pub(crate) fn nextest(output: &str) -> Option<Tally> {
    let line = output.lines().rev().find(|line| line.trim_start().starts_with("Summary ["))?;
    let (_, counts) = line.split_once("run: ")?;
    let mut tally = Tally::default();
    for part in without_parentheses(counts).split(',') {
        let mut words = part.split_whitespace();
        let Some(count) = words.next().and_then(|word| word.parse::<usize>().ok()) else { continue };
        match words.next() {
            Some("passed") => tally.passed += count,
            Some("skipped") => {}
            _ => tally.failed += count,
        }
    }
    Some(tally)
}

fn without_parentheses(text: &str) -> String {
    let mut depth = 0_usize;
    text.chars()
        .filter(|c| {
            match c {
                '(' => depth += 1,
                ')' => {
                    depth = depth.saturating_sub(1);
                    return false;
                }
                _ => {}
            }
            depth == 0
        })
        .collect()
}

/// The sum of the lines `test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out`. Ignored tests
/// are skipped ones.
pub(crate) fn libtest(output: &str) -> Tally {
    let mut tally = Tally::default();
    for line in output.lines().filter_map(|line| line.strip_prefix("test result: ")) {
        for part in line.split([';', '.']) {
            let mut words = part.split_whitespace();
            let Some(count) = words.next().and_then(|word| word.parse::<usize>().ok()) else { continue };
            match words.next() {
                Some("passed") => tally.passed += count,
                Some("failed") => tally.failed += count,
                Some("ignored") => tally.skipped += count,
                _ => {}
            }
        }
    }
    tally
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_names_skipped_ones_only_when_there_are_any() {
        assert_eq!(Tally { passed: 3, failed: 0, skipped: 0 }.to_string(), "3 passed, 0 failed");
        assert_eq!(Tally { passed: 3, failed: 1, skipped: 2 }.to_string(), "3 passed, 1 failed, 2 skipped");
    }

    #[test]
    fn nothing_run_is_not_good() {
        assert!(!Tally::default().good());
        assert!(!Tally::skipped(4).good());
        assert!(Tally::one(true).good());
    }

    #[test]
    fn nextest_is_read_from_its_summary_only() {
        let output = "test result: FAILED. 9 passed; 9 failed\n  Summary [   0.017s] 6/8 tests run: 3 passed (1 slow, 1 \
                      leaky), 1 failed, 1 timed out, 1 exec failed, 2 skipped\n";
        assert_eq!(nextest(output), Some(Tally { passed: 3, failed: 3, skipped: 0 }));
        assert_eq!(nextest("error: could not compile"), None);
    }

    #[test]
    fn libtest_results_are_summed() {
        let output = "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 7 filtered out; finished in 0.01s\n\
                      test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out\n\
                      \x20   test result: ok. 50 passed; 0 failed\n";
        assert_eq!(libtest(output), Tally { passed: 4, failed: 2, skipped: 1 });
    }
}
