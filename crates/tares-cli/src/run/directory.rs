//! [`RunDirectory`]: the directory of a run, locked so that only one process writes to it.

mod lock;
pub mod same_run;

pub use lock::{LockOwner, WatchedLock};

use crate::files::{create_directory, remove, write_whole};
use crate::json::to_json;
use crate::judges::folds::{FOLDS, has_folds, remove_folds};
use crate::learner::learnt::{HELD_OUT_FILE, NETWORK_FILE, PANEL_FILE};
use crate::record::{EpochRecord, Manifest};
use crate::ui::failure::{Failure, Outcome};
use lock::{LockAttempt, RunLock};
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tares::Checkpoint;

/// At least this much time passes between two checkpoints.
pub const CHECKPOINT_EVERY: Duration = Duration::from_secs(5);

/// The time between two looks at a lock of another machine.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// The files of a finished run besides its spec, its manifest and its epochs.
const LEFT_BEHIND: [&str; 4] = ["samples.parquet", "gallery.json", "suspects.csv", "model.json"];

/// Where the model itself is: one of these.
const MODELS: [&str; 2] = [NETWORK_FILE, PANEL_FILE];

/// A run directory that this process alone writes to.
#[derive(Debug)]
pub struct RunDirectory {
    path: PathBuf,
    lock: RunLock,
}

impl RunDirectory {
    /// Locks the directory, and creates it if necessary. A lock that another machine left behind takes a while to be recognised.
    ///
    /// # Errors
    /// It cannot be created or written, or another process has locked it.
    pub fn lock(path: &Path) -> Outcome<Self> {
        let mut watched = WatchedLock::default();
        loop {
            match Self::attempt(path, &mut watched)? {
                (Some(directory), _) => return Ok(directory),
                (None, Some(owner)) if !watched.expects_silence() => {
                    return Err(Failure::new(format!("{}: {owner} is at work in this directory", path.display()))
                        .way_out("wait until it has ended, or choose another directory with --out"));
                }
                (None, _) => std::thread::sleep(LOOK_EVERY),
            }
        }
    }

    /// Locks the directory unless another process holds it. Also returns that process or, with the directory, a process that
    /// ended without finishing here.
    ///
    /// # Errors
    /// It cannot be created or written.
    pub fn attempt(path: &Path, watched: &mut WatchedLock) -> Outcome<(Option<Self>, Option<LockOwner>)> {
        create_directory(path)?;
        Ok(match RunLock::attempt(path, watched)? {
            LockAttempt::Taken(lock, before) => (Some(Self { path: path.to_owned(), lock }), before),
            LockAttempt::Held(owner) => (None, Some(owner)),
        })
    }

    /// The path of the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path of a file in it.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Writes one whole file.
    ///
    /// # Errors
    /// The disk is full or the directory read-only.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Outcome<()> {
        self.lock.check()?;
        write_whole(&self.file(name), bytes)
    }

    /// Writes `manifest.json`.
    ///
    /// # Errors
    /// The disk is full or the directory read-only.
    pub fn write_manifest(&self, manifest: &Manifest) -> Outcome<()> {
        self.write("manifest.json", &to_json(manifest)?)
    }

    /// Reads `manifest.json`, if there is one.
    ///
    /// # Errors
    /// It is damaged or from a newer version.
    pub fn manifest(&self) -> Outcome<Option<Manifest>> {
        let path = self.file("manifest.json");
        if path.exists() { Manifest::read(&path).map(Some) } else { Ok(None) }
    }

    /// Appends a line to `epochs.jsonl`.
    ///
    /// # Errors
    /// The disk is full or the directory read-only.
    pub fn append_epoch(&self, epoch: &EpochRecord) -> Outcome<()> {
        self.lock.check()?;
        let (path, line) = (self.file("epochs.jsonl"), epoch.line()?);
        let append = || OpenOptions::new().create(true).append(true).open(&path)?.write_all(&line);
        append().map_err(|error| Failure::file(&path, "write", &error))
    }

    /// Replaces `epochs.jsonl` by the epochs of a checkpoint. A power failure may lose lines that were appended one by one,
    /// but not a checkpoint.
    ///
    /// # Errors
    /// The disk is full or the directory read-only.
    pub fn write_epochs(&self, epochs: &[EpochRecord]) -> Outcome<()> {
        let lines: Outcome<Vec<Vec<u8>>> = epochs.iter().map(EpochRecord::line).collect();
        self.write("epochs.jsonl", &lines?.concat())
    }

    /// Whether there is a run here, finished or not.
    pub fn is_taken(&self) -> bool {
        self.file("manifest.json").exists() || has_folds(&self.file(FOLDS))
    }

    /// Deletes an earlier run. The manifest goes first, so that after a crash the rest does not look like a complete run.
    ///
    /// # Errors
    /// A file cannot be removed.
    pub fn clear(&self) -> Outcome<()> {
        let first = ["manifest.json", "checkpoint.bin", "epochs.jsonl", "report.html"];
        first
            .iter()
            .chain(&LEFT_BEHIND)
            .chain(&MODELS)
            .chain(&[HELD_OUT_FILE, "spec.toml"])
            .try_for_each(|name| self.remove(name))?;
        remove_folds(&self.file(FOLDS))
    }

    /// Removes a file, if it is there.
    ///
    /// # Errors
    /// It cannot be removed.
    pub fn remove(&self, name: &str) -> Outcome<()> {
        self.lock.check()?;
        remove(&self.file(name))
    }
}

