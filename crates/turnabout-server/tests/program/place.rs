//! Where the tests run the program: an empty folder each, with a store of its own, and servers that end with the test.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::database::{Database, Stranger};

/// Generous: whoever waits so long waits in vain.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

/// Serves on any port.
const SERVE: [&str; 3] = ["serve", "--address", "127.0.0.1:0"];

/// An empty folder, and perhaps an empty database. Both are gone afterwards.
pub(crate) struct Place {
    folder: TempDir,
    database: Option<Database>,
}

impl Place {
    /// Where the jobs go into a file of the folder, as they do unless said otherwise.
    pub(crate) fn on_sqlite() -> Self {
        Self {
            folder: TempDir::new().expect("a folder"),
            database: None,
        }
    }

    pub(crate) fn on_postgres() -> Self {
        Self {
            database: Some(Database::new()),
            ..Self::on_sqlite()
        }
    }

    /// The server's database, where there is one.
    pub(crate) fn server(&self) -> Option<&str> {
        self.database.as_ref().map(|database| database.url.as_str())
    }

    /// Someone else at the store.
    pub(crate) fn stranger(&self) -> Stranger {
        match &self.database {
            Some(database) => Stranger::on_postgres(&database.url),
            None => Stranger::on_sqlite(&self.folder.path().join("turnabout.db")),
        }
    }

    /// A file in the folder with a line of JSON for each value; its name.
    pub(crate) fn write(&self, name: &str, lines: &[Value]) -> String {
        let text: Vec<String> = lines.iter().map(Value::to_string).collect();
        std::fs::write(self.folder.path().join(name), text.join("\n")).expect("a file is written");
        name.to_owned()
    }

    /// A file in the folder with this text; its path.
    pub(crate) fn file(&self, name: &str, text: &str) -> String {
        let path = self.folder.path().join(name);
        std::fs::write(&path, text).expect("a file is written");
        path.display().to_string()
    }

