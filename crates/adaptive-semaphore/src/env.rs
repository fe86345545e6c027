//! Settings from environment variables, or from anything that looks like them.

use std::ffi::OsString;

use crate::builder::{Algorithm, Builder};
use crate::error::ConfigError;

impl Builder {
    /// Overrides what the environment sets: `PREFIX_INITIAL`, `PREFIX_MIN`, `PREFIX_MAX`, and `PREFIX_STEP_EVERY` (the
    /// [step](crate::Ramp::step_every) of the ramp). Each is a whole number of at least 1; spaces around it are allowed.
    /// What is not set stays as it was.
    ///
    /// Call it after [`bounds`](Self::bounds) and [`limit`](Self::limit), which it overrides and checks against.
    ///
    /// # Errors
    /// Names the first variable that holds something else, its value and what is allowed: also if `PREFIX_INITIAL` lies
    /// outside the bounds, the bounds exclude each other, or a step is set for an algorithm that is not a
    /// [`Ramp`](crate::Ramp).
    pub fn env(self, prefix: &str) -> Result<Self, ConfigError> {
        self.read(prefix, |name| std::env::var_os(name))
    }

    /// As [`env`](Self::env), from a lookup of your own: a map in a test, a parsed file.
    ///
    /// ```
    /// use tidegate_adaptive_semaphore::AdaptiveSemaphore;
    ///
    /// let settings = |name: &str| (name == "FETCH_MAX").then(|| "eight".to_owned());
    /// let error = AdaptiveSemaphore::builder().lookup("FETCH", settings).unwrap_err();
    /// assert_eq!(error.to_string(), "FETCH_MAX is `eight`: expected a whole number of at least 1");
    /// ```
    ///
    /// # Errors
    /// As [`env`](Self::env).
    pub fn lookup(self, prefix: &str, lookup: impl Fn(&str) -> Option<String>) -> Result<Self, ConfigError> {
        self.read(prefix, |name| lookup(name).map(OsString::from))
    }

    fn read(mut self, prefix: &str, lookup: impl Fn(&str) -> Option<OsString>) -> Result<Self, ConfigError> {
        let number = |name: &str, least: usize, most: Option<usize>| {
            let variable = format!("{prefix}_{name}");
            lookup(&variable).map(|value| parse(&variable, &value, least, most)).transpose()
        };
        let max_set = number("MAX", 1, None)?.is_some();
        // A lower bound from outside is judged against an upper one that was set before; else the upper one against it.
        let most = if max_set { None } else { self.max };
        self.min = number("MIN", 1, most)?.or(self.min);
        self.max = number("MAX", self.min.unwrap_or(1), None)?.or(self.max);
        if let Some(initial) = number("INITIAL", self.min.unwrap_or(1), self.max)? {
            self.initial = initial;
        }
        if let Some(step) = number("STEP_EVERY", 1, None)? {
            let Algorithm::Ramp(ramp) = &mut self.algorithm else {
                let allowed = "nothing, since the algorithm is not a ramp".to_owned();
                return Err(ConfigError::new(&format!("{prefix}_STEP_EVERY"), &step.to_string(), allowed));
            };
            *ramp = ramp.step_every(step);
        }
        Ok(self)
    }
}

fn parse(variable: &str, value: &OsString, least: usize, most: Option<usize>) -> Result<usize, ConfigError> {
    let number = value.to_str().and_then(|text| text.trim().parse::<usize>().ok());
    number.filter(|number| *number >= least && most.is_none_or(|most| *number <= most)).ok_or_else(|| {
        let allowed = match most {
            Some(most) => format!("a whole number from {least} to {most}"),
            None => format!("a whole number of at least {least}"),
        };
        ConfigError::new(variable, &value.to_string_lossy(), allowed)
    })
}
