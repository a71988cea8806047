//! Which chart a workload gets.

mod lines;

use super::chart::{Axis, Chart, Mark, Panel, Scale};
use super::rule::Rule;
use super::trace::Trace;
use super::workload::{Micros, SECOND, Workload, as_seconds};
use super::{simulation, workloads};
use lines::{average_running, cumulated, distribution, longest_waits, running, there};

/// What was simulated of one workload.
pub(super) struct Results<'a> {
    pub(super) workload: &'a Workload,
    pub(super) seed: u64,
    pub(super) traces: Vec<(Rule, Trace)>,
}

impl Results<'_> {
    fn trace(&self, rule: Rule) -> &Trace {
        let found = self.traces.iter().find(|(of, _)| *of == rule);
        &found.unwrap_or_else(|| unreachable!("all rules were simulated")).1
    }

    fn class_of(&self, group: usize) -> usize {
        let class = self.workload.groups[group].class;
        self.workload.classes().iter().position(|c| *c == class).unwrap_or(0)
    }

    fn minutes(&self) -> Axis {
        let end = self.traces.iter().map(|(_, trace)| trace.end).max().unwrap_or(0);
        Axis::new("time, minutes", Scale::Linear(0.0, as_seconds(end) / 60.0), "")
    }
}

/// The chart of a workload.
pub(super) fn chart(results: &Results<'_>) -> Chart {
    match results.workload.name {
        "flood" => flood(results),
        "long-short" => slot_time(
            results,
            "Long jobs against short ones: who gets the slots?",
            "Slot time of each group. By jobs, the group with jobs of 60 s gets nearly everything; by items or time both get half.",
            &Rule::ALL,
        ),
        "surprise" => slot_time(
            results,
            "Jobs that turn out to be long",
            "Slot time of each group. Jobs of one group suddenly take two minutes: by time the nine others soon go on as before.",
            &[Rule::Jobs, Rule::Items, Rule::Time],
        ),
        "sybil" => sybil(results),
        "bursty" => waits(
            results,
            "Bursts: who waits for whom?",
            "Jobs that waited at most so long. With turns, groups with small bursts do not wait for the large ones of others.",
            (0.1, 1000.0),
        ),
        "heavy-tailed" => waits(
            results,
            "A few very long jobs among many short ones",
            "Jobs that waited at most so long. What helps the light groups costs those with the long jobs.",
            (0.01, 100.0),
        ),
        "weights" => slot_time(
            results,
            "Weights 1, 2 and 4, and a group of weight 1 with jobs five times as long",
            "Slot time of each group. By jobs the group with long jobs gets too much; by items or time, weights alone count.",
            &[Rule::Fifo, Rule::Jobs, Rule::Time],
        ),
        "caps" => caps(results),
        "storm" => storm(results),
        _ => joining(results),
    }
}

fn rules(rules: &[Rule]) -> Vec<(usize, String)> {
    rules
        .iter()
        .map(|rule| (*rule as usize, rule.name().to_owned()))
        .collect()
}

fn by_class(results: &Results<'_>) -> Vec<(usize, String)> {
    results
        .workload
        .classes()
        .into_iter()
        .map(str::to_owned)
        .enumerate()
        .collect()
}

fn flood(results: &Results<'_>) -> Chart {
    let dots = |rule: Rule| {
        let runs = results.trace(rule).runs.iter().filter(|run| run.group > 0);
        let waits = runs.filter_map(|run| Some((run.group as f64, as_seconds(run.start? - run.ready))));
        Mark::Dots(rule as usize, waits.collect())
    };
    Chart {
        title: "One group has 10,000 jobs; 99 others have one each".to_owned(),
        note: "How long each of the 99 waits. First in, first out: for all 10,000. With turns: for one rotation at the most."
            .to_owned(),
        legend: vec![
            (Rule::Fifo as usize, "fifo".to_owned()),
            (Rule::Jobs as usize, "jobs (items and time are the same here)".to_owned()),
        ],
        dots: true,
        panels: vec![Panel {
            title: String::new(),
            x: Axis::new("the 99 groups", Scale::Linear(0.0, 100.0), ""),
            y: Axis::new("wait (logarithmic)", Scale::Log(0.1, 10_000.0), " s"),
            marks: vec![dots(Rule::Fifo), dots(Rule::Jobs)],
        }],
    }
}

