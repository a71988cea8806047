//! Tasks that run programs, from the configuration to the last of their processes.

use serde_json::{Value, json};

use crate::http::Caller;
use crate::place::{PATIENCE, Place};

/// What the log of a job says, line by line.
fn log(place: &Place, id: &str) -> Vec<(String, String)> {
    let lines = place.ask(&["logs", id, "--json"]);
    let line = |text: &str| {
        let line: Value = serde_json::from_str(text).expect("JSON");
        let part = |name: &str| line[name].as_str().expect("a text").to_owned();
        (part("level"), part("message"))
    };
    lines.lines().map(line).collect()
}

/// Whether a process exists, and is more than what is left of one until someone takes note of its end.
fn is_alive(place: &Place, file: &str) -> bool {
    let text = String::from_utf8(place.read(file).expect("its number")).expect("a number");
    let pid: u32 = text.trim().parse().expect("a number");
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')')
        .next()
        .is_some_and(|rest| !rest.trim().is_empty() && !rest.trim().starts_with('Z'))
}

fn all_are_gone(place: &Place) {
    let begin = std::time::Instant::now();
    while ["own.pid", "child.pid"].iter().any(|file| is_alive(place, file)) {
        assert!(begin.elapsed() < PATIENCE, "a process is still there");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

/// Neither it nor its child minds SIGTERM.
const STUBBORN: &str = "trap '' TERM\n\
    echo $$ > own.pid\n\
    sh -c 'trap \"\" TERM; echo $$ > child.pid; while :; do sleep 1; done' &\n\
    while [ ! -s child.pid ]; do sleep 0.01; done\n\
    echo '::progress 1 ready'\n\
    while :; do sleep 1; done\n";

pub(crate) fn a_program_tells_how_far_it_is_and_its_last_line_is_the_result(place: &Place) {
    place.configure("[tasks.report]\ncommand = [\"sh\", \"report.sh\", \"{args.name}\"]\nresult = \"last-line\"\n");
    place.file(
        "report.sh",
        "cat > stdin.json\n\
         echo \"reading $1 for $TURNABOUT_GROUP\"\n\
         echo 'one page is odd' >&2\n\
         echo '::progress 40 importing table 3'\n\
         while [ ! -e go ]; do sleep 0.01; done\n\
         echo '{\"pages\": 3}'\n",
    );
    let _server = place.serve(&[]);
    let args = r#"{"name": "a report", "big": [1, 2]}"#;
    let id = place.ask(&["submit", "report", args, "--group", "acme"]);
    // Its start is written a moment after it has started.
    let job = place.job_when(&id, "running and at 40 %", |job| {
        job["progress"] == 40 && job["state"] == "running"
    });
    assert_eq!(
        (&job["state"], &job["step"]),
        (&json!("running"), &json!("importing table 3"))
    );
    place.file("go", "");
    let job = place.job_in(&id, "success");
    assert_eq!(
        (&job["result"], &job["progress"]),
        (&json!({ "pages": 3 }), &json!(100))
    );
    let stdin: Value = serde_json::from_slice(&place.read("stdin.json").expect("its input")).expect("JSON");
    assert_eq!(stdin, serde_json::from_str::<Value>(args).expect("JSON"));
    let lines = log(place, &id);
    assert!(
        lines.contains(&("info".to_owned(), "reading a report for acme".to_owned())),
        "{lines:?}"
    );
    assert!(
        lines.contains(&("warn".to_owned(), "one page is odd".to_owned())),
        "{lines:?}"
    );
    assert_eq!(lines.len(), 2, "progress and the result are no lines: {lines:?}");
}

pub(crate) fn exit_codes_decide_whether_a_program_is_tried_again(place: &Place) {
    place.configure(
        "[tasks.end]\ncommand = [\"sh\", \"-c\", \"echo because >&2; exit $0\", \"{args.code}\"]\n\
         permanent-codes = [2, \"64-80\"]\nretries = 1\nretry-delay = \"10ms\"\n",
    );
    let _server = place.serve(&[]);
    for (code, state, attempts, reason) in [
        (0, "success", 1, Value::Null),
        (2, "failed", 1, json!("permanent")),
        (70, "failed", 1, json!("permanent")),
        (75, "failed", 2, json!("error")),
        (3, "failed", 2, json!("error")),
    ] {
        let id = place.ask(&["submit", "end", &json!({ "code": code }).to_string()]);
        let job = place.job_in(&id, state);
        assert_eq!(
            (&job["attempts"], &job["reason"]),
            (&json!(attempts), &reason),
            "{code}"
        );
        if code != 0 {
            let error = job["error"].as_str().expect("an error");
            assert!(error.contains(&format!("exit code {code}: because")), "{error}");
        }
    }
}

pub(crate) fn a_program_that_ignores_the_request_to_end_is_gone_with_its_children_after_a_cancel(place: &Place) {
    place.configure("[executor]\ngrace = \"200ms\"\n[tasks.stubborn]\ncommand = [\"sh\", \"stubborn.sh\"]\n");
    place.file("stubborn.sh", STUBBORN);
    let _server = place.serve(&[]);
    let id = place.ask(&["submit", "stubborn"]);
    place.job_when(&id, "ready", |job| job["step"] == "ready");
    assert!(is_alive(place, "own.pid") && is_alive(place, "child.pid"));
    assert!(place.ask(&["cancel", &id]).starts_with("cancelling"));
    place.job_in(&id, "cancelled");
    all_are_gone(place);
}

pub(crate) fn a_program_whose_time_is_up_is_ended_with_its_children(place: &Place) {
    place.configure(
        "[executor]\ngrace = \"200ms\"\n\
         [tasks.stubborn]\ncommand = [\"sh\", \"stubborn.sh\"]\ntime-limit = \"1s\"\nretries = 0\n",
    );
    place.file("stubborn.sh", STUBBORN);
    let _server = place.serve(&[]);
    let id = place.ask(&["submit", "stubborn"]);
    let job = place.job_in(&id, "failed");
    assert_eq!(job["reason"], "timed-out");
    all_are_gone(place);
}

pub(crate) fn a_shutdown_ends_programs_and_gives_their_jobs_back(place: &Place) {
    place.configure("[executor]\ngrace = \"200ms\"\n[tasks.stubborn]\ncommand = [\"sh\", \"stubborn.sh\"]\n");
    place.file("stubborn.sh", STUBBORN);
    let server = place.serve(&["--deadline", "0s"]);
    let id = place.ask(&["submit", "stubborn"]);
    place.job_when(&id, "ready", |job| job["step"] == "ready");
    server.terminate();
    assert!(server.end().success());
    let job = place.job_in(&id, "waiting");
    assert_eq!((&job["reason"], &job["attempts"]), (&json!("interrupted"), &json!(0)));
    all_are_gone(place);
}

pub(crate) fn ten_megabytes_on_one_line_and_bytes_that_are_no_text_do_no_harm(place: &Place) {
    place.configure("[tasks.loud]\ncommand = [\"sh\", \"loud.sh\"]\nresult = \"last-line\"\n");
    place.file(
        "loud.sh",
        "head -c 10000000 /dev/zero | tr '\\0' x\n\
         echo\n\
         printf 'odd \\377\\376 bytes\\n'\n\
         printf 'a NUL \\000 inside\\n'\n\
         printf '10 percent\\r20 percent\\r\\n'\n\
         printf '\"done\"'\n",
    );
    let _server = place.serve(&[]);
    let id = place.ask(&["submit", "loud"]);
    let job = place.job_in(&id, "success");
    assert_eq!(job["result"], "done");
    let lines = log(place, &id);
    assert!(
        lines[0].1.starts_with("xxxx") && lines[0].1.len() < 10_000,
        "{} bytes",
        lines[0].1.len()
    );
    assert_eq!(lines[1].1, "odd \u{fffd}\u{fffd} bytes");
    assert!(lines[2].1.starts_with("a NUL"), "{lines:?}");
    assert_eq!(lines[3].1, "20 percent");
    assert_eq!(lines.len(), 4, "{:?}", &lines[1..]);
}

pub(crate) fn output_past_its_limit_is_thrown_away_and_the_result_is_not(place: &Place) {
    place.configure(
        "[tasks.long]\nresult = \"last-line\"\nmax-output = \"1 kB\"\n\
         command = [\"sh\", \"-c\", \"for i in $(seq 1000); do echo line $i; done; echo [1000]\"]\n",
    );
    let _server = place.serve(&[]);
    let id = place.ask(&["submit", "long"]);
    assert_eq!(place.job_in(&id, "success")["result"], json!([1000]));
    let lines = log(place, &id);
    assert!(lines.len() < 200, "{}", lines.len());
    assert!(
        lines.last().is_some_and(|(_, line)| line.contains("max-output")),
        "{lines:?}"
    );
}

pub(crate) fn a_program_that_does_not_exist_is_named_and_tried_again(place: &Place) {
    place.configure("[tasks.none]\ncommand = [\"no-such-program\"]\n[tasks.nowhere]\ncommand = [\"true\"]\nfolder = \"no-such-folder\"\n");
    let _server = place.serve(&[]);
    for (task, part) in [
        ("none", "there is no program `no-such-program`"),
        ("nowhere", "no folder no-such-folder"),
    ] {
        let id = place.ask(&["submit", task]);
        let job = place.job_in(&id, "stuck");
        let error = job["error"].as_str().expect("an error");
        assert!(error.contains(part), "{error}");
    }
}

pub(crate) fn arguments_arrive_as_they_are_whatever_they_contain(place: &Place) {
    place.configure(
        "[tasks.echo]\npermanent-codes = [1]\nallow-options = true\n\
         command = [\"sh\", \"-c\", \"printf '%s\\\\n\\\\000' \\\"$@\\\" > out\", \"echo\", \
         \"{args.quotes}\", \"{args.lines}\", \"{args.dash}\", \"{args.shell}\", \"<{args.deep.0.n}>\", \"{args.none}\"]\n",
    );
    let _server = place.serve(&[]);
    let args = json!({
        "quotes": "it's \"quoted\" \\ here",
        "lines": "one\ntwo\n",
        "dash": "--delete",
        "shell": "$(touch pwned) `touch pwned`; touch pwned",
        "deep": [{ "n": 7 }],
        "none": "",
    });
    let id = place.ask(&["submit", "echo", &args.to_string()]);
    place.job_in(&id, "success");
    let out = String::from_utf8(place.read("out").expect("what it wrote")).expect("text");
    let mut given: Vec<&str> = out.split("\n\0").collect();
    assert_eq!(given.pop(), Some(""));
    assert_eq!(
        given,
        [
            "it's \"quoted\" \\ here",
            "one\ntwo\n",
            "--delete",
            "$(touch pwned) `touch pwned`; touch pwned",
            "<7>",
            ""
        ]
    );
    assert!(place.read("pwned").is_none(), "a shell has read the arguments");

    let refused = place.complaint(&["submit", "echo", r#"{"quotes": 1}"#]);
    assert!(refused.contains("have no `lines`"), "{refused}");
}

pub(crate) fn a_program_is_told_about_its_job_and_not_about_our_secrets(place: &Place) {
    place.configure(
        "[tasks.env]\ncommand = [\"sh\", \"-c\", \"env > env\"]\nenvironment = { OWN = \"yes\" }\n\
         [executor]\npass-environment = [\"WANTED\"]\n",
    );
    place.ask(&["migrate"]);
    let server = place
        .command(&["executor"])
        .env("TURNABOUT_TOKEN", "hidden")
        .env("AWS_SECRET_ACCESS_KEY", "hidden")
        .env("PGPASSWORD", "hidden")
        .env("WANTED", "passed")
        .env("LC_TIME", "C")
        .stderr(std::process::Stdio::null())
        .spawn();
    let mut server = server.expect("it starts");
    let id = place.ask(&["submit", "env", "--group", "acme", "--owner", "ada"]);
    place.job_in(&id, "success");
    server.kill().expect("it runs");
    server.wait().expect("it has ended");
    let env = String::from_utf8(place.read("env").expect("what it wrote")).expect("text");
    for line in [
        format!("TURNABOUT_JOB_ID={id}"),
        "TURNABOUT_GROUP=acme".to_owned(),
        "TURNABOUT_OWNER=ada".to_owned(),
        "TURNABOUT_TASK=env".to_owned(),
        "TURNABOUT_ATTEMPT=1".to_owned(),
        "OWN=yes".to_owned(),
        "WANTED=passed".to_owned(),
        "LC_TIME=C".to_owned(),
    ] {
        assert!(env.lines().any(|found| found == line), "{line}: {env}");
    }
    assert!(!env.contains("hidden") && !env.contains("TURNABOUT_DATABASE"), "{env}");
}

pub(crate) fn arguments_are_no_options_unless_the_task_allows_it(place: &Place) {
    let task = |name: &str, command: &str| format!("[tasks.{name}]\ncommand = [\"echo\", {command}]\n");
    place.configure(
        &[
            task("bare", "\"{args.x}\""),
            task("owner", "\"{owner}\""),
            task("after", "\"--\", \"{args.x}\""),
            task("named", "\"--x={args.x}\""),
            task("allowed", "\"{args.x}\"") + "allow-options = true\n",
        ]
        .concat(),
    );
    let server = place.serve(&[]);
    let api = Caller::of(&server);
    for (task, x, status) in [
        ("bare", "--help", 422),
        ("bare", "-", 422),
        ("bare", "a--help", 201),
        ("after", "--help", 201),
        ("named", "--help", 201),
        ("allowed", "--help", 201),
    ] {
        let answer = api.post("/api/v1/jobs", &json!({ "task": task, "args": { "x": x } }));
        assert_eq!(answer.status, status, "{task} {x}: {}", answer.text);
    }
    // What is not known before it runs fails for good.
    let id = api.submit(&json!({ "task": "owner", "owner": "--help" }));
    let job = api.ended(&id);
    assert_eq!(
        (&job["state"], &job["reason"]),
        (&json!("failed"), &json!("permanent")),
        "{job}"
    );
    assert!(
        job["error"]
            .as_str()
            .is_some_and(|error| error.contains("allow-options")),
        "{job}"
    );
}

pub(crate) fn programs_end_with_an_executor_that_is_killed(place: &Place) {
    place.configure(
        "[tasks.long]\ncommand = [\"sh\", \"-c\", \"sleep 1000 & echo $$ $! > pids; wait\"]\n\
         [tasks.short]\ncommand = [\"true\"]\n",
    );
    let server = place.serve(&["--pool-size", "2"]);
    let api = Caller::of(&server);
    // Programs that have ended are nobody's concern any longer.
    let short = api.submit(&json!({ "task": "short" }));
    assert_eq!(api.ended(&short)["state"], "success");
    let id = api.submit(&json!({ "task": "long" }));
    api.until(&id, "running");
    let pids = crate::place::soon("its processes", || {
        let pids = String::from_utf8(place.read("pids")?).ok()?;
        let pids: Vec<u32> = pids.split_whitespace().filter_map(|pid| pid.parse().ok()).collect();
        (pids.len() == 2).then_some(pids)
    });
    let lives = |pid: &u32| {
        let status = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // One that has ended may wait for somebody to ask about it.
        !status.is_empty() && !status.contains(") Z ")
    };
    assert!(pids.iter().all(lives), "they run");
    server.signal("KILL");
    crate::place::soon("their end", || (!pids.iter().any(lives)).then_some(()));
}
