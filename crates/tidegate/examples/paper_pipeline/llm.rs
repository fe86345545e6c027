//! What is asked of the language model, and what it answers.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::page::Page;

const TASK: &str = "You read scientific papers. List the data sets that the paper uses. Answer with JSON only, in \
    this form: {\"datasets\": [{\"name\": \"...\", \"task\": \"...\"}]}. An empty list is a valid answer.";

/// The body of a chat request about a page.
pub(crate) fn request(model: &str, page: &Page) -> Vec<u8> {
    let mut text = format!("Title: {}\n\nAbstract: {}\n", page.title, page.summary);
    if !page.mentions.is_empty() {
        text.push_str("\nSentences that mention data:\n");
        for mention in &page.mentions {
            text.push_str("- ");
            text.push_str(mention);
            text.push('\n');
        }
    }
    let body = json!({
        "model": model,
        "temperature": 0,
        "response_format": { "type": "json_object" },
        "messages": [{ "role": "system", "content": TASK }, { "role": "user", "content": text }],
    });
    body.to_string().into_bytes()
}

/// An answer that was understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reading {
    /// The model that answered, as it calls itself.
    pub(crate) model: String,
    /// The answer as JSON: an object with a list `datasets`.
    pub(crate) content: String,
    /// How many data sets it lists.
    pub(crate) datasets: usize,
    /// Tokens of request and answer, where the service counts them.
    pub(crate) prompt_tokens: Option<u32>,
    pub(crate) completion_tokens: Option<u32>,
}

#[derive(Deserialize)]
struct Completion {
    model: Option<String>,
    choices: Vec<Choice>,
    usage: Option<Usage>,
}

#[derive(Deserialize)]
struct Choice {
    message: Message,
}

#[derive(Deserialize)]
struct Message {
    content: Option<String>,
}

#[derive(Deserialize)]
struct Usage {
    prompt_tokens: Option<u32>,
    completion_tokens: Option<u32>,
}

#[derive(Deserialize, Serialize)]
struct Content {
    datasets: Vec<Value>,
}

impl Reading {
    /// Reads the body of a successful answer to a request for `model`.
    ///
    /// # Errors
    /// Says what is wrong with it.
    pub(crate) fn of(model: &str, body: &[u8]) -> Result<Self, String> {
        let completion: Completion = serde_json::from_slice(body)
            .map_err(|why| format!("the answer is not a chat completion: {why}"))?;
        let message = completion.choices.into_iter().next().ok_or("the answer has no choice")?.message;
        let text = message.content.ok_or("the answer has no content")?;
        let content: Content = serde_json::from_str(unfenced(&text))
            .map_err(|why| format!("the model's answer is not as asked: {why}"))?;
        let datasets = content.datasets.len();
        let content = serde_json::to_string(&content).map_err(|why| why.to_string())?;
        let usage = completion.usage.unwrap_or(Usage { prompt_tokens: None, completion_tokens: None });
        Ok(Self {
            model: completion.model.unwrap_or_else(|| model.to_owned()),
            content,
            datasets,
            prompt_tokens: usage.prompt_tokens,
            completion_tokens: usage.completion_tokens,
        })
    }
}

/// Models like to wrap JSON in a Markdown fence.
fn unfenced(text: &str) -> &str {
    let text = text.trim();
    let Some(inner) = text.strip_prefix("```").and_then(|text| text.strip_suffix("```")) else { return text };
    inner.strip_prefix("json").unwrap_or(inner).trim()
}

/// What an error body of an OpenAI-compatible service says: its message, and whether it means that the money is gone.
pub(crate) fn complaint(body: &[u8]) -> (Option<String>, bool) {
    let value: Value = serde_json::from_slice(body).unwrap_or(Value::Null);
    let error = &value["error"];
    let text = |name| error.get(name).and_then(Value::as_str);
    let spent = ["code", "type"].into_iter().filter_map(text).any(|kind| {
        matches!(kind, "insufficient_quota" | "billing_hard_limit_reached" | "billing_not_active")
    });
    (text("message").map(str::to_owned), spent)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(content: &str) -> Result<Reading, String> {
        let body =
            json!({ "choices": [{ "message": { "content": content } }], "usage": { "prompt_tokens": 7 } });
        Reading::of("m", body.to_string().as_bytes())
    }

    #[test]
    fn a_request_carries_title_abstract_and_mentions() {
        let page = Page { title: "T \"q\"".into(), summary: "S".into(), mentions: vec!["On MNIST.".into()] };
        let body: Value = serde_json::from_slice(&request("m", &page)).unwrap();
        assert_eq!(body["model"], "m");
        let asked = body["messages"][1]["content"].as_str().unwrap();
        assert!(
            asked.contains("T \"q\"") && asked.contains("Abstract: S") && asked.contains("- On MNIST."),
            "{asked}"
        );
    }

    #[test]
    fn an_answer_is_read_with_or_without_a_fence() {
        let plain = reading(r#"{"datasets": [{"name": "MNIST"}]}"#).unwrap();
        assert_eq!((plain.datasets, plain.prompt_tokens, plain.completion_tokens), (1, Some(7), None));
        assert_eq!(
            (plain.model.as_str(), plain.content.as_str()),
            ("m", r#"{"datasets":[{"name":"MNIST"}]}"#)
        );
        assert_eq!(reading("```json\n{\"datasets\": []}\n```").unwrap().datasets, 0);
        assert_eq!(reading("```\n{\"datasets\": []}```").unwrap().datasets, 0);
    }

    #[test]
    fn what_is_wrong_with_an_answer_is_said() {
        assert!(Reading::of("m", b"<html>").unwrap_err().contains("not a chat completion"));
        assert!(Reading::of("m", br#"{"choices": []}"#).unwrap_err().contains("no choice"));
        assert!(Reading::of("m", br#"{"choices": [{"message": {}}]}"#).unwrap_err().contains("no content"));
        assert!(reading("I think MNIST.").unwrap_err().contains("not as asked"));
        assert!(reading("{\"sets\": []}").unwrap_err().contains("datasets"));
    }

    #[test]
    fn a_complaint_tells_a_used_up_quota_from_a_rate_limit() {
        let body = |code| json!({ "error": { "message": "no", "code": code } }).to_string();
        assert_eq!(complaint(body("insufficient_quota").as_bytes()), (Some("no".into()), true));
        assert_eq!(complaint(body("rate_limit_exceeded").as_bytes()), (Some("no".into()), false));
        assert_eq!(complaint(b"busy"), (None, false));
        assert_eq!(complaint(b"{\"error\": \"busy\"}"), (None, false));
    }
}