/// Who is at work in the directory of a run, as far as this machine can see.
pub fn owner(run: &Path) -> Option<LockOwner> {
    RunLock::owner(run)
}

/// The first file that a finished run should have but does not.
pub fn first_missing(run: &Path) -> Option<&'static str> {
    let there = |name: &str| run.join(name).is_file();
    let model = (!MODELS.iter().any(|name| there(name))).then_some(NETWORK_FILE);
    LEFT_BEHIND.into_iter().find(|name| !there(name)).or(model)
}

/// The file of the model itself in a finished run.
pub fn model_file(run: &Path) -> &'static str {
    MODELS.into_iter().find(|name| run.join(name).is_file()).unwrap_or(NETWORK_FILE)
}

/// Reads a checkpoint, if there is one.
///
/// # Errors
/// It cannot be read or is damaged.
pub fn read_checkpoint(path: &Path) -> Outcome<Option<Checkpoint>> {
    match fs::read(path) {
        Ok(bytes) => {
            Ok(Some(Checkpoint::from_bytes(&bytes).map_err(|error| Failure::from(error).within(path.display()))?))
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Failure::file(path, "read", &error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::made_up::made_up;
    use crate::record::{RunRecord, read_epochs};

    #[test]
    fn a_second_process_is_told_who_is_at_work() {
        let place = tempfile::tempdir().unwrap();
        let first = RunDirectory::lock(place.path()).unwrap();
        let text = RunDirectory::lock(place.path()).unwrap_err().to_string();
        assert!(text.contains(&format!("process {} is at work", std::process::id())), "{text}");
        drop(first);
        RunDirectory::lock(place.path()).unwrap();
    }

    #[test]
    fn epochs_written_anew_replace_what_was_there() {
        let place = tempfile::tempdir().unwrap();
        let run = RunDirectory::lock(place.path()).unwrap();
        let epochs = made_up("npcl", "symmetric", 0.5, 1, 0.9).epochs;
        fs::write(run.file("epochs.jsonl"), "lost with the pow").unwrap();
        run.write_epochs(&epochs[..4]).unwrap();
        run.append_epoch(&epochs[4]).unwrap();
        assert_eq!(read_epochs(&run.file("epochs.jsonl")).unwrap(), epochs[..5]);
    }

    #[test]
    fn a_directory_that_was_taken_over_is_not_written_to() {
        let place = tempfile::tempdir().unwrap();
        let record = made_up("npcl", "symmetric", 0.5, 1, 0.9);
        let run = RunDirectory::lock(place.path()).unwrap();
        fs::write(run.file(".lock"), "node7 12 3 1\n").unwrap();
        let tries = [
            run.append_epoch(&record.epochs[0]),
            run.write_manifest(&record.manifest),
            run.write("checkpoint.bin", b"late"),
            run.remove("checkpoint.bin"),
        ];
        for said in tries.map(|tried| tried.unwrap_err().to_string()) {
            assert!(said.contains("taken over by process 12 on node7"), "{said}");
        }
        let left: Vec<_> = fs::read_dir(place.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, [".lock"]);
    }

    #[test]
    fn a_run_comes_back_as_it_was_written() {
        let place = tempfile::tempdir().unwrap();
        let record = made_up("npcl", "symmetric", 0.5, 1, 0.9);
        let run = RunDirectory::lock(place.path()).unwrap();
        run.write_manifest(&record.manifest).unwrap();
        record.epochs.iter().for_each(|epoch| run.append_epoch(epoch).unwrap());
        run.write("gallery.json", &to_json(&record.gallery).unwrap()).unwrap();
        let read = RunRecord::read(place.path()).unwrap();
        assert_eq!(RunRecord { name: record.name.clone(), ..read }, record);
    }

    #[test]
    fn nothing_of_an_earlier_run_is_left() {
        let place = tempfile::tempdir().unwrap();
        let run = RunDirectory::lock(place.path()).unwrap();
        for name in
            LEFT_BEHIND.iter().chain(&["manifest.json", "report.html", "checkpoint.bin", HELD_OUT_FILE, "spec.toml"])
        {
            fs::write(run.file(name), "old").unwrap();
        }
        fs::create_dir(run.file(FOLDS)).unwrap();
        fs::write(run.file(FOLDS).join("fold-1.bin"), "old").unwrap();
        run.clear().unwrap();
        let left: Vec<_> = fs::read_dir(place.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, [".lock"]);
    }
}
