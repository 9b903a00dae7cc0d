//! How fast a file is read: `read_speed REPEATS PATH [LABEL]` prints the seconds that every repeat took of processors and on
//! the clock and, last, the largest memory the process had. `RAYON_NUM_THREADS` says on how many cores. Used by
//! `compare/reading.py`; takes well under a minute for files of 100 MB.

use std::time::Instant;
use tares_data::{LoadOptions, load, npy::Stored};

/// The allocator of the program and of the Python module.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, repeats, path, rest @ ..] = &arguments[..] else {
        return Err("read_speed REPEATS PATH [LABEL]".into());
    };
    let label = rest.first().cloned();
    let options = LoadOptions::default().with(|options| {
        options.test_fraction = 0.0;
        options.label = label.clone();
    });
    for _ in 0..repeats.parse::<usize>()? {
        let (start, clock) = (processor_seconds(), Instant::now());
        if label.as_deref() == Some("array") {
            // All rows of an array in blocks of fixed size, as an audit reads them.
            let array = Stored::open(path)?;
            let mut block = vec![0f32; 4096 * array.columns()];
            let mut sum = 0.0;
            for first in (0..array.rows()).step_by(4096) {
                let count = 4096.min(array.rows() - first) * array.columns();
                array.read_rows(first, &mut block[..count])?;
                sum += f64::from(block[0]);
            }
            std::hint::black_box(sum);
        } else {
            std::hint::black_box(load(path, &options, &mut |_| {})?.train.len());
        }
        let elapsed = clock.elapsed().as_secs_f64();
        println!("{:.6} {elapsed:.6}", processor_seconds() - start);
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or("VmHWM: unknown");
    eprintln!("{peak}");
    Ok(())
}

/// Time all threads have spent on processors (Linux), which other programs do not disturb; else the clock on the wall.
fn processor_seconds() -> f64 {
    // The system adds up a running thread's time when it makes way.
    std::thread::yield_now();
    static START: std::sync::LazyLock<Instant> = std::sync::LazyLock::new(Instant::now);
    let Ok(threads) = std::fs::read_dir("/proc/self/task") else { return START.elapsed().as_secs_f64() };
    let nanoseconds = threads.flatten().filter_map(|thread| {
        let statistics = std::fs::read_to_string(thread.path().join("schedstat")).ok()?;
        statistics.split_whitespace().next()?.parse::<f64>().ok()
    });
    nanoseconds.sum::<f64>() / 1e9
}
