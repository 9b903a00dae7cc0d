//! Ctrl-C: the first one asks for a checkpoint and an orderly end, the second one ends at once.

use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

static ASKED: AtomicBool = AtomicBool::new(false);

/// From now on Ctrl-C is noticed instead of ending the process.
pub fn watch() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // Without a handler Ctrl-C simply ends the process, and the last checkpoint is a little older.
        let _ = ctrlc::set_handler(|| {
            if ASKED.swap(true, Ordering::SeqCst) {
                std::process::exit(130);
            }
            eprintln!("\nstopping after this step; press Ctrl-C again to stop at once");
        });
    });
}

/// What computations look at that don't know this program: true once the user asked to stop.
pub fn flag() -> &'static AtomicBool {
    &ASKED
}

/// Whether the user asked to stop.
pub fn asked() -> bool {
    ASKED.load(Ordering::SeqCst)
}
