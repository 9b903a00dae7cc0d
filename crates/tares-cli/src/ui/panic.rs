//! A panic is a bug of ours, said once; a panic that somebody caught and turned into an error is not said at all.

use super::failure::Failure;
use std::sync::{Mutex, MutexGuard};

/// What panicked so far, last one last.
static SEEN: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// From now on panics are remembered instead of printed.
pub fn remember() {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(|place| format!(" at {}:{}", place.file(), place.line()));
        let cause = panic.payload_as_str().unwrap_or("unknown cause");
        seen().push(format!("{cause}{}", place.unwrap_or_default()));
    }));
}

/// What to say when a panic ended the program.
pub fn failure() -> Failure {
    let causes: Vec<String> = seen().iter().rev().take(3).cloned().collect();
    Failure::new(format!("internal error: {}", causes.join("; before that: "))).way_out(concat!(
        "this is a bug in tares ",
        env!("CARGO_PKG_VERSION"),
        "; please report it with the command you ran"
    ))
}

fn seen() -> MutexGuard<'static, Vec<String>> {
    SEEN.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}
