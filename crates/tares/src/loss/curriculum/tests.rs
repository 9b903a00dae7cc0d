use super::*;
use burn::config::Config;
use burn::tensor::Device;
use tares_core::{Threshold, stream};

/// The golden vector of the method (K = 3).
const LOGITS: [[f32; 3]; 8] = [
    [3.0, 0.0, 0.0],
    [2.0, 1.0, 0.0],
    [1.0, 0.5, 0.0],
    [0.0, 2.0, 0.0],
    [0.0, 0.0, 1.5],
    [2.5, 0.0, 0.0],
    [0.2, 0.1, 0.0],
    [0.0, 3.0, 1.0],
];
const LABELS: [i64; 8] = [0, 0, 0, 0, 2, 1, 1, 1];

fn npcl(rate: f64) -> CurriculumLossConfig {
    CurriculumLossConfig::new(Threshold::Npcl { rate })
}

struct Outcome {
    value: f32,
    kept: Kept,
    gradient: Vec<f32>,
}

fn run(loss: &CurriculumLoss, logits: &[f32], labels: &[i64], classes: usize) -> Outcome {
    let device = Device::flex().autodiff();
    let logits = Tensor::<2>::from_data(TensorData::new(logits.to_vec(), [labels.len(), classes]), &device);
    let logits = logits.require_grad();
    let targets = Tensor::<1, Int>::from_data(TensorData::new(labels.to_vec(), [labels.len()]), &device);
    let (value, kept) = loss.forward_kept(logits.clone(), targets.clone());
    assert_eq!(value.dims(), [1]);
    assert_eq!(
        loss.forward(logits.clone(), targets).into_scalar::<f32>().to_bits(),
        value.clone().into_scalar::<f32>().to_bits()
    );
    let gradient = logits.grad(&value.backward()).expect("a gradient").into_data().try_to_vec().unwrap();
    Outcome { value: value.into_scalar(), kept, gradient }
}

fn golden(config: CurriculumLossConfig) -> Outcome {
    run(&config.init().unwrap(), LOGITS.as_flattened(), &LABELS, 3)
}

#[test]
fn golden_vector_to_six_digits() {
    // rate, T, value; the objective max(L_T, C − T) follows from C = 11, 6.75, 3.5 and the sums 4.6, 1.6, 0
    for (rate, count, value, objective) in [(0.0, 7, 0.834_498, 4.6), (0.25, 6, 0.433_657, 1.6), (0.5, 4, 0.0, 0.0)] {
        let outcome = golden(npcl(rate));
        assert!((outcome.value - value).abs() < 1e-6, "r = {rate}: {}", outcome.value);
        assert_eq!((outcome.kept.count, outcome.kept.misclassified), (count, 3), "r = {rate}");
        assert!((outcome.kept.objective - objective).abs() < 1e-6, "r = {rate}: {:?}", outcome.kept);
    }
    let whole = run(&npcl(0.5).with_burn_in(1).init().unwrap().at_epoch(0), LOGITS.as_flattened(), &LABELS, 3);
    assert!((whole.value - 1.186_687).abs() < 1e-6, "burn-in: {}", whole.value);
    assert_eq!(whole.kept.positions.len(), 8);
}

#[test]
fn which_samples_are_kept_with_and_without_the_extra_one() {
    // C = 6.75, T = 6, L_6 = 1.6 > C − T = 0.75: no slack
    assert_eq!(golden(npcl(0.25)).kept.positions, [0, 1, 2, 4, 6, 7]);
    // E: C = 8, T = 6, L_6 = 1.6 ≤ 2: one more
    let e = CurriculumLossConfig::new(Threshold::E);
    let with = golden(e).kept;
    assert_eq!((with.positions, with.count, with.extra), (vec![0, 1, 2, 3, 4, 6, 7], 6, true));
    let without = golden(e.with_extra(false)).kept;
    assert_eq!((without.positions, without.count, without.extra), (vec![0, 1, 2, 4, 6, 7], 6, false));
    assert_eq!(with.objective, without.objective);
}

#[test]
fn dropped_rows_get_zero_gradient_and_kept_ones_the_mean_of_theirs() {
    let outcome = golden(npcl(0.25));
    let mut draws = [0.0; 3];
    for row in 0..8 {
        let found = &outcome.gradient[row * 3..][..3];
        let expected = if outcome.kept.positions.contains(&(row as u32)) {
            let logits = LOGITS[row].map(f64::from);
            Surrogate::SoftHinge.gradient(&logits, LABELS[row] as Label, &mut draws);
            draws.map(|slope| (slope / 6.0) as f32)
        } else {
            [0.0; 3]
        };
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-6, "row {row}: {found} not {expected}");
        }
    }
}

#[test]
fn starvation_is_reported() {
    // r = 0.5 keeps four samples of margin ≥ 1: value and gradient exactly zero
    let starved = golden(npcl(0.5));
    assert!(starved.kept.starved && starved.kept.positions.len() == 4);
    assert!(starved.value == 0.0 && starved.gradient.iter().all(|&slope| slope == 0.0));
    assert!(!golden(npcl(0.25)).kept.starved);
    // cross-entropy of the same four still teaches
    let teaching = golden(npcl(0.5).with_training(SampleLoss::CrossEntropy));
    assert!(!teaching.kept.starved && teaching.gradient.iter().any(|&slope| slope != 0.0));
}

