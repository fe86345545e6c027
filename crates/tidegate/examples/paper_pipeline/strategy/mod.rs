//! The three ways to pace calls to one service, behind one seam.
//!
//! | strategy | on a 429 | in flight | rounds |
//! |---|---|---|---|
//! | [`naive`] | this task alone waits 0.5 s, doubling, without jitter | fixed | one |
//! | [`article`] | a gate closes for 60 s for everybody, then this task waits 0.5 s, doubling, plus jitter | 4, one more every 24 successes, never fewer | three: 32, 16, 10 |
//! | [`tidegate`] | the gate closes for everybody, as long as the hint says, and one probe reopens it | found: up by success, down once an epoch | three, shrinking |

mod article;
mod naive;
mod tidegate;

use std::fmt;
use std::time::Duration;

use serde::Serialize;
use tokio::time::sleep;

// The library; `tidegate` alone is the strategy next door.
use ::tidegate::abort_signal::AbortSignal;
use ::tidegate::core::Class;
use ::tidegate::throttle::{Again, Judge, Rounds};

use super::args::Strategy;
use super::http::{Answer, SendError};
use super::judge::{Exchange, Kind};
use super::settings::{Ramp, Settings};

/// Why a call gave up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The service kept saying "slow down".
    Throttled(String),
    /// It failed in a way that may pass: a later run tries again.
    Transient {
        /// What happened last.
        message: String,
        /// Nobody listens there: a later round would not find anybody either.
        refused: bool,
    },
    /// This paper fails the same way every time.
    Terminal(String),
    /// Every paper would.
    Fatal(String),
    /// The pipeline was told to stop.
    Stopped,
}

impl Fault {
    /// The fault that an exchange is that was judged `class`.
    fn of(kind: Kind, class: Class, exchange: &Exchange) -> Self {
        let message = kind.why(exchange);
        match class {
            Class::Throttled(_) => Self::Throttled(message),
            Class::Transient => {
                Self::Transient { message, refused: matches!(exchange, Err(SendError::Refused { .. })) }
            }
            Class::Fatal => Self::Fatal(message),
            _ => Self::Terminal(message),
        }
    }

    /// Its class as the database knows it. A stop is no fault of the paper: another run may well succeed.
    pub(crate) const fn class(&self) -> &'static str {
        match self {
            Self::Throttled(_) => "throttled",
            Self::Transient { .. } | Self::Stopped => "transient",
            Self::Terminal(_) => "terminal",
            Self::Fatal(_) => "fatal",
        }
    }
}

impl Again for Fault {
    fn again(&self) -> bool {
        matches!(self, Self::Throttled(_) | Self::Transient { refused: false, .. })
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Throttled(message)
            | Self::Transient { message, .. }
            | Self::Terminal(message)
            | Self::Fatal(message) => f.write_str(message),
            Self::Stopped => f.write_str("stopped"),
        }
    }
}

impl std::error::Error for Fault {}

/// What a strategy did with the number of calls in flight.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Performance {
    /// How many calls might be in flight at the start, at the most, and at the end.
    pub(crate) initial: usize,
    pub(crate) peak: usize,
    #[serde(rename = "final")]
    pub(crate) last: usize,
    /// How many more per second, while the number grew.
    pub(crate) ramp_per_s: f64,
    /// How often everybody was made to wait.
    pub(crate) cooldowns: u64,
}

/// One strategy at work on one service.
pub(crate) enum Pacer {
    Naive(naive::Naive),
    Article(Box<article::Article>),
    Tidegate(tidegate::Tidegate),
}

/// What all strategies are told.
pub(crate) struct Terms<'a> {
    pub(crate) kind: Kind,
    pub(crate) ramp: Ramp,
    /// Already divided by the scale.
    pub(crate) settings: &'a Settings,
    pub(crate) scale: f64,
    pub(crate) seed: u64,
    pub(crate) signal: AbortSignal,
}

