//! How good predictions are: while a workload runs on a real store, jobs that wait are asked when they will start, and what was
//! said is compared with when they did.

use std::fmt::Write as _;
use std::time::Duration;

use jiff::Timestamp;
use turnabout::{JobId, Jobs};

use super::trace::Trace;
use super::workload::Micros;

/// Somebody asks so often.
pub(super) const PAUSE: Duration = Duration::from_millis(50);
/// Of the time until a start that is nearer than this an operator does not ask, and other processes of the machine decide.
const NEAR: Micros = 100_000;

/// What was said of a job.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Foretold {
    job: usize,
    asked: Micros,
    earliest: Micros,
    latest: Micros,
}

/// Asks when a job will start. None: nobody could say, or it has started. `begin`: when the clock of the workload started.
pub(super) async fn ask(jobs: &Jobs, job: usize, id: JobId, begin: Timestamp) -> Option<Foretold> {
    let micros = |at: Timestamp| Micros::try_from(at.duration_since(begin).as_micros()).unwrap_or(0);
    let asked = micros(Timestamp::now());
    let predicted = jobs.explain(id).await.ok()?.predicted?;
    Some(Foretold {
        job,
        asked,
        earliest: micros(predicted.earliest),
        latest: micros(predicted.latest),
    })
}

/// The sum of what was said.
#[derive(Debug, Default, PartialEq, Eq)]
struct Score {
    inside: u32,
    sooner: u32,
    later: u32,
    /// Starts nearer than a tenth of a second, which are not counted.
    near: u32,
    /// How wide intervals were, in hundredths of the true wait.
    widths: Vec<u64>,
}

fn score(trace: &Trace, said: &[Foretold]) -> Score {
    let mut sum = Score::default();
    let mut starts = std::collections::HashMap::new();
    for run in &trace.runs {
        // The first attempt, which comes first.
        starts.entry(run.job).or_insert(run.start);
    }
    for one in said {
        match starts.get(&one.job).copied().flatten() {
            Some(start) if start <= one.asked + NEAR => sum.near += 1,
            Some(start) => {
                sum.widths.push((one.latest - one.earliest) * 100 / (start - one.asked));
                if start < one.earliest {
                    sum.sooner += 1;
                } else if start > one.latest {
                    sum.later += 1;
                } else {
                    sum.inside += 1;
                }
            }
            // It had not when the observation ended.
            None if one.latest < trace.end => sum.later += 1,
            None => {}
        }
    }
    sum.widths.sort_unstable();
    sum
}

/// The head of the table.
pub(super) const HEAD: &str = "| workload | store | asked | inside | sooner | later | width / true wait, median |\n|---|---|---|---|---|---|---|\n";

/// A row of the table.
pub(super) fn row(workload: &str, store: &str, trace: &Trace, said: &[Foretold]) -> String {
    let found = score(trace, said);
    let all = found.inside + found.sooner + found.later;
    let percent = (found.inside * 100).checked_div(all).unwrap_or(0);
    let width = found.widths.get(found.widths.len() / 2).copied().unwrap_or(0);
    let mut row = String::new();
    let _ = writeln!(
        row,
        "| {workload} | {store} | {all} | {percent} % | {} | {} | {}.{:02} |",
        found.sooner,
        found.later,
        width / 100,
        width % 100
    );
    row
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::trace::Run;

    #[test]
    fn what_was_said_is_compared_with_the_first_start_of_each_job() {
        let run = |job, start| Run {
            job,
            group: 0,
            ready: 0,
            start,
            end: None,
        };
        let second = 1_000_000;
        let trace = Trace {
            runs: vec![run(0, Some(3 * second)), run(1, None), run(0, Some(9 * second))],
            slots: Vec::new(),
            end: 10 * second,
        };
        let said = |job, asked, earliest, latest| Foretold {
            job,
            asked: asked * second,
            earliest: earliest * second,
            latest: latest * second,
        };
        let all = [
            said(0, 1, 2, 4),
            said(0, 1, 4, 5),
            said(0, 1, 1, 2),
            said(0, 3, 3, 3),
            said(1, 1, 2, 9),
            said(1, 1, 2, 11),
        ];
        let expected = Score {
            inside: 1,
            sooner: 1,
            later: 2,
            near: 1,
            widths: vec![50, 50, 100],
        };
        assert_eq!(score(&trace, &all), expected);
    }
}