#[test]
fn nothing_kept_is_zero_and_reported_never_nan() {
    let loss = CurriculumLossConfig::new(Threshold::Custom { per_sample: 0.0 }).with_extra(false).init().unwrap();
    for scale in [1.0, 1e4, f32::INFINITY] {
        // both far on the wrong side: C + 1 − 1 = 0 is below every loss
        let outcome = run(&loss, &[-scale, 1.0, 1.0, -scale], &[0, 1], 2);
        assert_eq!((outcome.value, outcome.kept.count, outcome.kept.starved), (0.0, 0, true), "{scale}");
        assert!(outcome.kept.positions.is_empty() && outcome.gradient.iter().all(|&slope| slope == 0.0));
        assert_eq!(outcome.kept.objective, 0.0);
    }
    // pruning everything
    let all_noise = run(&npcl(1.0).with_extra(false).init().unwrap(), &[-1.0, 1.0, 1.0, -1.0], &[0, 1], 2);
    assert_eq!((all_noise.value, all_noise.kept.positions.len()), (0.0, 0));
}

#[test]
fn logits_that_are_not_numbers_are_handed_on() {
    let outcome = run(&npcl(0.1).init().unwrap(), &[f32::NAN, 1.0, 2.0, 0.0], &[0, 0], 2);
    assert!(outcome.value.is_nan() && outcome.kept.positions.is_empty());
}

#[test]
fn extreme_logits_stay_finite() {
    for scale in [1e2f32, 1e4] {
        let logits = [scale, -scale, 0.0, -scale, scale, 0.0, scale, scale, scale, 0.0, 0.0, -scale];
        for rate in [0.0, 0.3, 0.9] {
            for training in ["soft-hinge", "hinge", "cross-entropy", "gce:0.7"] {
                let config = npcl(rate).with_training(training.parse::<SampleLoss>().unwrap());
                let outcome = run(&config.init().unwrap(), &logits, &[0, 0, 1, 2], 3);
                assert!(outcome.value.is_finite() && outcome.gradient.iter().all(|g| g.is_finite()), "{training}");
            }
        }
    }
}

fn random(seed: u64, rows: usize, classes: usize) -> (Vec<f32>, Vec<i64>) {
    let mut draw = stream(seed, "curriculum loss test");
    let logits = (0..rows * classes).map(|_| 2.0 * draw.normal() as f32).collect();
    (logits, (0..rows).map(|_| draw.below(classes) as i64).collect())
}

#[test]
fn selection_is_the_cores_for_every_ranking_loss_and_balance() {
    let rankings = ["hinge", "soft-hinge", "weighted:0.4", "logistic", "savage", "cross-entropy", "gce:0.7"];
    let thresholds = ["e", "q", "npcl:0.3", "npcl-fixed:0.4", "custom:0.7"];
    for seed in 0..6 {
        let (logits, labels) = random(seed, 60, 5);
        let scalars: Vec<f64> = logits.iter().map(|&t| f64::from(t)).collect();
        let given: Vec<Label> = labels.iter().map(|&label| label as Label).collect();
        for (ranking, threshold) in rankings.iter().flat_map(|r| thresholds.iter().map(move |t| (r, t))) {
            for balanced in [false, true] {
                let ranking: SampleLoss = ranking.parse().unwrap();
                let threshold: Threshold = threshold.parse().unwrap();
                let config = CurriculumLossConfig::new(threshold).with_ranking(ranking).with_balanced(balanced);
                let outcome = run(&config.init().unwrap(), &logits, &labels, 5);
                let Some(surrogate) = ranking.surrogate() else { continue };
                let losses = surrogate.values(&scalars, &given, 5).unwrap();
                let wrong: Vec<bool> =
                    (0..60).map(|row| tares_core::margin::margin(&scalars[row * 5..][..5], given[row]) < 0.0).collect();
                let curriculum = Curriculum { threshold, extra: Extra::WhenSlack, balanced };
                let mut selector = Selector::new();
                let expected = curriculum.select(&mut selector, &losses, &wrong, &given, 5).unwrap();
                assert_eq!(outcome.kept.positions, expected.kept, "seed {seed}, {ranking}, {threshold}, {balanced}");
                assert!((outcome.kept.objective - expected.objective).abs() < 1e-4);
            }
        }
    }
}

#[test]
fn balance_keeps_a_class_that_would_be_pruned() {
    // six easy samples of class 0, two hard ones of class 1
    let margins = [0.9f32, 0.8, 0.9, 0.8, 0.9, 0.8, -2.0, 0.0];
    let logits: Vec<f32> =
        margins.iter().enumerate().flat_map(|(row, &u)| if row < 6 { [u, 0.0] } else { [0.0, u] }).collect();
    let labels = [0, 0, 0, 0, 0, 0, 1, 1];
    let config = CurriculumLossConfig::new(Threshold::NpclFixed { rate: 0.25 }).with_extra(false);
    let together = run(&config.init().unwrap(), &logits, &labels, 2).kept.positions;
    assert_eq!(together, [0, 1, 2, 3, 4, 5]);
    let by_class = run(&config.with_balanced(true).init().unwrap(), &logits, &labels, 2).kept.positions;
    assert!(by_class.contains(&7), "{by_class:?}");
}

