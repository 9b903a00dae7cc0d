//! Ctrl-C: the first one asks training to write a checkpoint and stop, the second one ends the program at once.

use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

static ASKED: AtomicBool = AtomicBool::new(false);

/// Installs a handler, so that Ctrl-C is remembered instead of ending the process.
pub fn watch() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // If this fails, Ctrl-C ends the process, and the last checkpoint is a few seconds old.
        let _ = ctrlc::set_handler(|| {
            if ASKED.swap(true, Ordering::SeqCst) {
                std::process::exit(130);
            }
            eprintln!("\nstopping after this step; press Ctrl-C again to stop at once");
        });
    });
}

/// True once the user has pressed Ctrl-C: for libraries that know nothing of this program.
pub fn flag() -> &'static AtomicBool {
    &ASKED
}

/// Whether the user has pressed Ctrl-C.
pub fn asked() -> bool {
    ASKED.load(Ordering::SeqCst)
}
