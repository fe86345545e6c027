//! The settings that come from the environment.

use std::ffi::OsString;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use anyhow::{Result, anyhow, bail};

/// The prefixes of all settings; a variable that begins with one and is none of them is a mistake.
const PREFIXES: &[&str] =
    &["TIDEGATE_FETCH_", "TIDEGATE_LLM_", "TIDEGATE_BUILD_", "TIDEGATE_QUEUE_", "TIDEGATE_ROUND"];
const NAMES: &[&str] = &[
    "TIDEGATE_FETCH_INITIAL",
    "TIDEGATE_FETCH_MIN",
    "TIDEGATE_FETCH_MAX",
    "TIDEGATE_FETCH_STEP_EVERY",
    "TIDEGATE_LLM_INITIAL",
    "TIDEGATE_LLM_MIN",
    "TIDEGATE_LLM_MAX",
    "TIDEGATE_LLM_STEP_EVERY",
    "TIDEGATE_LLM_KEY",
    "TIDEGATE_BUILD_WORKERS",
    "TIDEGATE_QUEUE_PAGES",
    "TIDEGATE_QUEUE_REQUESTS",
    "TIDEGATE_QUEUE_RECORDS",
    "TIDEGATE_ROUNDS",
    "TIDEGATE_ROUND_PAUSE",
    "TIDEGATE_ROUND_FLOOR",
];
/// More tasks than this are a typing error, not a plan.
const MOST: usize = 100_000;
/// A year.
const LONGEST: f64 = 31_536_000.0;

/// How many calls to one service are in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ramp {
    pub(crate) initial: usize,
    pub(crate) min: usize,
    pub(crate) max: usize,
    /// One more after this many successes.
    pub(crate) step_every: usize,
}

/// Everything that may be tuned. Durations are those of the servers, before any scaling.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    pub(crate) fetch: Ramp,
    pub(crate) llm: Ramp,
    pub(crate) build_workers: usize,
    pub(crate) queue_pages: usize,
    pub(crate) queue_requests: usize,
    pub(crate) queue_records: usize,
    pub(crate) rounds: u32,
    pub(crate) round_pause: Duration,
    pub(crate) round_floor: usize,
    pub(crate) cooldown: Duration,
    pub(crate) deadline: Duration,
}

impl Settings {
    /// Reads the settings out of `variables`, usually the environment.
    ///
    /// # Errors
    /// Names the variable that has a bad value, the value, and what is allowed.
    pub(crate) fn read(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Result<Self> {
        let source = Source::new(variables)?;
        let fetch = source.ramp("FETCH")?;
        let llm = source.ramp("LLM")?;
        Ok(Self {
            fetch,
            llm,
            build_workers: source.number("TIDEGATE_BUILD_WORKERS", 2, 1)?,
            queue_pages: source.number("TIDEGATE_QUEUE_PAGES", 64, 1)?,
            queue_requests: source.number("TIDEGATE_QUEUE_REQUESTS", 64, 1)?,
            queue_records: source.number("TIDEGATE_QUEUE_RECORDS", 2 * llm.max + 100, 1)?,
            rounds: u32::try_from(source.number("TIDEGATE_ROUNDS", 3, 1)?)?,
            round_pause: source.seconds("TIDEGATE_ROUND_PAUSE", 90.0, 0.0)?,
            round_floor: source.number("TIDEGATE_ROUND_FLOOR", 1, 1)?,
            cooldown: source.seconds("TIDEGATE_COOLDOWN", 60.0, 0.001)?,
            deadline: source.seconds("TIDEGATE_DEADLINE", 600.0, 0.001)?,
        })
    }

    /// The same with every duration divided by `scale`.
    pub(crate) fn scaled(self, scale: f64) -> Self {
        let by = |duration: Duration| {
            Duration::try_from_secs_f64(duration.as_secs_f64() / scale).unwrap_or(duration)
        };
        Self {
            round_pause: by(self.round_pause),
            cooldown: by(self.cooldown),
            deadline: by(self.deadline),
            ..self
        }
    }
}

/// The variables that begin with `TIDEGATE_`.
struct Source(Vec<(String, OsString)>);

impl Source {
    fn new(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Result<Self> {
        let named = variables.into_iter().filter_map(|(name, value)| Some((name.into_string().ok()?, value)));
        let ours: Vec<_> = named.filter(|(name, _)| name.starts_with("TIDEGATE_")).collect();
        for (name, _) in &ours {
            let claimed = PREFIXES.iter().any(|prefix| name.starts_with(prefix));
            if claimed && !NAMES.contains(&name.as_str()) {
                bail!("{name} is not a setting; these are: {}", NAMES.join(", "));
            }
        }
        Ok(Self(ours))
    }

    fn ramp(&self, stage: &str) -> Result<Ramp> {
        let name = |what: &str| format!("TIDEGATE_{stage}_{what}");
        let max = self.number(&name("MAX"), 32, 1)?;
        let min = self.number(&name("MIN"), 1, 1)?;
        if min > max {
            bail!("{} is {min}, but {} is {max}: it must not be less", name("MIN"), name("MAX"));
        }
        let initial = self.number(&name("INITIAL"), 4.clamp(min, max), 1)?;
        if !(min..=max).contains(&initial) {
            bail!("{} is {initial}, but must lie from {min} to {max}", name("INITIAL"));
        }
        Ok(Ramp { initial, min, max, step_every: self.number(&name("STEP_EVERY"), 24, 1)? })
    }

    fn number(&self, name: &str, default: usize, least: usize) -> Result<usize> {
        self.value(
            name,
            default,
            |number| (least..=MOST).contains(number),
            || format!("a whole number from {least} to {MOST}"),
        )
    }

    fn seconds(&self, name: &str, default: f64, least: f64) -> Result<Duration> {
        let allowed = || format!("a number of seconds from {least} to {LONGEST}");
        let seconds = self.value(name, default, |seconds| (least..=LONGEST).contains(seconds), allowed)?;
        Ok(Duration::try_from_secs_f64(seconds)?)
    }

    fn value<T: FromStr>(
        &self,
        name: &str,
        default: T,
        allowed: impl Fn(&T) -> bool,
        what: impl Fn() -> String,
    ) -> Result<T> {
        let Some((_, value)) = self.0.iter().find(|(known, _)| known == name) else { return Ok(default) };
        let parsed = value.to_str().and_then(|text| text.trim().parse().ok()).filter(&allowed);
        parsed.ok_or_else(|| anyhow!("{name} is {value:?}, but must be {}", what()))
    }
}

/// The key of a language model. It is shown nowhere: not by `Debug`, not in an error.
pub(crate) struct Key(String);

impl Key {
    pub(crate) const fn new(key: String) -> Self {
        Self(key)
    }

