//! Trains many runs, a few at the same time, and returns the records of all in order. Finished ones are only read. Several processes may
//! share the runs of one directory.

mod cost;
mod progress;
mod shard;
mod sharing;

pub use progress::RunProgress;
pub use shard::Shard;
pub use sharing::Sharing;

use crate::files::file_name;
use crate::judges::panel::JudgesProgress;
use crate::record::{RunRecord, State};
use crate::run::directory::same_run::DataHash;
use crate::run::directory::{RunDirectory, WatchedLock};
use crate::run::semantic_noise::NoiseProgress;
use crate::run::spec::Spec;
use crate::run::train::{Event, Start, run_in};
use crate::ui::failure::{Failure, Outcome};
use crate::ui::interrupt;
use crate::ui::terminal::Screen;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};
use tares_data::Loaded;

/// How long a thread without a run waits before it offers its help to the other runs again: much less than a step.
const HELP_EVERY: Duration = Duration::from_micros(50);

/// The time between two looks at a run that another process is training.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// Is told about the progress of all runs. A run is named by its position among the specs.
pub trait Watch: Sync {
    /// An epoch of the network that makes the run's noise ended.
    fn making_noise(&self, run: usize, progress: NoiseProgress);
    /// A judge of the run's noise rate took a step. Training itself begins after the last judge.
    fn estimating(&self, run: usize, progress: JudgesProgress);
    /// A run has completed `epochs` epochs; `accuracy` is the test accuracy after the last one.
    fn reached(&self, run: usize, epochs: usize, accuracy: Option<f64>);
    /// A run is finished; `accuracy` is its test accuracy, averaged over the last epochs.
    fn finished(&self, run: usize, accuracy: Option<f64>);
    /// A run failed or was interrupted.
    fn stopped(&self, run: usize);
}

/// The directory of a run: `runs/symmetric-0.5/npcl/seed-1`.
pub fn place(out: &Path, spec: &Spec) -> PathBuf {
    out.join("runs")
        .join(file_name(&spec.noise.to_string()))
        .join(file_name(&spec.called()))
        .join(format!("seed-{}", spec.plan.seed))
}

/// The name of a run on the screen: `symmetric:0.5 npcl seed 1`.
pub fn name(spec: &Spec) -> String {
    format!("{} {} seed {}", spec.noise, spec.called(), spec.plan.seed)
}

