//! Lines in the text format of Prometheus.

use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Lines in the text format.
#[derive(Default)]
pub(super) struct Text(pub(super) String);

impl Text {
    /// A number that goes up and down. It is named even if there is no line of it.
    pub(super) fn gauge<'a>(&'a mut self, name: &'static str, help: &str) -> Lines<'a> {
        self.family(name, "gauge", help)
    }

    /// A number that only grows.
    pub(super) fn counter<'a>(&'a mut self, name: &'static str, help: &str) -> Lines<'a> {
        self.family(name, "counter", help)
    }

    fn family<'a>(&'a mut self, name: &'static str, kind: &str, help: &str) -> Lines<'a> {
        let _ = write!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
        Lines { text: self, name }
    }
}

/// The lines of one number.
pub(super) struct Lines<'a> {
    text: &'a mut Text,
    name: &'static str,
}

impl Lines<'_> {
    /// A line without labels.
    pub(super) fn one(self, value: f64) {
        self.all([], &BTreeMap::from([([], value)]));
    }

    /// A line for each, with these labels.
    pub(super) fn all<const N: usize>(self, labels: [&str; N], lines: &BTreeMap<[&str; N], f64>) {
        let text = &mut self.text.0;
        for (values, number) in lines {
            text.push_str(self.name);
            for (at, (label, value)) in labels.iter().zip(values).enumerate() {
                let mark = if at == 0 { '{' } else { ',' };
                let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
                let _ = write!(text, "{mark}{label}=\"{value}\"");
            }
            let end = if N == 0 { "" } else { "}" };
            let _ = writeln!(text, "{end} {number}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_cannot_break_out_of_their_line() {
        let mut text = Text::default();
        let lines = BTreeMap::from([(["a\"}\n\\b"], 2.0)]);
        text.gauge("jobs", "Jobs").all(["group"], &lines);
        text.counter("all", "All").one(0.5);
        assert_eq!(
            text.0,
            "# HELP jobs Jobs\n# TYPE jobs gauge\njobs{group=\"a\\\"}\\n\\\\b\"} 2\n\
             # HELP all All\n# TYPE all counter\nall 0.5\n"
        );
    }
}
