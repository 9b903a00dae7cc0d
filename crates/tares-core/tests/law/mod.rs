//! A law is checked on many random cases; when one fails, its seed is printed. `TARES_SEED=17 cargo test` runs only that.
#![allow(dead_code)] // each test file uses its own part

use tares_core::{Stream, Surrogate, margin, stream};

/// Runs `law` once per seed.
pub fn holds(name: &str, seeds: u64, law: impl Fn(&mut Stream)) {
    let only: Option<u64> = std::env::var("TARES_SEED").ok().and_then(|text| text.parse().ok());
    for seed in only.map_or(0..seeds, |seed| seed..seed + 1) {
        let _report = Report { name, seed };
        law(&mut stream(seed, name));
    }
}

struct Report<'a> {
    name: &'a str,
    seed: u64,
}

impl Drop for Report<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("law '{}' failed with TARES_SEED={}", self.name, self.seed);
        }
    }
}

/// A random batch: logits, labels, base losses and who is misclassified.
pub struct Batch {
    pub classes: usize,
    pub logits: Vec<f64>,
    pub labels: Vec<u32>,
    pub losses: Vec<f64>,
    pub wrong: Vec<bool>,
}

impl Batch {
    /// `n` samples; logits now coarse (many ties and zeros), now fine, now far out.
    pub fn random(n: usize, loss: Surrogate, draws: &mut Stream) -> Self {
        let classes = 2 + draws.below(5);
        let scale = [0.5, 2.0, 20.0][draws.below(3)];
        let coarse = draws.chance(0.5);
        let logits: Vec<f64> = (0..n * classes)
            .map(|_| scale * draws.normal())
            .map(|logit| if coarse { (2.0 * logit).round() / 2.0 } else { logit })
            .collect();
        let labels: Vec<u32> = (0..n).map(|_| draws.below(classes) as u32).collect();
        let losses = loss.values(&logits, &labels, classes).unwrap();
        let wrong = margin::margins(&logits, &labels, classes).unwrap().iter().map(|u| *u < 0.0).collect();
        Self { classes, logits, labels, losses, wrong }
    }

    /// J: the number of misclassified samples.
    pub fn zero_one(&self) -> f64 {
        self.wrong.iter().filter(|wrong| **wrong).count() as f64
    }

    /// Ĵ: the plain sum of base losses.
    pub fn plain_sum(&self) -> f64 {
        self.losses.iter().sum()
    }

    /// The same samples in another order.
    pub fn shuffled(&self, draws: &mut Stream) -> Self {
        let order = draws.permutation(self.losses.len());
        let k = self.classes;
        Self {
            classes: k,
            logits: order.iter().flat_map(|&i| self.logits[i * k..(i + 1) * k].to_vec()).collect(),
            labels: order.iter().map(|&i| self.labels[i]).collect(),
            losses: order.iter().map(|&i| self.losses[i]).collect(),
            wrong: order.iter().map(|&i| self.wrong[i]).collect(),
        }
    }
}

/// `a ≤ b`, up to the rounding of sums of this size.
#[track_caller]
pub fn at_most(a: f64, b: f64, what: &str) {
    assert!(a <= b + 1e-9 * (1.0 + a.abs().max(b.abs())), "{what}: {a} > {b}");
}

/// `a = b`, up to the rounding of sums of this size.
#[track_caller]
pub fn equal(a: f64, b: f64, what: &str) {
    assert!((a - b).abs() <= 1e-9 * (1.0 + a.abs().max(b.abs())), "{what}: {a} is not {b}");
}