/// Slot time of each group against time, a panel for each rule.
fn slot_time(results: &Results<'_>, title: &str, note: &str, rules: &[Rule]) -> Chart {
    let panels = rules.iter().map(|rule| slot_time_panel(results, *rule)).collect();
    let mut chart = Chart {
        title: title.to_owned(),
        note: note.to_owned(),
        legend: by_class(results),
        dots: false,
        panels,
    };
    share_y(&mut chart.panels);
    chart
}

fn slot_time_panel(results: &Results<'_>, rule: Rule) -> Panel {
    let trace = results.trace(rule);
    let lines: Vec<Mark> = (0..results.workload.groups.len())
        .map(|group| Mark::Line(results.class_of(group), cumulated(trace, |run| run.group == group)))
        .collect();
    Panel {
        title: rule.name().to_owned(),
        x: results.minutes(),
        y: Axis::new("slot minutes", Scale::Linear(0.0, highest(&lines)), ""),
        marks: lines,
    }
}

fn highest(marks: &[Mark]) -> f64 {
    let points = marks.iter().flat_map(|mark| match mark {
        Mark::Line(_, points) | Mark::Dots(_, points) => points,
    });
    points.map(|(_, y)| *y).fold(0.0, f64::max)
}

/// Panels that say the same have the same scale.
fn share_y(panels: &mut [Panel]) {
    let top = panels.iter().map(|panel| highest(&panel.marks)).fold(0.0, f64::max) * 1.03;
    for panel in panels {
        panel.y.scale = Scale::Linear(0.0, top);
    }
}

/// How many jobs waited at most so long: quiet groups and the others.
fn waits(results: &Results<'_>, title: &str, note: &str, (from, to): (f64, f64)) -> Chart {
    let panel = |quiet: bool| {
        let groups = &results.workload.groups;
        let class = groups.iter().find(|g| g.quiet == quiet).map_or("", |g| g.class);
        let line = |rule: &Rule| {
            let trace = results.trace(*rule);
            Mark::Line(
                *rule as usize,
                distribution(trace, from, |run| groups[run.group].quiet == quiet),
            )
        };
        Panel {
            title: format!("groups with {class}")
                .replace("with light", "with light jobs")
                .replace("heavy tail", "a heavy tail"),
            x: Axis::new("wait (logarithmic)", Scale::Log(from, to), " s"),
            y: Axis::new("part of the jobs", Scale::Linear(0.0, 100.0), " %"),
            marks: Rule::ALL.iter().map(line).collect(),
        }
    };
    Chart {
        title: title.to_owned(),
        note: note.to_owned(),
        legend: rules(&Rule::ALL),
        dots: false,
        panels: vec![panel(true), panel(false)],
    }
}

fn sybil(results: &Results<'_>) -> Chart {
    let counts = [1, 2, 5, 10, 20, 45, 90];
    let line = |rule: Rule| {
        let points = counts.map(|groups| {
            let workload = workloads::sybil(groups);
            let trace = simulation::run(&workload, rule, results.seed);
            let all = trace_seconds(&trace, &workload, |_| true);
            let own = trace_seconds(&trace, &workload, |class| class == "sybil");
            (f64::from(groups), 100.0 * own / all)
        });
        Mark::Line(rule as usize, points.to_vec())
    };
    let fair = Mark::Line(4, vec![(1.0, 10.0), (90.0, 10.0)]);
    let mut legend = rules(&[Rule::Jobs, Rule::Time]);
    legend.push((4, "a tenth: fair among ten tenants".to_owned()));
    Chart {
        title: "The limit of flat groups: a tenant that spreads over many".to_owned(),
        note: "Share of slot time of one of ten tenants, by how many groups it has; the others have one each."
            .to_owned(),
        legend,
        dots: false,
        panels: vec![Panel {
            title: String::new(),
            x: Axis::new("groups of the tenant (logarithmic)", Scale::Log(1.0, 100.0), ""),
            y: Axis::new("share of slot time", Scale::Linear(0.0, 100.0), " %"),
            marks: vec![fair, line(Rule::Jobs), line(Rule::Time)],
        }],
    }
}

