//! A network between: a proxy that passes everything on a while later.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio_postgres::config::Host;

/// So much is under way in one direction of a connection at the most, in pieces.
const UNDER_WAY: usize = 1024;

/// A proxy that is at work until it is dropped.
pub(super) struct Delay {
    /// Where clients find it.
    pub(super) url: String,
    task: tokio::task::JoinHandle<()>,
}

impl Delay {
    /// A network before the server of a URL. What is sent takes the whole of the round trip, the answer none of it: the
    /// timers are too coarse to halve it.
    pub(super) async fn before(url: &str, round_trip: Duration) -> Result<Self> {
        let config: tokio_postgres::Config = url.parse()?;
        let port = config.get_ports().first().copied().unwrap_or(5432);
        let Some(Host::Tcp(host)) = config.get_hosts().first() else {
            anyhow::bail!("a network can only be put before a server that is reached by TCP");
        };
        let server = format!("{host}:{port}");
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let own = listener.local_addr()?.to_string();
        let (before, after) = url.split_once(&server).context("the URL names no port")?;
        let url = format!("{before}{own}{after}");
        let task = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                if let Ok(server) = TcpStream::connect(&server).await {
                    // One that cannot be set up is closed, which its client notices.
                    let _ = pass(client, server, round_trip);
                }
            }
        });
        Ok(Self { url, task })
    }
}

impl Drop for Delay {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn pass(client: TcpStream, server: TcpStream, round_trip: Duration) -> Result<()> {
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    tokio::spawn(carry(from_client, to_server, round_trip));
    tokio::spawn(carry(from_server, to_client, Duration::ZERO));
    Ok(())
}

/// Passes on what comes, so much later, until either side has gone.
async fn carry(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, delay: Duration) {
    let (sender, mut receiver) = mpsc::channel::<(Instant, Vec<u8>)>(UNDER_WAY);
    let writing = tokio::spawn(async move {
        while let Some((due, piece)) = receiver.recv().await {
            tokio::time::sleep_until(due.into()).await;
            if to.write_all(&piece).await.is_err() {
                return;
            }
        }
    });
    let mut piece = vec![0; 64 << 10];
    while let Ok(length @ 1..) = from.read(&mut piece).await {
        let due = Instant::now() + delay;
        if sender.send((due, piece[..length].to_vec())).await.is_err() {
            break;
        }
    }
    drop(sender);
    let _ = writing.await;
}
