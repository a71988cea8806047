//! The queue of calls to a thread that runs verbs. It is bounded, and callers wait for their answers.

use futures_util::future::BoxFuture;
use tokio::sync::{mpsc, oneshot};

use super::fault::{Broken, Fault};
use super::standby::IdleTake;
use super::tx::Tx;
use crate::error::{Error, Result};
use crate::store::{Stood, Take};

/// So many calls may wait in the queue; further callers wait before it.
const CAPACITY: usize = 1024;

/// What is sent to the thread.
pub(super) enum Message {
    Call(Box<dyn Call>),
    /// An executor found nothing, and leaves its take with the thread.
    StandBy(Box<IdleTake>),
    /// The executor wants the idle take with this number back.
    Recall(u64),
}

/// A verb on its way through the queue.
pub(super) trait Call: Send {
    /// Runs it; says whether what it wrote is to be kept.
    fn run(&mut self, tx: &mut Tx<'_>) -> bool;
    /// Tells the caller, once it is known what became of the transaction.
    fn answer(self: Box<Self>, end: Result<(), Broken>);
}

struct Pending<T, F> {
    doing: &'static str,
    verb: Option<F>,
    outcome: Option<Result<T, Fault>>,
    reply: oneshot::Sender<Result<T>>,
}

impl<T, F> Call for Pending<T, F>
where
    T: Send,
    F: FnOnce(&mut Tx<'_>) -> Result<T, Fault> + Send,
{
    fn run(&mut self, tx: &mut Tx<'_>) -> bool {
        self.outcome = self.verb.take().map(|verb| verb(tx));
        matches!(self.outcome, Some(Ok(_)))
    }

    fn answer(self: Box<Self>, end: Result<(), Broken>) {
        // A caller who no longer waits does not want to know.
        let _ = self.reply.send(told(self.doing, self.outcome, end));
    }
}

/// What a caller is told: what came of a verb (nothing, if it panicked), and of its transaction.
pub(super) fn told<T>(doing: &'static str, outcome: Option<Result<T, Fault>>, end: Result<(), Broken>) -> Result<T> {
    match (outcome, end) {
        (Some(Err(fault)), _) => Err(fault.told(doing)),
        (_, Err(broken)) => Err(broken.told(doing)),
        (Some(Ok(value)), Ok(())) => Ok(value),
        (None, Ok(())) => Err(Error::Store {
            doing,
            cause: "it panicked, which is a fault in this program; see its log".into(),
            transient: false,
        }),
    }
}

/// The callers' end of the queue. The thread ends when all of these are gone.
#[derive(Clone)]
pub(super) struct CallQueue {
    sender: mpsc::Sender<Message>,
}

impl std::fmt::Debug for CallQueue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("CallQueue")
    }
}

/// A new queue, and the thread's end of it.
pub(super) fn call_queue() -> (CallQueue, mpsc::Receiver<Message>) {
    let (sender, receiver) = mpsc::channel(CAPACITY);
    (CallQueue { sender }, receiver)
}

impl CallQueue {
    /// Runs a verb on the thread and waits for its answer.
    pub(super) async fn call<T, F>(&self, doing: &'static str, verb: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&mut Tx<'_>) -> Result<T, Fault> + Send + 'static,
    {
        let (call, answer) = Self::prepare(doing, verb);
        let gone = || Broken::closed().told(doing);
        self.sender.send(call).await.map_err(|_| gone())?;
        answer.await.map_err(|_| gone())?
    }

    /// As [`CallQueue::call`], for a thread that may block.
    pub(super) fn call_blocking<T, F>(&self, doing: &'static str, verb: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&mut Tx<'_>) -> Result<T, Fault> + Send + 'static,
    {
        let (call, answer) = Self::prepare(doing, verb);
        let gone = || Broken::closed().told(doing);
        self.sender.blocking_send(call).map_err(|_| gone())?;
        answer.blocking_recv().map_err(|_| gone())?
    }

    /// Leaves a take with the thread until it brings something, or until it is recalled.
    pub(super) async fn stand_by(&self, take: Take, until: BoxFuture<'_, ()>) -> Result<Stood> {
        let gone = || Broken::closed().told(super::standby::DOING);
        let (take, mut answer) = IdleTake::new(take);
        let number = take.number;
        self.sender
            .send(Message::StandBy(Box::new(take)))
            .await
            .map_err(|_| gone())?;
        let came = tokio::select! {
            biased;
            came = &mut answer => came,
            () = until => {
                // Through the same queue, so that the thread either still has the take, or has answered it.
                self.sender.send(Message::Recall(number)).await.map_err(|_| gone())?;
                answer.await
            }
        };
        came.map_err(|_| gone())?
    }

    /// How many calls wait.
    #[cfg(test)]
    pub(super) fn waiting(&self) -> usize {
        self.sender.max_capacity() - self.sender.capacity()
    }

    fn prepare<T, F>(doing: &'static str, verb: F) -> (Message, oneshot::Receiver<Result<T>>)
    where
        T: Send + 'static,
        F: FnOnce(&mut Tx<'_>) -> Result<T, Fault> + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        let call = Pending {
            doing,
            verb: Some(verb),
            outcome: None,
            reply,
        };
        (Message::Call(Box::new(call)), answer)
    }
}
