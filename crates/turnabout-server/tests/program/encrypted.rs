//! Encrypted connections to `PostgreSQL`, against a server of the test's own that offers them, and at first does not.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use serde_json::json;

use crate::database::Stranger;
use crate::http::Caller;
use crate::place::{PATIENCE, Place, wait_for};

/// A cluster that is gone when the script that made it is told to end.
struct Cluster {
    child: Child,
    port: String,
    admin: Stranger,
}

impl Cluster {
    fn start() -> Self {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/postgres");
        let mut child = Command::new(script)
            .args(["run", "--", "sh", "-c", "echo $PG_URL; exec sleep 120"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .expect("scripts/postgres starts");
        let mut url = String::new();
        BufReader::new(child.stdout.take().expect("its output"))
            .read_line(&mut url)
            .expect("the cluster's URL");
        let url = url.trim();
        let port = url.rsplit_once(':').and_then(|(_, rest)| rest.split('/').next());
        Self {
            port: port.unwrap_or_else(|| panic!("no port in `{url}`")).to_owned(),
            admin: Stranger::on_postgres(url),
            child,
        }
    }

    fn url(&self, host: &str, query: &str) -> String {
        format!("postgres://postgres@{host}:{}/postgres?{query}", self.port)
    }

    /// Has the server write a file into its folder that it alone can read. (Its user may be another one than ours.)
    fn write(&self, name: &str, text: &str) {
        let text = text.replace('\'', "''");
        let mut rows = String::new();
        for (n, line) in text.lines().enumerate() {
            let comma = if n == 0 { "" } else { ", " };
            let _ = write!(rows, "{comma}({n}, '{line}')");
        }
        self.admin.does(&format!(
            "copy (select line from (values {rows}) as file (n, line) order by n) \
             to program 'umask 077 && rm -f {name} && cat > {name}'"
        ));
    }

    /// Encrypts from now on, and lets nobody in who does not.
    fn encrypt(&self, key: &str, certificate: &str) {
        self.write("server.key", key);
        self.write("server.crt", certificate);
        self.write("pg_hba.conf", "hostssl all all 127.0.0.1/32 trust");
        self.admin.does("alter system set ssl = on");
        self.admin.does("select pg_reload_conf()");
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // Gently, so that it removes what it has made.
        let told = Command::new("sh")
            .args(["-c", &format!("kill -TERM {}", self.child.id())])
            .status();
        if told.is_ok_and(|status| status.success()) {
            let _ = self.child.wait();
        }
    }
}

/// Certificates: an authority, one for a server called localhost, and another authority that has nothing to do with it.
pub(crate) fn certificates(place: &Place) {
    let key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
    let script = format!(
        "set -e
        openssl req -x509 {key} -keyout ca.key -out ca.crt -subj /CN=authority -days 2
        openssl req -x509 {key} -keyout other.key -out other.crt -subj /CN=other -days 2
        openssl req {key} -keyout server.key -out server.csr -subj /CN=server
        printf 'subjectAltName=DNS:localhost' > names
        openssl x509 -req -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 -extfile names -out server.crt"
    );
    let mut shell = place.program("sh");
    let made = shell.args(["-c", &script]).output().expect("a shell");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
}

#[test]
fn connections_are_encrypted_and_nobody_else_is_believed() {
    let place = Place::on_sqlite();
    certificates(&place);
    let cluster = Cluster::start();
    let read = |name: &str| String::from_utf8(place.read(name).expect(name)).expect("text");
    let migrate = |host: &str, query: &str| place.run(&["migrate", "--database", &cluster.url(host, query)]);
    let refused = |host: &str, query: &str, part: &str| {
        let output = migrate(host, query);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            !output.status.success() && said.contains(part),
            "{host} {query}: {said}"
        );
    };

    // A server that does not encrypt.
    refused("localhost", "sslmode=require", "offers no encrypted connections");
    refused(
        "localhost",
        "sslmode=verify-full&sslrootcert=ca.crt",
        "offers no encrypted",
    );
    assert!(migrate("localhost", "sslmode=prefer").status.success());

    // One that does: whoever gets in from now on is encrypted.
    cluster.encrypt(&read("server.key"), &read("server.crt"));
    let begin = std::time::Instant::now();
    while !migrate("localhost", "sslmode=require").status.success() {
        assert!(begin.elapsed() < PATIENCE, "the server does not encrypt");
    }
    refused("localhost", "sslmode=disable", "no pg_hba.conf entry");
    for (host, query) in [
        ("localhost", ""),
        ("127.0.0.1", "sslmode=require"),
        ("127.0.0.1", "sslmode=require&sslrootcert=ca.crt"),
        ("127.0.0.1", "sslmode=verify-ca&sslrootcert=ca.crt"),
        // As it stands, without whoever has signed it.
        ("localhost", "sslmode=verify-full&sslrootcert=server.crt"),
    ] {
        let output = migrate(host, query);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{host} {query}: {said}");
    }
    for query in [
        "sslmode=require&sslrootcert=other.crt",
        "sslmode=verify-ca&sslrootcert=other.crt",
        "sslmode=verify-full&sslrootcert=other.crt",
        // Nobody whom this machine believes has signed it.
        "sslmode=verify-full",
    ] {
        refused("localhost", query, "UnknownIssuer");
    }
    refused(
        "127.0.0.1",
        "sslmode=verify-full&sslrootcert=ca.crt",
        "not valid for name",
    );
    refused("localhost", "sslmode=verify-full&sslrootcert=none.crt", "none.crt");
    refused("localhost", "sslmode=verify-full&sslrootcert=ca.key", "no certificate");
    refused("localhost", "sslmode=verify", "verify-full");

    // Everything goes over such connections: the server, its executor, what it listens by, the command line.
    let url = cluster.url("localhost", "sslmode=verify-full&sslrootcert=ca.crt");
    let server = place.serve(&["--database", &url]);
    let api = Caller::of(&server);
    let id = api.submit(&json!({ "task": "sleep", "args": { "seconds": 0 } }));
    assert_eq!(api.ended(&id)["state"], "success");
    let shown = place.ask(&["show", &id, "--database", &url]);
    assert!(shown.contains("success"), "{shown}");
    cluster.admin.does(
        "do $$ begin
            if (select count(*) filter (where ssl) < 3 or bool_or(not ssl)
                from pg_stat_activity join pg_stat_ssl using (pid) where application_name = 'turnabout')
            then raise exception 'not all connections are encrypted'; end if;
         end $$",
    );
    server.terminate();
    wait_for(&server.log, "shutting down");
    assert!(server.end().success());
}
