//! The chat service: `POST /v1/chat/completions` as OpenAI's API speaks it, at the pace that its model allows.
//!
//! It reads the user's message, finds the data sets it knows by name, and answers with JSON about them. Calls need the
//! bearer key; with a quota, every call after the last one that it covers is answered 401.

use std::sync::Arc;

use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use serde::Deserialize;
use serde_json::{Value, json};

use super::catalogue::DATASETS;
use super::retry_after;
use super::service::{Admission, Service};

#[derive(Clone)]
struct Chat {
    service: Arc<Service>,
    bearer: Arc<str>,
}

/// The routes of the chat service.
pub(crate) fn router(service: Arc<Service>, key: &str) -> Router {
    let bearer = format!("Bearer {key}").into();
    Router::new().route("/v1/chat/completions", post(complete)).with_state(Chat { service, bearer })
}

#[derive(Deserialize, Hash)]
struct Request {
    model: String,
    messages: Vec<Message>,
}

#[derive(Deserialize, Hash)]
struct Message {
    role: String,
    content: String,
}

async fn complete(
    State(chat): State<Chat>,
    headers: HeaderMap,
    request: Result<Json<Request>, JsonRejection>,
) -> Response {
    let Json(request) = match request {
        Ok(request) => request,
        Err(why) => return error(StatusCode::BAD_REQUEST, "invalid_request_error", &why.body_text()),
    };
    let visit = chat.service.visit(&request);
    if headers.get(header::AUTHORIZATION).is_none_or(|sent| sent.as_bytes() != chat.bearer.as_bytes()) {
        visit.refuse().await;
        return error(StatusCode::UNAUTHORIZED, "invalid_api_key", "Incorrect API key provided.");
    }
    match visit.serve().await {
        Admission::Served => Json(answer(&request)).into_response(),
        Admission::Throttled(hint) => {
            let body = error(StatusCode::TOO_MANY_REQUESTS, "rate_limit_exceeded", "Rate limit reached.");
            (retry_after(hint), body).into_response()
        }
        Admission::Exhausted => {
            let message = "You exceeded your current quota, please check your plan and billing details.";
            error(StatusCode::UNAUTHORIZED, "insufficient_quota", message)
        }
    }
}

fn error(status: StatusCode, code: &str, message: &str) -> Response {
    let body = json!({ "error": { "message": message, "type": code, "param": null, "code": code } });
    (status, Json(body)).into_response()
}

fn answer(request: &Request) -> Value {
    let asked: String = request
        .messages
        .iter()
        .filter(|message| message.role == "user")
        .map(|message| message.content.as_str())
        .collect();
    let datasets: Vec<_> = DATASETS
        .iter()
        .filter(|dataset| asked.contains(dataset.name))
        .map(|dataset| json!({ "name": dataset.name, "task": dataset.task }))
        .collect();
    let content = json!({ "datasets": datasets }).to_string();
    // About four bytes a token, as everybody reckons.
    let prompt = request.messages.iter().map(|message| message.content.len()).sum::<usize>().div_ceil(4);
    let completion = content.len().div_ceil(4);
    json!({
        "id": "chatcmpl-local",
        "object": "chat.completion",
        "model": request.model,
        "choices": [{
            "index": 0,
            "message": { "role": "assistant", "content": content },
            "finish_reason": "stop",
        }],
        "usage": {
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "total_tokens": prompt + completion,
        },
    })
}
