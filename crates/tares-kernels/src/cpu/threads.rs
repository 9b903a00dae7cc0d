//! Tasks on all threads, with little waiting. A training step of a small network is a dozen operations of 100 µs, and waking a
//! sleeping thread takes a fifth of that.

use rayon::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// How long a worker looks for the next operation before it sleeps.
const PATIENCE: Duration = Duration::from_micros(100);

/// At most this many workers are kept awake.
const MOST: usize = 15;

/// How many workers are looking for work.
static AWAKE: AtomicUsize = AtomicUsize::new(0);

/// Calls `work` once for every task, in any order, on any thread.
///
/// A single task runs on the calling thread: handing it to a sleeping worker takes longer than most tasks.
pub(crate) fn for_each<T: Send>(tasks: impl Iterator<Item = T>, work: impl Fn(T) + Sync + Send) {
    let mut tasks: Vec<T> = tasks.collect();
    if tasks.len() > 1 {
        stay_awake();
        // Tasks are few and large, so each may be stolen on its own.
        tasks.into_par_iter().with_max_len(1).for_each(work);
    } else if let Some(task) = tasks.pop() {
        work(task);
    }
}

/// Keeps the other workers looking for work until they have found none for [`PATIENCE`].
///
/// Only if the caller is a worker itself (see [`join_workers`](crate::join_workers)). Any other caller sleeps during its operation,
/// and would find all processors busy when it wakes up.
pub(crate) fn stay_awake() {
    let Some(here) = rayon::current_thread_index() else { return };
    let others = (rayon::current_num_threads() - 1).min(MOST);
    while AWAKE.load(Ordering::Relaxed) < others {
        AWAKE.fetch_add(1, Ordering::Relaxed);
        rayon::spawn(move || {
            // The caller itself may pick up this task while it waits; it must not look for work then.
            if rayon::current_thread_index() != Some(here) {
                look_for_work();
            }
            AWAKE.fetch_sub(1, Ordering::Relaxed);
        });
    }
}

fn look_for_work() {
    let mut last = Instant::now();
    loop {
        if rayon::yield_now() == Some(rayon::Yield::Executed) {
            last = Instant::now();
        } else if last.elapsed() > PATIENCE {
            return;
        } else {
            (0..32).for_each(|_| std::hint::spin_loop());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn every_task_is_done_once() {
        for count in [0, 1, 2, 100] {
            let sum = AtomicUsize::new(0);
            super::for_each(1..=count, |task| {
                sum.fetch_add(task, Ordering::Relaxed);
            });
            assert_eq!(sum.into_inner(), count * (count + 1) / 2);
        }
    }

    #[test]
    fn a_single_task_stays_on_its_thread() {
        let here = std::thread::current().id();
        super::for_each(std::iter::once(()), |()| assert_eq!(std::thread::current().id(), here));
    }

    #[test]
    fn workers_that_were_kept_awake_go_to_sleep() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        for _ in 0..50 {
            pool.install(|| super::for_each(0..8, |_| std::thread::sleep(std::time::Duration::from_micros(20))));
        }
        drop(pool); // waits for all its tasks: would hang if one looked for work for ever
    }
}
