//! The program's allocator, and how long it keeps memory that nobody uses.

/// Training allocates many buffers of medium size. With this allocator small networks train twice as fast as with the
/// system's (measured).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The number of mimalloc's option `purge_delay`, which the crate has no name for.
const PURGE_DELAY: libmimalloc_sys::mi_option_t = 15;

/// What it is unless somebody sets it (`MIMALLOC_PURGE_DELAY`), in milliseconds.
const USUAL: std::ffi::c_long = 1_000;

/// Memory goes back to the system at most once a minute, not once a second. For the beginning of `main`.
///
/// A training step frees what the next one asks for. Once a second the allocator gave all of it back, and a single thread then got it
/// anew, page by page: 5 % of a step of VGG-16, cnn9 and DenseNet on two threads; of DenseNet still 5 % of its processor time where steps
/// are slow and it was given back every ten seconds (measured). A delay in the environment is left alone.
#[allow(unsafe_code)]
pub fn keep_memory() {
    // SAFETY: both functions read and write one number of the allocator. They are not thread safe: no other thread runs yet. Should
    // another version of mimalloc give the number to another option, its value is not the usual one, and nothing is changed.
    unsafe {
        if libmimalloc_sys::mi_option_get(PURGE_DELAY) == USUAL {
            libmimalloc_sys::mi_option_set(PURGE_DELAY, 60 * USUAL);
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    #[allow(unsafe_code)]
    fn the_option_is_the_delay() {
        // SAFETY: reads one number that nothing else writes.
        let delay = || unsafe { libmimalloc_sys::mi_option_get(super::PURGE_DELAY) };
        assert_eq!(delay(), super::USUAL);
        super::keep_memory();
        assert_eq!(delay(), 60 * super::USUAL);
    }
}
