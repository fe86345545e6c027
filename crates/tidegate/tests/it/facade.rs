//! Every crate of the family is reached through the facade, by its own name.

#[tokio::test]
async fn every_crate_is_reached_through_the_facade() {
    let signal = tidegate::abort_signal::AbortSignal::new();
    let gate = tidegate::cooldown_gate::CooldownGate::new();
    let classify = |_: &std::io::Error| tidegate::core::Class::Transient;
    let permits = tidegate::adaptive_semaphore::AdaptiveSemaphore::new();
    let throttle = tidegate::throttle::Throttle::builder()
        .gate(gate.clone())
        .permits(permits)
        .retry(tidegate::retry_policy::RetryPolicy::new())
        .abort(signal.clone())
        .classify(classify)
        .build();
    assert!(gate.is_open());
    let value = throttle.call(|_| async { Ok::<_, std::io::Error>(1) }).await;
    assert_eq!(value.unwrap(), 1);

    let folder = tempfile::tempdir().unwrap();
    let sink = tidegate::sqlite::SqliteOptions::new()
        .schema(|db| db.execute_batch("CREATE TABLE IF NOT EXISTS numbers (n INTEGER) STRICT"))
        .open(folder.path().join("numbers.db"), |db, n: &i64| {
            db.execute("INSERT INTO numbers VALUES (?1)", [n])
        })
        .unwrap();
    let (writer, owner) = tidegate::single_writer::Writer::spawn(sink).unwrap();
    let mut pipeline = tidegate::pipeline::Pipeline::new("numbers", signal);
    let numbers = pipeline.source("numbers", tidegate::pipeline::queue(1), async move |out| {
        // A pipeline that stops says so in its report.
        let _ = out.send(7).await;
    });
    pipeline.sink("db", numbers, writer);
    let report = pipeline.run().await;
    assert_eq!(report.stage("db").map(|stage| stage.completed), Some(1));
    assert_eq!(owner.finished().await.rows, 1);

    let registry = tidegate::run_registry::RunRegistry::new();
    let run = registry.create_or_reject("thread", tidegate::run_registry::RunSpec::new()).unwrap();
    assert_eq!(run.status(), tidegate::run_registry::Status::Pending);
}
