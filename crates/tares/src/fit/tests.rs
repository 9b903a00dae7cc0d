//! A checkpoint comes from a file: behind a right checksum it may hold anything. The run then continues or says what is
//! wrong; it never panics.

use super::*;
use crate::error::Error;
use tares_core::{Shape, stream};

/// The methods whose state differs: one network or two, memory of their own, a second learner.
const METHODS: [&str; 6] = ["standard", "co-teaching:0.2", "elr", "truncated-gce", "d2l", "mentornet"];

/// Sixty points of three classes, some labels wrong, the truth known.
fn points() -> Dataset {
    let mut draw = stream(1, "points");
    let truth: Vec<Label> = (0..60).map(|row| row % 3).collect();
    let values: Vec<f32> =
        truth.iter().flat_map(|&class| [class as f32, 1.0].map(|x| x + draw.normal() as f32)).collect();
    let given = truth.iter().map(|&class| if draw.chance(0.2) { (class + 1) % 3 } else { class }).collect();
    let data = Dataset::new(values, Shape::Flat(2), truth.clone(), ["a", "b", "c"]).unwrap();
    data.with_truth(truth).unwrap().relabel(given).unwrap()
}

fn plan() -> Plan {
    Plan { epochs: 3, batch: 20, ..Plan::default() }
}

fn train(data: &Dataset, method: &Method, resume: Option<Checkpoint>) -> (Result<Vec<Label>>, Option<Checkpoint>) {
    let (mut last, plan) = (None, plan());
    let mut fit = Fit::new(data, method, &plan).on_epoch(|progress| {
        last = Some(progress.checkpoint().unwrap());
        if progress.epochs.len() == 2 { Control::Stop } else { Control::Continue }
    });
    fit = match resume {
        Some(checkpoint) => fit.resume(checkpoint),
        None => fit,
    };
    let answers = fit.train_network(&"mlp:4".parse().unwrap()).and_then(|fitted| fitted.predictions(data));
    (answers, last)
}

fn method(name: &str) -> Method {
    match name {
        "mentornet" => "mentornet:trusted=0.5".parse().unwrap(),
        _ => name.parse().unwrap(),
    }
}

#[test]
fn a_changed_checkpoint_ends_in_an_error_or_a_run_never_in_a_panic() {
    let data = points();
    let mut draw = stream(2, "changes");
    for name in METHODS {
        let method = method(name);
        let whole = train(&data, &method, None).1.unwrap();
        let entries: Vec<String> = whole.clone().entries().keys().cloned().collect();
        for entry in &entries {
            let old = whole.clone().entries()[entry].clone();
            let flip = |draw: &mut tares_core::Stream| {
                let (mut bytes, at) = (old.clone(), draw.below(old.len().max(1)));
                bytes.get_mut(at).into_iter().for_each(|byte| *byte ^= 1 << draw.below(8));
                bytes
            };
            let mut changes = vec![
                vec![0; old.len()],
                vec![0xff; old.len()],
                old.iter().map(|_| draw.below(256) as u8).collect(),
                old.repeat(2),
                old[..old.len() - old.len().min(1)].to_vec(),
                old[..old.len() - old.len().min(4)].to_vec(),
                old[..old.len() - old.len().min(8)].to_vec(),
                Vec::new(),
            ];
            changes.extend((0..4).map(|_| flip(&mut draw)));
            for bytes in changes {
                let mut changed = whole.clone();
                changed.entries().insert(entry.clone(), bytes);
                let read = Checkpoint::from_bytes(&changed.to_bytes()).expect("a right checksum");
                if let (Ok(answers), _) = train(&data, &method, Some(read)) {
                    assert_eq!(answers.len(), data.len(), "{name}: {entry}");
                }
            }
        }
    }
}

#[test]
fn a_checkpoint_without_one_of_its_entries_is_refused() {
    let data = points();
    for name in METHODS {
        let method = method(name);
        let whole = train(&data, &method, None).1.unwrap();
        let entries: Vec<String> = whole.clone().entries().keys().cloned().collect();
        // The weights D2L may go back to are there only until it turns.
        for entry in entries.iter().filter(|entry| *entry != "d2l/before") {
            let mut changed = whole.clone();
            changed.entries().remove(entry);
            let error = train(&data, &method, Some(changed)).0.unwrap_err();
            assert!(matches!(error, Error::Checkpoint(_)), "{name} without {entry}: {error}");
        }
    }
}

#[test]
fn a_module_with_the_wrong_number_of_logits_is_an_error() {
    use burn::nn::Linear;
    use burn::tensor::Tensor;

    #[derive(Module, Debug)]
    struct TooFew {
        layer: Linear,
    }
    impl Classifier for TooFew {
        fn logits(&self, input: Tensor<4>) -> Tensor<2> {
            self.layer.forward(input.flatten(1, 3))
        }
    }
    let (data, plan) = (points(), plan());
    let fit = Fit::new(&data, &Method::Standard, &plan);
    let error = fit.train_module(|weights, _| TooFew { layer: weights.linear(2, 2) }).unwrap_err().to_string();
    assert!(error.contains("logits of the network must be [20, 3]") && error.contains("got [20, 2]"), "{error}");
}
