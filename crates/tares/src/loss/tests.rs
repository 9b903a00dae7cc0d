//! Every loss against its scalar reference in f64, finite differences, its limits and extreme logits.

use super::*;
use burn::tensor::{Device, Int, Tensor, TensorData};
use tares_core::{Label, Surrogate, stream};

/// Every loss there is, with telling numbers.
const ALL: [SampleLoss; 14] = [
    SampleLoss::CrossEntropy,
    SampleLoss::Gce { q: 0.7 },
    SampleLoss::Gce { q: 1.0 },
    SampleLoss::TruncatedGce { q: 0.7, k: 0.5 },
    SampleLoss::Mae,
    SampleLoss::SymmetricCrossEntropy { alpha: 0.1, beta: 1.0 },
    SampleLoss::Surrogate(Surrogate::Hinge),
    SampleLoss::Surrogate(Surrogate::SoftHinge),
    SampleLoss::Surrogate(Surrogate::Weighted { beta: 0.3 }),
    SampleLoss::Surrogate(Surrogate::SquaredHinge),
    SampleLoss::Surrogate(Surrogate::Logistic),
    SampleLoss::Surrogate(Surrogate::Sigmoid),
    SampleLoss::Surrogate(Surrogate::Savage),
    SampleLoss::Surrogate(Surrogate::TruncatedHinge { cap: 2.0 }),
];

/// The loss of one sample in f64: the core's for base losses, the textbook formula for the others.
fn reference(loss: SampleLoss, logits: &[f64], label: Label) -> f64 {
    if let Some(surrogate) = loss.surrogate() {
        return surrogate.value(logits, label);
    }
    let top = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let log_total = logits.iter().map(|t| (t - top).exp()).sum::<f64>().ln() + top;
    let log_p = logits[label as usize] - log_total;
    let p = log_p.exp();
    match loss {
        SampleLoss::CrossEntropy => -log_p,
        SampleLoss::Gce { q } => (1.0 - p.powf(q)) / q,
        SampleLoss::TruncatedGce { q, k } => (1.0 - p.max(k).powf(q)) / q,
        SampleLoss::Mae => (0..logits.len())
            .map(|class| (f64::from(class == label as usize) - (logits[class] - log_total).exp()).abs())
            .sum(),
        SampleLoss::SymmetricCrossEntropy { alpha, beta } => {
            let reverse: f64 = (0..logits.len())
                .map(|class| {
                    let log_label = if class == label as usize { 0.0 } else { -4.0 };
                    -(logits[class] - log_total).exp() * log_label
                })
                .sum();
            -alpha * log_p + beta * reverse
        }
        base => unreachable!("{base} is a base loss of the core"),
    }
}

fn losses(loss: SampleLoss, logits: &[f32], labels: &[Label], classes: usize) -> (Vec<f32>, Vec<f32>) {
    let device = Device::flex().autodiff();
    let logits = Tensor::<2>::from_data(TensorData::new(logits.to_vec(), [labels.len(), classes]), &device);
    let logits = logits.require_grad();
    let labels: Vec<i64> = labels.iter().map(|&label| i64::from(label)).collect();
    let targets = Tensor::<1, Int>::from_data(TensorData::new(labels.clone(), [labels.len()]), &device);
    let values = loss.forward(logits.clone(), targets);
    assert_eq!(values.dims(), [labels.len()], "{loss} reduces");
    let gradient = logits.grad(&values.clone().sum().backward()).expect("a gradient");
    (values.into_data().try_to_vec().unwrap(), gradient.into_data().try_to_vec().unwrap())
}

fn random(seed: u64, rows: usize, classes: usize, spread: f64) -> (Vec<f32>, Vec<Label>) {
    let mut draw = stream(seed, "loss test");
    let logits = (0..rows * classes).map(|_| (spread * draw.normal()) as f32).collect();
    (logits, (0..rows).map(|_| draw.below(classes) as Label).collect())
}

#[test]
fn values_agree_with_the_scalar_references() {
    for (seed, (rows, classes)) in [(1, 2), (64, 2), (100, 3), (33, 10), (20, 100)].into_iter().enumerate() {
        for spread in [0.1, 1.0, 8.0] {
            let (logits, labels) = random(seed as u64, rows, classes, spread);
            for loss in ALL {
                let (values, _) = losses(loss, &logits, &labels, classes);
                for (row, &value) in values.iter().enumerate() {
                    let scalars: Vec<f64> = logits[row * classes..][..classes].iter().map(|&t| f64::from(t)).collect();
                    let expected = reference(loss, &scalars, labels[row]);
                    let difference = (f64::from(value) - expected).abs();
                    assert!(
                        difference <= 2e-6 + 3e-6 * expected.abs(),
                        "{loss}, seed {seed}, row {row}: {value} instead of {expected}"
                    );
                }
            }
        }
    }
}

