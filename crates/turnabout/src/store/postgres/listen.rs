//! Listening for what other processes announce.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::poll_fn;
use tokio::sync::{Notify, broadcast};
use tokio_postgres::{AsyncMessage, Config, NoTls};

use crate::job::JobId;
use crate::store::Signal;

/// Listens until the store is dropped. A connection that is lost is made again; what was announced meanwhile is lost
/// too, so everyone is told to look.
pub(super) async fn listen(config: Config, channel: String, signals: broadcast::Sender<Signal>, watched: Arc<Notify>) {
    let mut pause = Duration::from_millis(100);
    loop {
        match listen_once(&config, &channel, &signals, &watched).await {
            Ok(()) => pause = Duration::from_millis(100),
            Err(error) => {
                tracing::warn!(error = %crate::error::chain(&error), "cannot listen; trying again");
                pause = (pause * 2).min(Duration::from_secs(5));
            }
        }
        tokio::time::sleep(pause).await;
    }
}

/// Connects, listens, and passes on what comes, until the connection ends.
async fn listen_once(
    config: &Config,
    channel: &str,
    signals: &broadcast::Sender<Signal>,
    watched: &Notify,
) -> Result<(), tokio_postgres::Error> {
    let (client, mut connection) = config.connect(NoTls).await?;
    let mut messages = poll_fn(move |cx| connection.poll_message(cx));
    let command = format!("listen {channel}");
    let mut listening = Box::pin(client.batch_execute(&command));
    let mut begun = false;
    loop {
        tokio::select! {
            result = &mut listening, if !begun => {
                result?;
                begun = true;
                // No receiver: nobody waits.
                let _ = signals.send(Signal::Ready);
                watched.notify_one();
            }
            message = messages.next() => match message {
                Some(Ok(AsyncMessage::Notification(note))) if note.payload() == "watched" => watched.notify_one(),
                Some(Ok(AsyncMessage::Notification(note))) => {
                    if let Some(signal) = parse(note.payload()) {
                        let _ = signals.send(signal);
                    }
                }
                Some(Ok(_)) => {}
                Some(Err(error)) => return Err(error),
                None => return Ok(()),
            }
        }
    }
}

/// An announcement as a signal.
fn parse(payload: &str) -> Option<Signal> {
    match payload.split_once(' ') {
        None if payload == "ready" => Some(Signal::Ready),
        // How long is asked of the store: its clock counts.
        None if payload == "due" => Some(Signal::Due(Duration::ZERO)),
        None if payload == "owed" => Some(Signal::Owed),
        Some(("cancel", id)) => id.parse::<JobId>().ok().map(Signal::Cancel),
        _ => None,
    }
}
