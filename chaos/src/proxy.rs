//! A network that can fail: stands between one worker and the server, and passes on, holds back, swallows or cuts.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// What the network does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weather {
    /// Passes everything on.
    Fine,
    /// Nothing passes, and nobody is told: connections stand, new ones are accepted.
    Frozen,
    /// Requests pass, answers are lost.
    Swallowing,
}

/// State of the network, and how often all connections were cut.
#[derive(Clone, Copy, Debug)]
struct State {
    weather: Weather,
    cuts: u64,
    strands: u64,
}

/// A proxy at work until it is dropped.
#[derive(Debug)]
pub struct Proxy {
    /// Where the worker finds it.
    pub port: u16,
    state: Arc<watch::Sender<State>>,
    task: tokio::task::JoinHandle<()>,
}

impl Proxy {
    /// A proxy before a server on this machine.
    pub async fn before(server: u16) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await.context("no port is free")?;
        let port = listener.local_addr()?.port();
        let state = Arc::new(watch::Sender::new(State {
            weather: Weather::Fine,
            cuts: 0,
            strands: 0,
        }));
        let shared = Arc::clone(&state);
        let task = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(serve(client, server, shared.subscribe()));
            }
        });
        Ok(Self { port, state, task })
    }

    /// Changes the weather.
    pub fn set(&self, weather: Weather) {
        self.state.send_modify(|state| state.weather = weather);
    }

    /// Forgets all connections, as a firewall may: nothing passes by them any more, and nobody is told. New ones are fine.
    pub fn strand(&self) {
        self.state.send_modify(|state| state.strands += 1);
    }

    /// Cuts all connections.
    pub fn cut(&self) {
        self.state.send_modify(|state| state.cuts += 1);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.cut();
        self.task.abort();
    }
}

/// One connection.
async fn serve(client: TcpStream, server: u16, mut state: watch::Receiver<State>) {
    let State { cuts, strands, .. } = *state.borrow();
    let mut until_cut = state.clone();
    let work = async {
        // While nothing passes, not even a connection does.
        let fine = |state: &State| state.weather != Weather::Frozen;
        if state.wait_for(fine).await.is_err() {
            return;
        }
        let Ok(server) = TcpStream::connect(("127.0.0.1", server)).await else {
            return;
        };
        let _ = (client.set_nodelay(true), server.set_nodelay(true));
        let (from_client, to_client) = client.into_split();
        let (from_server, to_server) = server.into_split();
        tokio::select! {
            () = pass(from_client, to_server, state.clone(), strands, false) => {}
            () = pass(from_server, to_client, state.clone(), strands, true) => {}
        }
    };
    tokio::select! {
        () = work => {}
        _ = until_cut.wait_for(|state| state.cuts != cuts) => {}
    }
}

/// Passes on what comes, as the weather allows.
async fn pass(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    mut state: watch::Receiver<State>,
    strands: u64,
    answers: bool,
) {
    let mut buffer = vec![0; 16 << 10];
    // What was swallowed leaves a gap, so from then on nothing more may pass.
    let mut swallowed = false;
    loop {
        let read = match from.read(&mut buffer).await {
            Ok(0) | Err(_) if swallowed => return tokio::time::sleep(Duration::from_mins(1)).await,
            Ok(0) | Err(_) => return,
            Ok(read) => read,
        };
        let passable = |state: &State| state.weather != Weather::Frozen && state.strands == strands;
        let weather = match state.wait_for(passable).await {
            Ok(state) => state.weather,
            Err(_) => return,
        };
        swallowed |= answers && weather == Weather::Swallowing;
        if !swallowed && to.write_all(&buffer[..read]).await.is_err() {
            return;
        }
    }
}
