//! Linear-time selection against "sort, prefix-sum, scan", side by side in one run.
//!
//! `cargo bench -p tares-core --bench select` prints `case,n,ours_us,sort_us,ratio`; ratio = sort / ours, above 1 is faster.
//! The best of alternating rounds; both sides own their scratch space; losses are f32, C = 0.6 n. An argument keeps only
//! the cases that contain it; `max=1e5` leaves out larger n.

use std::hint::black_box;
use std::time::Instant;
use tares_core::{Extra, Selector, Stream, stream};

const SIZES: [usize; 6] = [128, 1_000, 10_000, 100_000, 1_000_000, 10_000_000];

type Make = fn(usize, &mut Stream) -> Vec<f32>;

const CASES: [(&str, Make); 10] = [
    ("uniform", |n, s| (0..n).map(|_| s.unit() as f32).collect()),
    ("hinge", |n, s| (0..n).map(|_| (1.0 - 2.0 * s.normal()).max(0.0) as f32).collect()),
    ("tied", |n, s| (0..n).map(|_| s.below(5) as f32 * 0.5).collect()),
    ("all-zero", |n, _| vec![0.0; n]),
    ("all-equal", |n, _| vec![0.375; n]),
    ("sorted", |n, _| (0..n).map(|i| 2.0 * i as f32 / n as f32).collect()),
    ("reversed", |n, _| (0..n).rev().map(|i| 2.0 * i as f32 / n as f32).collect()),
    ("heavy-tailed", |n, s| (0..n).map(|_| (1.0 / (1e-9 + s.unit()) - 1.0) as f32).collect()),
    ("adversarial-powers", |n, s| (0..n).map(|_| 2f32.powi(s.below(250) as i32 - 125)).collect()),
    // All but a few so close together that every round of narrowing keeps almost all of them.
    ("adversarial-nested", |n, s| (0..n).map(|_| 1.0 + 2f32.powi(-(s.below(23) as i32)) * s.unit() as f32).collect()),
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let largest = arguments.iter().find_map(|a| a.strip_prefix("max=")).and_then(|n| n.parse::<f64>().ok());
    let filter = arguments.iter().find(|argument| !argument.starts_with("max="));
    println!("case,n,ours_us,sort_us,ratio");
    for (case, make) in CASES.iter().filter(|(case, _)| filter.is_none_or(|part| case.contains(part.as_str()))) {
        for &n in SIZES.iter().filter(|&&n| n as f64 <= largest.unwrap_or(f64::INFINITY)) {
            let losses = make(n, &mut stream(1, case));
            let (ours, sort) = compare(&losses, 0.6 * n as f64);
            println!("{case},{n},{ours:.3},{sort:.3},{:.2}", sort / ours);
        }
    }
}

/// Microseconds per call of both, the best of alternating rounds: what another process took away is nobody's fault.
fn compare(losses: &[f32], threshold: f64) -> (f64, f64) {
    let mut selector = Selector::new();
    let mut sorter = Sorter::default();
    let kept = selector.select(losses, threshold, Extra::Never).expect("fine losses").kept.len();
    assert_eq!(kept, sorter.select(losses, threshold).len(), "both must keep the same number");
    let calls = (200_000 / losses.len()).max(1); // so that one timing takes long enough to be measured
    let rounds = if losses.len() > 1_000_000 { 5 } else { 15 };
    let (mut ours, mut sort) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        ours.push(time(calls, || {
            selector.select(black_box(losses), threshold, Extra::Never).expect("fine").kept.len()
        }));
        sort.push(time(calls, || sorter.select(black_box(losses), threshold).len()));
    }
    (best(ours), best(sort))
}

fn time(calls: usize, mut call: impl FnMut() -> usize) -> f64 {
    let start = Instant::now();
    for _ in 0..calls {
        black_box(call());
    }
    start.elapsed().as_secs_f64() * 1e6 / calls as f64
}

fn best(times: Vec<f64>) -> f64 {
    times.into_iter().fold(f64::INFINITY, f64::min)
}

/// The paper's Algorithm 1 as one would write it: sort (loss, position), add up, stop.
#[derive(Default)]
struct Sorter {
    pairs: Vec<(f32, u32)>,
    kept: Vec<u32>,
}

impl Sorter {
    fn select(&mut self, losses: &[f32], threshold: f64) -> &[u32] {
        self.pairs.clear();
        self.pairs.extend(losses.iter().copied().zip(0u32..));
        self.pairs.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        self.kept.clear();
        let mut sum = 0.0;
        for (i, &(loss, position)) in self.pairs.iter().enumerate() {
            sum += f64::from(loss);
            if sum > threshold - i as f64 {
                break;
            }
            self.kept.push(position);
        }
        &self.kept
    }
}
