//! The paper's bounds: Theorem "Tighter Bound", Theorem "Scaled Bound", both mini-batch corollaries, and the same for
//! classes instead of batches.

mod law;

use law::{Batch, at_most, equal, holds};
use tares_core::{Curriculum, Surrogate, Threshold};

const E: Curriculum = Curriculum { threshold: Threshold::E, extra: tares_core::Extra::Never, balanced: false };
const Q: Curriculum = Curriculum { threshold: Threshold::Q, ..E };

fn full(curriculum: Curriculum, b: &Batch) -> f64 {
    curriculum.value(&b.losses, &b.wrong, &b.labels, b.classes).unwrap()
}

fn batched(curriculum: Curriculum, b: &Batch, size: usize) -> f64 {
    curriculum.batched_value(&b.losses, &b.wrong, &b.labels, b.classes, size).unwrap()
}

/// Every base loss, batch split and shuffle.
fn for_every_batch(name: &str, law: impl Fn(&Batch, usize)) {
    for loss in Surrogate::ALL {
        holds(&format!("{name} {loss}"), 60, |draws| {
            let n = 1 + draws.below(60);
            let batch = Batch::random(n, loss, draws);
            law(&batch, 1 + draws.below(n));
            law(&batch.shuffled(draws), 1 + draws.below(n));
        });
    }
}

#[test]
fn theorem_tighter_bound_j_q_batched_q_plain_sum() {
    for_every_batch("J ≤ Q ≤ Q̂ ≤ Ĵ", |b, size| {
        at_most(b.zero_one(), full(Q, b), "J ≤ Q");
        at_most(full(Q, b), batched(Q, b, size), "Q ≤ Q̂");
        at_most(batched(Q, b, size), b.plain_sum(), "Q̂ ≤ Ĵ");
    });
}

#[test]
fn theorem_scaled_bound_j_2e_batched_2e_2_plain_sums() {
    for_every_batch("J ≤ 2E ≤ 2Ê ≤ 2Ĵ", |b, size| {
        at_most(b.zero_one(), 2.0 * full(E, b), "J ≤ 2E");
        at_most(full(E, b), batched(E, b, size), "E ≤ Ê");
        at_most(batched(E, b, size), b.plain_sum(), "Ê ≤ Ĵ");
    });
}

#[test]
fn e_is_tighter_than_q() {
    for_every_batch("E ≤ Q", |b, size| {
        at_most(full(E, b), full(Q, b), "E ≤ Q");
        at_most(batched(E, b, size), batched(Q, b, size), "Ê ≤ Q̂");
    });
}

#[test]
fn batched_npcl_bounds_npcl() {
    for_every_batch("NPCL ≤ batched NPCL", |b, size| {
        for rate in [0.0, 0.2, 0.5, 0.9, 1.0] {
            for threshold in [Threshold::NpclFixed { rate }, Threshold::Npcl { rate }] {
                let npcl = Curriculum::new(threshold);
                at_most(full(npcl, b), batched(npcl, b, size), "NPCL ≤ batched NPCL");
                at_most(batched(npcl, b, size), b.plain_sum(), "batched NPCL ≤ Ĵ");
            }
        }
    });
}

#[test]
fn class_balanced_losses_lie_between_the_full_loss_and_the_plain_sum() {
    for_every_batch("J ≤ Q ≤ Q by class ≤ Ĵ", |b, _| {
        let by_class = |curriculum: Curriculum| full(Curriculum { balanced: true, ..curriculum }, b);
        at_most(full(Q, b), by_class(Q), "Q ≤ Q by class");
        at_most(by_class(Q), b.plain_sum(), "Q by class ≤ Ĵ");
        at_most(b.zero_one(), by_class(Q), "J ≤ Q by class");
        at_most(full(E, b), by_class(E), "E ≤ E by class");
        at_most(b.zero_one(), 2.0 * by_class(E), "J ≤ 2 E by class");
        at_most(by_class(E), b.plain_sum(), "E by class ≤ Ĵ");
    });
}

#[test]
fn class_balanced_loss_is_the_sum_over_the_classes() {
    for_every_batch("by class = Σ of classes", |b, _| {
        let npcl = Curriculum::new(Threshold::Npcl { rate: 0.3 });
        let of_class = |class: u32| {
            let members: Vec<usize> = (0..b.labels.len()).filter(|&i| b.labels[i] == class).collect();
            let losses: Vec<f64> = members.iter().map(|&i| b.losses[i]).collect();
            let wrong: Vec<bool> = members.iter().map(|&i| b.wrong[i]).collect();
            npcl.value(&losses, &wrong, &vec![class; members.len()], b.classes).unwrap()
        };
        let sum: f64 = (0..b.classes as u32).map(of_class).sum();
        equal(full(Curriculum { balanced: true, ..npcl }, b), sum, "by class");
    });
}

#[test]
fn npcl_with_rate_0_is_e_or_q() {
    for_every_batch("NPCL at rate 0", |b, size| {
        let fixed = Curriculum::new(Threshold::NpclFixed { rate: 0.0 });
        let adaptive = Curriculum::new(Threshold::Npcl { rate: 0.0 });
        assert_eq!(full(fixed, b), full(E, b));
        assert_eq!(full(adaptive, b), full(Q, b));
        assert_eq!(batched(adaptive, b, size), batched(Q, b, size));
    });
}

#[test]
fn a_shuffle_does_not_change_the_full_loss() {
    for_every_batch("order", |b, _| {
        let turned = b.shuffled(&mut tares_core::stream(1, "turn"));
        assert_eq!(full(Q, b), full(Q, &turned));
    });
}
