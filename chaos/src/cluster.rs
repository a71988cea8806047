//! A `PostgreSQL` that can crash: a cluster of our own, made for one run and removed after it.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use rustix::process::{Pid, Signal, kill_process};
use tokio::process::{Child, Command};
use tokio_postgres::NoTls;

/// A running cluster.
#[derive(Debug)]
pub struct Cluster {
    folder: tempfile::TempDir,
    programs: PathBuf,
    port: u16,
    connections: u32,
    server: Option<Child>,
}

impl Cluster {
    /// Makes a cluster and starts its server. Commits are flushed to disk if `durable`: nothing here pulls a plug, so
    /// that is only a matter of speed.
    pub async fn start(durable: bool) -> Result<Self> {
        Self::accepting(200, durable).await
    }

    /// The same, with a server that accepts so many connections.
    pub async fn accepting(connections: u32, durable: bool) -> Result<Self> {
        let programs = programs()?;
        let folder = tempfile::Builder::new().prefix("turnabout-chaos-").tempdir_in("/tmp")?;
        if is_root() {
            let (user, group) = server_user()?;
            let owned = Command::new("chown")
                .arg(format!("{user}:{group}"))
                .arg(folder.path())
                .status()
                .await?;
            ensure!(owned.success(), "cannot hand the cluster's folder to the server's user");
        }
        let data = folder.path().join("data");
        let made = as_server(&programs.join("initdb"))?
            .arg("--pgdata")
            .arg(&data)
            .args([
                "--username=postgres",
                "--auth=trust",
                "--encoding=UTF8",
                "--no-locale",
                "--no-sync",
            ])
            .stdout(Stdio::null())
            .status()
            .await?;
        ensure!(made.success(), "initdb failed");
        let port = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let mut cluster = Self {
            folder,
            programs,
            port,
            connections,
            server: None,
        };
        cluster.launch(durable)?;
        cluster.accepts().await?;
        Ok(cluster)
    }

    /// The port that it listens on.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Its URL, through this port.
    pub fn url(port: u16) -> String {
        format!("postgres://postgres@127.0.0.1:{port}/postgres")
    }

    /// Ends the server at once, as a crash would (immediate mode), and starts it again. Returns when it accepts connections.
    pub async fn crash(&mut self) -> Result<()> {
        self.end(Signal::QUIT).await?;
        self.launch(false)?;
        self.accepts().await
    }

    fn launch(&mut self, durable: bool) -> Result<()> {
        let fsync = if durable { "on" } else { "off" };
        let log = self.folder.path().join("log");
        let log = std::fs::OpenOptions::new().create(true).append(true).open(log)?;
        let server = as_server(&self.programs.join("postgres"))?
            .arg("-D")
            .arg(self.folder.path().join("data"))
            .args(["-p", &self.port.to_string(), "-k", ""])
            .args(["-c", "listen_addresses=127.0.0.1"])
            .args(["-c", &format!("max_connections={}", self.connections)])
            .args([
                "-c",
                &format!("fsync={fsync}"),
                "-c",
                &format!("full_page_writes={fsync}"),
            ])
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .kill_on_drop(true)
            .spawn()
            .context("the server cannot be started")?;
        self.server = Some(server);
        Ok(())
    }

    async fn end(&mut self, signal: Signal) -> Result<()> {
        if let Some(mut server) = self.server.take() {
            if let Some(pid) = server.id().and_then(|pid| Pid::from_raw(pid.cast_signed())) {
                kill_process(pid, signal)?;
            }
            server.wait().await?;
        }
        Ok(())
    }

    /// Waits until the server accepts connections.
    async fn accepts(&self) -> Result<()> {
        let begun = Instant::now();
        loop {
            match tokio_postgres::connect(&Self::url(self.port), NoTls).await {
                Ok(_) => return Ok(()),
                Err(error) if begun.elapsed() > Duration::from_mins(1) => {
                    let log = std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
                    bail!("the server does not come up: {error}\n{log}");
                }
                Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
            }
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // The postmaster ends its children when it is told to, not when it is killed.
        let pid = self.server.as_ref().and_then(Child::id);
        if let Some(pid) = pid.and_then(|pid| Pid::from_raw(pid.cast_signed()))
            && kill_process(pid, Signal::QUIT).is_ok()
        {
            let begun = Instant::now();
            while begun.elapsed() < Duration::from_secs(5)
                && self
                    .server
                    .as_mut()
                    .is_some_and(|server| matches!(server.try_wait(), Ok(None)))
            {
                std::thread::sleep(Duration::from_millis(10));
            }
        }
    }
}

pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// `PostgreSQL` refuses to run as root; then its programs run as this user and group.
pub(crate) fn server_user() -> Result<(String, String)> {
    let known = std::fs::read_to_string("/etc/passwd").context("cannot tell which users there are")?;
    let numbers = |user: &str| {
        let line = known.lines().find(|line| line.starts_with(&format!("{user}:")))?;
        let mut fields = line.split(':').skip(2).map(ToOwned::to_owned);
        Some((fields.next()?, fields.next()?))
    };
    ["postgres", "nobody"]
        .into_iter()
        .find_map(numbers)
        .context("there is no user that PostgreSQL could run as")
}

/// One of the server's programs; should this process be killed, it ends too, as far as that can be arranged.
pub(crate) fn as_server(program: &Path) -> Result<Command> {
    if !is_root() {
        return Ok(Command::new(program));
    }
    let (user, group) = server_user()?;
    let mut command = Command::new("setpriv");
    command
        .args([
            "--reuid",
            &user,
            "--regid",
            &group,
            "--clear-groups",
            "--pdeathsig",
            "KILL",
            "--",
        ])
        .arg(program)
        .current_dir("/");
    Ok(command)
}

/// Where the server's programs are: as `TURNABOUT_POSTGRES_BIN` says, else the newest.
fn programs() -> Result<PathBuf> {
    if let Ok(given) = std::env::var("TURNABOUT_POSTGRES_BIN") {
        return Ok(given.into());
    }
    let mut found: Vec<(u32, PathBuf)> = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let version = entry.file_name().to_str()?.parse().ok()?;
            let programs = entry.path().join("bin");
            programs.join("initdb").exists().then_some((version, programs))
        })
        .collect();
    found.sort();
    let newest = found.pop().map(|(_, programs)| programs);
    newest.context("no PostgreSQL server programs were found; name their folder in TURNABOUT_POSTGRES_BIN")
}
