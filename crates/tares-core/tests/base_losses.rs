//! The base losses: all bound the 0-1 loss, derivatives are right, nothing overflows.

mod law;

use law::{at_most, equal, holds};
use tares_core::{Stream, Surrogate, margin};

fn sample(draws: &mut Stream) -> (Vec<f64>, u32) {
    let classes = 2 + draws.below(8);
    let scale = [0.3, 2.0, 8.0][draws.below(3)];
    ((0..classes).map(|_| scale * draws.normal()).collect(), draws.below(classes) as u32)
}

#[test]
fn every_base_loss_bounds_the_zero_one_loss() {
    for loss in Surrogate::ALL {
        holds(&format!("{loss} ≥ 0-1"), 500, |draws| {
            let (logits, label) = sample(draws);
            let zero_one = margin::zero_one(margin::margin(&logits, label));
            assert!(loss.value(&logits, label) >= zero_one);
            let u = 10.0 * draws.normal();
            assert!(loss.of_margin(u) >= margin::zero_one(u), "{loss} at {u}");
        });
        for u in [-1e-300, -f64::EPSILON, -1e-9, 0.0, -1e300] {
            assert!(loss.of_margin(u) >= margin::zero_one(u), "{loss} at {u}");
        }
    }
}

#[test]
fn soft_hinge_is_above_weighted_is_above_hinge_is_above_zero_one() {
    holds("S ≥ F ≥ H ≥ 0-1", 2000, |draws| {
        let (logits, label) = sample(draws);
        let beta = draws.unit();
        let [s, f, h] = [Surrogate::SoftHinge, Surrogate::Weighted { beta }, Surrogate::Hinge]
            .map(|loss| loss.value(&logits, label));
        at_most(f, s, "F ≤ S");
        at_most(h, f, "H ≤ F");
        assert!(h >= margin::zero_one(margin::margin(&logits, label)));
    });
}

#[test]
fn weighted_at_its_ends_is_hinge_and_soft_hinge() {
    holds("F(0), F(1)", 300, |draws| {
        let (logits, label) = sample(draws);
        let value = |loss: Surrogate| loss.value(&logits, label);
        equal(value(Surrogate::Weighted { beta: 0.0 }), value(Surrogate::Hinge), "β = 0");
        equal(value(Surrogate::Weighted { beta: 1.0 }), value(Surrogate::SoftHinge), "β = 1");
    });
}

#[test]
fn a_huge_cap_makes_the_truncated_hinge_a_hinge() {
    holds("cap", 300, |draws| {
        let (logits, label) = sample(draws);
        let capped = Surrogate::TruncatedHinge { cap: 1e9 }.value(&logits, label);
        assert_eq!(capped, Surrogate::Hinge.value(&logits, label));
    });
}

#[test]
fn gradients_are_finite_differences() {
    let step = 1e-6;
    for loss in Surrogate::ALL {
        holds(&format!("∇ {loss}"), 400, |draws| {
            let (mut logits, label) = sample(draws);
            if near_a_kink(&logits, label, loss) {
                return;
            }
            let mut gradient = vec![f64::NAN; logits.len()];
            loss.gradient(&logits, label, &mut gradient);
            for i in 0..logits.len() {
                let at = logits[i];
                logits[i] = at + step;
                let up = loss.value(&logits, label);
                logits[i] = at - step;
                let down = loss.value(&logits, label);
                logits[i] = at;
                let difference = (up - down) / (2.0 * step);
                let error = (gradient[i] - difference).abs();
                assert!(error < 1e-5 * (1.0 + difference.abs()), "{loss}: {} is not {difference}", gradient[i]);
            }
        });
    }
}

/// Where the derivative jumps: margin 0 (soft hinge), 1 (hinges), the cap, or two rivals equally high.
fn near_a_kink(logits: &[f64], label: u32, loss: Surrogate) -> bool {
    let u = margin::margin(logits, label);
    let cap = if let Surrogate::TruncatedHinge { cap } = loss { 1.0 - cap } else { 0.0 };
    let mut rivals: Vec<f64> = (0..logits.len()).filter(|&i| i != label as usize).map(|i| logits[i]).collect();
    rivals.sort_by(f64::total_cmp);
    let gap = if rivals.len() > 1 { rivals[rivals.len() - 1] - rivals[rivals.len() - 2] } else { 1.0 };
    [u, u - 1.0, u - cap, gap].iter().any(|distance| distance.abs() < 1e-4)
}

#[test]
fn gradients_sum_to_zero() {
    // Shifting all logits changes no loss.
    for loss in Surrogate::ALL {
        holds(&format!("Σ∇ {loss}"), 200, |draws| {
            let (logits, label) = sample(draws);
            let mut gradient = vec![0.0; logits.len()];
            loss.gradient(&logits, label, &mut gradient);
            let sum: f64 = gradient.iter().sum();
            assert!(sum.abs() < 1e-9 * (1.0 + gradient[label as usize].abs()));
        });
    }
}

#[test]
fn logits_of_ten_thousand_are_finite_in_value_and_gradient() {
    for loss in Surrogate::ALL {
        for logits in [[1e4, -1e4, 0.0], [-1e4, 1e4, 1e4], [1e4, 1e4, 1e4], [-1e4, -1e4, -1e4]] {
            for label in 0..3 {
                let mut gradient = [f64::NAN; 3];
                loss.gradient(&logits, label, &mut gradient);
                let value = loss.value(&logits, label);
                assert!(value.is_finite() && value >= 0.0, "{loss} {logits:?}: {value}");
                assert!(gradient.iter().all(|g| g.is_finite()), "{loss} {logits:?}: {gradient:?}");
            }
        }
    }
}

#[test]
fn permuting_rows_permutes_losses() {
    let logits = [1.0, 2.0, 0.5, 0.0, -1.0, 3.0];
    for loss in Surrogate::ALL {
        let a = loss.values(&logits, &[0, 2], 3).unwrap();
        let turned = [&logits[3..], &logits[..3]].concat();
        let b = loss.values(&turned, &[2, 0], 3).unwrap();
        assert_eq!(a, [b[1], b[0]]);
    }
}

#[test]
fn names_are_read_as_they_are_written() {
    for loss in Surrogate::ALL {
        assert_eq!(loss.to_string().parse::<Surrogate>().unwrap(), loss);
    }
    let say = |text: &str| text.parse::<Surrogate>().unwrap_err().to_string();
    assert_eq!(say("soft-hing"), "unknown base loss 'soft-hing': did you mean soft-hinge?");
    assert_eq!(say("weighted:1.5"), "beta of weighted must be in [0, 1], got 1.5");
    assert_eq!(say("truncated-hinge:0.5"), "cap of truncated-hinge must be a finite number >= 1, got 0.5");
    assert_eq!(say("truncated-hinge:NaN"), "cap of truncated-hinge must be a finite number >= 1, got NaN");
    assert_eq!(say(" "), "name of a base loss must not be empty");
}
