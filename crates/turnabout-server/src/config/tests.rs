//! Files, variables and flags, and what is said of those that are wrong.

use std::time::Duration;

use super::value::{Inherit, duration, words};
use super::*;

#[expect(clippy::unnecessary_wraps, reason = "so it is handed on")]
fn file(text: &str) -> Option<File> {
    Some(File {
        name: "t.toml".to_owned(),
        text: text.to_owned(),
    })
}

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|&(a, b)| (a.to_owned(), b.to_owned())).collect()
}

fn flag(name: &str, flag: &str, value: &str) -> Vec<(String, String, String)> {
    vec![(name.to_owned(), flag.to_owned(), value.to_owned())]
}

fn trouble(text: &str) -> String {
    Config::from(file(text), &[], &[]).expect_err(text).to_string()
}

#[test]
fn durations_are_written_as_people_do() {
    for (text, seconds) in [
        ("90s", 90),
        ("5 minutes", 300),
        ("1 day 2h", 93_600),
        ("0s", 0),
        ("2 weeks", 1_209_600),
    ] {
        assert_eq!(duration(text), Ok(Duration::from_secs(seconds)), "{text}");
        assert_eq!(
            duration(&words(Duration::from_secs(seconds))),
            Ok(Duration::from_secs(seconds))
        );
    }
    for bad in ["90", "-5s", "1 month", "soon", ""] {
        duration(bad).expect_err(bad);
    }
    assert_eq!(words(Duration::from_secs(90)), "90 seconds");
    assert_eq!(words(Duration::from_mins(30)), "30 minutes");
}

#[test]
fn flags_go_before_the_environment_and_that_before_the_file() {
    let text = "[executor]\npool-size = 2\nretries = 3\nname = \"a\"\n";
    let config = Config::from(
        file(text),
        &pairs(&[
            ("TURNABOUT_EXECUTOR_POOL_SIZE", "4"),
            ("TURNABOUT_EXECUTOR_RETRIES", "4"),
            ("TURNABOUT_JOB_ID", "x"),
        ]),
        &flag("executor.pool-size", "--pool-size", "6"),
    )
    .expect("it is right");
    assert_eq!(config.executor.pool_size, Some(6));
    assert_eq!(
        *config.origin("executor.pool-size"),
        Origin::Flag("--pool-size".to_owned())
    );
    assert_eq!(config.executor.retries, 4);
    assert_eq!(
        *config.origin("executor.retries"),
        Origin::Environment("TURNABOUT_EXECUTOR_RETRIES".to_owned())
    );
    assert_eq!(config.executor.name.as_deref(), Some("a"));
    assert_eq!(config.origin("executor.name").words(text), "t.toml, line 4");
    assert_eq!(*config.origin("executor.grace"), Origin::Default);
    assert_eq!(config.executor.grace, Duration::from_secs(10));

    let shown = show(&config);
    assert!(
        shown.contains("# flag --pool-size") && shown.contains("# t.toml, line 4"),
        "{shown}"
    );
    let json = show_json(&config);
    assert_eq!(json["executor.pool-size"]["value"], 6);
    assert_eq!(json["executor.grace"]["origin"], "default");
}

#[test]
fn tasks_and_groups_have_settings_of_their_own() {
    let config = Config::from(
        file(
            "[tasks.text]\ncommand = [\"pdftotext\", \"{args.path}\", \"-\"]\ntime-limit = \"none\"\nretries = 0\n\
             permanent-codes = [1, \"64-74\"]\nresult = \"last-line\"\n[groups.\"acme/ada\"]\nweight = 3\n",
        ),
        &[],
        &[],
    )
    .expect("it is right");
    let task = &config.tasks["text"];
    assert_eq!(task.time_limit, Inherit::Own(None));
    assert_eq!(task.retries.over(5), 0);
    assert_eq!(task.retry_delay.over(Duration::ZERO), Duration::ZERO);
    assert!(task.permanent_codes.contains(70) && !task.permanent_codes.contains(75));
    assert_eq!(config.groups["acme/ada"].weight, Some(3));
    let shown = show(&config);
    assert!(shown.contains("[groups.\"acme/ada\"]"), "{shown}");
    Config::from(file(&shown), &[], &[]).expect("what is shown can be read");
}

