//! Tries to break Turnabout, and says what broke.
//!
//! Several executor *processes* work on one store, on thousands of jobs of mixed kinds, while a seeded nemesis kills,
//! stops and cuts them off, and crashes the database. Whatever handlers do goes into a side log of our own; afterwards a
//! pure checker holds that history, and what the store says in the end, against what the product promises.
//!
//! | file | what it is responsible for |
//! |---|---|
//! | `record.rs` | one line of the side log, and the log itself |
//! | `kind.rs` | the kinds of jobs, and how each may end |
//! | `worker.rs`, `tasks.rs` | a worker process and its handlers; it uses the library as any application does |
//! | `history.rs` | PURE: the side log as runs, leases and jobs |
//! | `check.rs`, `check/` | PURE: every promise, held against a history |
//! | `fleet.rs` | the worker processes: started, watched, replaced |
//! | `proxy.rs`, `cluster.rs`, `bouncer.rs` | a network that can fail, a `PostgreSQL` that can crash, a pooler before it |
//! | `crowd.rs` | many workers on a server that accepts few connections |
//! | `limits.rs` | limits on running jobs and on starts, while workers are killed |
//! | `skew.rs` | clocks that are off by an hour |
//! | `nemesis.rs` | what goes wrong, and when: all from one seed |
//! | `drills.rs` | each kind of fault by itself, until every worker is well again |
//! | `load.rs` | what is submitted, cancelled and looked at |
//! | `schedules.rs` | schedules that fire every second, and what became of their times |
//! | `run.rs`, `report.rs` | one run from beginning to end, and what came of it |

pub mod bouncer;
pub mod check;
pub mod cluster;
pub mod crowd;
pub mod drills;
pub mod fleet;
pub mod history;
pub mod kind;
pub mod limits;
pub mod load;
pub mod nemesis;
pub mod proxy;
pub mod record;
pub mod report;
pub mod run;
pub mod schedules;
pub mod skew;
pub mod tasks;
pub mod worker;
