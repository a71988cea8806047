//! Connections: how many there may be, which of them give way to others, and when one has been silent for too long.
//!
//! A connection without a request is nobody's loss: when there are too many, the one that has been silent for longest makes
//! room. So whoever opens connections and says nothing keeps nobody else out.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes, HttpBody};
use axum::response::Response;
use hyper::body::{Frame, SizeHint};
use tokio_util::sync::CancellationToken;

use super::crowd::Permit;

/// So much of an answer is handed over at a time: the next part is asked for when the reader has room for it.
const PART: usize = 64 << 10;

/// How long a connection may be silent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    /// Before its first request.
    pub(super) first: Duration,
    /// Between two requests.
    pub(super) idle: Duration,
    /// While an answer waits to be read.
    pub(super) unread: Duration,
}

/// All connections of a server.
#[derive(Debug)]
pub(super) struct Connections {
    most: usize,
    per_address: usize,
    patience: Patience,
    open: Mutex<Open>,
}

#[derive(Debug, Default)]
struct Open {
    next: u64,
    all: BTreeMap<u64, Arc<Connection>>,
    by_address: HashMap<IpAddr, usize>,
}

impl Connections {
    pub(super) fn new(most: usize, per_address: usize, patience: Patience) -> Arc<Self> {
        Arc::new(Self {
            most,
            per_address,
            patience,
            open: Mutex::default(),
        })
    }

    /// A place for a connection from there; another one may have to go for it. None: all of them are in use.
    pub(super) fn enter(self: &Arc<Self>, address: IpAddr) -> Option<Place> {
        let mut open = lock(&self.open);
        let here = open.by_address.get(&address).copied().unwrap_or_default();
        if here >= self.per_address {
            open.make_room(|connection| connection.address == address)?;
        } else if open.all.len() >= self.most {
            open.make_room(|_| true)?;
        }
        let connection = Arc::new(Connection {
            address,
            patience: self.patience,
            going: CancellationToken::new(),
            use_: Mutex::new(Use {
                requests: 0,
                before: true,
                silent: Instant::now(),
                next: 0,
                unread: HashMap::new(),
            }),
        });
        let number = open.next;
        open.next += 1;
        open.all.insert(number, Arc::clone(&connection));
        *open.by_address.entry(address).or_default() += 1;
        Some(Place {
            connections: Arc::clone(self),
            number,
            connection,
        })
    }
}

impl Open {
    /// Sends away the connection that has been silent for longest, of those that are meant.
    fn make_room(&mut self, meant: impl Fn(&Connection) -> bool) -> Option<()> {
        let silent = |(number, connection): (&u64, &Arc<Connection>)| Some((connection.silent()?, *number));
        let candidates = self.all.iter().filter(|(_, connection)| meant(connection));
        let (_, number) = candidates.filter_map(silent).min()?;
        self.remove(number)?.going.cancel();
        Some(())
    }

    fn remove(&mut self, number: u64) -> Option<Arc<Connection>> {
        let connection = self.all.remove(&number)?;
        if let Some(here) = self.by_address.get_mut(&connection.address) {
            *here -= 1;
            if *here == 0 {
                self.by_address.remove(&connection.address);
            }
        }
        Some(connection)
    }
}

/// A connection's place, which is free again when this is dropped.
pub(super) struct Place {
    connections: Arc<Connections>,
    number: u64,
    pub(super) connection: Arc<Connection>,
}

impl Drop for Place {
    fn drop(&mut self) {
        lock(&self.connections.open).remove(self.number);
    }
}

/// One connection.
#[derive(Debug)]
pub(super) struct Connection {
    address: IpAddr,
    patience: Patience,
    /// It has to make room for another.
    going: CancellationToken,
    use_: Mutex<Use>,
}

/// What a connection is used for at present.
#[derive(Debug)]
struct Use {
    /// Requests that were read and whose answers have not all been handed over.
    requests: usize,
    /// Whether there was no request yet.
    before: bool,
    /// Since when there is none.
    silent: Instant,
    /// The number of the next answer.
    next: u64,
    /// Answers of which a part was handed over, and when: the next one is asked for when there is room for it.
    unread: HashMap<u64, Instant>,
}

impl Connection {
    /// A request has come, and is over when this is dropped.
    pub(super) fn request(self: &Arc<Self>) -> Request {
        let mut used = lock(&self.use_);
        used.requests += 1;
        used.before = false;
        used.next += 1;
        Request {
            number: used.next,
            connection: Arc::clone(self),
        }
    }

    /// Since when there is no request.
    fn silent(&self) -> Option<Instant> {
        let used = lock(&self.use_);
        (used.requests == 0).then_some(used.silent)
    }