#[test]
fn gradients_agree_with_finite_differences_of_the_references() {
    let (rows, classes) = (200, 5);
    let (logits, labels) = random(7, rows, classes, 1.5);
    for loss in ALL {
        let (_, gradient) = losses(loss, &logits, &labels, classes);
        let mut compared = 0;
        for row in 0..rows {
            let mut scalars: Vec<f64> = logits[row * classes..][..classes].iter().map(|&t| f64::from(t)).collect();
            for class in 0..classes {
                let mut at = |step: f64| {
                    let kept = scalars[class];
                    scalars[class] = kept + step;
                    let value = reference(loss, &scalars, labels[row]);
                    scalars[class] = kept;
                    value
                };
                let (left, right) = ((at(0.0) - at(-1e-6)) / 1e-6, (at(1e-6) - at(0.0)) / 1e-6);
                if (left - right).abs() > 1e-3 {
                    continue; // a kink or a jump: no derivative here
                }
                let slope = (at(1e-5) - at(-1e-5)) / 2e-5;
                let found = f64::from(gradient[row * classes + class]);
                assert!((found - slope).abs() < 2e-5 * (1.0 + slope.abs()), "{loss}, row {row}: {found} not {slope}");
                compared += 1;
            }
        }
        assert!(compared > rows * classes * 9 / 10, "{loss}: only {compared} points without a kink");
    }
}

#[test]
fn gradients_agree_with_the_core_at_kinks_too() {
    // margins of exactly 1, 0 and −1 (K = 3)
    let logits = [1.0, 0.0, -3.0, 0.5, 0.5, -1.0, -0.5, 0.5, -2.0f32];
    let labels = [0, 0, 0];
    for surrogate in Surrogate::ALL {
        let loss: SampleLoss = surrogate.to_string().parse().unwrap();
        assert_eq!(loss.surrogate(), Some(surrogate));
        let (_, gradient) = losses(loss, &logits, &labels, 3);
        for row in 0..3 {
            let scalars: Vec<f64> = logits[row * 3..][..3].iter().map(|&t| f64::from(t)).collect();
            let mut expected = [0.0; 3];
            surrogate.gradient(&scalars, labels[row], &mut expected);
            for class in 0..3 {
                let found = f64::from(gradient[row * 3 + class]);
                assert!((found - expected[class]).abs() < 1e-5, "{loss}, row {row}: {found} not {}", expected[class]);
            }
        }
    }
}

#[test]
fn extreme_logits_stay_finite_in_value_and_gradient() {
    for scale in [1e2f32, 1e3, 1e4] {
        for classes in [2usize, 3, 10] {
            // the label at the top, at the bottom, tied with all
            let mut rows: Vec<Vec<f32>> = vec![vec![scale; classes], vec![-scale; classes]];
            let mut high = vec![-scale; classes];
            high[0] = scale;
            let mut low = vec![scale; classes];
            low[0] = -scale;
            rows.extend([high, low]);
            let logits: Vec<f32> = rows.concat();
            let labels = vec![0; rows.len()];
            for loss in ALL {
                let (values, gradient) = losses(loss, &logits, &labels, classes);
                assert!(values.iter().all(|v| v.is_finite() && *v >= -1e-6), "{loss} at {scale}: {values:?}");
                assert!(gradient.iter().all(|g| g.is_finite()), "{loss} at {scale}: {gradient:?}");
            }
        }
    }
}

#[test]
fn golden_values_of_pytorch() {
    // t = torch.tensor([[3,0,0],[2,1,0],[1,.5,0],[0,2,0],[0,0,1.5],[2.5,0,0],[.2,.1,0],[0,3,1]], dtype=torch.float64)
    // y = torch.tensor([0,0,0,0,2,1,1,1]); p = torch.softmax(t, 1)[range(8), y]; hot = F.one_hot(y, 3).double()
    // ce = F.cross_entropy(t, y, reduction='none'); gce = (1 - p**.7) / .7; mae = (torch.softmax(t, 1) - hot).abs().sum(1)
    // sce = .1 * ce - (torch.softmax(t, 1) * torch.where(hot == 1, 0., -4.)).sum(1)
    let logits = [
        3.0, 0.0, 0.0, 2.0, 1.0, 0.0, 1.0, 0.5, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 1.5, 2.5, 0.0, 0.0, 0.2, 0.1, 0.0, 0.0,
        3.0, 1.0,
    ];
    let labels = [0, 0, 0, 0, 2, 1, 1, 1];
    for (name, expected) in [
        ("cross-entropy", GOLDEN_CE),
        ("gce:0.7", GOLDEN_GCE),
        ("mae", GOLDEN_MAE),
        ("symmetric-ce:0.1:1", GOLDEN_SCE),
        ("hinge", [0.0, 0.0, 0.5, 3.0, 0.0, 3.5, 1.1, 0.0]),
    ] {
        let (values, _) = losses(name.parse().unwrap(), &logits, &labels, 3);
        for (found, expected) in values.iter().zip(expected) {
            assert!((f64::from(*found) - expected).abs() < 1e-6, "{name}: {values:?}");
        }
    }
}
const GOLDEN_CE: [f64; 8] = [0.094923, 0.407606, 0.6802697, 2.2395448, 0.3689811, 2.6520084, 1.1019428, 0.169846];
const GOLDEN_GCE: [f64; 8] = [0.091838, 0.3546136, 0.5412197, 1.1306741, 0.3251804, 1.2053812, 0.7680231, 0.1601379];
const GOLDEN_MAE: [f64; 8] = [0.181114, 0.6695181, 0.9870392, 1.786986, 0.6171231, 1.8589811, 1.33555, 0.3124105];
const GOLDEN_SCE: [f64; 8] = [0.3717203, 1.3797968, 2.0421054, 3.7979266, 1.2711443, 3.983163, 2.7812943, 0.6418057];