#[test]
fn mistakes_are_told_with_their_place_and_what_was_probably_meant() {
    for (text, parts) in [
        (
            "[executor]\npool-sise = 4\n",
            &["line 2", "did you mean `pool-size`?", "2 | pool-sise ..", "^^^^^^^^^"][..],
        ),
        ("[executor]\npool_size = 4\n", &["did you mean `pool-size`?"]),
        (
            "retry-delay = \"1 minute\"\n",
            &["did you mean `retry-delay` of [executor]?"],
        ),
        ("[excutor]\n", &["did you mean [executor]?"]),
        (
            "[executor]\npool-size = \"many\"\n",
            &["`pool-size`", "a whole number", "line 2"],
        ),
        ("[executor]\ngrace = 5\n", &["\"90s\""]),
        ("[executor]\ncounting-scheme = \"0,0\"\n", &["4,2,1"]),
        ("[executor]\nlease = \"6s\"\n", &["three heartbeats", "line 2"]),
        ("[executor\n", &["line 1"]),
        ("[tasks.a]\nretries = 1\n", &["neither what `command`", "line 1"]),
        ("[tasks.a]\ncommand = [\"a\", \"{path}\"]\n", &["{args.NAME}"]),
        ("[tasks.a]\ncommand = [\"{args.program}\"]\n", &["cannot come from"]),
        (
            "[tasks.a]\ncommand = [\"a\"]\nheaders = { a = \"b\" }\n",
            &["line 3", "`url`"],
        ),
        ("[tasks.a]\nurl = \"ftp://x\"\n", &["http://"]),
        ("[groups.a]\nweight = 0\n", &["from 1 to 1000"]),
        (
            "[tokens.a]\nhash = \"secret\"\n",
            &["`turnabout token` makes one", "line 1"],
        ),
        ("a = 1\n[executor]\nb = 2\n", &["`a`", "`b`"]),
    ] {
        let said = trouble(text);
        for part in parts {
            assert!(said.contains(part), "{text}: `{part}` is not in:\n{said}");
        }
    }
    let said = Config::from(None, &pairs(&[("TURNABOUT_EXECUTOR_POOLSIZE", "4")]), &[])
        .expect_err("no such variable")
        .to_string();
    assert!(said.contains("did you mean TURNABOUT_EXECUTOR_POOL_SIZE?"), "{said}");
    let said = Config::from(None, &pairs(&[("TURNABOUT_DATABSE", "postgres://db/jobs")]), &[])
        .expect_err("it would use another database")
        .to_string();
    assert!(said.contains("did you mean TURNABOUT_DATABASE?"), "{said}");
    let ours = [
        "CONFIG",
        "SERVER",
        "TOKEN",
        "TOKEN_FILE",
        "JOB_ID",
        "OWNER",
        "TEST_POSTGRES",
        "HOME",
    ];
    let ours: Vec<(String, String)> = ours.map(|name| (format!("TURNABOUT_{name}"), "x".to_owned())).into();
    Config::from(None, &ours, &[]).expect("they are for other purposes");

    let several = trouble("[groups.a]\nwieght = 1\n[executor]\nslots = 1\n[tasks.a]\ncomand = []\n");
    let lines: Vec<&str> = several.lines().filter(|line| line.starts_with("t.toml")).collect();
    assert_eq!(lines.len(), 3, "{several}");
    assert!(
        lines.is_sorted(),
        "one corrects a file from its beginning to its end: {several}"
    );
    assert!(trouble("[tasks.\"webhook:a\"]\ncommand = [\"true\"]\n").contains("[webhooks.NAME]"));
    let said = Config::from(None, &[], &flag("executor.grace", "--set", "soon"))
        .expect_err("no duration")
        .to_string();
    assert!(said.contains("flag --set") && said.contains("soon"), "{said}");
}

