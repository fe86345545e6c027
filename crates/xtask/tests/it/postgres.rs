//! The server that `cargo x test` starts, as a client sees it.

use std::io::Write;

use tokio_postgres::{Client, Error, NoTls};

/// A client of the server that `TIDEGATE_PG_URL` names; `None`, visibly, without one.
async fn connect() -> Result<Option<Client>, Error> {
    let Ok(url) = std::env::var("TIDEGATE_PG_URL") else {
        say("SKIPPED: TIDEGATE_PG_URL is not set; `cargo x test` starts a server for this test");
        return Ok(None);
    };
    let (client, connection) = tokio_postgres::connect(&url, NoTls).await?;
    tokio::spawn(connection);
    Ok(Some(client))
}

/// Not by `eprintln!`: libtest would hide it in a test that passes.
fn say(text: &str) {
    // A closed standard error is no fault of the test.
    let _ = writeln!(std::io::stderr(), "{text}");
}

#[tokio::test]
async fn the_server_says_its_version() {
    let Some(client) = connect().await.unwrap() else { return };
    let row = client.query_one("select version()", &[]).await.unwrap();
    let version: &str = row.get(0);
    assert!(version.starts_with("PostgreSQL "), "{version}");
}

#[tokio::test]
async fn bound_parameters_come_back() {
    let Some(client) = connect().await.unwrap() else { return };
    let text = "it's \"quoted\"; drop table x; -- é";
    let row =
        client.query_one("select $1::text, $2::bigint + 1", &[&text, &i64::from(i32::MAX)]).await.unwrap();
    assert_eq!(row.get::<_, &str>(0), text);
    assert_eq!(row.get::<_, i64>(1), 2_147_483_648);
}
