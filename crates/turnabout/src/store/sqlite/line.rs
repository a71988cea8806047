//! The way to a thread that runs verbs: a bounded line, in which callers wait for their answers.

use futures_util::future::BoxFuture;
use tokio::sync::{mpsc, oneshot};

use super::desk::Tx;
use super::fault::{Broken, Fault};
use super::orders::Order;
use crate::error::{Error, Result};
use crate::store::{Stood, Take};

/// So many callers may stand in line; further ones wait before they get in.
const LINE: usize = 1024;

/// What is sent through the line.
pub(super) enum Sent {
    Verb(Box<dyn Verb>),
    /// An executor stands by from now on.
    Order(Box<Order>),
    /// Whoever gave the order with this number wants it back.
    Recall(u64),
}

/// A verb on its way through the line.
pub(super) trait Verb: Send {
    /// Runs it; says whether what it wrote is to be kept.
    fn run(&mut self, tx: &mut Tx<'_>) -> bool;
    /// Tells the caller, once it is known what became of the transaction.
    fn answer(self: Box<Self>, end: Result<(), Broken>);
}

struct Call<T, F> {
    doing: &'static str,
    verb: Option<F>,
    outcome: Option<Result<T, Fault>>,
    reply: oneshot::Sender<Result<T>>,
}

impl<T, F> Verb for Call<T, F>
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

/// The way to a thread. It ends when all of these are gone.
#[derive(Clone)]
pub(super) struct Line {
    sender: mpsc::Sender<Sent>,
}

impl std::fmt::Debug for Line {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Line")
    }
}

/// A new line, and its other end.
pub(super) fn line() -> (Line, mpsc::Receiver<Sent>) {
    let (sender, receiver) = mpsc::channel(LINE);
    (Line { sender }, receiver)
}

impl Line {
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

    /// As [`Line::call`], for a thread that may block.
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
        let gone = || Broken::closed().told(super::orders::DOING);
        let (order, mut answer) = Order::new(take);
        let number = order.number;
        self.sender
            .send(Sent::Order(Box::new(order)))
            .await
            .map_err(|_| gone())?;
        let came = tokio::select! {
            biased;
            came = &mut answer => came,
            () = until => {
                // By the same way as the order, so that one of them is first: either it is still there, or has been served.
                self.sender.send(Sent::Recall(number)).await.map_err(|_| gone())?;
                answer.await
            }
        };
        came.map_err(|_| gone())?
    }

    /// How many verbs stand in line.
    #[cfg(test)]
    pub(super) fn waiting(&self) -> usize {
        self.sender.max_capacity() - self.sender.capacity()
    }

    fn prepare<T, F>(doing: &'static str, verb: F) -> (Sent, oneshot::Receiver<Result<T>>)
    where
        T: Send + 'static,
        F: FnOnce(&mut Tx<'_>) -> Result<T, Fault> + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        let call = Call {
            doing,
            verb: Some(verb),
            outcome: None,
            reply,
        };
        (Sent::Verb(Box::new(call)), answer)
    }
}
