//! Theorem 1: the 0-1 risk and the worst-case 0-1 risk rise and fall together.

mod law;

use law::{at_most, holds};
use tares_core::Stream;
use tares_core::risk::{Divergence, adversarial_risk, risk};

fn losses(n: usize, draws: &mut Stream) -> Vec<bool> {
    let rate = draws.unit();
    (0..n).map(|_| draws.chance(rate)).collect()
}

#[test]
fn theorem_1_monotonic_relationship() {
    for divergence in Divergence::ALL {
        holds(&format!("monotone {divergence}"), 1000, |draws| {
            let n = 2 + draws.below(50);
            let (one, two) = (losses(n, draws), losses(n, draws));
            let delta = draws.unit().powi(3) * 3.0 + 1e-3;
            let (r1, r2) = (risk(&one).unwrap(), risk(&two).unwrap());
            let adv = |wrong: &[bool]| adversarial_risk(wrong, divergence, delta).unwrap().risk;
            let (a1, a2) = (adv(&one), adv(&two));
            if a1 < 1.0 {
                assert_eq!(r1 < r2, a1 < a2, "R1 {r1}, R2 {r2}, adv {a1}, {a2}, δ {delta}");
            } else {
                // R1 ≤ R2 implies that the second is at its worst as well; and where it is not, R1 > R2.
                assert!(r1 > r2 || a2 == 1.0);
                assert!(a2 == 1.0 || r1 > r2);
            }
        });
    }
}

#[test]
fn the_worst_weights_are_feasible_and_reach_the_worst_risk() {
    for divergence in Divergence::ALL {
        holds(&format!("feasible {divergence}"), 500, |draws| {
            let n = 1 + draws.below(40);
            let wrong = losses(n, draws);
            let delta = draws.unit() * 2.0;
            let worst = adversarial_risk(&wrong, divergence, delta).unwrap();
            let weight = |wrong: bool| if wrong { worst.weight_wrong } else { worst.weight_right };
            let mean = |f: &dyn Fn(bool) -> f64| wrong.iter().map(|&w| f(w)).sum::<f64>() / n as f64;
            assert!((mean(&|w| weight(w)) - 1.0).abs() < 1e-9, "weights have mean 1");
            at_most(mean(&|w| divergence.f(weight(w))), delta, "inside the ball");
            let reached = mean(&|w| if w { weight(w) } else { 0.0 });
            assert!((reached - worst.risk).abs() < 1e-9);
            at_most(risk(&wrong).unwrap(), worst.risk, "never below the plain risk");
        });
    }
}

#[test]
fn no_reweighting_in_the_ball_does_worse() {
    for divergence in Divergence::ALL {
        holds(&format!("supremum {divergence}"), 300, |draws| {
            let n = 2 + draws.below(8);
            let wrong = losses(n, draws);
            let delta = draws.unit();
            let worst = adversarial_risk(&wrong, divergence, delta).unwrap().risk;
            for _ in 0..50 {
                // Random weights with mean 1, drawn towards 1 until they lie inside the ball.
                let raw: Vec<f64> = (0..n).map(|_| draws.unit().powi(2)).collect();
                let total: f64 = raw.iter().sum();
                let mut r: Vec<f64> = raw.iter().map(|x| x * n as f64 / total).collect();
                let mean_f = |r: &[f64]| r.iter().map(|&x| divergence.f(x)).sum::<f64>() / n as f64;
                while mean_f(&r) > delta {
                    r.iter_mut().for_each(|x| *x = 1.0 + 0.9 * (*x - 1.0));
                }
                let reached: f64 = r.iter().zip(&wrong).filter(|(_, w)| **w).map(|(x, _)| x).sum::<f64>() / n as f64;
                at_most(reached, worst, "the supremum");
            }
        });
    }
}

#[test]
fn closed_forms() {
    let wrong = [true, false, false, false, false];
    let adv = |d, delta| adversarial_risk(&wrong, d, delta).unwrap().risk;
    assert!((adv(Divergence::ChiSquared, 0.25) - (0.2 + 0.5 * 0.4)).abs() < 1e-12);
    assert!((adv(Divergence::TotalVariation, 0.3) - 0.5).abs() < 1e-12);
    let q = adv(Divergence::Kl, 0.1);
    let kl = q * (q / 0.2f64).ln() + (1.0 - q) * ((1.0 - q) / 0.8f64).ln();
    assert!((kl - 0.1).abs() < 1e-12, "KL(q ‖ ρ) = δ, got {kl}");
    for d in Divergence::ALL {
        assert!((adv(d, 0.0) - 0.2).abs() < 1e-7, "δ = 0 leaves the plain risk");
        assert_eq!(adv(d, 100.0), 1.0, "a huge ball reaches everything");
        assert_eq!(adversarial_risk(&[false; 4], d, 1.0).unwrap().risk, 0.0, "nothing wrong, nothing to weigh up");
    }
}

#[test]
fn bad_values_are_errors() {
    let say = |wrong: &[bool], delta| adversarial_risk(wrong, Divergence::Kl, delta).unwrap_err().to_string();
    assert_eq!(say(&[], 1.0), "samples must not be empty");
    assert_eq!(say(&[true], -1.0), "size of the divergence ball must be a finite number >= 0, got -1");
    assert_eq!("kul".parse::<Divergence>().unwrap_err().to_string(), "unknown divergence 'kul': did you mean kl?");
}