impl Terms<'_> {
    /// A duration of the servers' time.
    fn scaled(&self, duration: Duration) -> Duration {
        Duration::try_from_secs_f64(duration.as_secs_f64() / self.scale).unwrap_or(duration)
    }
}

impl Pacer {
    pub(crate) fn new(strategy: Strategy, terms: &Terms<'_>) -> Self {
        match strategy {
            Strategy::Naive => Self::Naive(naive::Naive::new(terms)),
            Strategy::Article => Self::Article(Box::new(article::Article::new(terms))),
            Strategy::Tidegate => Self::Tidegate(tidegate::Tidegate::new(terms)),
        }
    }

    /// Makes exchanges until one succeeds or the strategy gives up.
    pub(crate) async fn call<F, Fut>(&self, exchange: F) -> Result<Answer, Fault>
    where
        F: Fn() -> Fut,
        Fut: Future<Output = Exchange>,
    {
        match self {
            Self::Naive(naive) => naive.call(exchange).await,
            Self::Article(article) => article.call(exchange).await,
            Self::Tidegate(tidegate) => tidegate.call(exchange).await,
        }
    }

    pub(crate) fn performance(&self) -> Performance {
        match self {
            Self::Naive(naive) => naive.performance(),
            Self::Article(article) => article.performance(),
            Self::Tidegate(tidegate) => tidegate.performance(),
        }
    }

    /// What everybody waits for now, in a word or two.
    pub(crate) fn state(&self) -> String {
        match self {
            Self::Naive(_) => "no gate".to_owned(),
            Self::Article(article) => article.state_text(),
            Self::Tidegate(tidegate) => tidegate.state_text(),
        }
    }
}

/// How an attempt of a baseline strategy ended, and what that means; no class is a success.
type Judged = (Option<Class>, Exchange);

/// What the baseline strategies share: up to `tries` attempts, and after each that may pass a pause of this task's own, whose
/// length `pause` tells from the number of attempts made.
async fn persist<F, Fut>(
    kind: Kind,
    tries: u32,
    attempt: F,
    pause: impl Fn(u32) -> Duration,
) -> Result<Answer, Fault>
where
    F: Fn() -> Fut,
    Fut: Future<Output = Result<Judged, Fault>>,
{
    let mut tried = 0;
    loop {
        let judged = attempt().await?;
        tried += 1;
        match judged {
            (None, Ok(answer)) => return Ok(answer),
            (Some(Class::Throttled(_) | Class::Transient), _) if tried < tries => {}
            (class, result) => return Err(Fault::of(kind, class.unwrap_or(Class::Terminal), &result)),
        }
        sleep(pause(tried)).await;
    }
}

