//! Out-of-fold probabilities that survive an interruption: each fold is kept in a file until all are trained.

use crate::files::{create_directory, write_whole};
use crate::run::directory::{CHECKPOINT_EVERY, read_checkpoint};
use crate::ui::failure::{Failure, Outcome};
use crate::ui::interrupt;
use std::path::{Path, PathBuf};
use std::time::Instant;
use tares::{Control, CrossValidation};

/// Name of the directory of fold files, inside the directory of a run or an audit.
pub const FOLDS: &str = "folds";

/// How far the training of folds has come; all numbers count from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoldProgress {
    /// The fold whose judge is being trained.
    pub fold: usize,
    /// How many there are.
    pub folds: usize,
    /// The epoch that has just ended.
    pub epoch: usize,
    /// Epochs of every judge.
    pub epochs: usize,
}

impl FoldProgress {
    /// Epochs that all judges together have completed.
    pub fn done(&self) -> u64 {
        ((self.fold - 1) * self.epochs + self.epoch) as u64
    }

    /// Epochs that all judges together will need.
    pub fn total(&self) -> u64 {
        (self.folds * self.epochs) as u64
    }
}

/// Class probabilities of every row, `[N][K]`, from a network that was not trained on it. Finished folds are read from
/// `place`, and an interrupted one continues from its checkpoint, so the result has the bits of an uninterrupted training.
///
/// # Errors
/// Training fails; a fold file belongs to other settings or other data, or cannot be read or written; Ctrl-C.
pub fn out_of_fold(
    judges: &CrossValidation<'_>,
    place: &Path,
    hear: &mut dyn FnMut(FoldProgress),
) -> Outcome<Vec<f32>> {
    interrupt::watch();
    create_directory(place)?;
    let mut finished = Vec::with_capacity(judges.folds());
    for fold in 0..judges.folds() {
        if interrupt::asked() {
            return Err(Failure::Interrupted { way_out: String::new() });
        }
        let path = place.join(format!("fold-{}.bin", fold + 1));
        let kept = read_checkpoint(&path)?;
        let known = kept.as_ref().is_some_and(CrossValidation::is_finished);
        let mut trouble = None;
        let mut saved = Instant::now();
        let done = judges.fold(fold, kept, &mut |progress| {
            let epoch = progress.epochs.len();
            hear(FoldProgress { fold: fold + 1, folds: judges.folds(), epoch, epochs: progress.total_epochs });
            let stop = interrupt::asked() && epoch < progress.total_epochs;
            if stop || saved.elapsed() >= CHECKPOINT_EVERY {
                let keep = || -> Outcome<()> { write_whole(&path, &progress.checkpoint()?.to_bytes()) };
                trouble = keep().err();
                saved = Instant::now();
            }
            if stop || trouble.is_some() { Control::Stop } else { Control::Continue }
        });
        if let Some(failure) = trouble {
            return Err(failure);
        }
        let done = done.map_err(|error| refused(error, &path))?;
        let done = done.ok_or_else(|| Failure::Interrupted { way_out: String::new() })?;
        if !known {
            write_whole(&path, &done.to_bytes())?;
        }
        finished.push(done);
    }
    Ok(judges.probabilities(&finished)?)
}

/// For a fold file that does not fit, adds its path and how to start again without it.
fn refused(error: tares::Error, path: &Path) -> Failure {
    match error {
        tares::Error::Checkpoint(_) => Failure::from(error)
            .within(path.display())
            .way_out("repeat the earlier command, or start again: `audit` without --resume, `train` with --overwrite"),
        other => Failure::from(other),
    }
}

/// The files of judges in this directory: folds of a network (`fold-1.bin`), answers of finished judges (`judge-trees.bin`).
fn files(place: &Path, kinds: &[&str]) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(place) else { return Vec::new() };
    let ours = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.ends_with(".bin") && kinds.iter().any(|kind| name.starts_with(kind))
    };
    entries.filter_map(|entry| Some(entry.ok()?.path())).filter(ours).collect()
}

/// Whether this directory holds files of judges.
pub fn has_folds(place: &Path) -> bool {
    !files(place, &["fold-", "judge-"]).is_empty()
}

/// Removes the fold files of a network, if there are any. Called once the network's answer is written.
///
/// # Errors
/// A fold file cannot be removed.
pub fn remove_network_folds(place: &Path) -> Outcome<()> {
    remove(files(place, &["fold-"]))
}

/// Removes the files of judges, if there are any; other files stay. Called once their result is written elsewhere.
///
/// # Errors
/// A file cannot be removed.
pub fn remove_folds(place: &Path) -> Outcome<()> {
    remove(files(place, &["fold-", "judge-"]))?;
    // This fails while other files are in the directory, which then stays.
    let _ = std::fs::remove_dir(place);
    Ok(())
}

fn remove(files: Vec<PathBuf>) -> Outcome<()> {
    let one = |path: PathBuf| std::fs::remove_file(&path).map_err(|error| Failure::file(&path, "remove", &error));
    files.into_iter().try_for_each(one)
}