    /// Waits until it has been silent for too long, or has to make room.
    pub(super) async fn over(&self) {
        let silent = async {
            loop {
                let deadline = self.deadline();
                if deadline <= Instant::now() {
                    return;
                }
                tokio::time::sleep_until(deadline.into()).await;
            }
        };
        tokio::select! {
            () = self.going.cancelled() => {}
            () = silent => {}
        }
    }

    /// When it will have been silent for too long, if nothing happens; no later than it is worth another look.
    fn deadline(&self) -> Instant {
        let used = lock(&self.use_);
        let Patience { first, idle, unread } = self.patience;
        match (used.requests, used.before) {
            (0, true) => used.silent + first,
            (0, false) => used.silent + idle,
            _ => used.unread.values().min().copied().unwrap_or_else(Instant::now) + unread,
        }
    }
}

/// A request that is on its way.
pub(super) struct Request {
    connection: Arc<Connection>,
    number: u64,
}

impl Request {
    /// The same answer, handed over in parts, and watched for whether anybody reads it.
    pub(super) fn watch(self, mut answer: Response) -> Response {
        let permit = answer.extensions_mut().remove::<Arc<Permit>>();
        answer.map(|body| {
            Body::new(Watched {
                body,
                rest: Bytes::new(),
                request: self,
                _permit: permit,
            })
        })
    }

    fn handed_over(&self) {
        lock(&self.connection.use_).unread.insert(self.number, Instant::now());
    }

    fn asked_for_more(&self) {
        lock(&self.connection.use_).unread.remove(&self.number);
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        let mut used = lock(&self.connection.use_);
        used.requests -= 1;
        used.unread.remove(&self.number);
        used.silent = Instant::now();
    }
}

/// The body of an answer.
struct Watched {
    body: Body,
    /// What was made already and not yet handed over.
    rest: Bytes,
    request: Request,
    /// It is under way until it has been handed over.
    _permit: Option<Arc<Permit>>,
}

impl HttpBody for Watched {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let this = self.get_mut();
        this.request.asked_for_more();
        if this.rest.is_empty() {
            match std::task::ready!(Pin::new(&mut this.body).poll_frame(cx)) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => this.rest = data,
                    Err(other) => return Poll::Ready(Some(Ok(other))),
                },
                end => return Poll::Ready(end),
            }
        }
        this.request.handed_over();
        let part = this.rest.split_to(this.rest.len().min(PART));
        Poll::Ready(Some(Ok(Frame::data(part))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (mut hint, rest) = (self.body.size_hint(), self.rest.len() as u64);
        if let Some(upper) = hint.upper() {
            hint.set_upper(upper + rest);
        }
        hint.set_lower(hint.lower() + rest);
        hint
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Patience = Patience {
        first: Duration::from_secs(10),
        idle: Duration::from_mins(1),
        unread: Duration::from_secs(30),
    };

    fn address(last: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, last])
    }

    #[test]
    fn the_one_that_has_been_silent_for_longest_makes_room_and_none_that_is_used() {
        let connections = Connections::new(3, 2, PATIENCE);
        let enter = |last| connections.enter(address(last));
        let (first, second) = (enter(1).expect("room"), enter(1).expect("room"));
        let request = first.connection.request();
        let third = enter(1).expect("the second one goes");
        assert!(second.connection.going.is_cancelled() && !first.connection.going.is_cancelled());
        let other = enter(2).expect("room");
        drop(second);
        let requests = [request, third.connection.request(), other.connection.request()];
        assert!(enter(1).is_none(), "both of this address are used");
        assert!(enter(3).is_none(), "all of them are used");
        drop(requests);
        let fourth = enter(3).expect("the first one goes");
        assert!(first.connection.going.is_cancelled());
        drop((first, third, other, fourth));
        let open = lock(&connections.open);
        assert!(open.all.is_empty() && open.by_address.is_empty());
    }

    #[tokio::test]
    async fn an_answer_is_handed_over_in_parts_and_waited_for() {
        let connections = Connections::new(1, 1, PATIENCE);
        let place = connections.enter(address(1)).expect("room");
        let connection = &place.connection;
        let bytes = Bytes::from(vec![7; PART + 1]);
        let answer = connection.request().watch(Response::new(Body::from(bytes)));
        let mut body = answer.into_body();
        assert_eq!(body.size_hint().exact(), Some(PART as u64 + 1), "its length is known");
        let now = Instant::now();
        assert!(
            connection.deadline() >= now + PATIENCE.unread,
            "nothing was handed over yet"
        );
        let mut sizes = Vec::new();
        while !body.is_end_stream() {
            let frame = std::future::poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await;
            sizes.push(frame.expect("a part").expect("data").into_data().expect("data").len());
            assert_eq!(lock(&connection.use_).unread.len(), 1);
        }
        assert_eq!(sizes, [PART, 1]);
        drop(body);
        assert!(lock(&connection.use_).unread.is_empty());
        assert!(connection.silent().is_some());
    }
}
