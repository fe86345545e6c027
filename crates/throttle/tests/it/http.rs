//! Responses, judged by their status.

use std::time::Duration;

use http::Response;
use tidegate_core::Class;
use tidegate_throttle::{ByStatus, StopReason, Throttle};
use tokio::time::Instant;

type Classifier = fn(&std::io::Error) -> Class;

fn throttle() -> Throttle<ByStatus<Classifier>> {
    Throttle::builder().judge(ByStatus((|_| Class::Transient) as Classifier)).build()
}

#[expect(clippy::unwrap_used, reason = "a response that cannot be built is a mistake of the test")]
fn answer(status: u16, retry_after_ms: Option<u32>) -> Result<Response<&'static str>, std::io::Error> {
    let mut response = Response::builder().status(status);
    if let Some(ms) = retry_after_ms {
        response = response.header("retry-after-ms", ms);
    }
    Ok(response.body("why").unwrap())
}

#[tokio::test(start_paused = true)]
async fn a_429_waits_as_long_as_its_header_says() {
    let (throttle, began) = (throttle(), Instant::now());
    let response = throttle
        .call(|attempt| async move {
            match attempt.number() {
                1 => answer(429, Some(2500)),
                _ => answer(200, None),
            }
        })
        .await
        .unwrap();
    assert_eq!(response.status(), 200);
    assert!(began.elapsed() >= Duration::from_millis(2500) && began.elapsed() < Duration::from_millis(2600));
}

#[tokio::test(start_paused = true)]
async fn a_404_comes_back_with_its_body() {
    let error = throttle().call(|_| async { answer(404, None) }).await.unwrap_err();
    assert_eq!(error.reason, StopReason::Terminal);
    assert_eq!(*error.into_response().unwrap().body(), "why");
}

#[tokio::test(start_paused = true)]
async fn a_401_stops_everybody_and_says_so() {
    let throttle = throttle();
    let error = throttle.call(|_| async { answer(401, None) }).await.unwrap_err();
    assert_eq!(error.reason, StopReason::Fatal);
    assert_eq!(throttle.signal().reason().unwrap().text(), "the service answered 401 Unauthorized");
}
