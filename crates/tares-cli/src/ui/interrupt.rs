//! Ctrl-C: the first one asks training to write a checkpoint and stop, the second one ends the program at once.
//!
//! A caller from another language has its own Ctrl-C: it runs the work within [`asked_by`], and no handler is installed.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Once};

static ASKED: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

thread_local! {
    /// The flag of the caller that this thread works for.
    static CALLER: RefCell<Option<Arc<AtomicBool>>> = const { RefCell::new(None) };
}

/// Installs a handler, so that Ctrl-C is remembered instead of ending the process. Not where the caller has a flag of its own.
pub fn watch() {
    static ONCE: Once = Once::new();
    if CALLER.with_borrow(Option::is_some) {
        return;
    }
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
pub fn flag() -> Arc<AtomicBool> {
    CALLER.with_borrow(|caller| caller.clone()).unwrap_or_else(|| ASKED.clone())
}

/// Whether the user has pressed Ctrl-C.
pub fn asked() -> bool {
    flag().load(Ordering::SeqCst)
}

/// Does `work` on this thread, and stops it when `flag` is set, whatever Ctrl-C does.
pub fn asked_by<T>(flag: Arc<AtomicBool>, work: impl FnOnce() -> T) -> T {
    /// Restores the previous flag, also after a panic.
    struct Before(Option<Arc<AtomicBool>>);
    impl Drop for Before {
        fn drop(&mut self) {
            CALLER.set(self.0.take());
        }
    }
    let _before = Before(CALLER.replace(Some(flag)));
    work()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caller_is_asked_in_place_of_ctrl_c_and_only_while_it_works() {
        let caller = Arc::new(AtomicBool::new(true));
        assert!(asked_by(caller.clone(), asked));
        assert!(!asked());
        let inner = Arc::new(AtomicBool::new(false));
        assert_eq!(asked_by(caller, || (asked_by(inner, asked), asked())), (false, true));
    }
}
