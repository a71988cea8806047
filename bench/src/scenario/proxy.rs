//! Stands between a client and a `PostgreSQL` server, and counts the statements that pass.
//!
//! The server's own counters come late and count everybody's.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use anyhow::{Context as _, Result, ensure};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_postgres::config::Host;

/// A proxy that is at work until it is dropped.
pub(super) struct Proxy {
    /// Where clients find it.
    pub(super) url: String,
    statements: Arc<AtomicU64>,
    task: tokio::task::JoinHandle<()>,
}

impl Proxy {
    /// A proxy before the server of a URL.
    pub(super) async fn before(url: &str) -> Result<Self> {
        let config: tokio_postgres::Config = url.parse()?;
        let port = config.get_ports().first().copied().unwrap_or(5432);
        let Some(Host::Tcp(host)) = config.get_hosts().first() else {
            anyhow::bail!("statements can only be counted where the server is reached by TCP");
        };
        let server = format!("{host}:{port}");
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let own = listener.local_addr()?.to_string();
        let (before, after) = url.split_once(&server).context("the URL names no port")?;
        let statements = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&statements);
        let task = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                if let Ok(server) = TcpStream::connect(&server).await {
                    tokio::spawn(pass(client, server, Arc::clone(&counter)));
                }
            }
        });
        Ok(Self {
            // What is encrypted could not be read.
            url: format!(
                "{before}{own}{after}{}sslmode=disable",
                if after.contains('?') { '&' } else { '?' }
            ),
            statements,
            task,
        })
    }

    /// How many have passed.
    pub(super) fn statements(&self) -> u64 {
        self.statements.load(Relaxed)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Passes everything on, both ways, until either side has gone.
async fn pass(client: TcpStream, server: TcpStream, statements: Arc<AtomicU64>) -> Result<()> {
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    tokio::spawn(async move { tokio::io::copy(&mut from_server, &mut to_client).await });
    let mut message = Vec::new();
    let mut first = true;
    loop {
        // The first message has no type: length, then what it says. All others: type, length, what they say.
        let kind = if first { 0 } else { from_client.read_u8().await? };
        let length = from_client.read_u32().await?;
        ensure!((4..1 << 30).contains(&length), "that is not PostgreSQL's protocol");
        message.clear();
        if !first {
            message.push(kind);
        }
        message.extend_from_slice(&length.to_be_bytes());
        let head = message.len();
        message.resize(head + length as usize - 4, 0);
        from_client.read_exact(&mut message[head..]).await?;
        // Query and Execute; the others prepare them.
        if kind == b'Q' || kind == b'E' {
            statements.fetch_add(1, Relaxed);
        }
        to_server.write_all(&message).await?;
        first = false;
    }
}