    /// Where a file in the folder is.
    pub(crate) fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }

    /// What a file in the folder holds, if it exists.
    pub(crate) fn read(&self, name: &str) -> Option<Vec<u8>> {
        std::fs::read(self.folder.path().join(name)).ok()
    }

    /// The configuration of all commands from now on.
    pub(crate) fn configure(&self, text: &str) {
        // All of it at once: a server that looks meanwhile must not find half of it.
        let new = self.file("turnabout.toml.new", text);
        std::fs::rename(new, self.folder.path().join("turnabout.toml")).expect("the file is in place");
    }

    /// The job, as soon as it is as it should be.
    pub(crate) fn job_when(&self, id: &str, what: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        let begin = Instant::now();
        loop {
            let job = self.ask_json(&["show", id, "--json"]);
            if is_so(&job) {
                return job;
            }
            assert!(begin.elapsed() < PATIENCE, "the job is not {what}: {job:#}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// The job, as soon as it is in this state.
    pub(crate) fn job_in(&self, id: &str, state: &str) -> Value {
        self.job_when(id, state, |job| job["state"] == state)
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_turnabout"));
        command
            .args(args)
            .current_dir(self.folder.path())
            .env_remove("TURNABOUT_DATABASE")
            .env_remove("TURNABOUT_CONFIG")
            .env_remove("TURNABOUT_SERVER")
            .env_remove("TURNABOUT_TOKEN")
            .env_remove("RUST_LOG")
            .stdin(Stdio::null());
        if let Some(database) = &self.database {
            command.env("TURNABOUT_DATABASE", &database.url);
        }
        command
    }

    /// Another program, in the folder.
    pub(crate) fn program(&self, name: &str) -> Command {
        let mut command = Command::new(name);
        command.current_dir(self.folder.path()).stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().expect("the program starts")
    }

    /// What a command prints that must succeed.
    pub(crate) fn ask(&self, args: &[&str]) -> String {
        let output = self.run(args);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{args:?}: {errors}");
        String::from_utf8(output.stdout).expect("text").trim_end().to_owned()
    }

    pub(crate) fn ask_json(&self, args: &[&str]) -> Value {
        serde_json::from_str(&self.ask(args)).expect("JSON")
    }

    /// What a command complains of that must fail.
    pub(crate) fn complaint(&self, args: &[&str]) -> String {
        let output = self.run(args);
        assert!(!output.status.success(), "{args:?} succeeded");
        String::from_utf8(output.stderr).expect("text")
    }

    /// A server that has registered.
    pub(crate) fn serve(&self, args: &[&str]) -> Server {
        Self::serving(Server::start(self, args))
    }

    /// The same, started by a shell that has set limits with these commands.
    pub(crate) fn serve_within(&self, limits: &str, args: &[&str]) -> Server {
        let program = self.command(&[&SERVE[..], args].concat());
        let mut shell = self.program("sh");
        shell.args(["-c", &format!("{limits} && exec \"$@\""), "sh"]);
        shell.arg(program.get_program()).args(program.get_args());
        for (name, value) in program.get_envs() {
            match value {
                Some(value) => shell.env(name, value),
                None => shell.env_remove(name),
            };
        }
        Self::serving(Server::spawn(shell))
    }

    fn serving(mut server: Server) -> Server {
        let line = wait_for(&server.log, "serving");
        if let Some((_, rest)) = line.split_once(" on http") {
            let address = rest.split(';').next().unwrap_or_default();
            server.url = format!("http{address}");
        }
        server
    }
}

pub(crate) struct Server {
    child: Child,
    /// Where it answers.
    pub(crate) url: String,
    pub(crate) log: Receiver<String>,
}

impl Server {
    /// A server that has been started, and no more.
    pub(crate) fn start(place: &Place, args: &[&str]) -> Self {
        Self::spawn(place.command(&[&SERVE[..], args].concat()))
    }

    fn spawn(mut command: Command) -> Self {
        let mut child = command.stderr(Stdio::piped()).spawn().expect("the server starts");
        let log = lines(child.stderr.take().expect("its log"));
        Self {
            child,
            url: String::new(),
            log,
        }
    }

    /// How much memory it has at present, in MiB.
    pub(crate) fn memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).expect("its status");
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("VmRSS:"))
            .expect("its memory");
        line.trim()
            .split(' ')
            .next()
            .and_then(|size| size.parse::<u64>().ok())
            .expect("a number")
            / 1024
    }

    pub(crate) fn terminate(&self) {
        self.signal("TERM");
    }

    pub(crate) fn signal(&self, signal: &str) {
        let kill = format!("kill -{signal} {}", self.child.id());
        let sent = Command::new("sh").args(["-c", &kill]).status().expect("a shell");
        assert!(sent.success(), "the server has gone already");
    }

    pub(crate) fn end(mut self) -> ExitStatus {
        ended(&mut self.child)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Also after a test that failed. Where it has ended already there is nothing to kill.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What someone prints, line by line, to be waited for with patience. Read to the end even if nobody listens, so that
/// the writer never finds the pipe full or closed.
fn lines(source: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(source).lines().map_while(Result::ok) {
            let _ = sender.send(line);
        }
    });
    receiver
}

/// Waits for a line that contains this.
pub(crate) fn wait_for(lines: &Receiver<String>, part: &str) -> String {
    let mut seen = Vec::new();
    loop {
        match lines.recv_timeout(PATIENCE) {
            Ok(line) if line.contains(part) => return line,
            Ok(line) => seen.push(line),
            Err(error) => panic!("nobody said `{part}` ({error}):\n{}", seen.join("\n")),
        }
    }
}

/// The end of a process, which must come.
pub(crate) fn ended(child: &mut Child) -> ExitStatus {
    let begin = Instant::now();
    loop {
        if let Some(status) = child.try_wait().expect("a child can be waited for") {
            return status;
        }
        assert!(begin.elapsed() < PATIENCE, "the process does not end");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Submits a job and follows it until it runs.
pub(crate) fn submit_and_see_running(place: &Place, args: &str) -> (String, Child, Receiver<String>) {
    let mut child = place
        .command(&["submit", "sleep", args, "--wait"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let lines = lines(child.stdout.take().expect("its output"));
    let id = lines.recv_timeout(PATIENCE).expect("the job's id");
    wait_for(&lines, "running");
    (id, child, lines)
}

/// What is there as soon as it is there.
pub(crate) fn soon<T>(what: &str, look: impl Fn() -> Option<T>) -> T {
    let begin = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begin.elapsed() < PATIENCE, "{what}: in vain");
        std::thread::sleep(Duration::from_millis(20));
    }
}
