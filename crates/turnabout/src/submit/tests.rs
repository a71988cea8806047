//! What a submission may not say.

use super::*;

fn now() -> Timestamp {
    Timestamp::constant(1_893_456_000, 0)
}

fn check(submission: Submission) -> Result<NewJob> {
    submission.check(1024, || JobId::at(now()))
}

fn plain() -> Submission {
    Submission::named("mail", serde_json::json!({"to": "ada"}))
}

#[test]
fn a_plain_submission_has_defaults() {
    let job = check(plain()).expect("it is fine");
    assert_eq!(
        (job.group.as_str(), job.items, job.args.as_str()),
        ("default", 1, r#"{"to":"ada"}"#)
    );
    assert_eq!((job.queue, job.priority, job.id_given), (None, None, false));
    assert_eq!(job.id.time(), Some(now()));
}

#[test]
fn bad_names_are_refused_with_what_is_wrong() {
    let long = "x".repeat(201);
    for (bad, hint) in [
        ("", "empty"),
        (long.as_str(), "201 bytes"),
        ("a\0b", "control"),
        ("a\nb", "control"),
    ] {
        for submission in [
            Submission::named(bad, ()),
            plain().group(bad),
            plain().owner(bad),
            plain().queue(bad),
            plain().unique(bad),
            plain().meta(bad, "x"),
        ] {
            let error = check(submission).expect_err(bad).to_string();
            assert!(error.contains(hint), "{error}");
        }
    }
    check(plain().group("x".repeat(200))).expect("200 bytes are allowed");
    for (bad, hint) in [
        (" acme", "blank"),
        ("acme ", "blank"),
        ("  ", "blank"),
        ("acme\u{3000}", "blank"),
        ("ac\u{200b}me", "nobody can see"),
        ("\u{202e}emca", "nobody can see"),
    ] {
        for submission in [
            Submission::named(bad, ()),
            plain().group(bad),
            plain().owner(bad),
            plain().queue(bad),
        ] {
            let error = check(submission).expect_err(bad).to_string();
            assert!(error.contains(hint), "{error}");
        }
        check(plain().unique(bad)).expect("a key is nobody's name");
    }
    check(plain().group("acme ltd").owner("می\u{200c}خواهم")).expect("names of people");
}

#[test]
fn a_job_that_would_expire_before_it_may_start_is_refused() {
    let hour = Duration::from_hours(1);
    let tomorrow = Timestamp::now() + hour * 24;
    for bad in [
        plain().delay(hour).expires(hour / 2),
        plain().delay(hour).expires(hour),
        plain().at(tomorrow).expires(hour),
        plain().at(tomorrow).expires(tomorrow),
        plain().delay(hour * 25).expires(tomorrow),
    ] {
        let error = check(bad).expect_err("too late").to_string();
        assert!(error.contains("expire before it may start"), "{error}");
    }
    for good in [
        plain().delay(hour).expires(hour * 2),
        plain().at(tomorrow).expires(hour * 25),
        plain().expires(hour),
        plain().at(now() - hour * 24 * 3650 * 2).expires(hour),
    ] {
        check(good).expect("in time");
    }
}

#[test]
fn a_group_may_be_a_path_but_not_half_of_one() {
    check(plain().group("acme/alice")).expect("a path");
    for bad in ["/", "/acme", "acme/", "acme//alice"] {
        let error = check(plain().group(bad)).expect_err(bad).to_string();
        assert!(error.contains("acme/alice"), "{error}");
    }
}

#[test]
fn arguments_over_the_limit_are_refused() {
    check(Submission::named("mail", "x".repeat(1022))).expect("just fits with its quotes");
    let error = check(Submission::named("mail", "x".repeat(1023)))
        .expect_err("too long")
        .to_string();
    assert!(error.contains("1025 bytes") && error.contains("1024"), "{error}");
}

#[test]
fn arguments_that_are_no_json_are_refused() {
    let map = std::collections::HashMap::from([((1, 2), 3)]);
    let error = check(Submission::named("mail", map))
        .expect_err("keys must be strings")
        .to_string();
    assert!(error.contains("JSON"), "{error}");
}

#[test]
fn meta_and_items_have_bounds() {
    assert!(check(plain().items(0)).is_err());
    check(plain().items(2_147_483_647)).expect("so many can be stored");
    let error = check(plain().items(2_147_483_648)).expect_err("too many").to_string();
    assert!(error.contains("at most 2147483647"), "{error}");
    assert!(check(plain().meta("k", "x".repeat(5000))).is_err());
    assert!(check(plain().meta("k", "a\0b")).is_err());
    let many = (0..33).fold(plain(), |s, i| s.meta(format!("k{i}"), "v"));
    assert!(check(many).is_err());
}
