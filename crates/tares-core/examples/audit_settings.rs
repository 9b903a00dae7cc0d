//! Audits made-up labels in many settings, to compare two versions of the detector:
//!
//! ```text
//! cargo run --release -p tares-core --example audit_settings -- OUT
//! python compare/estimate/differences.py OLD NEW
//! ```
//! Writes `OUT/settings.csv` (a line per setting: estimated rate, interval, F1) and the suspects of each setting, 32-bit row numbers, in
//! `OUT/N.rows`. Takes about 30 seconds of processor time.

use std::fmt::Write;
use std::path::PathBuf;
use tares_core::audit::audit;
use tares_core::estimate::{Detector, ProbabilityMatrix};
use tares_core::{Label, stream};

/// Rows and classes.
const SIZES: [(usize, usize); 13] = [
    (4000, 2),
    (100_000, 2),
    (1000, 3),
    (30_000, 5),
    (2000, 10),
    (100_000, 10),
    (20_000, 20),
    (30_000, 32),
    (20_000, 33),
    (10_000, 100),
    (30_000, 200),
    (20_000, 300),
    (30_000, 1000),
];

const NOISES: [&str; 4] = ["symmetric", "pair", "by-class", "hard-rows"];

/// Settings per size.
const TURNS: usize = 4;

struct Setting {
    rows: usize,
    classes: usize,
    noise: &'static str,
    rate: f64,
    /// How far the logit of the true class lies above the others, on average.
    strength: f64,
    /// Logits are multiplied by this after the truth is drawn: above 1 the classifier is too sure, below 1 too unsure.
    boast: f64,
    /// Whether the classifier has learnt the noise.
    learnt: bool,
}

fn main() {
    let out = PathBuf::from(std::env::args().nth(1).expect("a directory for the results"));
    std::fs::create_dir_all(&out).expect("a directory");
    let mut lines =
        "setting,rows,classes,noise,rate,strength,boast,learnt,wrong,estimated,low,high,uniform,suspects,f1\n"
            .to_owned();
    for number in 0..SIZES.len() * TURNS {
        let mut draws = stream(number as u64, "setting");
        let ((rows, classes), noise) = (SIZES[number / TURNS], NOISES[number % TURNS]);
        let most = if noise == "pair" || classes == 2 { 0.4 } else { 0.6 };
        let setting = Setting {
            rows,
            classes,
            noise,
            rate: if draws.chance(0.15) { 0.0 } else { most * draws.unit() },
            strength: 2.0 + 4.0 * draws.unit() + (classes as f64).ln() / 3.0,
            boast: [0.5, 1.0, 1.0, 2.0][draws.below(4)],
            learnt: draws.chance(0.5),
        };
        let (probs, given, truth) = case(number as u64, &setting);
        let table = ProbabilityMatrix::new(&probs, classes).expect("rows");
        let found = audit(&table, &given, Detector::Posterior).expect("probabilities");
        let wrong = given.iter().zip(&truth).filter(|(given, truth)| given != truth).count();
        let hits = found.suspects.iter().filter(|suspect| given[suspect.index] != truth[suspect.index]).count();
        let f1 = 2.0 * hits as f64 / (wrong + found.suspects.len()).max(1) as f64;
        let Setting { noise, rate, strength, boast, learnt, .. } = setting;
        let (estimate, suspects) = (&found.estimate, found.suspects.len());
        let (low, high) = estimate.interval;
        let (estimated, uniform) = (estimate.rate, estimate.uniform_rate);
        writeln!(
            lines,
            "{number},{rows},{classes},{noise},{rate:.4},{strength:.2},{boast},{learnt},{wrong},{estimated:.6},{low:.6},{high:.6},\
             {uniform:.6},{suspects},{f1:.5}"
        )
        .expect("text");
        let bytes: Vec<u8> = found.suspects.iter().flat_map(|suspect| (suspect.index as u32).to_le_bytes()).collect();
        std::fs::write(out.join(format!("{number}.rows")), bytes).expect("a file");
    }
    std::fs::write(out.join("settings.csv"), lines).expect("a file");
}

/// Probabilities, given labels, true labels.
fn case(seed: u64, setting: &Setting) -> (Vec<f32>, Vec<Label>, Vec<Label>) {
    let &Setting { rows, classes, noise, rate, strength, boast, learnt } = setting;
    let mut draws = stream(seed, "case");
    let rate_of = |class: usize| match noise {
        "by-class" => (rate * 2.0 * (class as f64 + 0.5) / classes as f64).min(0.8),
        _ => rate,
    };
    let (mut probs, mut given, mut truth) = (Vec::with_capacity(rows * classes), Vec::new(), Vec::new());
    let mut row = vec![0.0; classes];
    for _ in 0..rows {
        let class = draws.below(classes);
        let (raised, hard) = (strength * 2.0 * draws.unit(), draws.unit());
        row.iter_mut().for_each(|logit| *logit = draws.normal());
        row[class] += raised;
        let top = row.iter().copied().fold(f64::MIN, f64::max);
        row.iter_mut().for_each(|logit| *logit = (boast * (*logit - top)).exp());
        let sum: f64 = row.iter().sum();
        // The label is another class, likelier so on rows whose true class is not raised where people err on hard rows.
        let chance = match noise {
            "hard-rows" => (rate * 2.0 * (1.0 - raised / (2.0 * strength)) * (0.5 + hard)).min(0.95),
            _ => rate_of(class),
        };
        let other = match noise {
            "pair" | "by-class" => (class + 1) % classes,
            _ => (class + 1 + draws.below(classes - 1)) % classes,
        };
        given.push(if draws.chance(chance) { other } else { class } as Label);
        truth.push(class as Label);
        for at in 0..classes {
            let before = (at + classes - 1) % classes;
            let p = row[at] / sum;
            let mixed = match (learnt, noise) {
                (false, _) => p,
                (true, "pair" | "by-class") => (1.0 - rate_of(at)) * p + rate_of(before) * row[before] / sum,
                (true, _) => (1.0 - rate) * p + rate * (1.0 - p) / (classes - 1) as f64,
            };
            probs.push(mixed as f32);
        }
    }
    (probs, given, truth)
}
