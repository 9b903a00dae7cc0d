//! Training while pictures are still being decoded.

use super::Event;
use crate::ui::interrupt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;
use tares_core::Dataset;

/// The time between two looks at how many rows are there.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Whether every row is there.
pub fn is_here(train: &Dataset, test: Option<&Dataset>) -> bool {
    [Some(train), test].into_iter().flatten().all(|rows| rows.coming().0 == 0)
}

/// Does `work`, and tells meanwhile how many rows have arrived.
///
/// Until all have, Ctrl-C ends the process: the first epoch cannot end before, so there is nothing to keep yet.
pub fn while_arriving<T>(
    train: &Dataset,
    test: Option<&Dataset>,
    hear: &(dyn Fn(Event<'_>) + Sync),
    work: impl FnOnce() -> T,
) -> T {
    if is_here(train, test) {
        interrupt::watch();
        return work();
    }
    let ended = AtomicBool::new(false);
    let watch = || {
        while !ended.load(Ordering::Relaxed) {
            let here = is_here(train, test);
            let (missing, of) = train.coming();
            hear(Event::Arriving { arrived: of - missing, of });
            if here {
                return interrupt::watch();
            }
            thread::park_timeout(LOOK_EVERY);
        }
    };
    thread::scope(|scope| {
        let _end = End(&ended, scope.spawn(watch).thread().clone());
        work()
    })
}

/// Ends the watching, also after a panic.
struct End<'a>(&'a AtomicBool, thread::Thread);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
        self.1.unpark();
    }
}
