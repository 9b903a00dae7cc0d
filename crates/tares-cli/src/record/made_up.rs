//! Made-up run records, for tests.

use super::*;

/// Rounds to four digits, which JSON writes and reads back exactly.
fn short(value: f64) -> f64 {
    (value * 1e4).round() / 1e4
}

/// A made-up run whose accuracy rises to `level`.
pub fn made_up(method: &str, noise: &str, rate: f64, seed: u64, level: f64) -> RunRecord {
    let epochs: Vec<EpochRecord> = (1..=12)
        .map(|epoch| EpochRecord {
            epoch,
            train_loss: short(2.0 / epoch as f64),
            train_accuracy: Some(short(0.9 * level * (1.0 - 0.5 / epoch as f64))),
            test_accuracy: Some(short(level * (1.0 - 0.5 / epoch as f64) + 0.002 * seed as f64)),
            kept: 3823 - 100 * epoch as u64,
            kept_fraction: short(1.0 - 0.025 * epoch as f64),
            label_precision: Some(short(0.5 + 0.03 * epoch as f64)),
            label_recall: Some(0.9),
            learning_rate: 1e-3,
            steps: 30,
            starved_steps: 0,
            bound: method.contains("cl").then(|| short(1.2 / epoch as f64)),
            plain_bound: method.contains("cl").then(|| short(1.8 / epoch as f64)),
            estimated_rate: None,
            seconds: 0.25,
        })
        .collect();
    let classes: Vec<String> = ["cat", "dog", "<b>cow</b>"].map(str::to_owned).to_vec();
    let manifest = Manifest {
        format: FORMAT,
        version: "0.1.0".into(),
        state: State::Finished,
        method: method.into(),
        network: "mlp".into(),
        parameters: 85_002,
        seed,
        epochs: 12,
        noise: Some(NoiseRecord {
            name: format!("{noise}:{rate}"),
            kind: noise.into(),
            rate,
            realised: 0.4967,
            matrix: vec![vec![50, 25, 25], vec![20, 60, 20], vec![0, 0, 0]],
        }),
        rate: Some(RateRecord { value: rate, source: "given".into(), interval: None, warning: None }),
        data: DataRecord {
            source: "digits".into(),
            hash: "0123456789abcdef".into(),
            train_rows: 3823,
            test_rows: 1797,
            classes: classes.clone(),
            shape: vec![1, 8, 8],
            notes: Vec::new(),
            missing_files: Vec::new(),
        },
        machine: Machine { system: "linux x86_64".into(), cores: 2, device: "cpu".into() },
        started: "2026-01-02T03:04:05Z".into(),
        result: Some(ResultRecord {
            test_accuracy_last10: Some(level),
            test_accuracy_best: Some(level),
            network_accuracy_last10: None,
            true_accuracy: None,
            label_precision_last10: Some(0.8),
            confusion: vec![vec![90, 8, 2], vec![5, 95, 0], vec![1, 2, 97]],
            suspects: 17,
            uncorrected: None,
            warnings: Vec::new(),
            seconds: 3.0,
        }),
    };
    let card = |index: usize| Card {
        index,
        id: format!("row {index}"),
        given: "cat".into(),
        suggested: "<b>cow</b>".into(),
        truth: Some("dog".into()),
        score: short(0.01 * index as f64),
        reason: "in-sample: kept 0 of 12 times; mean margin -1.00".into(),
        picture: None,
        texts: Vec::new(),
        values: vec![("<i>width</i>".into(), "1.5".into())],
    };
    RunRecord { name: format!("runs/{method}-{seed}"), manifest, epochs, gallery: (0..3).map(card).collect() }
}
