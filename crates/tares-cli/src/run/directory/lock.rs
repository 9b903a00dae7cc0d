//! [`RunLock`]: only one process writes to a run directory, also on a file system that several machines share.
//!
//! `.lock` is locked by the operating system and names its owner: `host process beat`. The system releases the lock when the process ends,
//! even after kill -9, so on one machine that settles everything. Other machines may not see the lock, and a machine that lost its power
//! never releases it. So the owner increments its beat while it works. If the beat of another machine's lock has not changed for
//! [`stale_after`], the lock is stale: it is taken over, and the message names its former owner. Beats are compared, not clocks.
//!
//! Some file systems have no locks, or none left. There the beat of every owner is watched, and whoever takes a lock looks after a moment
//! whether another process wrote its name at the same time.
//!
//! An owner that stood still for too long (a paused virtual machine, a file system that hung) may wake up beside its successor. So it reads
//! the lock before each beat and before it writes anything, and stops if the name in it is not its own.

use crate::ui::failure::{Failure, Outcome};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long the beat of another machine's lock must not change until the lock counts as stale.
const STALE_AFTER: Duration = Duration::from_secs(60);
/// Beats in that time.
const BEATS: u32 = 6;
/// How long a name must stand in a lock file, where the system locks nothing, until the lock counts as taken.
const SETTLED_AFTER: Duration = Duration::from_millis(300);
/// The system's number for "no locks available".
const ENOLCK: i32 = if cfg!(target_os = "linux") { 37 } else { 77 };
/// How often a thread looks whether it should end.
const TICK: Duration = Duration::from_millis(50);

/// A lock that this process holds.
#[derive(Debug)]
pub struct RunLock {
    path: PathBuf,
    name: LockName,
    file: Arc<Mutex<File>>,
    ended: Arc<AtomicBool>,
    beating: Option<JoinHandle<()>>,
}

/// The result of an attempt to lock.
#[derive(Debug)]
pub enum LockAttempt {
    /// The lock is ours; with its former owner, if that ended without releasing it.
    Taken(RunLock, Option<LockOwner>),
    /// Somebody else is at work.
    Held(LockOwner),
}

/// Who holds a lock, or held it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockOwner {
    host: String,
    process: u32,
    beat: u64,
}

impl std::fmt::Display for LockOwner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.process, self.host == this_host()) {
            (0, _) => write!(f, "another process"),
            (process, true) => write!(f, "process {process}"),
            (process, false) => write!(f, "process {process} on {}", self.host),
        }
    }
}

/// Asks the system for a lock.
type TryLock<'a> = &'a dyn Fn(&File) -> Result<(), TryLockError>;

/// Whether a file system has no locks, or none left (ENOLCK, which some network file systems say when their lock service is absent).
fn has_no_locks(error: &std::io::Error) -> bool {
    error.kind() == std::io::ErrorKind::Unsupported || (cfg!(unix) && error.raw_os_error() == Some(ENOLCK))
}

/// What a lock's owner writes into the file: `host process beat claim`. Claims tell two locks of one process apart.
#[derive(Clone, Copy, Debug)]
struct LockName {
    claim: u64,
}

impl LockName {
    fn new() -> Self {
        static CLAIMS: AtomicU64 = AtomicU64::new(1);
        Self { claim: CLAIMS.fetch_add(1, Ordering::Relaxed) }
    }

    fn text(&self, beat: u64) -> String {
        format!("{} {} {beat} {}\n", this_host(), std::process::id(), self.claim)
    }

    /// Whose the lock is if it is not ours. A lock that cannot be read says nothing; an empty one was taken over and given back.
    fn successor(self, path: &Path) -> Option<LockOwner> {
        // Opened again, because other machines' writes may not be seen through a file that is open.
        let text = std::fs::read_to_string(path).ok()?;
        let owner = LockOwner::parse(&text).unwrap_or_else(LockOwner::unknown);
        let claim = text.split_whitespace().nth(3).and_then(|claim| claim.parse().ok());
        let is_ours = owner.host == this_host() && owner.process == std::process::id() && claim == Some(self.claim);
        (!is_ours).then_some(owner)
    }

    /// Writes the next beat, unless the lock is somebody else's by now.
    fn beat(self, path: &Path, file: &mut File, beat: u64) {
        if self.successor(path).is_none() {
            // A beat that cannot be written is merely missed.
            let _ = self.write(file, beat);
        }
    }

