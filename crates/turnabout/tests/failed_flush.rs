//! Durable before visible: on `SQLite`, a job whose flush failed is nowhere, and nothing is damaged.
//!
//! The flushes of a child process really fail: a small library (`failed_flush/shim.c`), compiled here and loaded before the
//! C library, answers `fdatasync` with an error for as long as a trigger file exists.
#![cfg(all(feature = "sqlite", target_os = "linux"))]

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tempfile::TempDir;
use turnabout::{Context, Executor, JobId, Jobs, Submission, Task, TaskResult};

#[derive(Serialize, Deserialize)]
struct Mail;

impl Task for Mail {
    const NAME: &'static str = "mail";
}

async fn mail(cx: Context, _: Mail) -> TaskResult {
    println!("\nran {}", cx.job());
    Ok(())
}

fn ids(words: &str) -> Vec<JobId> {
    words.split_whitespace().filter_map(|id| id.parse().ok()).collect()
}

fn names(ids: &[JobId]) -> String {
    ids.iter().map(JobId::to_string).collect::<Vec<_>>().join(" ")
}

/// Not a case of its own: the process that has a broken disk. It reads commands, and answers each with a line.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn child_process() {
    let Ok(url) = std::env::var("TURNABOUT_CHILD_STORE") else {
        return;
    };
    let jobs = Jobs::open(url).await.expect("it opens");
    let executor = Executor::new(&jobs)
        .task(mail)
        .slots(4)
        .start()
        .await
        .expect("it starts");
    println!("\nanswer ready");
    let (send, mut commands) = tokio::sync::mpsc::unbounded_channel();
    std::thread::spawn(move || {
        std::io::stdin()
            .lines()
            .map_while(Result::ok)
            .all(|line| send.send(line).is_ok())
    });
    while let Some(command) = commands.recv().await {
        let (verb, rest) = command.split_once(' ').unwrap_or((&command, ""));
        let named = ids(rest);
        let good = if verb == "submit" {
            let new = named.iter().map(|id| Submission::new(Mail).id(*id).group("a"));
            let outcomes = jobs.submit_all(new).await;
            let kept = named.iter().zip(outcomes).filter(|(_, outcome)| outcome.is_ok());
            kept.map(|(id, _)| *id).collect()
        } else {
            let found = jobs.get_many(&named).await.expect("reading works");
            found.iter().map(|job| job.id).collect::<Vec<_>>()
        };
        println!("\nanswer {}", names(&good));
    }
    executor.shutdown(Duration::ZERO).await;
}

/// A child that is killed when dropped, and what it says.
struct Process {
    child: Child,
    commands: ChildStdin,
    said: Receiver<String>,
    /// Whose handlers have begun.
    ran: BTreeSet<JobId>,
}

impl Process {
    fn say(&mut self, command: &str) -> Vec<JobId> {
        writeln!(self.commands, "{command}").expect("it listens");
        ids(&self.answer())
    }

    fn answer(&mut self) -> String {
        loop {
            let line = self.said.recv_timeout(Duration::from_mins(1)).expect("it answers");
            match line.split_once(' ').unwrap_or((&line, "")) {
                ("answer", answer) => return answer.to_owned(),
                ("ran", id) => self.ran.extend(ids(id)),
                _ => {}
            }
        }
    }

    fn submit(&mut self, ids: &[JobId]) -> Vec<JobId> {
        self.say(&format!("submit {}", names(ids)))
    }

    fn get(&mut self, ids: &[JobId]) -> Vec<JobId> {
        self.say(&format!("get {}", names(ids)))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.child.kill().expect("killed");
        self.child.wait().expect("dead");
    }
}

