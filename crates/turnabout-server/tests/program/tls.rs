//! Encrypted connections to the API.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Instant;

use reqwest::blocking::{Client, Response};
use reqwest::{Certificate, Identity};

use crate::encrypted::certificates;
use crate::place::{PATIENCE, Place, Server, wait_for};

const FILES: &str =
    "[api]\ntimeout = \"1 second\"\ntls-certificate-file = \"server.crt\"\ntls-key-file = \"server.key\"\n";

/// Someone who believes the authority in this file, and shows what is in that one.
fn ask(place: &Place, server: &Server, authority: &str, shown: Option<&str>) -> reqwest::Result<Response> {
    // An error means that it was said before.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let authority = Certificate::from_pem(&place.read(authority).expect("an authority"))?;
    let mut client = Client::builder().tls_certs_only([authority]);
    if let Some(shown) = shown {
        client = client.identity(Identity::from_pem(&place.read(shown).expect("a certificate"))?);
    }
    // The certificate is of this name.
    let url = server.url.replace("127.0.0.1", "localhost");
    client.build()?.get(format!("{url}/healthz")).send()
}

fn shell(place: &Place, script: &str) -> String {
    let done = place.program("sh").args(["-c", script]).output().expect("a shell");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8_lossy(&done.stdout).into_owned()
}

#[test]
fn the_api_is_encrypted_and_its_certificate_replaced_while_it_runs() {
    let place = Place::on_sqlite();
    certificates(&place);
    place.configure(FILES);
    let server = place.serve(&["--no-executor"]);
    assert!(server.url.starts_with("https://"), "{}", server.url);
    assert_eq!(ask(&place, &server, "ca.crt", None).expect("an answer").status(), 200);
    ask(&place, &server, "other.crt", None).expect_err("it is of another authority");
    let address = server.url.trim_start_matches("https://").to_owned();
    let talk = |protocol| format!("openssl s_client -connect {address} -alpn {protocol} < /dev/null 2>&1 | grep ALPN");
    for protocol in ["h2", "http/1.1"] {
        let said = shell(&place, &talk(protocol));
        assert!(said.contains(&format!("ALPN protocol: {protocol}")), "{said}");
    }

    // Whoever says nothing, or something else, is sent away in time.
    for said in [&b""[..], b"GET /healthz HTTP/1.1\r\n\r\n", b"\x16\x03\x01"] {
        let mut stream = TcpStream::connect(&address).expect("a connection");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        let begin = Instant::now();
        stream.write_all(said).expect("it is sent");
        let mut answer = Vec::new();
        let ended = stream.read_to_end(&mut answer);
        assert!(ended.is_ok() || begin.elapsed() < PATIENCE / 2, "{said:?}: {ended:?}");
        assert!(!answer.starts_with(b"HTTP"), "{answer:?}");
    }

    // A file that cannot be used changes nothing; one that can does, and nobody has to say so.
    shell(&place, "cp server.crt good.crt && echo nonsense > server.crt");
    wait_for(&server.log, "the configuration stays as it was");
    assert_eq!(ask(&place, &server, "ca.crt", None).expect("an answer").status(), 200);
    shell(
        &place,
        "openssl x509 -req -in server.csr -CA other.crt -CAkey other.key -CAcreateserial -days 2 -extfile names -out new.crt \
         && mv new.crt server.crt",
    );
    wait_for(&server.log, "was read again");
    assert_eq!(
        ask(&place, &server, "other.crt", None).expect("an answer").status(),
        200
    );
    ask(&place, &server, "ca.crt", None).expect_err("it is of another authority");
}

#[test]
fn callers_need_a_certificate_where_authorities_are_named() {
    let place = Place::on_sqlite();
    certificates(&place);
    shell(
        &place,
        "for of in ca other; do
            openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout $of-me.key -out me.csr -subj /CN=me
            openssl x509 -req -in me.csr -CA $of.crt -CAkey $of.key -CAcreateserial -days 2 -extfile names -out me.crt
            cat me.crt $of-me.key > $of-me.pem
        done",
    );
    place.configure(&format!("{FILES}tls-client-authorities-file = \"ca.crt\"\n"));
    let server = place.serve(&["--no-executor"]);
    let answered = ask(&place, &server, "ca.crt", Some("ca-me.pem")).expect("an answer");
    assert_eq!(answered.status(), 200);
    for shown in [None, Some("other-me.pem")] {
        ask(&place, &server, "ca.crt", shown).expect_err("nobody known");
    }
    for (wrong, said) in [
        ("tls-certificate-file = \"server.crt\"", "both needed"),
        ("tls-client-authorities-file = \"ca.crt\"", "both needed"),
    ] {
        place.configure(&format!("[api]\n{wrong}\n"));
        assert!(place.complaint(&["config"]).contains(said), "{wrong}");
    }
    for (certificate, key, said) in [
        ("server.crt", "ca.key", "cannot be used together"),
        ("server.key", "server.key", "no certificate in"),
        ("missing.crt", "server.key", "cannot read certificates from missing.crt"),
        ("server.crt", "server.crt", "cannot read a key from server.crt"),
    ] {
        place.configure(&format!(
            "[api]\ntls-certificate-file = \"{certificate}\"\ntls-key-file = \"{key}\"\n"
        ));
        let complaint = place.complaint(&["serve", "--address", "127.0.0.1:0"]);
        assert!(complaint.contains(said), "{certificate}, {key}: {complaint}");
    }
}
