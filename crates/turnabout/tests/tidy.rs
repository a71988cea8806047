//! The habits that a program can check: files stay short, and each begins with what it is responsible for.

use std::fs;
use std::path::{Path, PathBuf};

/// Longer files hold two ideas, which have better homes apart.
const MAX_LINES: usize = 450;

/// The folder that holds everything.
fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .expect("the crate lies two folders deep")
        .to_owned()
}

/// All source files whose names end in one of these.
fn files(extensions: &[&str]) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut folders = ["crates", "bench", "chaos"]
        .map(|folder| repository().join(folder))
        .to_vec();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder can be read") {
            let path = entry.expect("an entry can be read").path();
            if path.is_dir() {
                folders.push(path);
            } else if path
                .extension()
                .is_some_and(|e| extensions.iter().any(|wanted| e == *wanted))
            {
                let text = fs::read_to_string(&path).expect("a source file is text");
                found.push((path, text));
            }
        }
    }
    assert!(!found.is_empty(), "no {extensions:?} found");
    found
}

/// Fails with the names of all files that are not as they should be.
fn all(files: Vec<(PathBuf, String)>, rule: &str, holds: impl Fn(&str) -> bool) {
    let base = repository();
    let bad: Vec<String> = files
        .into_iter()
        .filter(|(_, text)| !holds(text))
        .map(|(path, text)| {
            let path = path.strip_prefix(&base).unwrap_or(&path);
            format!("{} ({} lines)", path.display(), text.lines().count())
        })
        .collect();
    assert!(bad.is_empty(), "{rule}:\n  {}", bad.join("\n  "));
}

#[test]
fn no_source_file_is_too_long() {
    all(
        files(&["rs", "sql"]),
        &format!("files over {MAX_LINES} lines; split them by idea"),
        |text| text.lines().count() <= MAX_LINES,
    );
}

#[test]
fn every_rust_file_begins_with_what_it_is_responsible_for() {
    all(files(&["rs"]), "files that do not begin with a `//!` comment", |text| {
        text.starts_with("//! ")
    });
}

#[test]
fn every_sql_file_begins_with_what_it_does() {
    all(files(&["sql"]), "files that do not begin with a `--` comment", |text| {
        text.starts_with("-- ")
    });
}

#[test]
fn lints_are_expected_with_a_reason_and_never_allowed() {
    // The lint `allow_attributes` sees neither what is behind a feature that is off nor a missing reason.
    let allow = concat!("#[", "allow(");
    let inner = concat!("#![", "allow(");
    all(
        files(&["rs"]),
        "files that allow a lint; expect it, with a reason",
        |text| !text.contains(allow) && !text.contains(inner),
    );
}

#[test]
fn the_program_does_not_panic_where_nobody_reads_its_output() {
    let mine = |path: &PathBuf| path.components().any(|part| part.as_os_str() == "turnabout-server");
    let program: Vec<(PathBuf, String)> = files(&["rs"])
        .into_iter()
        .filter(|(path, _)| mine(path) && path.components().any(|part| part.as_os_str() == "src"))
        .collect();
    assert!(!program.is_empty());
    all(
        program,
        "files with print! and its like, which panic on a closed output; use print::out and note!",
        |text| !text.contains("print!(") && !text.contains("println!("),
    );
}