fn trace_seconds(trace: &Trace, workload: &Workload, wanted: impl Fn(&str) -> bool) -> f64 {
    let last = cumulated(trace, |run| wanted(workload.groups[run.group].class));
    last.last().map_or(0.0, |(_, minutes)| *minutes)
}

fn caps(results: &Results<'_>) -> Chart {
    let trace = results.trace(Rule::Jobs);
    let in_use = |class: usize| {
        let line = average_running(trace, |run| results.class_of(run.group) == class);
        Mark::Line(class, line)
    };
    let slots = Panel {
        title: "slots in use, by jobs".to_owned(),
        x: results.minutes(),
        y: Axis::new("slots", Scale::Linear(0.0, 8.0), ""),
        marks: (0..results.workload.classes().len()).map(in_use).collect(),
    };
    let mut scans = [Rule::Fifo, Rule::Jobs].map(|rule| {
        let mut panel = slot_time_panel(results, rule);
        panel.title = format!(
            "each group with scans, {}",
            if rule == Rule::Fifo { "fifo" } else { "by jobs" }
        );
        panel.marks.retain(|mark| matches!(mark, Mark::Line(2, _)));
        panel
    });
    share_y(&mut scans);
    let [fifo, jobs] = scans;
    Chart {
        title: "Caps: a group that may run two jobs at a time, and a task that may run two".to_owned(),
        note: "By jobs, six groups with scans share their two slots evenly; no slot idles until only what is capped is left."
            .to_owned(),
        legend: by_class(results),
        dots: false,
        panels: vec![slots, fifo, jobs],
    }
}

fn storm(results: &Results<'_>) -> Chart {
    let groups = &results.workload.groups;
    let line = |rule: Rule| {
        let waits = longest_waits(results.trace(rule), 10 * SECOND, |run| groups[run.group].quiet);
        Mark::Line(rule as usize, waits)
    };
    let wanted = [Rule::Fifo, Rule::Jobs, Rule::Time];
    Chart {
        title: "A storm of retries: 1,500 jobs of one group fail three times and come back together".to_owned(),
        note: "The longest wait among jobs of the nine other groups, by when they were submitted (in steps of 10 s)."
            .to_owned(),
        legend: rules(&wanted),
        dots: false,
        panels: vec![Panel {
            title: String::new(),
            x: results.minutes(),
            y: Axis::new("longest wait (logarithmic)", Scale::Log(0.01, 1000.0), " s"),
            marks: wanted.into_iter().map(line).collect(),
        }],
    }
}

fn joining(results: &Results<'_>) -> Chart {
    let trace = results.trace(Rule::Time);
    let slots = Panel {
        title: "slots, by time".to_owned(),
        x: results.minutes(),
        y: Axis::new("slots", Scale::Linear(0.0, 36.0), ""),
        marks: vec![Mark::Line(0, there(trace)), Mark::Line(1, running(trace, |_| true))],
    };
    let mut panels = vec![
        slot_time_panel(results, Rule::Jobs),
        slot_time_panel(results, Rule::Time),
    ];
    for panel in &mut panels {
        panel.title = format!("slot time of each group, by {}", panel.title);
        for mark in &mut panel.marks {
            if let Mark::Line(series, _) = mark {
                *series += 2;
            }
        }
    }
    share_y(&mut panels);
    let mut legend = vec![(0, "slots there".to_owned()), (1, "in use".to_owned())];
    legend.extend(
        by_class(results)
            .into_iter()
            .map(|(n, class)| (n + 2, format!("groups with {class}"))),
    );
    panels.insert(0, slots);
    Chart {
        title: "Executors that come and go".to_owned(),
        note: "What is there is used at once, and twelve groups keep level all the while (by time; by jobs, long jobs get more)."
            .to_owned(),
        legend,
        dots: false,
        panels,
    }
}

/// Any time as minutes.
fn minutes(at: Micros) -> f64 {
    as_seconds(at) / 60.0
}
