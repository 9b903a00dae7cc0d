//! The audit as a library call, on the files of `compare/cleanlab`:
//!
//! ```text
//! cargo bench -p tares-core --bench audit -- p.npy y.npy [METHOD] [TURNS] [memory]
//! ```
//! Prints the seconds of each turn, on the clock and of all threads' processor time, then those of the fit alone. Reading the rows of the
//! file counts (`pread`, as the program does it) unless they are wanted in `memory`, as Python has them; the labels are in memory, nothing
//! is written. The files are NumPy's, `<f4` N × K and `<i4` N. (`compare/python/audit.py` has arrays to compare with cleanlab.)

use std::fs::{File, read_dir, read_to_string};
use std::os::unix::fs::FileExt;
use std::time::Instant;
use tares_core::audit::audit;
use tares_core::estimate::{Detector, Posterior, Probabilities, ProbabilityMatrix};
use tares_core::{Error, Label, Result};

struct Npy {
    file: File,
    start: u64,
    shape: Vec<usize>,
}

impl Npy {
    fn open(path: &str) -> Self {
        let file = File::open(path).expect("the file of probabilities");
        let mut head = [0u8; 10];
        file.read_exact_at(&mut head, 0).expect("a header");
        let length = u16::from_le_bytes([head[8], head[9]]) as usize;
        let mut text = vec![0u8; length];
        file.read_exact_at(&mut text, 10).expect("a header");
        let text = String::from_utf8(text).expect("a header");
        let shape = text.split_once("'shape': (").and_then(|(_, rest)| rest.split_once(')')).expect("a shape").0;
        let shape = shape.split(',').filter_map(|size| size.trim().parse().ok()).collect();
        Self { file, start: 10 + length as u64, shape }
    }
}

impl Probabilities for Npy {
    type Number = f32;
    fn rows(&self) -> usize {
        self.shape[0]
    }
    fn classes(&self) -> usize {
        self.shape[1]
    }
    fn read(&self, first: usize, out: &mut [f32]) -> Result<()> {
        let mut bytes = vec![0u8; 4 * out.len()];
        self.file
            .read_exact_at(&mut bytes, self.start + (4 * first * self.shape[1]) as u64)
            .map_err(|error| Error::value("rows", "readable", error))?;
        out.iter_mut().zip(bytes.as_chunks::<4>().0).for_each(|(to, from)| *to = f32::from_le_bytes(*from));
        Ok(())
    }
}

/// Seconds that the living threads of this process have used: those of the pool live as long as it does.
fn processor() -> f64 {
    let used = |task: std::fs::DirEntry| {
        let text = read_to_string(task.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<f64>().ok()
    };
    read_dir("/proc/self/task").expect("threads").flatten().filter_map(used).sum::<f64>() / 1e9
}

/// The result, seconds on the clock, and seconds of processor time.
fn timed<T>(call: impl FnOnce() -> T) -> (T, f64, f64) {
    let (start, before) = (Instant::now(), processor());
    let result = call();
    (result, start.elapsed().as_secs_f64(), processor() - before)
}

fn measure<P: Probabilities>(probs: &P, given: &[Label], detector: Detector, turns: usize) {
    println!("turn,seconds,processor,fit_seconds,fit_processor,suspects,noise_rate");
    for turn in 0..turns {
        let (_, fit_seconds, fit_processor) = timed(|| Posterior::fit(probs, given).expect("probabilities"));
        let (found, seconds, processor) = timed(|| audit(probs, given, detector).expect("probabilities"));
        let (suspects, rate) = (found.suspects.len(), found.estimate.rate);
        println!("{turn},{seconds:.4},{processor:.4},{fit_seconds:.4},{fit_processor:.4},{suspects},{rate}");
    }
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let [probs, labels, more @ ..] = words.as_slice() else {
        println!("usage: cargo bench -p tares-core --bench audit -- p.npy y.npy [METHOD] [TURNS] [memory]");
        return;
    };
    let detector: Detector = more.first().map_or(Detector::default(), |name| name.parse().expect("a detector"));
    let turns = more.get(1).map_or(5, |turns| turns.parse().expect("a number of turns"));
    let probs = Npy::open(probs);
    let labels = Npy::open(labels);
    let mut bytes = vec![0u8; 4 * labels.shape[0]];
    labels.file.read_exact_at(&mut bytes, labels.start).expect("labels");
    let given: Vec<Label> = bytes.as_chunks::<4>().0.iter().map(|bytes| Label::from_le_bytes(*bytes)).collect();
    if more.get(2).is_some_and(|place| place == "memory") {
        let mut values = vec![0.0; probs.rows() * probs.classes()];
        probs.read(0, &mut values).expect("rows");
        measure(&ProbabilityMatrix::new(&values, probs.classes()).expect("rows"), &given, detector, turns);
    } else {
        measure(&probs, &given, detector, turns);
    }
}
