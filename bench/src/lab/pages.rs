//! Charts and tables in the documentation: written by one command, so that they cannot say anything else than the code.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// Writes a workload's chart into a folder, and its table into the page beside the folder, where that has marks for it.
pub(super) fn write(folder: &Path, name: &str, chart: &str, table: &str) -> Result<()> {
    fs::create_dir_all(folder).context("making the folder for charts")?;
    let file = chart_file(folder, name);
    fs::write(&file, chart).with_context(|| format!("writing {}", file.display()))?;
    let page = folder.with_extension("md");
    if let Ok(text) = fs::read_to_string(&page)
        && let Some(text) = with_table(&text, name, table)
    {
        fs::write(&page, text).with_context(|| format!("writing {}", page.display()))?;
    }
    Ok(())
}

/// Where a workload's chart is.
pub(super) fn chart_file(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.svg"))
}

/// The page with this table between the marks of its workload. `None`: it has no such marks.
pub(super) fn with_table(page: &str, name: &str, table: &str) -> Option<String> {
    let (begin, end) = (format!("<!-- table {name} -->\n"), "<!-- end -->");
    let from = page.find(&begin)? + begin.len();
    let to = from + page[from..].find(end)?;
    Some(format!("{}{table}{}", &page[..from], &page[to..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_goes_between_its_marks_and_nowhere_else() {
        let page = "a\n<!-- table x -->\nold\n<!-- end -->\nb\n<!-- table y -->\n<!-- end -->\n";
        let new = with_table(page, "x", "new\n").expect("it has marks");
        assert_eq!(new, page.replace("old", "new"));
        assert_eq!(with_table(&new, "x", "new\n"), Some(new.clone()));
        assert_eq!(with_table(page, "z", "new"), None);
    }
}