    fn write(&self, file: &mut File, beat: u64) -> std::io::Result<()> {
        let text = self.text(beat);
        file.seek(SeekFrom::Start(0))?;
        file.write_all(text.as_bytes())?;
        file.set_len(text.len() as u64)?;
        file.sync_data()
    }
}

impl LockOwner {
    fn unknown() -> Self {
        Self { host: this_host(), process: 0, beat: 0 }
    }

    fn parse(text: &str) -> Option<Self> {
        let mut words = text.split_whitespace();
        let (host, process, beat) = (words.next()?, words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        Some(Self { host: host.to_owned(), process, beat })
    }
}

impl RunLock {
    /// Tries to lock `directory`. A lock of another machine counts as held until `watched`, over repeated attempts, has seen its beat
    /// unchanged for long enough.
    ///
    /// # Errors
    /// The file cannot be written or locked.
    pub fn attempt(directory: &Path, watched: &mut WatchedLock) -> Outcome<LockAttempt> {
        Self::attempt_by(&File::try_lock, directory, watched)
    }

    fn attempt_by(try_lock: TryLock<'_>, directory: &Path, watched: &mut WatchedLock) -> Outcome<LockAttempt> {
        let path = directory.join(".lock");
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(|error| Failure::file(&path, "write", &error))?;
        let mut text = String::new();
        let locked = match try_lock(&file) {
            Ok(()) => true,
            Err(TryLockError::WouldBlock) => {
                let _ = file.read_to_string(&mut text);
                return Ok(LockAttempt::Held(LockOwner::parse(&text).unwrap_or_else(LockOwner::unknown)));
            }
            Err(TryLockError::Error(error)) if has_no_locks(&error) => false,
            Err(TryLockError::Error(error)) => return Err(Failure::file(&path, "lock", &error)),
        };
        let _ = file.read_to_string(&mut text);
        let before = LockOwner::parse(&text);
        // This machine's own lock was released by the system, so its owner has ended. A lock of another machine may be invisible here, and
        // where the system locks nothing, only the beat shows whether an owner is alive.
        if let Some(owner) = before.as_ref().filter(|owner| !locked || owner.host != this_host())
            && !watched.is_stale(owner)
        {
            return Ok(LockAttempt::Held(owner.clone()));
        }
        let name = LockName::new();
        let _ = name.write(&mut file, 1);
        if !locked {
            std::thread::sleep(SETTLED_AFTER);
            // Opened again, because other machines' writes may not be seen through a file that is open.
            let now = std::fs::read_to_string(&path).unwrap_or_default();
            if now != name.text(1) {
                return Ok(LockAttempt::Held(LockOwner::parse(&now).unwrap_or_else(LockOwner::unknown)));
            }
        }
        Ok(LockAttempt::Taken(Self::hold(&path, file, name), before))
    }

    /// Who is at work in a directory, as far as this machine can see.
    pub fn owner(directory: &Path) -> Option<LockOwner> {
        let mut file = File::open(directory.join(".lock")).ok()?;
        let mut text = String::new();
        file.read_to_string(&mut text).ok()?;
        let owner = LockOwner::parse(&text)?;
        // The system knows the processes of this machine; for others, one would have to watch the beat.
        let free = owner.host == this_host() && file.try_lock_shared().is_ok();
        (!free).then_some(owner)
    }

    /// Beats until it is dropped.
    fn hold(path: &Path, file: File, owner: LockName) -> Self {
        let (file, ended) = (Arc::new(Mutex::new(file)), Arc::new(AtomicBool::new(false)));
        let beat = {
            let (file, path) = (file.clone(), path.to_owned());
            move |beat: u64| owner.beat(&path, &mut file.lock().unwrap_or_else(PoisonError::into_inner), beat)
        };
        let over = ended.clone();
        let called = format!("lock of {}", path.display());
        let beating = std::thread::Builder::new().name(called).spawn(move || {
            let (mut number, mut last) = (1, Instant::now());
            while !over.load(Ordering::Relaxed) {
                std::thread::sleep(TICK);
                if last.elapsed() >= stale_after() / BEATS {
                    (number, last) = (number + 1, Instant::now());
                    beat(number);
                }
            }
        });
        Self { path: path.to_owned(), name: owner, file, ended, beating: beating.ok() }
    }

