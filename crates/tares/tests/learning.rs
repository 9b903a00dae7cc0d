//! Laws of learning on digits with wrong labels. The set-up: mlp 64-256-256-10, Adam 1e-3 constant for 40 % of 60 epochs,
//! then linear to 0 with beta1 0.1, batch 128, burn-in 5, forget-rate ramp 10, the T+1 rule; means of three seeds and of
//! the last ten epochs. All runs are made once and shared by the laws.

mod digits;

use digits::noisy_digits;
use std::collections::BTreeMap;
use std::sync::{Mutex, OnceLock};
use tares::{Fit, Method, Plan};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const SEEDS: [u64; 3] = [1, 2, 3];

/// Means over the seeds.
#[derive(Clone, Debug, Default)]
struct Outcome {
    accuracy: f64,
    label_precision: f64,
    label_recall: f64,
}

fn train(method: &str, noise: &str, seed: u64) -> Outcome {
    let rate = noise.split_once(':').map_or(0.0, |(_, rate)| rate.parse().unwrap());
    let (train, test) = noisy_digits(noise, seed);
    let method = match method {
        "mentornet-learnt" => "mentornet:trusted=0.1".parse().unwrap(),
        name => name.parse::<Method>().unwrap().with_rate(rate),
    };
    let plan = Plan { epochs: 60, seed, ..Plan::default() };
    let fitted = Fit::new(&train, &method, &plan).test(&test).train_network(&"mlp:256-256".parse().unwrap()).unwrap();
    let last: Vec<_> = fitted.epochs.iter().rev().take(10).collect();
    let mean = |value: &dyn Fn(&tares::Epoch) -> f64| last.iter().map(|e| value(e)).sum::<f64>() / last.len() as f64;
    // RoG answers only after the last epoch.
    let accuracy = match fitted.head {
        Some(_) => fitted.accuracy(&test).unwrap(),
        None => fitted.mean_of_last().unwrap(),
    };
    Outcome {
        accuracy: 100.0 * accuracy,
        label_precision: mean(&|epoch| epoch.label_precision.unwrap_or(0.0)),
        label_recall: mean(&|epoch| epoch.label_recall.unwrap_or(0.0)),
    }
}

/// All runs, two at a time.
fn table() -> &'static BTreeMap<(String, String), Outcome> {
    static TABLE: OnceLock<BTreeMap<(String, String), Outcome>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let robust = ["standard", "cl", "npcl", "gce", "truncated-gce", "self-paced", "mentornet", "co-teaching"];
        let more = ["co-teaching-plus", "jocor", "d2l", "elr", "tares", "rog", "mentornet-learnt"];
        let mut todo: Vec<(&str, &str, u64)> = Vec::new();
        for seed in SEEDS {
            for noise in ["symmetric:0.5", "pair:0.35"] {
                robust.iter().chain(&more).for_each(|method| todo.push((method, noise, seed)));
            }
            ["standard", "cl", "npcl"].iter().for_each(|method| todo.push((method, "none", seed)));
        }
        // Two runs at a time, each on one thread: small networks gain nothing from sharing a step among cores.
        let _ = rayon::ThreadPoolBuilder::new().num_threads(1).build_global();
        let (todo, done) = (Mutex::new(todo), Mutex::new(BTreeMap::new()));
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    loop {
                        let Some((method, noise, seed)) = todo.lock().unwrap().pop() else { return };
                        let one = train(method, noise, seed);
                        let mut done = done.lock().unwrap();
                        let mean: &mut Outcome = done.entry((method.to_owned(), noise.to_owned())).or_default();
                        mean.accuracy += one.accuracy / SEEDS.len() as f64;
                        mean.label_precision += one.label_precision / SEEDS.len() as f64;
                        mean.label_recall += one.label_recall / SEEDS.len() as f64;
                    }
                });
            }
        });
        let done = done.into_inner().unwrap();
        for ((method, noise), outcome) in &done {
            println!(
                "{method:<18} {noise:<14} accuracy {:6.2}  precision {:.3}  recall {:.3}",
                outcome.accuracy, outcome.label_precision, outcome.label_recall
            );
        }
        done
    })
}

fn outcome(method: &str, noise: &str) -> Outcome {
    table()[&(method.to_owned(), noise.to_owned())].clone()
}

#[test]
fn npcl_beats_standard_by_far_and_keeps_clean_labels() {
    for (noise, points) in [("symmetric:0.5", 5.0), ("pair:0.35", 10.0)] {
        let (standard, npcl) = (outcome("standard", noise), outcome("npcl", noise));
        assert!(npcl.accuracy >= standard.accuracy + points, "{noise}: {npcl:?} against {standard:?}");
        assert!(npcl.label_precision >= 0.93, "{noise}: {npcl:?}");
    }
}

#[test]
fn every_robust_method_beats_standard() {
    for ((method, noise), outcome) in table() {
        if method != "standard" && noise != "none" {
            let standard = self::outcome("standard", noise);
            assert!(outcome.accuracy > standard.accuracy, "{method}, {noise}: {outcome:?} against {standard:?}");
        }
    }
}

#[test]
fn without_noise_the_curriculum_costs_nothing() {
    let (standard, cl) = (outcome("standard", "none"), outcome("cl", "none"));
    assert!(cl.accuracy >= standard.accuracy - 1.0, "{cl:?} against {standard:?}");
    assert!(outcome("npcl", "none").accuracy >= standard.accuracy - 1.0);
}