#[test]
fn passwords_and_secrets_are_not_shown() {
    let text = "database = \"postgres://ada:hidden1@host/db?password=hidden2\"\n\
                [tasks.a]\nurl = \"https://me:hidden5@x/y?key=hidden6\"\nsecret = \"hidden3\"\n\
                headers = { Authorization = \"hidden7\" }\n\
                [tasks.b]\ncommand = [\"true\"]\nenvironment = { PASSWORD = \"hidden8\" }\n\
                [api]\nsigning-keys = [\"hidden4, which is of 32 characters\"]\n";
    let config = Config::from(file(text), &[], &[]).expect("it is right");
    for shown in [
        show(&config),
        show_json(&config).to_string(),
        format!("{:?}", config.store),
        format!("{:?} {:?}", config.api, config.api_settings()),
    ] {
        assert!(!shown.contains("hidden"), "{shown}");
    }
    assert!(show(&config).contains("postgres://ada:***@host/db"));
    assert!(
        show(&config).contains("url = \"https://***@x/y?***\""),
        "{}",
        show(&config)
    );
    assert!(
        show(&config).contains("Authorization\" = \"(secret)\"")
            || show(&config).contains("Authorization = \"(secret)\"")
    );
    for mistyped in [
        "[tasks.a]\nurl = \"https://x\"\nsecert = \"hidden\"\n",
        "[tasks.a]\nurl = \"https://x\"\nheadres = { Authorization = \"hidden\" }\n",
        "[tasks.a]\nurl = \"https://x\"\nsecret = hidden\n",
    ] {
        let trouble = Config::from(file(mistyped), &[], &[]).expect_err(mistyped).to_string();
        assert!(!trouble.contains("hidden") && trouble.contains("line 3"), "{trouble}");
    }
    assert!(show(&config).contains("signing-keys = [\"(secret)\"]"));
}

#[test]
fn signing_keys_come_from_the_file_or_the_environment_and_are_long() {
    let long = "a key that nobody can guess, ever";
    let variable = |keys: &str| vec![("TURNABOUT_API_SIGNING_KEYS".to_owned(), keys.to_owned())];
    let given = Config::from(None, &variable(&format!("{},{}", "a".repeat(32), "b".repeat(32))), &[]);
    assert_eq!(given.expect("two keys").api.signing_keys.0.len(), 2);
    let short = Config::from(None, &variable("short"), &[])
        .expect_err("it is short")
        .to_string();
    assert!(
        short.contains("at least 32 characters") && short.contains("openssl"),
        "{short}"
    );
    for (wrong, said) in [
        (
            format!("signing-keys = [\"{long}\"]\nsigning-keys-file = \"k\""),
            "one of them is enough",
        ),
        ("signing-keys = \"one\"".to_owned(), "expected a list"),
        ("signing-keys = [\"\"]".to_owned(), "it is empty"),
    ] {
        let said_so = trouble(&format!("[api]\n{wrong}\n"));
        assert!(said_so.contains(said), "{said_so}");
    }
}

#[test]
fn the_reference_in_the_documentation_is_the_one_that_the_code_writes() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/turnabout.toml");
    if std::env::var_os("TURNABOUT_BLESS").is_some() {
        std::fs::write(&path, reference()).expect("it is written");
    }
    let written = std::fs::read_to_string(&path).expect("docs/turnabout.toml");
    assert!(
        written == reference(),
        "run this test with TURNABOUT_BLESS=1 to write docs/turnabout.toml anew"
    );
}

