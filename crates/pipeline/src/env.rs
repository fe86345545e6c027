//! Settings from the environment.

use std::error::Error;
use std::ffi::OsString;
use std::fmt;

use crate::Opts;

/// A variable of the environment whose value cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    variable: String,
    value: String,
    most: usize,
}

impl ConfigError {
    /// The name of the variable.
    #[must_use]
    pub fn variable(&self) -> &str {
        &self.variable
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { variable, value, most } = self;
        write!(f, "{variable}: expected a whole number from 1 to {most}, got `{value}`")
    }
}

impl Error for ConfigError {}

impl Opts {
    /// The default settings, overridden by the environment: see [`overridden_by_env`](Self::overridden_by_env).
    ///
    /// # Errors
    /// [`ConfigError`], which names the variable.
    ///
    /// ```
    /// use tidegate_pipeline::Opts;
    /// assert_eq!(Opts::from_env("NOT_SET_ANYWHERE")?, Opts::default());
    /// # Ok::<(), tidegate_pipeline::ConfigError>(())
    /// ```
    pub fn from_env(prefix: &str) -> Result<Self, ConfigError> {
        Self::default().overridden_by_env(prefix)
    }

    /// Takes the number of workers from `{prefix}_WORKERS` and the length of the queue from `{prefix}_QUEUE`, where they
    /// are set. White space around the number is ignored.
    ///
    /// # Errors
    /// [`ConfigError`] for a value that is not a whole number within bounds; nothing is clamped silently.
    pub fn overridden_by_env(self, prefix: &str) -> Result<Self, ConfigError> {
        self.overridden_by(prefix, |name| std::env::var_os(name))
    }

    fn overridden_by(
        mut self,
        prefix: &str,
        look: impl Fn(&str) -> Option<OsString>,
    ) -> Result<Self, ConfigError> {
        if let Some(workers) = number(format!("{prefix}_WORKERS"), Self::MAX_WORKERS, &look)? {
            self = self.with_workers(workers);
        }
        if let Some(capacity) = number(format!("{prefix}_QUEUE"), Self::MAX_QUEUE, &look)? {
            self = self.queue(capacity);
        }
        Ok(self)
    }
}

fn number(
    variable: String,
    most: usize,
    look: impl Fn(&str) -> Option<OsString>,
) -> Result<Option<usize>, ConfigError> {
    let Some(value) = look(&variable) else { return Ok(None) };
    let value = value.to_string_lossy().into_owned();
    match value.trim().parse() {
        Ok(number) if (1..=most).contains(&number) => Ok(Some(number)),
        _ => Err(ConfigError { variable, value, most }),
    }
}

#[cfg(all(test, not(tidegate_loom)))]
mod tests {
    use super::*;

    fn with(variable: &'static str, value: &'static str) -> Result<Opts, ConfigError> {
        Opts::workers(3).overridden_by("FETCH", |name| (name == variable).then(|| value.into()))
    }

    #[test]
    fn a_set_variable_overrides_and_an_unset_one_does_not() {
        assert_eq!(with("FETCH_WORKERS", " 12 "), Ok(Opts::workers(12)));
        assert_eq!(with("FETCH_QUEUE", "7"), Ok(Opts::workers(3).queue(7)));
        assert_eq!(with("OTHER_QUEUE", "7"), Ok(Opts::workers(3)));
    }

    #[test]
    fn a_bad_value_is_refused_by_name() {
        for value in ["", "0", "-1", "12.5", "many", "65537", "99999999999999999999999"] {
            let error = with("FETCH_WORKERS", value).unwrap_err();
            assert_eq!(error.variable(), "FETCH_WORKERS");
            let text = format!("FETCH_WORKERS: expected a whole number from 1 to 65536, got `{value}`");
            assert_eq!(error.to_string(), text);
        }
    }
}
