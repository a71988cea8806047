//! A caller of the API, as simple as can be: one connection for each request, and events line by line.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::Value;
use sha2::Sha256;

use crate::place::Server;

const PATIENCE: Duration = Duration::from_mins(1);

/// A JWT as someone else makes it, with HS256: by other code than the program's own.
pub(crate) fn jwt(header: &Value, claims: &Value, secret: &str) -> String {
    let [header, claims] = [header, claims].map(|part| URL_SAFE_NO_PAD.encode(part.to_string()));
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).expect("a key");
    mac.update(format!("{header}.{claims}").as_bytes());
    let signature = URL_SAFE_NO_PAD.encode(mac.finalize().into_bytes());
    format!("{header}.{claims}.{signature}")
}

/// Who calls.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    address: String,
    token: Option<String>,
}

/// What was answered.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) text: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }

    /// The answer of a request that must be answered with this status.
    pub(crate) fn with(self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.text);
        if self.text.is_empty() { Value::Null } else { self.json() }
    }

    /// A problem with this status and code.
    pub(crate) fn problem(self, status: u16, code: &str) -> Value {
        assert!(
            self.head.contains("application/problem+json"),
            "{}\n{}",
            self.head,
            self.text
        );
        let problem = self.with(status);
        assert_eq!(problem["code"], code, "{problem}");
        assert_eq!(problem["status"], status, "{problem}");
        assert!(
            problem["detail"].as_str().is_some_and(|detail| !detail.is_empty()),
            "{problem}"
        );
        problem
    }
}

impl Caller {
    pub(crate) fn of(server: &Server) -> Self {
        Self {
            address: server.url.trim_start_matches("http://").to_owned(),
            token: None,
        }
    }

    pub(crate) fn with_token(&self, token: &str) -> Self {
        Self {
            token: Some(token.to_owned()),
            ..self.clone()
        }
    }

    fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> BufReader<TcpStream> {
        let mut stream = TcpStream::connect(&self.address).expect("a connection");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        // As a caller of old, to whom a body is sent as it is.
        let mut head = format!("{method} {path} HTTP/1.0\r\n");
        let mut add = |name: &str, value: &str| head.extend([name, ": ", value, "\r\n"]);
        if !headers.iter().any(|(name, _)| *name == "host") {
            add("host", &self.address);
        }
        if let Some(token) = &self.token {
            add("authorization", &format!("Bearer {token}"));
        }
        if !body.is_empty() && !headers.iter().any(|(name, _)| *name == "content-type") {
            add("content-type", "application/json");
        }
        add("content-length", &body.len().to_string());
        for (name, value) in headers {
            add(name, value);
        }
        // Whoever is refused early does not read the rest.
        let _ = stream.write_all(format!("{head}\r\n{body}").as_bytes());
        BufReader::new(stream)
    }

    pub(crate) fn call(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut reader = self.send(method, path, headers, body);
        let head = read_head(&mut reader);
        Self::answer(&head, reader)
    }

    /// The same, but of a stream nothing is read.
    pub(crate) fn peek(&self, method: &str, path: &str, body: &str) -> Answer {
        let mut reader = self.send(method, path, &[], body);
        let head = read_head(&mut reader);
        if head.contains("text/event-stream") {
            return Self::answer(&head, std::io::empty());
        }
        Self::answer(&head, reader)
    }

    fn answer(head: &str, mut reader: impl Read) -> Answer {
        let mut text = String::new();
        reader.read_to_string(&mut text).expect("a body");
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
        Answer {
            status: status.unwrap_or_else(|| panic!("no status: {head}")),
            head: head.to_ascii_lowercase(),
            text,
        }
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.call("GET", path, &[], "")
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Answer {
        let body = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        self.call("POST", path, &[], &body)
    }

    pub(crate) fn patch(&self, path: &str, body: &Value) -> Answer {
        self.call("PATCH", path, &[], &body.to_string())
    }

    /// Submits a job that must be new; its id.
    pub(crate) fn submit(&self, job: &Value) -> String {
        let submitted = self.post("/api/v1/jobs", job).with(201);
        submitted["id"].as_str().expect("an id").to_owned()
    }

    /// Follows events from where another stream has left off.
    pub(crate) fn events(&self, query: &str, last: Option<&str>) -> Events {
        self.follow(&format!("/api/v1/events?{query}"), last)
    }

    /// Follows events of any kind.
    pub(crate) fn follow(&self, path: &str, last: Option<&str>) -> Events {
        let headers: Vec<(&str, &str)> = last.map(|id| ("last-event-id", id)).into_iter().collect();
        let mut reader = self.send("GET", path, &headers, "");
        let head = read_head(&mut reader);
        assert!(head.contains(" 200 "), "{head}");
        assert!(head.to_ascii_lowercase().contains("text/event-stream"), "{head}");
        Events { reader }
    }

    /// A connection for events that nobody reads from.
    pub(crate) fn deaf(&self, query: &str) -> BufReader<TcpStream> {
        self.unread(&format!("/api/v1/events?{query}"))
    }

    /// A connection whose answer nobody reads.
    pub(crate) fn unread(&self, path: &str) -> BufReader<TcpStream> {
        self.send("GET", path, &[], "")
    }

    /// The status of an answer whose body is not read.
    pub(crate) fn head(&self, path: &str) -> u16 {
        let head = read_head(&mut self.unread(path));
        head.split(' ')
            .nth(1)
            .and_then(|status| status.parse().ok())
            .expect("a status")
    }

    /// Waits until a job is in a final state; the job. By events, so that nobody asks again and again.
    pub(crate) fn ended(&self, id: &str) -> Value {
        let mut events = self.events(&format!("ids={id}"), None);
        while let Some(event) = events.next() {
            if event.name == "end" {
                return self.get(&format!("/api/v1/jobs/{id}")).with(200);
            }
        }
        panic!("the stream ended before the job did");
    }

    /// Waits until a job is in this state.
    pub(crate) fn until(&self, id: &str, state: &str) -> Value {
        let mut events = self.events(&format!("ids={id}"), None);
        while let Some(event) = events.next() {
            if event.data["state"] == state {
                return event.data;
            }
        }
        panic!("job {id} did not become {state}");
    }
}

fn read_head(reader: &mut impl BufRead) -> String {
    let mut head = String::new();
    loop {
        let before = head.len();
        reader.read_line(&mut head).expect("a head");
        if head[before..].trim().is_empty() {
            return head;
        }
    }
}

/// One event.
#[derive(Debug)]
pub(crate) struct Event {
    pub(crate) name: String,
    pub(crate) data: Value,
    pub(crate) id: Option<String>,
}

/// A stream of events.
pub(crate) struct Events {
    reader: BufReader<TcpStream>,
}

impl Events {
    /// The next event. None: the stream has ended.
    pub(crate) fn next(&mut self) -> Option<Event> {
        let (mut name, mut data, mut id) = (String::new(), Value::Null, None);
        loop {
            let mut line = String::new();
            // A server that was killed breaks the connection.
            if self.reader.read_line(&mut line).unwrap_or(0) == 0 {
                return None;
            }
            let line = line.trim_end_matches(['\r', '\n']);
            match line.split_once(": ") {
                Some(("event", text)) => text.clone_into(&mut name),
                Some(("data", text)) => data = serde_json::from_str(text).expect("JSON"),
                Some(("id", text)) => id = Some(text.to_owned()),
                _ if line.is_empty() && !name.is_empty() => return Some(Event { name, data, id }),
                // A comment, which shows that it is alive.
                _ => {}
            }
        }
    }
}
