//! Panics are our bugs. One that ends the program is printed once; one that was caught and became an error is not printed.

use super::failure::Failure;
use std::sync::{Mutex, MutexGuard};

/// The messages of all panics so far, the latest last.
static SEEN: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Installs a hook that stores the messages of panics instead of printing them.
pub fn remember() {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(|place| format!(" at {}:{}", place.file(), place.line()));
        let cause = panic.payload_as_str().unwrap_or("unknown cause");
        seen().push(format!("{cause}{}", place.unwrap_or_default()));
    }));
}

/// The error message for a panic that ended the program.
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