#[test]
fn every_line_of_the_reference_can_be_used_as_it_stands() {
    // What is a comment for people begins with a blank; what is a setting does not.
    let mut section = String::new();
    let mut used = Vec::new();
    for line in reference().lines() {
        let line = match line.strip_prefix('#') {
            Some(rest) if !rest.is_empty() && !rest.starts_with(' ') => rest,
            _ => line,
        };
        if line.starts_with('[') {
            line.clone_into(&mut section);
        }
        let key = line.split(' ').next().unwrap_or_default();
        // A task has a command or a URL, a secret stands here or in a file, and a role has what belongs to it.
        match key {
            "url" | "headers" if section.starts_with("[tasks.") => {}
            "secret" | "secret-file" | "signing-keys-file" | "jwt-keys-file" => {}
            _ => used.push(line.replace("role = \"admin\"", "role = \"owner\"")),
        }
    }
    let mut config = Config::from(file(&used.join("\n")), &[], &[]).unwrap_or_else(|troubles| panic!("{troubles}"));
    let defaults = Config::default();
    assert!(
        config.store.listen_url.take().is_some(),
        "a sample: there is no default"
    );
    assert!(config.store.expires.take().is_some(), "a sample: there is no default");
    let store = &mut config.store;
    for kept in [
        &mut store.retention_success,
        &mut store.retention_failed,
        &mut store.retention_cancelled,
    ] {
        assert!(kept.take().is_some(), "a sample: there is no default");
    }
    assert_eq!(config.store, defaults.store);
    assert_eq!(config.executor.lease, defaults.executor.lease);
    let named = [
        config.tasks.len(),
        config.groups.len(),
        config.tokens.len(),
        config.webhooks.len(),
    ];
    assert_eq!(named, [1, 1, 1, 1]);
}

#[test]
fn no_two_settings_have_the_same_variable() {
    let mut seen = std::collections::HashSet::new();
    for section in Config::FIXED {
        let config = Config::default();
        for setting in config.fixed(section).expect("it exists").table() {
            let name = dotted(section, &setting.key());
            assert!(seen.insert(variable(&name)), "{name}");
            assert!(!setting.about.is_empty(), "{name} says nothing of itself");
            assert!(
                config.fixed(section).expect("it exists").get(setting.field).is_some() || setting.sample.is_some(),
                "{name} has a default or a sample"
            );
        }
    }
}

#[test]
fn what_holds_for_all_groups_is_a_number_or_a_share() {
    let config = |text: &str| Config::from(file(text), &[], &[]).expect(text);
    for (text, running) in [
        ("4", Running::Jobs(4)),
        ("\"50 %\"", Running::Share(50)),
        ("\"100%\"", Running::Share(100)),
    ] {
        let config = config(&format!(
            "[group-defaults]\nmax-running = {text}\n[groups.a]\nmax-running = {text}\n"
        ));
        assert_eq!(config.group_defaults.max_running, Some(running), "{text}");
        assert_eq!(config.groups["a"].max_running, Some(running), "{text}");
    }
    let variable = pairs(&[("TURNABOUT_GROUP_DEFAULTS_MAX_RUNNING", "25 %")]);
    let config = Config::from(None, &variable, &[]).expect("a share");
    assert_eq!(config.group_defaults.max_running, Some(Running::Share(25)));
    for (text, said) in [
        ("max-running = \"101 %\"", "from 1 to 100"),
        ("max-running = \"most\"", "50 %"),
        ("max-running = 0", "never let a job run"),
        ("max-unfinished = 0", "never let a job in"),
        ("weight = 1001", "from 1 to 1000"),
    ] {
        let trouble = trouble(&format!("[group-defaults]\n{text}\n"));
        assert!(trouble.contains(said), "{text}: {trouble}");
    }
}

#[test]
fn there_is_sleep_on_loopback_or_where_it_is_allowed() {
    for (text, there) in [
        ("", true),
        ("[api]\naddress = \"[::1]:80\"\n", true),
        ("[api]\naddress = \"0.0.0.0:80\"\n", true),
        (
            "[api]\naddress = \"0.0.0.0:80\"\n[tasks.say]\ncommand = [\"true\"]\n",
            false,
        ),
        (
            "[api]\naddress = \"10.0.0.1:80\"\n[executor]\nsleep = true\n[tasks.say]\ncommand = [\"true\"]\n",
            true,
        ),
        ("[executor]\nsleep = false\n", false),
    ] {
        let config = Config::from(file(text), &[], &[]).expect(text);
        assert_eq!(config.has_sleep(), there, "{text}");
    }
}
