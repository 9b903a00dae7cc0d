//! Many runs: those that are not finished are trained, some at a time, and all records come back in order.

use crate::files::file_name;
use crate::record::RunRecord;
use crate::run::folds::FoldProgress;
use crate::run::spec::Spec;
use crate::run::train::{Event, Start, run};
use crate::ui::failure::{Failure, Outcome};
use crate::ui::terminal::Screen;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;
use tares_data::Loaded;

/// How long a thread without a run of its own waits before it looks for work of others again: much less than a step.
const HELP_EVERY: Duration = Duration::from_micros(50);

/// Somebody who is shown how the runs get on. Runs are named by their position among the specs.
pub trait Watch: Sync {
    /// A judge of a run's noise rate ended an epoch; the run itself begins when all judges have ended.
    fn estimating(&self, run: usize, progress: FoldProgress);
    /// A run has `epochs` behind it; `accuracy` is that of its last one on the test data.
    fn reached(&self, run: usize, epochs: usize, accuracy: Option<f64>);
    /// A run is finished; `accuracy` is its mean over the last epochs.
    fn finished(&self, run: usize, accuracy: Option<f64>);
    /// A run stopped before its end.
    fn stopped(&self, run: usize);
}

/// The directory of a run: `runs/symmetric-0.5/npcl/seed-1`.
pub fn place(out: &Path, spec: &Spec) -> PathBuf {
    out.join("runs")
        .join(file_name(&spec.noise.to_string()))
        .join(file_name(&spec.method.to_string()))
        .join(format!("seed-{}", spec.plan.seed))
}

/// What a run is called on the screen: `symmetric:0.5 npcl seed 1`.
pub fn name(spec: &Spec) -> String {
    format!("{} {} seed {}", spec.noise, spec.method, spec.plan.seed)
}

/// Runs everything that is not finished, `jobs` at a time, and gives back all records in the order of the specs.
///
/// # Errors
/// The first failure, after the runs under way have stopped.
pub fn run_all(
    runs: &[Spec],
    loaded: &Loaded,
    out: &Path,
    start: Start,
    jobs: usize,
    screen: &Screen,
    watch: &dyn Watch,
) -> Outcome<Vec<RunRecord>> {
    let next = AtomicUsize::new(0);
    let records: Mutex<Vec<Option<RunRecord>>> = Mutex::new(vec![None; runs.len()]);
    let failure: Mutex<Option<Failure>> = Mutex::new(None);
    let work = || {
        loop {
            let position = next.fetch_add(1, Ordering::SeqCst);
            if position >= runs.len() || lock(&failure).is_some() {
                return;
            }
            let spec = &runs[position];
            let record = run(spec, loaded, &place(out, spec), start, &mut |event| match event {
                Event::Estimating(progress) => watch.estimating(position, progress),
                Event::Ready { done, .. } => watch.reached(position, done, None),
                Event::Epoch(epoch) => watch.reached(position, epoch.epoch, epoch.test_accuracy),
            });
            match record {
                Ok(record) => {
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
        // This thread is one of rayon's (`join_workers`): while others are still at a run it does its part for them.
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
            let way_out = "everything so far is kept; run the same command again to go on".to_owned();
            return Err(Failure::Interrupted { way_out });
        }
        Some(failure) => return Err(failure),
    }
    let records = records.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    let records: Vec<RunRecord> = records.into_iter().flatten().collect();
    if records.len() < runs.len() {
        return Err(Failure::new(format!("{} of {} runs did not end", runs.len() - records.len(), runs.len())));
    }
    Ok(records)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}
