//! What an answer means: one judgement for all strategies, so that they differ in pacing only.

use std::time::SystemTime;

use tidegate::core::{Class, RetryHint};
use tidegate::throttle::Judge;

use super::http::{Answer, SendError};
use super::llm::complaint;

/// Which service answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Pages: whatever is wrong with one says nothing about the others.
    Pages,
    /// The language model: a wrong key, an unknown model or a used-up quota spoils every call.
    Llm,
}

/// What came of one exchange.
pub(crate) type Exchange = Result<Answer, SendError>;

impl Judge<Answer, SendError> for Kind {
    fn judge(&self, exchange: &Exchange) -> Option<Class> {
        match exchange {
            Ok(answer) => self.class_of(answer),
            Err(SendError::TooLong) => Some(Class::Terminal),
            Err(_) => Some(Class::Transient),
        }
    }

    fn why(&self, exchange: &Exchange) -> String {
        match exchange {
            Ok(answer) => self.describe(answer),
            Err(error) => error.to_string(),
        }
    }
}

impl Kind {
    fn class_of(self, answer: &Answer) -> Option<Class> {
        let spent = || self == Self::Llm && complaint(&answer.body).1;
        let hint = || RetryHint::from_response(answer.status, &answer.headers, SystemTime::now());
        match (answer.status.as_u16(), self) {
            (200..=299, _) => None,
            (429, _) if spent() => Some(Class::Fatal),
            // 529 is how some language models say that they are overloaded.
            (429 | 529, _) => Some(Class::Throttled(hint())),
            (503, _) => Some(hint().map_or(Class::Transient, |hint| Class::Throttled(Some(hint)))),
            (408 | 425 | 500..=599, _) => Some(Class::Transient),
            (401..=404, Self::Llm) => Some(Class::Fatal),
            _ => Some(Class::Terminal),
        }
    }

    /// An answer that is no success, in words: who gave it, its status, and what the service says about it.
    fn describe(self, answer: &Answer) -> String {
        let (who, said) = match self {
            Self::Pages => ("the server", None),
            Self::Llm => ("the language model", complaint(&answer.body).0),
        };
        let said = said.map(|said| format!(": {said}")).unwrap_or_default();
        format!("{who} answered {}{said}", answer.status)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::StatusCode;
    use reqwest::header::HeaderMap;
    use std::time::Duration;

    fn answer(status: u16, body: &str, hint: Option<&'static str>) -> Exchange {
        let mut headers = HeaderMap::new();
        if let Some(hint) = hint {
            headers.insert("retry-after-ms", hint.parse().unwrap());
        }
        Ok(Answer { status: StatusCode::from_u16(status).unwrap(), headers, body: body.into() })
    }

    fn class(kind: Kind, status: u16) -> Option<Class> {
        kind.judge(&answer(status, "", None))
    }

    #[test]
    fn a_throttle_carries_the_servers_hint() {
        let hint = RetryHint::after(Duration::from_millis(250));
        for status in [429, 503] {
            assert_eq!(Kind::Pages.judge(&answer(status, "", Some("250"))), Some(Class::Throttled(hint)));
        }
        assert_eq!(class(Kind::Llm, 429), Some(Class::Throttled(None)));
        assert_eq!(class(Kind::Llm, 503), Some(Class::Transient), "down, not busy");
    }

    #[test]
    fn what_spoils_every_call_to_the_model_spoils_one_page_only() {
        for status in [401, 402, 403, 404] {
            assert_eq!(class(Kind::Llm, status), Some(Class::Fatal));
            assert_eq!(class(Kind::Pages, status), Some(Class::Terminal));
        }
        assert_eq!(class(Kind::Llm, 400), Some(Class::Terminal), "one prompt may be too long");
        assert_eq!(class(Kind::Pages, 200), None);
        assert_eq!(class(Kind::Pages, 304), Some(Class::Terminal), "nobody asked for `not modified`");
    }

    #[test]
    fn a_used_up_quota_is_fatal_even_as_a_429() {
        let body = r#"{"error": {"message": "You are out of credit.", "code": "insufficient_quota"}}"#;
        let spent = answer(429, body, Some("20"));
        assert_eq!(Kind::Llm.judge(&spent), Some(Class::Fatal));
        assert_eq!(
            Kind::Llm.why(&spent),
            "the language model answered 429 Too Many Requests: You are out of credit."
        );
    }

    #[test]
    fn a_broken_exchange_is_worth_another_try_but_an_endless_answer_is_not() {
        let refused = Err(SendError::Refused { host: "http://h".into(), why: "refused".into() });
        assert_eq!(Kind::Pages.judge(&refused), Some(Class::Transient));
        assert_eq!(Kind::Pages.why(&refused), "cannot connect to http://h: refused");
        assert_eq!(Kind::Pages.judge(&Err(SendError::TooLong)), Some(Class::Terminal));
    }
}
