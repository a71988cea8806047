//! How many files the program may open: connections and the pipes of programs are files, too.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the limit as far as it goes without being asked for (the soft limit to the hard one); what it is now.
pub(super) fn raise_limit() -> usize {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        ..limit
    };
    // Some systems have a lower one that they do not tell: then it stays.
    let _ = setrlimit(Resource::Nofile, raised);
    let now = getrlimit(Resource::Nofile).current;
    now.and_then(|now| usize::try_from(now).ok()).unwrap_or(usize::MAX)
}
