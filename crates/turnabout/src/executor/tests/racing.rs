//! Cancels that race with the end of a handler: whoever is told something finds that it was true.

use super::*;
use crate::error::Error;
use crate::job::State;
use crate::jobs::Cancel;
use crate::store::conformance::cases;
use crate::task::TaskError;

cases![a_cancel_that_races_with_the_end_of_a_handler_tells_the_truth];

/// So many races, some of them at a time.
const RACES: u32 = 10_000;
const AT_ONCE: u32 = 500;

/// How a handler behaves: how long it takes, whether it listens, how it ends.
#[derive(Debug, Serialize, Deserialize)]
struct Race {
    yields: u8,
    millis: u8,
    listens: bool,
    fails: bool,
    cancel: When,
}

/// When it is cancelled.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum When {
    Submitted,
    /// So many tenths of milliseconds after its handler began.
    Running(u8),
    Ended,
}

/// Says what callers were told.
type Ear = mpsc::UnboundedSender<(JobId, Told)>;

impl Task for Race {
    const NAME: &'static str = "race";
}

async fn race(cx: Context<Ear>, task: Race) -> TaskResult<u8> {
    if let When::Running(delay) = task.cancel {
        let (jobs, id, ear) = (cx.jobs().clone(), cx.job(), cx.state().clone());
        tokio::spawn(async move {
            // Fractions of a millisecond cannot be slept.
            for _ in 0..delay % 10 {
                tokio::task::yield_now().await;
            }
            if delay >= 10 {
                tokio::time::sleep(Duration::from_millis(u64::from(delay) / 10)).await;
            }
            let _ = ear.send((id, cancel(&jobs, id).await));
        });
    }
    for _ in 0..task.yields {
        tokio::task::yield_now().await;
        if task.listens {
            cx.check_cancelled()?;
        }
    }
    if task.millis > 0 {
        tokio::time::sleep(Duration::from_millis(task.millis.into())).await;
    }
    if task.fails {
        return Err(TaskError::permanent("it was to fail"));
    }
    Ok(task.millis)
}

/// What a caller was told.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Told {
    Cancelled,
    Cancelling,
    TooLate(State),
}

async fn cancel(jobs: &Jobs, id: JobId) -> Told {
    match jobs.cancel(id).await {
        Ok(Cancel::Cancelled) => Told::Cancelled,
        Ok(Cancel::Cancelling) => Told::Cancelling,
        Err(Error::NotCancellable { state, .. }) => Told::TooLate(state),
        Err(error) => panic!("{error}"),
    }
}

async fn a_cancel_that_races_with_the_end_of_a_handler_tells_the_truth(world: &World) {
    let jobs = jobs_of(world);
    let (ear, mut heard) = mpsc::unbounded_channel();
    let executor = Executor::with_state(&jobs, ear.clone()).task(race).slots(16);
    let executor = executor.start().await.expect("it starts");
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut rng = fastrand::Rng::with_seed(seed);
    let (mut cancelled, mut cancelling, mut late) = (0, 0, 0);
    for _ in 0..RACES / AT_ONCE {
        let tasks: Vec<Race> = (0..AT_ONCE).map(|_| random(&mut rng)).collect();
        let when: Vec<When> = tasks.iter().map(|task| task.cancel).collect();
        for (outcome, when) in jobs.submit_all(tasks).await.into_iter().zip(when) {
            let (jobs, id, ear) = (jobs.clone(), outcome.expect("submitted").id, ear.clone());
            tokio::spawn(async move {
                match when {
                    When::Submitted => {}
                    When::Running(_) => return,
                    When::Ended => drop(ended(&jobs, id).await),
                }
                let _ = ear.send((id, cancel(&jobs, id).await));
            });
        }
        for _ in 0..AT_ONCE {
            let (id, told) = within(heard.recv()).await.expect("an answer");
            let job = ended(&jobs, id).await;
            match told {
                Told::Cancelled | Told::Cancelling => {
                    assert_eq!(job.state, State::Cancelled, "seed {seed}: {told:?}, but {job:?}");
                    assert_eq!(job.result, None);
                }
                Told::TooLate(state) => {
                    assert!(matches!(state, State::Success | State::Failed), "seed {seed}: {state}");
                    assert_eq!(job.state, state, "seed {seed}: it has changed since");
                }
            }
            match told {
                Told::Cancelled => cancelled += 1,
                Told::Cancelling => cancelling += 1,
                Told::TooLate(_) => late += 1,
            }
        }
    }
    println!("{cancelled} cancelled at once, {cancelling} while held, {late} too late");
    assert!(cancelled > 0 && cancelling > 0 && late > 0, "there was no race");
    executor.shutdown(Duration::from_secs(30)).await;
}

fn random(rng: &mut fastrand::Rng) -> Race {
    Race {
        yields: rng.u8(..20),
        millis: rng.u8(..4).saturating_sub(1),
        listens: rng.bool(),
        fails: rng.u8(..4) == 0,
        cancel: match rng.u8(..100) {
            0..5 => When::Submitted,
            5..10 => When::Ended,
            _ => When::Running(rng.u8(..40)),
        },
    }
}