    /// Whether the lock is still ours; asked before anything is written.
    ///
    /// # Errors
    /// Another process took it over while this one stood still.
    pub fn check(&self) -> Outcome<()> {
        let _quiet = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        match self.name.successor(&self.path) {
            None => Ok(()),
            Some(owner) => {
                let place = self.path.parent().unwrap_or(&self.path).display();
                Err(Failure::new(format!(
                    "{place}: taken over by {owner}, since this process stood still for too long"
                ))
                .way_out("nothing is lost: the other process goes on with it"))
            }
        }
    }
}

impl Drop for RunLock {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        if let Some(beating) = self.beating.take() {
            let _ = beating.join();
        }
        // Released, if it is ours: an empty file has no owner.
        let file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if self.name.successor(&self.path).is_some() {
            return;
        }
        let _ = file.set_len(0).and_then(|()| file.sync_data());
    }
}

/// What was seen of a lock that the system cannot vouch for, to find out whether it still beats.
#[derive(Debug, Default)]
pub struct WatchedLock {
    seen: Option<(LockOwner, Instant)>,
    /// Whether it moved since it was first seen.
    beats: bool,
}

impl WatchedLock {
    /// Whether the owner has not beaten for long enough. The first look only begins to watch.
    fn is_stale(&mut self, owner: &LockOwner) -> bool {
        match &self.seen {
            Some((seen, since)) if seen == owner => since.elapsed() >= stale_after(),
            before => {
                self.beats = before.is_some();
                self.seen = Some((owner.clone(), Instant::now()));
                false
            }
        }
    }

    /// Whether the watched lock has not beaten so far, so that it may turn out to be stale.
    pub fn expects_silence(&self) -> bool {
        self.seen.is_some() && !self.beats
    }
}

/// `TARES_STALE_AFTER` in seconds, or a minute.
fn stale_after() -> Duration {
    let told = std::env::var("TARES_STALE_AFTER").ok().and_then(|text| text.parse::<f64>().ok());
    told.filter(|seconds| (0.1..1e6).contains(seconds)).map_or(STALE_AFTER, Duration::from_secs_f64)
}