/// A store in a folder of its own, and a library that can break its disk.
struct Place {
    folder: TempDir,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/failed_flush/shim.c");
        let compiled = Command::new("cc")
            .args(["-shared", "-fPIC", "-o"])
            .arg(folder.path().join("shim.so"))
            .arg(source)
            .arg("-ldl")
            .status()
            .expect("a C compiler; install gcc");
        assert!(compiled.success());
        Self { folder }
    }

    fn file(&self) -> PathBuf {
        // As /proc/self/fd names it.
        self.folder.path().canonicalize().expect("it is there").join("jobs.db")
    }

    fn trigger(&self) -> PathBuf {
        self.folder.path().join("broken")
    }

    fn break_disk(&self) {
        std::fs::write(self.trigger(), "").expect("a file");
    }

    fn mend_disk(&self) {
        std::fs::remove_file(self.trigger()).expect("it is there");
    }

    fn start(&self) -> Process {
        let mut child = Command::new(std::env::current_exe().expect("this program"))
            .args(["--exact", "child_process", "--nocapture"])
            .env("TURNABOUT_CHILD_STORE", format!("sqlite://{}", self.file().display()))
            .env("LD_PRELOAD", self.folder.path().join("shim.so"))
            .env("FLUSH_FAILS_WHILE", self.trigger())
            .env("FLUSH_FAILS_OF", self.file())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a process");
        let commands = child.stdin.take().expect("a pipe");
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        let (send, said) = channel();
        std::thread::spawn(move || output.lines().map_while(Result::ok).all(|line| send.send(line).is_ok()));
        let mut process = Process {
            child,
            commands,
            said,
            ran: BTreeSet::new(),
        };
        assert_eq!(process.answer(), "ready");
        process
    }

    /// Which of these are there for somebody else, who only reads, and that nothing is damaged.
    fn found(&self, ids: &[JobId]) -> Vec<JobId> {
        let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_WRITE;
        let file = rusqlite::Connection::open_with_flags(self.file(), flags).expect("it opens");
        // Whoever closes the file last would put the log into it.
        file.set_db_config(rusqlite::config::DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)
            .expect("set");
        let good: String = file
            .query_row("PRAGMA integrity_check", [], |row| row.get(0))
            .expect("checked");
        assert_eq!(good, "ok");
        let sql = "SELECT EXISTS (SELECT 1 FROM job WHERE id = ?1) OR EXISTS (SELECT 1 FROM job_history WHERE id = ?1)";
        let is_there = |id: &&JobId| {
            file.query_row(sql, [id.0.as_bytes()], |row| row.get::<_, bool>(0))
                .expect("read")
        };
        ids.iter().filter(is_there).copied().collect()
    }
}

fn new(jobs: usize) -> Vec<JobId> {
    (0..jobs).map(|_| JobId::new()).collect()
}

#[test]
fn a_job_whose_flush_failed_is_nowhere_not_even_after_a_crash() {
    let place = Place::new();
    let mut process = place.start();
    let kept = new(1);
    assert_eq!(process.submit(&kept), kept);

    place.break_disk();
    let refused = new(3);
    assert_eq!(process.submit(&refused[..1]), [], "told that it failed");
    assert_eq!(process.submit(&refused[1..]), [], "and of several at once");
    assert_eq!(process.get(&refused), [], "not there for whoever wrote it");
    assert_eq!(place.found(&refused), [], "nor for another process");
    assert!(
        process.ran.iter().all(|id| kept.contains(id)),
        "and nobody has begun it"
    );
    drop(process);
    assert_eq!(
        place.found(&refused),
        [],
        "nor after a crash, when all of the log is read anew"
    );
    assert_eq!(place.found(&kept), kept);

    place.mend_disk();
    let mut process = place.start();
    assert_eq!(process.get(&refused), []);
    let again = process.submit(&refused);
    assert_eq!(again, refused, "they can be submitted once more, under their ids");
    drop(process);
    assert_eq!(place.found(&refused), refused);
}

#[test]
fn when_the_disk_works_again_the_same_process_goes_on() {
    let place = Place::new();
    let mut process = place.start();
    place.break_disk();
    let refused = new(1);
    assert_eq!(process.submit(&refused), []);
    place.mend_disk();
    let kept = new(2);
    assert_eq!(process.submit(&kept), kept);
    assert_eq!(process.get(&refused), []);
    while !kept.iter().all(|id| process.ran.contains(id)) {
        process.get(&[]);
    }
    drop(process);
    assert_eq!(place.found(&refused), []);
    assert_eq!(place.found(&kept), kept);
}

/// The disk fails and works again at random, with transactions of all sizes, and the process is killed now and then.
#[test]
fn all_that_was_told_to_be_kept_is_there_and_nothing_else() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let place = Place::new();
    let mut process = place.start();
    let (mut all, mut kept, mut broken) = (Vec::new(), Vec::new(), false);
    for round in 0..60 {
        if random.u8(..3) == 0 {
            if broken {
                place.mend_disk();
            } else {
                place.break_disk();
            }
            broken = !broken;
        }
        let some = if random.bool() { 1 } else { random.usize(2..200) };
        let some = new(some);
        let told = process.submit(&some);
        assert_eq!(
            told,
            if broken { vec![] } else { some.clone() },
            "seed {seed}, round {round}"
        );
        all.extend(some);
        kept.extend(told);
        assert_eq!(process.get(&all), kept, "seed {seed}, round {round}");
        if random.u8(..8) == 0 {
            drop(process);
            assert_eq!(place.found(&all), kept, "seed {seed}, round {round}");
            if broken {
                place.mend_disk();
                broken = false;
            }
            process = place.start();
        }
    }
    drop(process);
    assert_eq!(place.found(&all), kept, "seed {seed}");
}
