//! The calling thread as one of the workers.

/// Makes the calling thread one of the workers of rayon's global pool. For the beginning of `main`.
///
/// Otherwise the thread that trains hands every operation to the pool, sleeps, and is woken up when it is done: twice some 20 µs,
/// a third of the step of a small network. As one of the workers it does its part itself. Results are the same bits either way.
///
/// The pool keeps its number of threads (`RAYON_NUM_THREADS`, or one per processor), the calling one counted. With a single thread nothing is
/// changed: another thread's parallel work would have to wait until this one has nothing else to do. Returns whether the
/// thread became a worker; it did not if the pool was in use before.
///
/// # Example
/// ```
/// let joined = tares_kernels::join_workers();
/// assert!(!joined || tares_kernels::join_workers() == false, "a second call has nothing to do");
/// ```
pub fn join_workers() -> bool {
    #[cfg(feature = "kernels")]
    {
        let named = std::env::var("RAYON_NUM_THREADS").ok().and_then(|n| n.parse::<usize>().ok()).filter(|&n| n > 0);
        let threads = named.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
        threads > 1 && rayon::ThreadPoolBuilder::new().num_threads(threads).use_current_thread().build_global().is_ok()
    }
    #[cfg(not(feature = "kernels"))]
    false
}