#[test]
fn limits_are_reached() {
    let (logits, labels) = random(3, 50, 4, 2.0);
    let values = |loss| losses(loss, &logits, &labels, 4).0;
    let close = |a: Vec<f32>, b: Vec<f32>, tolerance: f32| {
        a.iter().zip(&b).for_each(|(a, b)| assert!((a - b).abs() <= tolerance * (1.0 + b.abs()), "{a} {b}"));
    };
    close(values(SampleLoss::Gce { q: 1e-3 }), values(SampleLoss::CrossEntropy), 6e-3);
    let half: Vec<f32> = values(SampleLoss::Mae).iter().map(|x| x / 2.0).collect();
    close(values(SampleLoss::Gce { q: 1.0 }), half, 1e-6);
    close(
        values(SampleLoss::Surrogate(Surrogate::Weighted { beta: 0.0 })),
        values(SampleLoss::Surrogate(Surrogate::Hinge)),
        0.0,
    );
    close(
        values(SampleLoss::Surrogate(Surrogate::Weighted { beta: 1.0 })),
        values(SampleLoss::Surrogate(Surrogate::SoftHinge)),
        0.0,
    );
    close(
        values(SampleLoss::Surrogate(Surrogate::TruncatedHinge { cap: 1e6 })),
        values(SampleLoss::Surrogate(Surrogate::Hinge)),
        0.0,
    );
    close(values(SampleLoss::TruncatedGce { q: 0.7, k: 1e-9 }), values(SampleLoss::Gce { q: 0.7 }), 1e-6);
    let one_hot: Vec<f32> = labels.iter().flat_map(|&y| (0..4).map(move |k| f32::from(k == y))).collect();
    let device = Device::flex();
    let tensor = |values: &[f32]| Tensor::<2>::from_data(TensorData::new(values.to_vec(), [50, 4]), &device);
    let soft = soft_cross_entropy(tensor(&logits), tensor(&one_hot)).into_data().try_to_vec().unwrap();
    close(soft, values(SampleLoss::CrossEntropy), 1e-6);
}

#[test]
fn permuting_rows_permutes_losses_and_a_row_alone_has_the_same_loss() {
    let (logits, labels) = random(5, 17, 6, 1.0);
    let order = stream(5, "order").permutation(17);
    let shuffled: Vec<f32> = order.iter().flat_map(|&row| logits[row * 6..][..6].to_vec()).collect();
    let moved: Vec<Label> = order.iter().map(|&row| labels[row]).collect();
    for loss in ALL {
        let (values, _) = losses(loss, &logits, &labels, 6);
        let (permuted, _) = losses(loss, &shuffled, &moved, 6);
        for (place, &row) in order.iter().enumerate() {
            assert_eq!(permuted[place], values[row], "{loss}");
            let (alone, _) = losses(loss, &logits[row * 6..][..6], &labels[row..=row], 6);
            assert!((alone[0] - values[row]).abs() <= 1e-6 * (1.0 + values[row].abs()), "{loss}");
        }
    }
}

#[test]
fn names_survive_a_round_trip() {
    for loss in ALL {
        let text = serde_json::to_string(&loss).unwrap();
        assert_eq!(text, format!("\"{loss}\""));
        assert_eq!(serde_json::from_str::<SampleLoss>(&text).unwrap(), loss);
    }
    let say = |text: &str| text.parse::<SampleLoss>().unwrap_err().to_string();
    assert_eq!(say("gce:0"), "q of gce must be in (0, 1], got 0");
    assert_eq!(say("weighted:1.5"), "beta of weighted must be in [0, 1], got 1.5");
    assert_eq!(say("truncated-hinge:0.5"), "cap of truncated-hinge must be a finite number >= 1, got 0.5");
    assert_eq!(say("hinges"), "unknown loss 'hinges': did you mean hinge?");
    assert_eq!(say("weighted"), "parameter of base loss weighted must be a number, as in weighted:0.5, got none");
    for bad in ["", "gce:a", "gce:0.7:1", "hinge:1", "truncated-gce:0.7:1.5", "symmetric-ce:-1:1", "gce:NaN"] {
        assert!(bad.parse::<SampleLoss>().is_err(), "{bad}");
    }
}
