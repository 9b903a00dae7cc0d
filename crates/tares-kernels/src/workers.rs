//! The calling thread as one of the workers.

/// Makes the calling thread one of the workers of rayon's global pool. For the beginning of `main`.
///
/// Otherwise the thread that trains hands every operation to the pool, sleeps until it is done, and is woken up again. The two
/// switches take about 20 µs each: a third of a training step of a small network. A worker does its part of the operation
/// itself. Results are the same bits either way.
///
/// The pool has as many threads as before (`RAYON_NUM_THREADS`, or one per processor), the calling one included. With a single
/// thread nothing changes, because the parallel work of another thread would wait until this one is idle. Returns whether
/// the thread became a worker; it cannot if the pool was already in use.
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
