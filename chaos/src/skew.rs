//! Clocks that are off by an hour: a few lines of C before the system's library, where there is a compiler for them.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Wall clocks are off by `TURNABOUT_SKEW` seconds; the clocks that measure durations are left alone.
const SOURCE: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

int clock_gettime(clockid_t clock, struct timespec *time) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int result = real(clock, time);
    if (clock == CLOCK_REALTIME) {
        const char *skew = getenv("TURNABOUT_SKEW");
        if (skew) time->tv_sec += atol(skew);
    }
    return result;
}
"#;

/// By how many seconds the clocks of workers are off, in turn.
pub const SKEWS: [i64; 3] = [0, 3600, -3600];

/// Builds the library; `None`, with a word about it, where that is impossible.
pub fn build(folder: &Path) -> Option<PathBuf> {
    let (source, library) = (folder.join("skew.c"), folder.join("skew.so"));
    std::fs::write(&source, SOURCE).ok()?;
    let mut compiler = Command::new("cc");
    compiler
        .args(["-shared", "-fPIC", "-O1", "-o"])
        .arg(&library)
        .arg(&source)
        .arg("-ldl");
    if compiler.status().is_ok_and(|status| status.success()) {
        return Some(library);
    }
    tracing::warn!("no C compiler: all clocks are right in this run");
    None
}