/// The rounds of a strategy.
pub(crate) fn rounds(strategy: Strategy, settings: &Settings, cap: usize) -> Rounds {
    let plan = Rounds::default().rounds(settings.rounds).pause(settings.round_pause).cap(cap);
    match strategy {
        Strategy::Naive => plan.rounds(1),
        Strategy::Article => plan.floor(Rounds::article().floor),
        Strategy::Tidegate => plan.floor(settings.round_floor),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::StatusCode;
    use reqwest::header::HeaderMap;
    use std::sync::Mutex;
    use tokio::time::Instant;

    /// A service that answers these in turn, the last one for ever, and remembers when it was asked.
    struct Script {
        answers: &'static [u16],
        begun: Instant,
        asked: Mutex<Vec<u64>>,
    }

    impl Script {
        fn new(answers: &'static [u16]) -> Self {
            Self { answers, begun: Instant::now(), asked: Mutex::default() }
        }

        async fn answer(&self) -> Exchange {
            let mut asked = self.asked.lock().unwrap();
            let status = self.answers[asked.len().min(self.answers.len() - 1)];
            asked.push(self.begun.elapsed().as_secs());
            let status = StatusCode::from_u16(status).unwrap();
            Ok(Answer { status, headers: HeaderMap::new(), body: Vec::new() })
        }

        fn seconds(&self) -> Vec<u64> {
            self.asked.lock().unwrap().clone()
        }
    }

    fn pacer(strategy: Strategy, signal: &AbortSignal) -> Pacer {
        let settings = Settings::read([]).unwrap();
        let ramp = Ramp { initial: 2, min: 1, max: 32, step_every: 24 };
        let signal = signal.clone();
        Pacer::new(
            strategy,
            &Terms { kind: Kind::Llm, ramp, settings: &settings, scale: 1.0, seed: 1, signal },
        )
    }

    #[tokio::test(start_paused = true)]
    async fn the_naive_task_backs_off_alone_and_gives_up() {
        let (pacer, script) = (pacer(Strategy::Naive, &AbortSignal::new()), Script::new(&[429]));
        let fault = pacer.call(|| script.answer()).await.unwrap_err();
        assert!(matches!(&fault, Fault::Throttled(message) if message.contains("429")), "{fault:?}");
        assert_eq!(script.seconds(), [0, 0, 1, 3, 7, 15, 31]);
    }

    #[tokio::test(start_paused = true)]
    async fn the_articles_gate_holds_everybody_for_a_minute() {
        let pacer = pacer(Strategy::Article, &AbortSignal::new());
        let (throttled, other) = (Script::new(&[429, 200]), Script::new(&[200]));
        let first = pacer.call(|| throttled.answer());
        let second = async {
            sleep(Duration::from_secs(1)).await;
            pacer.call(|| other.answer()).await
        };
        let (first, second) = tokio::join!(first, second);
        assert!(first.is_ok() && second.is_ok());
        assert_eq!(throttled.seconds()[0], 0);
        assert_eq!((throttled.seconds()[1], other.seconds()[0]), (60, 60));
        assert_eq!(pacer.performance().cooldowns, 1);
    }

    #[tokio::test(start_paused = true)]
    async fn the_articles_limit_rises_with_success_and_its_tasks_give_up_after_three_tries() {
        let pacer = pacer(Strategy::Article, &AbortSignal::new());
        let well = Script::new(&[200]);
        for _ in 0..72 {
            pacer.call(|| well.answer()).await.unwrap();
        }
        let ramped = pacer.performance();
        assert_eq!((ramped.initial, ramped.peak), (2, 5));
        let never = Script::new(&[429]);
        assert!(pacer.call(|| never.answer()).await.is_err_and(|fault| fault.again()));
        assert_eq!(never.seconds().len(), 3);
    }

    #[tokio::test(start_paused = true)]
    async fn this_librarys_call_outlasts_throttling_and_reports_what_it_cannot_cure() {
        let signal = AbortSignal::new();
        let pacer = pacer(Strategy::Tidegate, &signal);
        let slow = Script::new(&[429, 429, 200]);
        assert!(pacer.call(|| slow.answer()).await.is_ok());
        assert_eq!(slow.seconds().len(), 3);
        let bad = Script::new(&[400]);
        assert!(matches!(pacer.call(|| bad.answer()).await, Err(Fault::Terminal(_))));
        let spent = Script::new(&[401]);
        assert!(matches!(pacer.call(|| spent.answer()).await, Err(Fault::Fatal(_))));
        assert!(signal.is_aborted());
        assert_eq!(pacer.call(|| slow.answer()).await.unwrap_err(), Fault::Stopped);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_throttled_beyond_the_deadline_is_given_up_as_throttled() {
        let pacer = pacer(Strategy::Tidegate, &AbortSignal::new());
        let never = Script::new(&[429]);
        let fault = pacer.call(|| never.answer()).await.unwrap_err();
        assert!(matches!(fault, Fault::Throttled(_)) && fault.again(), "{fault:?}");
        assert!(never.begun.elapsed() <= Duration::from_secs(601));
    }
}
