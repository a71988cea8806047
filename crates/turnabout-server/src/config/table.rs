//! The table of settings: the one place where each is named, typed, given its default and described.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use jiff::Timestamp;
use turnabout::group::Rate;
use turnabout::schedule::{Missed, Overlap};
use turnabout::{Fairness, Priority};

use super::kinds::{
    ExitCodes, Hashes, JwtSigned, LogFormat, Migrate, ResultFrom, Running, Scheme, Secret, Secrets, Size, Statuses,
    Stdin, StoreUrl,
};
use super::section::section;
use super::value::Inherit;

section! {
    /// Where the jobs are.
    Store {
        /// `sqlite://FILE` (made if it does not exist), or `postgres://USER:PASSWORD@HOST/DATABASE`.
        database: StoreUrl = StoreUrl("sqlite://turnabout.db".to_owned()), flag "database";
        /// How long jobs are kept after they have ended. "0 seconds": they are deleted at once.
        retention: Duration = Duration::from_hours(30 * 24);
        /// How long jobs are kept after they have succeeded, unless their group or task says otherwise: as `retention` unless
        /// given. "0 seconds": they go within seconds.
        retention_success: Option<Duration> = None, like "\"0 seconds\"", live true;
        /// The same for those that have failed.
        retention_failed: Option<Duration> = None, like "\"30 days\"", live true;
        /// The same for those that were cancelled.
        retention_cancelled: Option<Duration> = None, like "\"1 day\"", live true;
        /// How long the audit log is kept: who did what, and when.
        audit_retention: Duration = Duration::from_hours(365 * 24);
        /// Who makes tables and brings them up to date: "auto" (`serve`, `executor` and `migrate`), or "manual" (only `migrate`).
        migrate: Migrate = Migrate::Auto;
        /// The schema that the tables are in (`PostgreSQL`).
        schema: String = "turnabout".to_owned();
        /// How many connections to `PostgreSQL` are open at the most, 4 or more: one listens, one is for heartbeats.
        connections: u32 = 8;
        /// Where to listen for messages from other processes, if `database` leads to a pooler that hands out connections by
        /// the transaction (`PgBouncer`) and delivers none: the server itself. Without it, jobs are looked for every second.
        listen_url: Option<StoreUrl> = None, like "\"postgres://turnabout@db.internal/app\"";
        /// The arguments of a job are no longer, as JSON.
        max_arguments: Size = Size(1 << 20);
        /// How long jobs may wait until someone starts them, where neither their submit nor their task says so; then they fail,
        /// as expired. "none": for ever. Counted from when they are due. It holds for jobs that are submitted from now on.
        expires: Option<Duration> = None, like "\"7 days\"";
    }
}
section! {
    /// What runs jobs.
    Executor {
        /// Its name, for people: the host's unless given.
        name: Option<String> = None, like "\"joex1\"", flag "name";
        /// How many jobs run at a time: as many as there are processors unless given.
        pool_size: Option<u32> = None, like "2", flag "pool-size";
        /// The queues whose jobs are taken.
        queues: Vec<String> = vec!["default".to_owned()], flag "queue";
        /// How the priorities of a group's jobs share its turns: "4,2,1" is four high, two normal, one low, then over
        /// again; "4,1" is four high, one of the rest, where normal and low alternate. Turns of priorities that have no jobs are
        /// skipped. "1,0,0" is strict: low only when there is nothing else.
        counting_scheme: Scheme = Scheme("4,2,1".to_owned()), flag "counting-scheme";
        /// What a job costs its group: "jobs" (each the same), "items" (its items) or "time" (the seconds that it runs).
        /// All executors of a store should agree.
        fairness: Fairness = Fairness::Jobs, flag "fairness";
        /// How often a failed job is tried again, unless its task says otherwise. Until then it is "stuck".
        retries: u32 = 5, live true;
        /// How long before the first retry, unless its task says otherwise; doubled for each further one.
        retry_delay: Duration = Duration::from_mins(1), live true;
        /// No retry is delayed for longer.
        retry_cap: Duration = Duration::from_hours(6), live true;
        /// How long an attempt may take, unless its task says otherwise. "none": as long as it likes.
        time_limit: Option<Duration> = Some(Duration::from_mins(30)), live true;
        /// So many lines of a job's log wait to be stored; then the oldest are dropped.
        log_buffer_size: u32 = 500;
        /// A line of a job's log has no more bytes; what is longer is cut.
        log_line_length: u32 = 4096;
        /// A job's log has no more lines; further ones are dropped.
        log_lines: u32 = 10_000;
        /// How often the lease on what it runs is renewed, and how often an executor that nobody wakes looks for jobs (there is no
        /// wakeup-period: a look costs next to nothing, and waiting longer would only delay what a lost message told of). All
        /// executors of a store should agree.
        heartbeat: Duration = Duration::from_secs(5);
        /// An executor that was silent for so long is taken for dead, and others run its jobs.
        lease: Duration = Duration::from_secs(30);
        /// How long a handler that was told to stop may take. Programs get SIGTERM first, SIGKILL after this.
        grace: Duration = Duration::from_secs(10);
        /// How long running jobs may go on after SIGTERM or Ctrl-C; then they are interrupted, and others run them. "none": as
        /// long as they like. Whoever sends SIGTERM usually kills after a time of its own.
        shutdown_deadline: Option<Duration> = Some(Duration::from_secs(30)), flag "deadline";
        /// The same where an operator ends it: `POST /api/v1/shutdownAndExit`, `turnabout drain NAME --exit`.
        exit_deadline: Option<Duration> = None, like "\"1 hour\"";
        /// Which variables of its own environment it passes on to programs, besides `PATH`, `HOME`, `USER`, `LOGNAME`, `SHELL`, `LANG`,
        /// `LANGUAGE`, `LC_*`, `TZ` and `TMPDIR`. Others may be secrets.
        pass_environment: Vec<String> = Vec::new(), like "[\"JAVA_HOME\"]";
        /// Whether there is the built-in task `sleep`, which does nothing for as long as whoever submits it likes, and has a slot
        /// meanwhile. Unless given, only where `api.address` can be reached from this machine alone, or where there is no other task.
        sleep: Option<bool> = None, like "true";
        /// Where an executor without the API answers /healthz, /readyz, /metrics and `POST /api/v1/shutdownAndExit`: nowhere
        /// unless given. (The API answers them itself.) As there, others need a token for the last two; /metrics may be open
        /// (api.open-metrics).
        status_address: Option<SocketAddr> = None, like "\"127.0.0.1:7879\"", flag "status-address";
    }
}
section! {
    /// The REST API under /api/v1, with its description under /api/docs.
    Api {
        /// Where it listens. On an address that others can reach it does not start without tokens.
        address: SocketAddr = SocketAddr::from((Ipv4Addr::LOCALHOST, 7878)), flag "address";
        /// Encrypt connections (TLS) with this certificate: a file (PEM) with the server's, then those that lead to an authority.
        /// It is read again when the program gets SIGHUP, or when one of these files or the configuration changes.
        tls_certificate_file: Option<String> = None, like "\"/etc/turnabout/tls.crt\"", live true;
        /// The certificate's key (PEM).
        tls_key_file: Option<String> = None, like "\"/etc/turnabout/tls.key\"", live true;
        /// Only callers with a certificate of one of these authorities (PEM) are answered. They need a token as well.
        tls_client_authorities_file: Option<String> = None, like "\"/etc/turnabout/clients.crt\"", live true;
        /// Whether the operator's page is served at /.
        dashboard: bool = true;
        /// What a proxy leaves before all paths, if it does not take it away: "/turnabout". Paths without it work as well.
        prefix: Option<String> = None, like "\"/turnabout\"";
        /// Names by which the server may be called on loopback, besides localhost and its addresses.
        hosts: Vec<String> = Vec::new(), like "[\"jobs.internal\"]";
        /// Web pages of these origins may call the API.
        cors_origins: Vec<String> = Vec::new(), like "[\"https://app.example.org\"]";
        /// Whether /metrics can be read without a token.
        open_metrics: bool = false;
        /// Whether /metrics has numbers for each group. There may be very many.
        group_metrics: bool = false;
        /// So many requests a second may be made with one token, on average.
        rate: u32 = 100;
        /// So many of them at once.
        rate_burst: u32 = 200;
        /// A request's body is no longer.
        max_body: Size = Size(8 << 20);
        /// A request's head is no longer.
        max_head: Size = Size(32 << 10);
        /// A request is answered within this time, or refused. Streams go on. A connection is closed when nobody reads an answer
        /// for so long, or when it was not used for twice this time.
        timeout: Duration = Duration::from_secs(30);
        /// So many connections are open at the most, and no more than half of the files that the program may open (it raises that
        /// limit as far as it can). When there are too many, those without a request make room.
        connections: u32 = 4096;
        /// So many of them come from one address at the most. Behind a proxy, that is the proxy's.
        connections_per_address: u32 = 1024;
        /// So many requests are under way at the most, until their answers have been read, and half as many of one group; further ones
        /// are refused (503, 429) and may be made again a second later.
        requests: u32 = 512;
        /// So many of them with one token.
        requests_per_token: u32 = 32;
        /// So many streams (events, logs that are followed) are read at the most, and half as many by one group.
        streams: u32 = 1000;
        /// So many of them with one token.
        streams_per_token: u32 = 100;
        /// A stream of events that has nothing to tell says so this often.
        heartbeat: Duration = Duration::from_secs(15);
        /// How long answers that are on their way may take once the server is told to stop.
        shutdown: Duration = Duration::from_secs(10);
        /// Accept JWTs whose signature this key confirms: a file with the secret (HS256), or with the public key as PEM
        /// (`EdDSA`). They have to say when they end (exp) and a role: admin, operator, viewer, group or owner, with
        /// `group` and `owner`. Lists `scopes`, `tasks` and `queues` narrow it, as those of a token do.
        jwt_key_file: Option<String> = None, like "\"/etc/turnabout/jwt.pem\"", live true;
        /// How they are signed: "HS256" or `"EdDSA"`.
        jwt_algorithm: JwtSigned = JwtSigned::Hs256, live true;
        /// In place of jwt-key-file: a file with several keys, as a JWKS document. Tokens name theirs by `kid`; each is accepted with the
        /// algorithm of its key only (HS, RS, PS, ES and `EdDSA`). It is read again when the program gets SIGHUP: add a new key, then
        /// let it sign, then remove the old one.
        jwt_keys_file: Option<String> = None, like "\"/etc/turnabout/jwks.json\"", live true;
        /// They must be issued by this one.
        jwt_issuer: Option<String> = None, like "\"https://login.example.org\"", live true;
        /// They must be meant for this one.
        jwt_audience: Option<String> = None, like "\"turnabout\"", live true;
        /// Keys that sign tokens for browsers (`turnabout token mint`), in place of those that the store keeps and replaces
        /// each day: the first one signs, all of them verify. A key has 32 characters or more, and no comma if it comes from
        /// the environment. To rotate them, add a new key at the end, on all servers; then move it to the front; and remove
        /// the old key a day later, or at once to revoke what it has signed. Better in a file of their own: signing-keys-file.
        signing_keys: Secrets = Secrets::default(), like "[\"a long random text without any pattern\"]", live true;
        /// A file that holds these keys, one in each line. It is read again when the program gets SIGHUP.
        signing_keys_file: Option<String> = None, like "\"/etc/turnabout/signing.keys\"", live true;
    }
}
section! {
    /// A token for the API. `turnabout token` makes one, and prints what to write here.
    Token {
        /// The token's hash. To replace a token without a gap, write the hashes of both in a list, give the new one to all who use it,
        /// and then remove the old one's.
        hash: Hashes = Hashes::default(),
            like "\"sha256:2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b\"", live true;
        /// What it allows: "admin" (everything), "operator" (everything but tokens and ending the server), "viewer" (to see
        /// everything, to change nothing), "group" (the jobs of one group) or "owner" (those of one owner in it).
        role: String = "admin".to_owned(), live true;
        /// The group that it is for.
        group: Option<String> = None, like "\"acme\"", live true;
        /// The owner that it is for.
        owner: Option<String> = None, like "\"ada\"", live true;
        /// It is good until then: for ever unless given. From two weeks before, the log at the start and `turnabout doctor` say so.
        expires: Option<Timestamp> = None, like "\"2027-01-31T00:00:00Z\"", live true;
        /// Only so much of what its role allows: "read" (look), "submit" (submit, restart and change jobs; change schedules),
        /// "cancel" (cancel and delete jobs), "operate" (change what is set for groups, tasks, queues and executors),
        /// "metrics" (/metrics), "admin" (revoke minted tokens, end the server). All of its role unless given.
        scopes: Option<Vec<String>> = None, like "[\"submit\", \"read\"]", live true;
        /// Only jobs of these tasks may be submitted, restarted or changed with it; a `*` at the end stands for any ending. Such
        /// a token changes no schedules.
        tasks: Option<Vec<String>> = None, like "[\"mail\", \"report:*\"]", live true;
        /// Only to these queues. If there is one, jobs go there unless they say otherwise; if there are more, they have to say.
        queues: Option<Vec<String>> = None, like "[\"default\"]", live true;
    }
}
section! {
    /// A webhook: an address that is told what becomes of jobs, by POST, signed (Turnabout-Signature, HMAC-SHA256). Each
    /// event is a job of its own, of the task `webhook:NAME` in the group `webhooks` (which is the server's: no token can
    /// be for it), and is retried like any other. Messages have slots of their own for each receiver: one that hangs delays
    /// nobody's jobs, and no other receiver's messages. After five in a row that did not arrive, one at a time is tried, at
    /// least every minute, until one arrives; the others wait meanwhile.
    Webhook {
        /// The address.
        url: String = String::new(), like "\"https://app.example.org/turnabout\"", live true;
        /// The key of the signature. Better in a file of its own: secret-file.
        secret: Option<Secret> = None, like "\"a long random text\"", live true;
        /// A file that holds the key of the signature.
        secret_file: Option<String> = None, like "\"/etc/turnabout/webhook.secret\"", live true;
        /// Only of this group's jobs: of all unless given.
        group: Option<String> = None, like "\"acme\"", live true;
        /// Which events: "submitted", "stuck" (an attempt has failed and will be tried again; if that is at once, it may not be
        /// told), "final" (a job has ended).
        on: Vec<String> = vec!["final".to_owned()], live true;
        /// How long a receiver may take to answer; then the message is tried again later.
        time_limit: Duration = Duration::from_secs(30), live true;
        /// So many messages are on their way to it at a time, from each server.
        max_running: u32 = 4;
    }
}
section! {
    /// Addresses of other programs that the operator's page links to: http:// or https://, with a place for what they are
    /// about. None is shown unless given.
    Links {
        /// About a job: `{id}`, `{task}`, `{group}`, `{owner}`.
        job: Option<String> = None, like "\"https://logs.example.org/search?q={id}\"";
        /// About a task: `{task}`.
        task: Option<String> = None, like "\"https://graphs.example.org/task/{task}\"";
        /// About a group: `{group}`.
        group: Option<String> = None, like "\"https://admin.example.org/tenants/{group}\"";
        /// About an executor: `{name}`, `{id}`.
        executor: Option<String> = None, like "\"https://graphs.example.org/host/{name}\"";
        /// About a trace: `{trace}`.
        trace: Option<String> = None, like "\"https://traces.example.org/trace/{trace}\"";
    }
}
section! {
    /// The log of the program itself, on standard error. `RUST_LOG` chooses what is written.
    Log {
        /// "text" for people, or "json".
        format: LogFormat = LogFormat::Text;
    }
}
section! {
    /// Traces of what is submitted and run, for OpenTelemetry (a program with the feature `otel`). Off unless an endpoint is given.
    Traces {
        /// Where they are sent: the OTLP endpoint of a collector, for HTTP.
        endpoint: Option<String> = None, like "\"http://127.0.0.1:4318\"";
        /// The name of this service in the traces.
        service: String = "turnabout".to_owned();
    }
}
section! {
    /// A task: a named kind of work. It either runs a program or calls a URL.
    Task {
        /// The program and its arguments. No shell is involved: each text is one argument, whatever it contains.
        /// `{args.NAME}` stands for a value of the job's arguments, also for one deeper down: `{args.page.number}`;
        /// `{job}`, `{group}`, `{owner}` and `{attempt}` for what the job is. The program finds all arguments as JSON on
        /// its standard input, and `TURNABOUT_JOB_ID`, `TURNABOUT_GROUP`, `TURNABOUT_ATTEMPT` and more in its environment.
        /// What it writes becomes the job's log; a line `::progress 40 importing table 3` its progress.
        /// Exit code 0 is success, 75 and all others mean "try again", unless they are among permanent-codes.
        command: Option<Vec<String>> = None, like "[\"pdftotext\", \"{args.path}\", \"-\"]", live true;
        /// Whether an argument that begins with a place, such as `{args.path}`, may begin with a dash, and so be an option of the
        /// program. Without this such a job is refused, unless an argument `--` stands before it. (Paths are no options: whether a job
        /// may name any file is for the program to check.)
        allow_options: bool = false, live true;
        /// The folder that the program runs in: where `turnabout` was started unless given.
        folder: Option<String> = None, like "\"/var/lib/documents\"", live true;
        /// What is added to the program's environment.
        environment: BTreeMap<String, String> = BTreeMap::new(), like "{ LANG = \"C.UTF-8\" }", live true;
        /// What the program finds on its standard input: "arguments" or "nothing".
        stdin: Stdin = Stdin::Arguments, live true;
        /// What becomes the job's result: "nothing", or the "last-line" of standard output, which has to be JSON.
        result: ResultFrom = ResultFrom::Nothing, live true;
        /// Exit codes that mean that trying again is useless: [2, "64-74"].
        permanent_codes: ExitCodes = ExitCodes::default(), live true;
        /// So much of the program's output is looked at; the rest is thrown away.
        max_output: Size = Size(64 << 20), live true;
        /// Instead of a program: an address that is sent the job's arguments by POST. 2xx is success, and a JSON body the
        /// job's result; 429 and 503 are tried again when Retry-After says, other 5xx as usual; any other 4xx fails for
        /// good.
        url: Option<String> = None, like "\"https://app.example.org/jobs/mail\"", live true;
        /// What is added to the request's headers.
        headers: BTreeMap<String, String> = BTreeMap::new(), like "{ X-Api-Version = \"2\" }", live true;
        /// The key of the request's signature (Turnabout-Signature, HMAC-SHA256), so that the receiver can tell who sent
        /// it. Better in a file of its own: secret-file.
        secret: Option<Secret> = None, like "\"a long random text\"", live true;
        /// A file that holds the key of the signature.
        secret_file: Option<String> = None, like "\"/etc/turnabout/mail.secret\"", live true;
        /// Those of the arguments, by name, that everyone may know who sees the job: its owner in a web page, for example. The
        /// others are shown to administrators and to tokens of the group only.
        public: Vec<String> = Vec::new(), like "[\"file\", \"pages\"]", live true;
        /// The HTTP status with which `GET /api/v1/jobs/{id}/result` tells of an error, by the error's code: 409 unless given.
        /// `refused` is that of arguments which a submit refuses: 422 unless given.
        /// A program names the code and a sentence for people by a line `::error no-pages The file has no pages.`, an
        /// address by `code` and `message` in the JSON of its answer.
        statuses: Statuses = Statuses::default(), like "{ no-pages = 422 }", live true;
        /// The queue of its jobs, unless a submit says otherwise.
        queue: String = "default".to_owned(), live true;
        /// How urgent its jobs are inside their group, unless a submit says otherwise: "high", "normal" or "low".
        priority: Priority = Priority::Normal, live true;
        /// How often a failed job is tried again: as executor.retries unless given.
        retries: Inherit<u32> = Inherit::Inherited, like "2", live true;
        /// How long before the first retry: as executor.retry-delay unless given.
        retry_delay: Inherit<Duration> = Inherit::Inherited, like "\"10 seconds\"", live true;
        /// No retry is delayed for longer: as executor.retry-cap unless given.
        retry_cap: Inherit<Duration> = Inherit::Inherited, like "\"1 hour\"", live true;
        /// Whether delays vary a little, so that jobs that failed together do not return together.
        jitter: bool = true, live true;
        /// Whether a job may run a second time at all. false: at most once, whatever happens.
        restartable: bool = true, live true;
        /// How long an attempt may take: as executor.time-limit unless given. "none": as long as it likes.
        time_limit: Inherit<Option<Duration>> = Inherit::Inherited, like "\"5 minutes\"", live true;
        /// How long its jobs may wait until someone starts them, unless their submit says otherwise: as `expires` for all tasks
        /// unless given. "none": for ever.
        expires: Inherit<Option<Duration>> = Inherit::Inherited, like "\"1 hour\"";
        /// So many of its jobs run at a time at the most, over all executors and groups.
        max_running: Option<u32> = None, like "4", live true;
        /// So many of its jobs run at a time at the most on one executor.
        max_running_each: Option<u32> = None, like "2", live true;
        /// How often its jobs may start, over all executors and groups: "100/s", "10/m", "5/30s". With "10/m burst 20", 20 may start
        /// at once after a quiet time; without, as many as come in a tenth of a second, and one at least.
        rate: Option<Rate> = None, like "\"100/s\"", live true;
        /// So many unfinished jobs of it may an owner have at the most.
        max_unfinished: Option<u32> = None, like "1000", live true;
        /// Whether none of its jobs is taken.
        paused: bool = false, live true;
        /// How long its jobs are kept after they have succeeded, unless their group says otherwise: as those of all tasks unless
        /// given. "0 seconds": they go within seconds.
        retention_success: Option<Duration> = None, like "\"0 seconds\"", live true;
        /// The same for those that have failed.
        retention_failed: Option<Duration> = None, like "\"30 days\"", live true;
        /// The same for those that were cancelled.
        retention_cancelled: Option<Duration> = None, like "\"1 day\"", live true;
    }
}
section! {
    /// A schedule: jobs that are submitted again and again. It is declared whenever the program starts or the file changes:
    /// added, changed, or removed if it stands here no longer. What an operator has set by hand (`turnabout schedule`) stays.
    Schedule {
        /// When, as cron ("0 2 * * *"), as a calendar event ("Mon..Fri 15:00"), or as an interval ("every 10 minutes").
        /// `turnabout schedule check` explains one.
        expression: String = String::new(), like "\"0 2 * * *\"", live true;
        /// The time zone, by its IANA name, unless the expression names one.
        zone: String = "UTC".to_owned(), live true;
        /// The task that its jobs run: the schedule's name unless given.
        task: Option<String> = None, like "\"report\"", live true;
        /// The arguments of its jobs, as JSON.
        args: String = "{}".to_owned(), live true;
        /// The group that it belongs to, and its jobs. Without: it is the system's, and its jobs are of the group `default`.
        group: Option<String> = None, like "\"acme\"", live true;
        /// The owner, inside the group, that it belongs to.
        owner: Option<String> = None, like "\"ada\"", live true;
        /// The queue of its jobs: as their task says unless given.
        queue: Option<String> = None, like "\"reports\"", live true;
        /// How urgent its jobs are inside their group: as their task says unless given.
        priority: Option<Priority> = None, like "\"low\"", live true;
        /// A line about its jobs, for people.
        subject: Option<String> = None, like "\"the nightly report\"", live true;
        /// Whether it is fired at all.
        enabled: bool = true, live true;
        /// What becomes of a time that comes while the previous job is unfinished: "skip" it, "wait" for that job, "cancel"
        /// that job first, or "allow" both.
        overlap: Overlap = Overlap::Skip, live true;
        /// What becomes of times at which no executor was there: "one" job for all, "skip" them, or "each 24" (each has its
        /// job, the last 24 at the most).
        missed: Missed = Missed::One, live true;
        /// It is fired up to so much later: always by the same for one schedule, and differently for others.
        jitter: Duration = Duration::ZERO, live true;
        /// No time before this moment counts.
        start: Option<Timestamp> = None, like "\"2026-01-01T00:00:00Z\"", live true;
        /// No time after this moment counts.
        end: Option<Timestamp> = None, like "\"2027-01-01T00:00:00Z\"", live true;
        /// Days or times that are left out.
        exclude: Vec<String> = Vec::new(), like "[\"2026-12-24..2027-01-01\"]", live true;
    }
}
section! {
    /// A queue: which executors take which jobs. Queues need not be named here. What stands here is written to the store whenever
    /// the program starts or the file changes, and holds for all executors. What is left out stays as it was set with
    /// `turnabout queue`.
    Queue {
        /// Whether none of its jobs is taken.
        paused: bool = false, live true;
    }
}
section! {
    /// What holds for every group that has no setting of its own, by `[groups.NAME]` or set by an operator: each setting by itself.
    /// It is written to the store whenever the program starts or the file changes, and holds for all executors.
    GroupDefaults {
        /// How many jobs a group gets for each one of a group of weight 1.
        weight: Option<u32> = None, like "1", live true;
        /// So many jobs of a group run at a time at the most: a number, over all executors; or a share of the slots, "50 %". A
        /// share is of the slots of each executor, and one slot at least: so it is a share of all slots, whatever queues there
        /// are, and executors of one slot each need a number.
        max_running: Option<Running> = None, like "\"50 %\"", live true;
        /// So many unfinished jobs may a group have at the most.
        max_unfinished: Option<u32> = None, like "10000", live true;
        /// So many different tasks that no executor has ever published may the unfinished jobs of a group have.
        max_unknown_tasks: Option<u32> = None, like "1000", live true;
        /// How often jobs of a group may start, over all executors: "100/s", "10/m burst 20".
        rate: Option<Rate> = None, like "\"100/s\"", live true;
    }
}
section! {
    /// A group: a tenant, the unit of fairness. Groups need not be named here; this is for those that differ. What stands
    /// here is written to the store whenever the program starts or the file changes, and holds for all executors. What is
    /// left out stays as it was set with `turnabout group`; and what is set nowhere is as `[group-defaults]` says.
    Group {
        /// How many jobs it gets for each one of a group of weight 1.
        weight: Option<u32> = None, like "2", live true;
        /// So many of its jobs run at a time at the most, over all executors; or a share of the slots of each executor, "50 %".
        max_running: Option<Running> = None, like "2", live true;
        /// So many unfinished jobs may it have at the most. 2147483647: any number, whatever the defaults are.
        max_unfinished: Option<u32> = None, like "10000", live true;
        /// So many different tasks that no executor has ever published may its unfinished jobs have: 1000 unless the defaults say
        /// otherwise.
        max_unknown_tasks: Option<u32> = None, like "100", live true;
        /// How often its jobs may start, over all executors: "100/s", "10/m burst 20".
        rate: Option<Rate> = None, like "\"10/m burst 20\"", live true;
        /// Whether none of its jobs is taken.
        paused: bool = false, live true;
        /// How long its jobs are kept after they have succeeded: as their task says unless given. "0 seconds": they go within
        /// seconds.
        retention_success: Option<Duration> = None, like "\"0 seconds\"", live true;
        /// The same for those that have failed.
        retention_failed: Option<Duration> = None, like "\"30 days\"", live true;
        /// The same for those that were cancelled.
        retention_cancelled: Option<Duration> = None, like "\"1 day\"", live true;
    }
}
