//! The consensus of a crowd and a classifier: `cargo bench -p tares-core --bench annotate`.

use std::time::Instant;
use tares_core::annotate::{Answer, Answers, Pooling, consensus, consensus_with};
use tares_core::estimate::ProbabilityMatrix;
use tares_core::stream;

/// (rows, annotators, classes, answers per row): a few people with much to do, and many with little.
const SIZES: [(usize, usize, usize, usize); 3] = [(20_000, 50, 10, 3), (333_334, 50, 10, 3), (200_000, 50_000, 10, 5)];

fn main() {
    println!("answers rows annotators classes answers/s seconds-sorting seconds-with-classifier seconds-without steps");
    for (rows, annotators, classes, each) in SIZES {
        let mut draw = stream(0, "bench");
        let skills: Vec<f64> = (0..annotators).map(|_| 0.4 + 0.55 * draw.unit()).collect();
        let (mut given, mut probs) = (Vec::new(), Vec::new());
        for row in 0..rows {
            let class = draw.below(classes);
            let first = draw.below(annotators);
            for place in 0..each {
                let annotator = (first + place * (annotators / each)) % annotators;
                let label = if draw.chance(skills[annotator]) { class } else { draw.below(classes) } as u32;
                given.push(Answer { row, annotator, label });
            }
            let guess = if draw.chance(0.85) { class } else { draw.below(classes) };
            let sure = 0.4 + 0.5 * draw.unit();
            probs.extend((0..classes).map(|k| if k == guess { sure } else { (1.0 - sure) / (classes - 1) as f64 }));
        }
        let start = Instant::now();
        let answers = Answers::new(rows, annotators, classes, &given).expect("a crowd");
        let sorted = start.elapsed().as_secs_f64();
        let matrix = ProbabilityMatrix::new(&probs, classes).expect("probabilities");
        let start = Instant::now();
        let found = consensus_with(&answers, &matrix).expect("a consensus");
        let judged = start.elapsed().as_secs_f64();
        let start = Instant::now();
        consensus(&answers, Pooling::Posterior).expect("a consensus");
        let alone = start.elapsed().as_secs_f64();
        let (count, steps) = (given.len(), found.objectives.len());
        let speed = count as f64 / (sorted + judged);
        println!("{count} {rows} {annotators} {classes} {speed:.0} {sorted:.3} {judged:.3} {alone:.3} {steps}");
    }
}
