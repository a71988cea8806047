//! What the library offers at its root. A name that comes or goes here is a change of the API: it belongs into the changelog.

use std::fs;
use std::path::Path;

/// All names at the root, in the order of the alphabet. The features add no others.
const NAMES: &str = "Context Described Error Executor ExecutorHandle Fairness HookContext Isolation Job JobId Jobs Priority \
    Progress Refused Result State Statement Submission Submitted Submitting Task TaskError TaskResult Transaction Within";

/// Modules whose names are part of the API.
const MODULES: &str = "clock executor failures group hook job jobs log progress retention schedule shares submit task testing \
    transaction";

/// Modules that this repository looks into, and nobody else should.
const HIDDEN: &str = "lifecycle store turn";

fn root() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/lib.rs");
    fs::read_to_string(path).expect("the root can be read")
}

/// The modules that are public, hidden ones or others.
fn modules(hidden: bool) -> Vec<String> {
    let root = root();
    let lines: Vec<&str> = root.lines().collect();
    let mut found: Vec<String> = (lines.windows(2))
        .filter(|pair| (pair[0] == "#[doc(hidden)]") == hidden)
        .filter_map(|pair| Some(pair[1].strip_prefix("pub mod ")?.strip_suffix(';')?.to_owned()))
        .collect();
    found.sort();
    found
}

#[test]
fn the_names_at_the_root_are_these() {
    let root = root();
    let mut names: Vec<&str> = (root.lines())
        .filter_map(|line| line.strip_prefix("pub use ")?.strip_suffix(';'))
        .flat_map(|path| {
            let names = path.split_once("::").map_or(path, |(_, names)| names);
            names.trim_matches(['{', '}']).split(", ")
        })
        .collect();
    names.sort_unstable();
    assert_eq!(names, NAMES.split_whitespace().collect::<Vec<_>>());
}

#[test]
fn the_modules_are_these_and_what_is_inside_is_hidden() {
    assert_eq!(modules(false), MODULES.split_whitespace().collect::<Vec<_>>());
    assert_eq!(modules(true), HIDDEN.split_whitespace().collect::<Vec<_>>());
}
