//! What a new user meets first: a store that cannot be opened says why, and never tells a password.

use std::error::Error as _;

use super::*;

cases![bad_names_of_schemas_are_refused];

async fn refused(url: &str) -> Error {
    let options = StoreOptions::default();
    PostgresStore::open(url, options).await.err().expect("it is refused")
}

/// The error as people and logs see it.
fn everything(error: &Error) -> String {
    let mut text = format!("{error} / {error:?} / {}", error.chain());
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text} / {error} / {error:?}");
        cause = error.source();
    }
    text
}

/// A port that nobody listens on.
fn closed_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("its address").port()
}

#[tokio::test]
async fn a_server_that_is_not_there_is_named_without_the_password() {
    let url = format!("postgres://ada:s3cret@127.0.0.1:{}/app", closed_port());
    let error = refused(&url).await;
    let text = error.to_string();
    assert!(matches!(error, Error::Open { .. }), "{text}");
    assert!(
        text.contains("`app` on 127.0.0.1") && text.contains("check that the server runs"),
        "{text}"
    );
    let text = everything(&error);
    assert!(text.contains("refused") && !text.contains("s3cret"), "{text}");
}

#[tokio::test]
async fn a_database_that_does_not_exist_is_named() {
    let url = at_database(&postgres_url(), "no_such_database").replace("postgres@", "postgres:s3cret@");
    let error = refused(&url).await;
    assert!(error.to_string().contains("`no_such_database`"), "{error}");
    let text = everything(&error);
    assert!(text.contains("does not exist") && !text.contains("s3cret"), "{text}");
}

#[tokio::test]
async fn a_url_that_makes_no_sense_is_answered_with_one_that_does() {
    for url in [
        "postgres://ada:s3cret@host:port/app",
        "postgres://ada:s3cret@127.0.0.1/app?no_such_option=1",
        "postgres://ada:s3cret@[::1/app",
        "host=127.0.0.1 password='s3cret",
        "host=127.0.0.1 pasword=s3cret",
        "s3cret",
    ] {
        let error = refused(url).await;
        assert!(matches!(error, Error::Open { .. }), "{url:?}: {error}");
        let text = everything(&error);
        assert!(!text.contains("s3cret"), "{url:?}: {text}");
        assert!(
            text.contains("postgres://user:password@host:5432/database"),
            "{url:?}: {text}"
        );
    }
}

/// Such a password must be written as `%40`, which is easily forgotten: the driver takes the rest for the host.
#[tokio::test]
async fn a_password_with_an_at_sign_is_not_taken_for_a_host() {
    let error = refused(&format!("postgres://ada:half@s3cret@127.0.0.1:{}/app", closed_port())).await;
    let text = everything(&error);
    assert!(!text.contains("s3cret"), "{text}");
}

async fn bad_names_of_schemas_are_refused(place: &Place) {
    let long = "a".repeat(51);
    for schema in [
        "", "Jobs", "1a", "a-b", "a b", "a\"b", "a;b", "a.b", "ä", "pg_jobs", "a\0", &long,
    ] {
        let options = StoreOptions {
            schema: schema.to_owned(),
            ..place.options(Clock::System)
        };
        let error = PostgresStore::open(&place.url, options)
            .await
            .err()
            .expect("it is refused");
        assert!(
            matches!(error, Error::Invalid { what: "schema", .. }),
            "{schema:?}: {error}"
        );
        assert!(error.to_string().contains("is not a plain name"), "{error}");
    }
}
