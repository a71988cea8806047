//! A `PgBouncer` in transaction mode before a server: few connections, which change hands with each transaction.

use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};

use crate::cluster::{as_server, is_root, server_user};

/// Where Debian keeps it; elsewhere it is found by its name.
const PROGRAM: &str = "/usr/sbin/pgbouncer";

/// A pooler at work until it is dropped.
#[derive(Debug)]
pub struct Bouncer {
    /// Where clients find it.
    pub port: u16,
    _process: Child,
    _folder: tempfile::TempDir,
}

impl Bouncer {
    /// Before a server on this machine.
    pub async fn before(server: u16) -> Result<Self> {
        let program = if std::path::Path::new(PROGRAM).exists() {
            PROGRAM
        } else {
            "pgbouncer"
        };
        let folder = tempfile::Builder::new()
            .prefix("turnabout-bouncer-")
            .tempdir_in("/tmp")?;
        let port = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let settings = folder.path().join("pgbouncer.ini");
        std::fs::write(
            &settings,
            format!(
                "[databases]\n* = host=127.0.0.1 port={server} user=postgres\n[pgbouncer]\nlisten_addr = 127.0.0.1\n\
                 listen_port = {port}\nunix_socket_dir =\nauth_type = any\npool_mode = transaction\n\
                 default_pool_size = 20\nmax_client_conn = 1000\nserver_login_retry = 1\nlog_connections = 0\n\
                 log_disconnections = 0\n"
            ),
        )?;
        if is_root() {
            let (user, group) = server_user()?;
            let owned = Command::new("chown")
                .args(["-R", &format!("{user}:{group}")])
                .arg(folder.path())
                .status()
                .await?;
            ensure!(owned.success(), "cannot hand the pooler's folder to its user");
        }
        let process = as_server(program.as_ref())?
            .arg(&settings)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .context("PgBouncer cannot be started; install it (Debian, Ubuntu: apt-get install pgbouncer)")?;
        let begun = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).await.is_err() {
            if begun.elapsed() > Duration::from_secs(20) {
                bail!("PgBouncer does not come up; is it installed (Debian, Ubuntu: apt-get install pgbouncer)?");
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(Self {
            port,
            _process: process,
            _folder: folder,
        })
    }
}
