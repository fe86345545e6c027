//! The rendering service: `GET /paper/{id}` shows a paper as HTML, at the pace that its model allows.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;

use super::service::{Admission, Service};
use super::{page, retry_after};

#[derive(Clone)]
struct Render {
    service: Arc<Service>,
    seed: u64,
}

/// The routes of the rendering service.
pub(crate) fn router(service: Arc<Service>, seed: u64) -> Router {
    Router::new().route("/paper/{id}", get(paper)).with_state(Render { service, seed })
}

async fn paper(State(render): State<Render>, Path(id): Path<String>) -> Response {
    match render.service.visit(&id).serve().await {
        Admission::Served => match id.parse() {
            Ok(id) => Html(page::html(id, render.seed)).into_response(),
            Err(_) => (StatusCode::NOT_FOUND, "no such paper\n").into_response(),
        },
        Admission::Throttled(hint) => {
            (StatusCode::TOO_MANY_REQUESTS, retry_after(hint), "too many requests\n").into_response()
        }
        Admission::Exhausted => (StatusCode::UNAUTHORIZED, "the quota is used up\n").into_response(),
    }
}