    /// The key of the first variable that is set and not empty.
    ///
    /// # Errors
    /// The variable holds something that cannot be sent in a header.
    pub(crate) fn from_env() -> Result<Option<Self>> {
        for name in ["TIDEGATE_LLM_KEY", "OPENAI_API_KEY"] {
            match std::env::var(name) {
                Ok(key) if key.trim().is_empty() => {}
                Ok(key) if key.trim().bytes().all(|byte| byte.is_ascii_graphic()) => {
                    return Ok(Some(Self(key.trim().to_owned())));
                }
                Err(std::env::VarError::NotPresent) => {}
                _ => bail!("{name} holds characters that a key cannot have"),
            }
        }
        Ok(None)
    }

    /// The key itself, for the one header that carries it.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Result<Settings, String> {
        let variables = variables.iter().map(|(name, value)| (name.into(), value.into()));
        Settings::read(variables).map_err(|error| error.to_string())
    }

    #[test]
    fn the_defaults_are_the_articles_numbers() {
        let settings = read(&[("HOME", "/root"), ("TIDEGATE_PG_URL", "x")]).unwrap();
        assert_eq!(settings.llm, Ramp { initial: 4, min: 1, max: 32, step_every: 24 });
        assert_eq!((settings.queue_records, settings.rounds), (164, 3));
        assert_eq!(settings.scaled(10.0).round_pause, Duration::from_secs(9));
    }

    #[test]
    fn every_setting_is_read() {
        for name in NAMES
            .iter()
            .filter(|name| !name.ends_with("_KEY"))
            .chain(&["TIDEGATE_COOLDOWN", "TIDEGATE_DEADLINE"])
        {
            assert_ne!(read(&[(name, "3")]), read(&[(name, "4")]), "{name}");
            let error = read(&[(name, "many")]).unwrap_err();
            assert!(error.starts_with(&format!("{name} is \"many\", but must be a ")), "{error}");
            for bad in ["-1", "NaN", "inf", "", "1e99"] {
                assert!(read(&[(name, bad)]).unwrap_err().starts_with(name), "{name}={bad}");
            }
        }
        assert!(read(&[("TIDEGATE_FETCH_MAX", "0")]).unwrap_err().contains("from 1 to 100000"));
        assert!(read(&[("TIDEGATE_COOLDOWN", "0")]).unwrap_err().contains("from 0.001"));
    }

    #[test]
    fn a_limit_follows_its_bounds_unless_it_is_set_outside_of_them() {
        let ramp = |variables: &[(&str, &str)]| read(variables).map(|settings| settings.llm);
        assert_eq!(ramp(&[("TIDEGATE_LLM_MAX", "2")]).unwrap().initial, 2);
        assert_eq!(ramp(&[("TIDEGATE_LLM_MIN", "8")]).unwrap().initial, 8);
        let error = ramp(&[("TIDEGATE_LLM_MAX", "8"), ("TIDEGATE_LLM_INITIAL", "9")]).unwrap_err();
        assert_eq!(error, "TIDEGATE_LLM_INITIAL is 9, but must lie from 1 to 8");
        let error = ramp(&[("TIDEGATE_LLM_MAX", "8"), ("TIDEGATE_LLM_MIN", "9")]).unwrap_err();
        assert!(
            error.contains("TIDEGATE_LLM_MIN is 9") && error.contains("TIDEGATE_LLM_MAX is 8"),
            "{error}"
        );
    }

    #[test]
    fn a_misspelt_setting_is_refused() {
        let error = read(&[("TIDEGATE_LLM_MAXIMUM", "3")]).unwrap_err();
        assert!(
            error.starts_with("TIDEGATE_LLM_MAXIMUM is not a setting") && error.contains("TIDEGATE_LLM_MAX,"),
            "{error}"
        );
    }

    #[test]
    fn a_key_never_shows() {
        assert_eq!(format!("{:?}", Key::new("secret".into())), "Key");
    }
}