#[test]
fn rate_0_of_npcl_is_cl_and_permuting_rows_permutes_what_is_kept() {
    for seed in 0..5 {
        let (logits, labels) = random(seed, 40, 4);
        let cl = CurriculumLossConfig::new(Threshold::Q).init().unwrap();
        let first = run(&npcl(0.0).init().unwrap(), &logits, &labels, 4);
        let second = run(&cl, &logits, &labels, 4);
        assert_eq!((first.value, &first.kept, &first.gradient), (second.value, &second.kept, &second.gradient));
        let order = stream(seed, "order").permutation(40);
        let shuffled: Vec<f32> = order.iter().flat_map(|&row| logits[row * 4..][..4].to_vec()).collect();
        let moved: Vec<i64> = order.iter().map(|&row| labels[row]).collect();
        let permuted = run(&cl, &shuffled, &moved, 4).kept;
        let mut back: Vec<u32> = permuted.positions.iter().map(|&place| order[place as usize] as u32).collect();
        back.sort_unstable();
        assert_eq!(back, second.kept.positions, "seed {seed}");
    }
}

#[test]
fn burn_in_is_a_pure_function_of_the_epoch_and_rates_are_checked() {
    let loss = npcl(0.3).with_burn_in(5).init().unwrap();
    let phases: Vec<bool> = (0..8).map(|epoch| loss.at_epoch(epoch).selects()).collect();
    assert_eq!(phases, [false, false, false, false, false, true, true, true]);
    assert!(loss.at_epoch(9) == loss.at_epoch(2).at_epoch(9));
    assert_eq!(loss.with_rate(0.5).unwrap().config().threshold, Threshold::Npcl { rate: 0.5 });
    assert_eq!(loss.with_rate(1.5).unwrap_err().to_string(), "noise rate must be in [0, 1], got 1.5");
    assert!(npcl(-0.1).init().is_err());
    assert!(npcl(0.1).with_ranking(SampleLoss::Gce { q: 2.0 }).init().is_err());
    assert!(npcl(0.1).with_training(SampleLoss::Surrogate(Surrogate::Weighted { beta: 2.0 })).init().is_err());
}

#[test]
fn the_config_is_text_in_files_and_unknown_keys_are_errors() {
    let config: CurriculumLossConfig = serde_json::from_str(r#"{"threshold": "npcl:0.3", "burn_in": 5}"#).unwrap();
    assert_eq!(config, npcl(0.3).with_burn_in(5));
    let text = serde_json::to_string(&config).unwrap();
    assert_eq!(serde_json::from_str::<CurriculumLossConfig>(&text).unwrap(), config);
    assert!(serde_json::from_str::<CurriculumLossConfig>(r#"{"threshold": "q", "burnin": 5}"#).is_err());
}

#[test]
fn a_model_may_hold_the_loss_as_it_holds_burns_own() {
    #[derive(Module, Debug)]
    struct Student {
        layer: burn::nn::Linear,
        loss: CurriculumLoss,
    }
    let layer = burn::nn::LinearConfig::new(2, 3).init(&Device::flex());
    let student = Student { layer, loss: npcl(0.25).init().unwrap() };
    assert_eq!(student.num_params(), 2 * 3 + 3, "the loss has no parameters");
    assert_eq!(student.clone().valid().loss, student.loss);
    let shown = student.loss.to_string();
    assert!(shown.contains("npcl:0.25") && shown.contains("soft-hinge"), "{shown}");
}

#[test]
fn a_configuration_survives_its_file_and_unknown_keys_are_errors() {
    let config = npcl(0.3).with_balanced(true).with_burn_in(7);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("loss.json");
    config.save(&path).unwrap();
    assert_eq!(CurriculumLossConfig::load(&path).unwrap(), config);
    let read = |text: &str| CurriculumLossConfig::load_binary(text.as_bytes());
    assert_eq!(read(r#"{"threshold": "npcl:0.3"}"#).unwrap(), npcl(0.3));
    assert!(read(r#"{"threshold": "npcl:0.3", "burnin": 7}"#).unwrap_err().to_string().contains("burnin"));
}

#[test]
fn check_refuses_every_value_outside_its_domain() {
    let say = |config: CurriculumLossConfig| config.check().unwrap_err().to_string();
    assert_eq!(say(npcl(1.5)), "noise rate must be in [0, 1], got 1.5");
    assert!(say(npcl(f64::NAN)).contains("NaN"));
    assert!(say(npcl(0.1).with_ranking(SampleLoss::Gce { q: 0.0 })).contains("q of gce"));
    assert!(say(npcl(0.1).with_training(Surrogate::Weighted { beta: f64::INFINITY })).contains("inf"));
    assert!(npcl(0.1).check().is_ok());
}