/// The name of this machine: `TARES_HOST`, or the system's.
fn this_host() -> String {
    let told = std::env::var("TARES_HOST").ok().filter(|name| !name.trim().is_empty());
    let system = || std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let name =
        told.or_else(system).or_else(|| std::env::var("HOSTNAME").ok()).unwrap_or_else(|| "localhost".to_owned());
    name.split_whitespace().collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempt(place: &Path) -> LockAttempt {
        RunLock::attempt(place, &mut WatchedLock::default()).unwrap()
    }

    #[test]
    fn a_lock_that_was_given_back_has_no_owner_and_one_that_was_not_says_whose_it_was() {
        let place = tempfile::tempdir().unwrap();
        let LockAttempt::Taken(lock, None) = attempt(place.path()) else { panic!("nobody was here") };
        let LockAttempt::Held(owner) = attempt(place.path()) else { panic!("it is held") };
        assert_eq!(owner.to_string(), format!("process {}", std::process::id()));
        drop(lock);
        assert!(matches!(attempt(place.path()), LockAttempt::Taken(_, None)));
        std::fs::write(place.path().join(".lock"), format!("{} 4711 3\n", this_host())).unwrap();
        let LockAttempt::Taken(_, Some(before)) = attempt(place.path()) else { panic!("its owner has ended") };
        assert_eq!(before.to_string(), "process 4711");
    }

    #[test]
    fn without_locks_of_the_system_an_owner_on_this_machine_is_watched_too() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join(".lock");
        for error in [std::io::Error::from(std::io::ErrorKind::Unsupported), std::io::Error::from_raw_os_error(ENOLCK)]
        {
            let code = (error.kind(), error.raw_os_error());
            let no_locks = move |_: &File| {
                let error = code.1.map_or_else(|| code.0.into(), std::io::Error::from_raw_os_error);
                Err(TryLockError::Error(error))
            };
            let attempt = |watched: &mut WatchedLock| RunLock::attempt_by(&no_locks, place.path(), watched).unwrap();
            let LockAttempt::Taken(lock, None) = attempt(&mut WatchedLock::default()) else {
                panic!("nobody was here")
            };
            let mut watched = WatchedLock::default();
            let LockAttempt::Held(owner) = attempt(&mut watched) else { panic!("its owner beats") };
            assert_eq!(owner.to_string(), format!("process {}", std::process::id()));
            drop(lock);
            assert!(matches!(attempt(&mut watched), LockAttempt::Taken(_, None)), "it was given back");
            // Another process of this machine was killed.
            std::fs::write(&file, format!("{} 4711 3\n", this_host())).unwrap();
            assert!(matches!(attempt(&mut watched), LockAttempt::Held(_)), "unknown yet");
            if let Some(long_ago) = Instant::now().checked_sub(STALE_AFTER * 2) {
                watched.seen.as_mut().unwrap().1 = long_ago;
                assert!(matches!(attempt(&mut watched), LockAttempt::Taken(_, Some(_))));
            }
            std::fs::remove_file(&file).unwrap();
        }
    }

    #[test]
    fn an_owner_that_wakes_up_beside_its_successor_leaves_the_lock_alone() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join(".lock");
        let LockAttempt::Taken(lock, None) = attempt(place.path()) else { panic!("nobody was here") };
        lock.name.beat(&path, &mut lock.file.lock().unwrap(), 2);
        lock.check().unwrap();
        // An owner of the same process has another claim.
        for (theirs, who) in
            [("node7 12 3 1\n".to_owned(), "process 12 on node7"), (LockName::new().text(1), "process")]
        {
            std::fs::write(&path, &theirs).unwrap();
            let said = lock.check().unwrap_err().to_string();
            assert!(said.contains(&format!("taken over by {who}")), "{said}");
            lock.name.beat(&path, &mut lock.file.lock().unwrap(), 3);
            assert_eq!(std::fs::read_to_string(&path).unwrap(), theirs);
        }
        drop(lock);
        assert!(std::fs::read_to_string(&path).unwrap().starts_with(&this_host()), "it is still the other's");
        // Taken over, finished and given back.
        std::fs::write(&path, "").unwrap();
        let LockAttempt::Taken(lock, None) = attempt(place.path()) else { panic!("nobody was here") };
        std::fs::write(&path, "").unwrap();
        assert!(lock.check().unwrap_err().to_string().contains("taken over by another process"));
    }

    #[test]
    fn without_locks_of_the_system_one_of_many_at_the_same_time_takes_the_lock() {
        for round in 0..3 {
            let place = tempfile::tempdir().unwrap();
            let no_locks = |_: &File| Err(TryLockError::Error(std::io::ErrorKind::Unsupported.into()));
            let attempt = || RunLock::attempt_by(&no_locks, place.path(), &mut WatchedLock::default()).unwrap();
            let attempts: Vec<LockAttempt> = std::thread::scope(|scope| {
                let all: Vec<_> = (0..4).map(|_| scope.spawn(attempt)).collect();
                all.into_iter().map(|one| one.join().unwrap()).collect()
            });
            let taken = attempts.iter().filter(|attempt| matches!(attempt, LockAttempt::Taken(..))).count();
            assert!(taken <= 1, "round {round}: {taken} took it");
        }
    }

    #[test]
    fn a_lock_of_another_machine_is_stale_only_if_it_stands_still() {
        let place = tempfile::tempdir().unwrap();
        let write = |beat: u64| std::fs::write(place.path().join(".lock"), format!("node7 12 {beat}\n")).unwrap();
        let mut watched = WatchedLock::default();
        write(1);
        let LockAttempt::Held(owner) = RunLock::attempt(place.path(), &mut watched).unwrap() else {
            panic!("unknown yet")
        };
        assert_eq!(owner.to_string(), "process 12 on node7");
        let long_ago = Instant::now().checked_sub(STALE_AFTER * 2);
        watched.seen.as_mut().unwrap().1 = long_ago.unwrap_or_else(Instant::now);
        write(2);
        assert!(matches!(RunLock::attempt(place.path(), &mut watched).unwrap(), LockAttempt::Held(_)), "it beats");
        if let Some(long_ago) = long_ago {
            watched.seen.as_mut().unwrap().1 = long_ago;
            assert!(matches!(RunLock::attempt(place.path(), &mut watched).unwrap(), LockAttempt::Taken(_, Some(_))));
        }
    }
}
