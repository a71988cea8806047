//! Tasks that call an address.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, channel};

use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::Sha256;

use crate::place::{PATIENCE, Place};

/// A request as it arrived: its head in small letters, and its body.
struct Request {
    head: Vec<String>,
    body: Vec<u8>,
}

impl Request {
    fn header(&self, name: &str) -> &str {
        let found = self
            .head
            .iter()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        found.unwrap_or_else(|| panic!("there is no {name}: {:?}", self.head))
    }
}

/// Answers one request after the other with these, and tells what was asked.
fn answering(answers: Vec<&'static str>) -> (String, Receiver<Request>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/hook", listener.local_addr().expect("its address"));
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for answer in answers {
            let (stream, _) = listener.accept().expect("a connection");
            let mut reader = BufReader::new(stream);
            let mut head = Vec::new();
            loop {
                let mut line = String::new();
                reader.read_line(&mut line).expect("a line");
                match line.trim_end() {
                    "" => break,
                    line => match line.split_once(": ") {
                        Some((name, value)) => head.push(format!("{}: {value}", name.to_lowercase())),
                        None => head.push(line.to_owned()),
                    },
                }
            }
            let mut request = Request { head, body: Vec::new() };
            let length = request.header("content-length").parse().expect("a number");
            request.body.resize(length, 0);
            reader.read_exact(&mut request.body).expect("the body");
            reader.get_mut().write_all(answer.as_bytes()).expect("it listens");
            let _ = sender.send(request);
        }
    });
    (url, receiver)
}

pub(crate) fn an_address_is_sent_the_arguments_and_its_answer_is_the_result(place: &Place) {
    let (url, requests) = answering(vec![
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 11\r\nconnection: close\r\n\r\n{\"sent\": 1}",
        "HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 11\r\nconnection: close\r\n\r\n{\"sent\": 2}",
        "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 11\r\nconnection: close\r\n\r\n{\"sent\": 3}",
    ]);
    place.file("key", "a shared secret\n");
    place.configure(&format!(
        "[tasks.mail]\nurl = \"{url}\"\nsecret-file = \"key\"\nheaders = {{ X-Version = \"2\" }}\n"
    ));
    let _server = place.serve(&[]);
    let id = place.ask(&[
        "submit",
        "mail",
        r#"{"to": "ada"}"#,
        "--group",
        "acme",
        "--meta",
        "traceparent=00-ab-cd-01",
    ]);
    let job = place.job_in(&id, "success");
    assert_eq!(job["result"], json!({ "sent": 1 }));
    let request = requests.recv_timeout(PATIENCE).expect("a request");
    assert_eq!(request.head[0], "POST /hook HTTP/1.1");
    assert_eq!(
        serde_json::from_slice::<Value>(&request.body).expect("JSON"),
        json!({ "to": "ada" })
    );
    assert_eq!(request.header("idempotency-key"), id);
    assert_eq!(request.header("turnabout-group"), "acme");
    assert_eq!(request.header("traceparent"), "00-ab-cd-01");
    assert_eq!(request.header("x-version"), "2");
    let (time, signature) = request
        .header("turnabout-signature")
        .split_once(",v1=")
        .expect("two parts");
    let mut mac = Hmac::<Sha256>::new_from_slice(b"a shared secret").expect("a key");
    mac.update(time.strip_prefix("t=").expect("a time").as_bytes());
    mac.update(b".");
    mac.update(&request.body);
    let expected = mac
        .finalize()
        .into_bytes()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect::<Vec<_>>()
        .concat();
    assert_eq!(signature, expected);

    let id = place.ask(&["submit", "mail"]);
    assert_eq!(place.job_in(&id, "success")["result"], Value::Null);
    let id = place.ask(&["submit", "mail"]);
    let job = place.job_in(&id, "success");
    assert_eq!(job["result"], json!({ "sent": 2 }), "it did not say that this is JSON");
    let id = place.ask(&["submit", "mail"]);
    assert_eq!(
        place.job_in(&id, "success")["result"],
        Value::Null,
        "it said that this is none"
    );
    assert!(place.ask(&["logs", &id]).contains("its content type is text/plain"));
}

pub(crate) fn an_answer_decides_whether_an_address_is_called_again(place: &Place) {
    let (url, requests) = answering(vec![
        "HTTP/1.1 503 Busy\r\nretry-after: 0\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
        "HTTP/1.1 429 Slowly\r\nretry-after: Fri, 31 Dec 1999 23:59:59 GMT\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
        "HTTP/1.1 201 Made\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
    ]);
    let (gone, _) = answering(vec![
        "HTTP/1.1 404 Not Found\r\ncontent-length: 7\r\nconnection: close\r\n\r\nno mail",
        "HTTP/1.1 302 Found\r\nlocation: /elsewhere\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
        "HTTP/1.1 500 Oops\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
    ]);
    // An hour before a retry: only what the answer says makes it come sooner.
    place.configure(&format!(
        "[executor]\nretry-delay = \"1 hour\"\n[tasks.busy]\nurl = \"{url}\"\n[tasks.gone]\nurl = \"{gone}\"\n"
    ));
    let _server = place.serve(&[]);
    let id = place.ask(&["submit", "busy"]);
    assert_eq!(place.job_in(&id, "success")["attempts"], 3);
    let keys: Vec<String> = requests
        .iter()
        .take(3)
        .map(|r| r.header("idempotency-key").to_owned())
        .collect();
    assert_eq!(keys, [id.clone(), id.clone(), id]);

    let id = place.ask(&["submit", "gone"]);
    let job = place.job_in(&id, "failed");
    assert_eq!((&job["attempts"], &job["reason"]), (&json!(1), &json!("permanent")));
    assert!(
        job["error"]
            .as_str()
            .expect("an error")
            .contains("404 Not Found: no mail"),
        "{job}"
    );
    let id = place.ask(&["submit", "gone"]);
    let job = place.job_in(&id, "failed");
    assert!(
        job["error"]
            .as_str()
            .expect("an error")
            .contains("redirects are not followed"),
        "{job}"
    );
    let id = place.ask(&["submit", "gone"]);
    place.job_in(&id, "stuck");
}
