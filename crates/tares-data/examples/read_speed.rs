//! How fast a file is read: `read_speed REPEATS PATH [LABEL]` prints the processor's seconds of every repeat and, last, the
//! largest memory the process had. Used by `compare/reading.py`; takes well under a minute for files of 100 MB.

use std::time::Instant;
use tares_data::{LoadOptions, load, npy::Stored};

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
        let start = seconds();
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
        println!("{:.6}", seconds() - start);
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or("VmHWM: unknown");
    eprintln!("{peak}");
    Ok(())
}

/// Time this thread has spent on a processor (Linux), which other programs do not disturb; else the clock on the wall.
fn seconds() -> f64 {
    static START: std::sync::LazyLock<Instant> = std::sync::LazyLock::new(Instant::now);
    let statistics = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    let nanoseconds = statistics.split_whitespace().next().and_then(|text| text.parse::<f64>().ok());
    nanoseconds.map_or_else(|| START.elapsed().as_secs_f64(), |nanoseconds| nanoseconds / 1e9)
}