/// Trains every run that is not finished, `jobs` at a time, and returns all records in the order of the specs. Runs that other processes
/// are at work on are left to them: they come last, to be read when they are finished or taken over when their process has ended.
///
/// # Errors
/// The first failure. No run is begun after it, but those that are being trained end first.
pub fn run_all(
    runs: &[Spec],
    loaded: &Loaded,
    out: &Path,
    start: Start,
    jobs: usize,
    screen: &Screen,
    watch: &dyn Watch,
) -> Outcome<Vec<RunRecord>> {
    let queue: Mutex<VecDeque<Turn>> = Mutex::new((0..runs.len()).map(Turn::first).collect());
    let records: Mutex<Vec<Option<RunRecord>>> = Mutex::new(vec![None; runs.len()]);
    let failure: Mutex<Option<Failure>> = Mutex::new(None);
    runs.iter().try_for_each(Spec::check)?;
    interrupt::watch();
    let data = DataHash::of(loaded);
    let one = |turn: &mut Turn| -> Outcome<Option<RunRecord>> {
        let (position, spec) = (turn.run, &runs[turn.run]);
        let (directory, owner) = match RunDirectory::attempt(&place(out, spec), &mut turn.watched)? {
            (Some(directory), before) => (directory, before),
            (None, Some(owner)) if start == Start::Overwrite => {
                return Err(Failure::new(format!("{}: {owner} is at work on it", name(spec)))
                    .way_out("wait until it has ended, or choose another directory with --out"));
            }
            (None, owner) => {
                if interrupt::asked() {
                    return Err(Failure::Interrupted { way_out: String::new() });
                }
                if let Some(owner) = owner.filter(|_| !std::mem::replace(&mut turn.told, true)) {
                    screen.note(format!("{}: {owner} is at work on it; it comes last here", name(spec)));
                }
                return Ok(None);
            }
        };
        let unfinished = directory.manifest()?.is_some_and(|manifest| manifest.state == State::Unfinished);
        if let Some(owner) = owner.filter(|_| unfinished && start == Start::Resume) {
            screen.note(format!("{}: taken over from {owner}, which ended before it was finished", name(spec)));
        }
        let hear = |event: Event<'_>| match event {
            Event::MakingNoise(progress) => watch.making_noise(position, progress),
            Event::Judging(_, progress) => watch.estimating(position, progress),
            Event::Arriving { .. } => {}
            Event::Ready { done, .. } => watch.reached(position, done, None),
            Event::Epoch(epoch) => watch.reached(position, epoch.epoch, epoch.test_accuracy),
        };
        run_in(&directory, spec, loaded, &data, None, start, &hear).map(Some)
    };
    let work = || {
        loop {
            let next = lock(&queue).pop_front();
            let Some(mut turn) = next.filter(|_| lock(&failure).is_none()) else { return };
            turn.wait();
            let (position, spec) = (turn.run, &runs[turn.run]);
            match one(&mut turn) {
                Ok(None) => {
                    turn.not_before = Some(Instant::now() + LOOK_EVERY);
                    lock(&queue).push_back(turn);
                }
                Ok(Some(record)) => {
                    let accuracy = record.manifest.result.as_ref().and_then(|result| result.test_accuracy_last10);
                    watch.finished(position, accuracy);
                    if !screen.live {
                        let accuracy =
                            accuracy.map_or("no test data".to_owned(), |part| format!("{:.2} %", 100.0 * part));
                        screen.note(format!("[{}/{}] {}: {accuracy}", position + 1, runs.len(), name(spec)));
                    }
                    lock(&records)[position] = Some(record);
                }
                Err(problem) => {
                    watch.stopped(position);
                    lock(&failure).get_or_insert(problem);
                    return;
                }
            }
        }
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (1..jobs.min(runs.len())).map(|_| scope.spawn(work)).collect();
        work();
        // This thread is also one of rayon's workers (`join_workers`): the runs that are still being trained need it.
        while workers.iter().any(|worker| !worker.is_finished()) {
            if rayon::yield_now() != Some(rayon::Yield::Executed) {
                std::thread::sleep(HELP_EVERY);
            }
        }
        for worker in workers {
            if let Err(panic) = worker.join() {
                std::panic::resume_unwind(panic);
            }
        }
    });
    match failure.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner()) {
        None => {}
        Some(Failure::Interrupted { .. }) => {
            let way_out = "everything so far is kept; to continue, run the same command again".to_owned();
            return Err(Failure::Interrupted { way_out });
        }
        Some(failure) => return Err(failure),
    }
    let records = records.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    let records: Vec<RunRecord> = records.into_iter().flatten().collect();
    if records.len() < runs.len() {
        return Err(Failure::new(format!("{} of {} runs did not finish", runs.len() - records.len(), runs.len())));
    }
    Ok(records)
}

/// A run whose turn it is, now or later.
struct Turn {
    run: usize,
    watched: WatchedLock,
    not_before: Option<Instant>,
    /// Whether a note has named the process that is at work on it.
    told: bool,
}

impl Turn {
    fn first(run: usize) -> Self {
        Self { run, watched: WatchedLock::default(), not_before: None, told: false }
    }

    /// Waits until its time has come; meanwhile this thread helps other runs of the process.
    fn wait(&self) {
        while self.not_before.is_some_and(|then| Instant::now() < then) && !interrupt::asked() {
            if rayon::yield_now() != Some(rayon::Yield::Executed) {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}
