//! Lists of one's own, against services that misbehave in the usual ways.

use std::fmt::Write as _;
use std::fs;
use std::net::{Ipv4Addr, TcpListener as Closed};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::{Ran, Run, number};

const KEY: &str = "sk-secret-of-the-test";

/// A site and a chat service, on one port.
struct Site {
    base: String,
    /// The bearer tokens that came with calls to the chat service.
    bearers: Arc<Mutex<Vec<String>>>,
}

fn page(title: &str) -> Html<String> {
    Html(format!("<h1>{title}</h1><div id=abstract><p>About {title}, on the MNIST dataset.</p></div>"))
}

impl Site {
    async fn start(chat: fn(&Value) -> Response) -> Self {
        let bearers = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&bearers);
        let flaky = Arc::new(AtomicUsize::new(0));
        let router = Router::new()
            .route("/good", get(async || page("Good")))
            .route("/prompt", get(async || page("Confusing")))
            .route("/untitled", get(async || Html("<p>Nothing here.</p>")))
            .route("/data", get(async || ([(header::CONTENT_TYPE, "application/pdf")], "%PDF-1.7")))
            .route("/busy", get(async || (StatusCode::TOO_MANY_REQUESTS, [("retry-after-ms", "20")])))
            .route(
                "/flaky",
                // Ordering: Relaxed; a count of requests, nothing else.
                get(async move || match flaky.fetch_add(1, Ordering::Relaxed) {
                    0 => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
                    _ => page("Flaky").into_response(),
                }),
            )
            .route(
                "/v1/chat/completions",
                post(async move |headers: HeaderMap, Json(body): Json<Value>| {
                    let bearer =
                        headers.get(header::AUTHORIZATION).map(|value| value.to_str().unwrap().to_owned());
                    seen.lock().unwrap().extend(bearer);
                    chat(&body)
                }),
            );
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { base, bearers }
    }

    async fn run(&self, paths: &[&str], llm: &str) -> Ran {
        let folder = tempfile::tempdir().unwrap();
        let list = folder.path().join("list.txt");
        let mut lines = String::from("# of the test\n");
        for path in paths {
            let base = if path.starts_with("http") { "" } else { &self.base };
            writeln!(lines, "{base}{path}").unwrap();
        }
        fs::write(&list, lines).unwrap();
        let run = Run::new(&["--urls", list.to_str().unwrap(), "--llm-url", llm, "--json"]);
        let run = run.env("TIDEGATE_LLM_KEY", KEY).env("TIDEGATE_ROUND_PAUSE", "0.05");
        run.env("TIDEGATE_DEADLINE", "2").finish().await
    }

    fn llm(&self) -> String {
        format!("{}/v1", self.base)
    }
}

/// An address at which nobody listens.
fn nobody() -> String {
    let closed = Closed::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    format!("http://{}", closed.local_addr().unwrap())
}

fn answer(body: &Value) -> Response {
    let asked = body["messages"][1]["content"].as_str().unwrap();
    let content =
        if asked.contains("Confusing") { "As a model, I cannot say." } else { r#"{"datasets": []}"# };
    Json(json!({ "choices": [{ "message": { "content": content } }] })).into_response()
}

#[tokio::test]
async fn faults_of_single_papers_become_error_records_and_the_run_goes_on() {
    let site = Site::start(answer).await;
    let nobody = nobody();
    let dead = format!("{nobody}/gone");
    let paths = ["/good", "/flaky", "/prompt", "/missing", "/untitled", "/data", "/busy", &dead];
    let ran = site.run(&paths, &site.llm()).await;
    let json = ran.success();
    let ends = ["persisted", "failed", "throttled", "lost"].map(|end| number(&json, &format!("/{end}")));
    assert_eq!(ends, [2, 5, 1, 0], "{ran}");
    let expected = [
        ("/prompt", "llm", "terminal", "not as asked"),
        ("/missing", "fetch", "terminal", "404 Not Found"),
        ("/untitled", "build", "terminal", "no title"),
        ("/data", "build", "terminal", "not HTML, but application/pdf"),
        ("/busy", "fetch", "throttled", "429"),
        ("/gone", "fetch", "transient", nobody.as_str()),
    ];
    for (key, stage, class, said) in expected {
        let (at, of, message) = ran.error(key);
        assert_eq!((at.as_str(), of.as_str()), (stage, class), "{key}: {message}");
        assert!(message.contains(said), "{key}: {message}");
    }
    assert_eq!(ran.count("results"), 2);
    assert!(site.bearers.lock().unwrap().iter().all(|bearer| *bearer == format!("Bearer {KEY}")));
}

#[tokio::test]
async fn a_model_that_refuses_the_key_stops_everybody_and_the_key_is_never_shown() {
    let site = Site::start(|_| {
        let body =
            json!({ "error": { "message": "Incorrect API key provided.", "code": "invalid_api_key" } });
        (StatusCode::UNAUTHORIZED, Json(body)).into_response()
    })
    .await;
    let ran = site.run(&["/good", "/flaky"], &site.llm()).await;
    assert_eq!(ran.code, Some(1), "{ran}");
    assert!(ran.stderr.contains("401 Unauthorized: Incorrect API key provided."), "{ran}");
    assert!(ran.json()["aborted"].as_str().unwrap().contains("the language model answered 401"));
    assert!(!site.bearers.lock().unwrap().is_empty());
    let file = fs::read(ran.db()).unwrap();
    assert!(!format!("{ran}").contains(KEY) && !file.windows(KEY.len()).any(|bytes| bytes == KEY.as_bytes()));
}

#[tokio::test]
async fn a_model_that_refuses_every_connection_is_named() {
    let site = Site::start(answer).await;
    let nobody = nobody();
    let paths = ["/good", "/prompt", "/flaky", "/good?2", "/good?3"];
    let ran = site.run(&paths, &format!("{nobody}/v1")).await;
    assert_eq!(ran.code, Some(1), "{ran}");
    assert!(ran.stderr.contains(&format!("{nobody} refuses every connection")), "{ran}");
    assert_eq!(ran.count("results"), 0);
    assert_eq!(ran.count("errors WHERE class = 'terminal'"), 0, "another run may find it");
    assert!(ran.count("papers") > 0, "the pages are kept");
}

#[tokio::test]
async fn when_no_paper_can_be_processed_the_first_reason_is_given() {
    let site = Site::start(answer).await;
    let ran = site.run(&["/missing", "/data"], &site.llm()).await;
    assert_eq!(ran.code, Some(1), "{ran}");
    assert!(ran.stderr.contains("no paper could be processed (2 failed, 0 throttled); the first: "), "{ran}");
}
