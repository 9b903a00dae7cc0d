//! How a call from Python runs: without the interpreter lock, on threads of this process, and no panic gets out.
//!
//! [`run`] is for calls of milliseconds or more, [`run_here`] for microseconds, [`run_alone`] for one core of a cluster, [`run_watched`] for training: it reports progress and
//! stops at Ctrl-C.

use pyo3::exceptions::{PyKeyboardInterrupt, PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tares_cli::ui::failure::{Failure, Outcome};
use tares_cli::ui::interrupt;

/// How often Python is asked whether somebody pressed Ctrl-C.
const LOOK: Duration = Duration::from_millis(50);

/// The progress of a long call: what it does, steps done, all steps.
pub type Told = (String, u64, u64);

/// Runs `work` on the workers of this process while other Python threads continue.
///
/// # Errors
/// Those of `work`; a panic becomes a `RuntimeError`.
pub fn run<T: Send>(py: Python<'_>, work: impl FnOnce() -> PyResult<T> + Send) -> PyResult<T> {
    let workers = workers(py)?;
    let outcome = py.detach(|| catch_unwind(AssertUnwindSafe(|| workers.install(work))));
    outcome.unwrap_or_else(|panic| Err(bug(&*panic)))
}

/// Runs `work` on this thread, holding the interpreter lock: for calls so short that releasing it would double their time.
///
/// # Errors
/// As [`run`].
pub fn run_here<T>(work: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(bug(&*panic)))
}

/// Runs `work` on a single thread while other Python threads continue: where a cluster gave this process one core.
///
/// # Errors
/// As [`run`].
pub fn run_alone<T: Send>(py: Python<'_>, work: impl FnOnce() -> PyResult<T> + Send) -> PyResult<T> {
    let worker = ThreadPoolBuilder::new().num_threads(1).build();
    let worker = worker.map_err(|error| PyRuntimeError::new_err(format!("cannot start a thread: {error}")))?;
    let outcome = py.detach(|| catch_unwind(AssertUnwindSafe(|| worker.install(work))));
    outcome.unwrap_or_else(|panic| Err(bug(&*panic)))
}

/// Runs `work` on workers of its own. Meanwhile this thread calls `progress` with what `work` reports, and stops `work` at Ctrl-C
/// or if `progress` raises.
///
/// # Errors
/// Those of `work` as `ValueError`; `KeyboardInterrupt`; what `progress` raised; a panic becomes a `RuntimeError`.
pub fn run_watched<T: Send>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&(dyn Fn(Told) + Sync)) -> Outcome<T> + Send,
) -> PyResult<T> {
    // Its own workers: shared ones might begin another training while they wait for a part of this one.
    let workers = new_workers()?;
    let flag = Arc::new(AtomicBool::new(false));
    let (send, receive) = channel::<Told>();
    let receive = Mutex::new(receive);
    let mut stopped: Option<PyErr> = None;
    let outcome = std::thread::scope(|scope| {
        let asked = flag.clone();
        let thread = scope.spawn(move || {
            // Sending only fails once the call is over.
            let tell = |told: Told| drop(send.send(told));
            catch_unwind(AssertUnwindSafe(|| workers.install(|| interrupt::asked_by(asked, || work(&tell)))))
        });
        let hear = || receive.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(LOOK);
        loop {
            let heard = match py.detach(hear) {
                Ok(told) => progress.map_or(Ok(()), |progress| progress.call1(told).map(drop)),
                Err(RecvTimeoutError::Timeout) => Ok(()),
                Err(RecvTimeoutError::Disconnected) => break,
            };
            if let (None, Err(error)) = (&stopped, heard.and_then(|()| py.check_signals())) {
                flag.store(true, Ordering::SeqCst);
                stopped = Some(error);
            }
        }
        py.detach(|| thread.join())
    });
    match (stopped, outcome) {
        (Some(error), _) => Err(error),
        (None, Ok(Ok(done))) => done.map_err(failed),
        (None, Ok(Err(panic)) | Err(panic)) => Err(bug(&*panic)),
    }
}

/// The program's message as a `ValueError`, without its advice, which is about command-line options.
pub fn failed(failure: Failure) -> PyErr {
    match failure {
        Failure::Message { text, .. } => PyValueError::new_err(text),
        Failure::Interrupted { .. } => PyKeyboardInterrupt::new_err("interrupted"),
    }
}

/// A file that could not be written.
pub fn unwritten(failure: Failure) -> PyErr {
    match failure {
        Failure::Message { text, .. } => PyOSError::new_err(text),
        interrupted => failed(interrupted),
    }
}

/// An error of `tares-data` as a `ValueError`.
pub fn unread(error: tares_data::DataError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// An error of the core as a `ValueError`.
pub fn refused(error: tares_core::Error) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// The process that the workers belong to, and the workers.
type Owned = Option<(u32, Arc<ThreadPool>)>;

/// The workers of this process.
///
/// A forked child has none of its parent's threads, and would wait for them for ever. So it gets its own at its first call.
/// The lock is only ever held together with the interpreter lock, which the forking thread holds, so no child is born with
/// the lock taken.
fn workers(_: Python<'_>) -> PyResult<Arc<ThreadPool>> {
    static WORKERS: Mutex<Owned> = Mutex::new(None);
    let mut owned = WORKERS.lock().unwrap_or_else(PoisonError::into_inner);
    let here = std::process::id();
    if let Some((process, pool)) = &*owned
        && *process == here
    {
        return Ok(pool.clone());
    }
    let pool = Arc::new(new_workers()?);
    // The parent's pool would wait for its threads when it is dropped, and they are not here.
    std::mem::forget(owned.replace((here, pool.clone())));
    Ok(pool)
}

fn new_workers() -> PyResult<ThreadPool> {
    let pool = ThreadPoolBuilder::new().thread_name(|worker| format!("tares {worker}")).build();
    pool.map_err(|error| PyRuntimeError::new_err(format!("cannot start threads: {error}")))
}

/// A panic is a bug of tares: the message says so.
fn bug(panic: &(dyn Any + Send)) -> PyErr {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    PyRuntimeError::new_err(format!(
        "this is a bug in tares; please report it with the call that caused it: {}",
        text.unwrap_or("a panic without words")
    ))
}

/// Panics, so that a test can see how a panic looks in Python.
#[pyfunction]
pub fn panic(py: Python<'_>, message: String) -> PyResult<()> {
    run(py, || panic!("{message}"))
}

/// How many threads a call uses in this process.
#[pyfunction]
pub fn threads(py: Python<'_>) -> PyResult<usize> {
    run(py, || Ok(rayon::current_num_threads()))
}
