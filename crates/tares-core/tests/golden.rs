//! Values from an independent reference: `python3 tests/golden.py` prints the tables below.

use tares_core::{Curriculum, Extra, Selector, Surrogate, Threshold, margin};

#[rustfmt::skip]
const LOGITS: [f64; 24] = [
    3., 0., 0.,  2., 1., 0.,  1., 0.5, 0.,  0., 2., 0.,  0., 0., 1.5,  2.5, 0., 0.,  0.2, 0.1, 0.,  0., 3., 1.,
];
const LABELS: [u32; 8] = [0, 0, 0, 0, 2, 1, 1, 1];

#[rustfmt::skip]
const BASE_LOSSES: [(&str, [f64; 8]); 8] = [
    ("hinge", [0.0000000000, 0.0000000000, 0.5000000000, 3.0000000000, 0.0000000000, 3.5000000000, 1.1000000000, 0.0000000000]),
    ("soft-hinge", [0.0000000000, 0.0000000000, 0.5000000000, 3.2395447662, 0.0000000000, 3.6520083844, 2.1019428482, 0.0000000000]),
    ("weighted:0.3", [0.0000000000, 0.0000000000, 0.5000000000, 3.0718634299, 0.0000000000, 3.5456025153, 1.4005828545, 0.0000000000]),
    ("squared-hinge", [0.0000000000, 0.0000000000, 0.2500000000, 9.0000000000, 0.0000000000, 12.2500000000, 1.2100000000, 0.0000000000]),
    ("logistic", [0.0700967312, 0.4519410831, 0.6839485141, 3.0685084939, 0.2905779373, 3.7205514307, 1.0739373699, 0.1831184121]),
    ("sigmoid", [0.0948517464, 0.5378828427, 0.7550813376, 1.7615941560, 0.3648510476, 1.8482836400, 1.0499583750, 0.2384058440]),
    ("savage", [0.0089968538, 0.2893179525, 0.5701478264, 3.1032139703, 0.1331162869, 3.4161524137, 1.1024125891, 0.0568373465]),
    ("truncated-hinge:2", [0.0000000000, 0.0000000000, 0.5000000000, 2.0000000000, 0.0000000000, 2.0000000000, 1.1000000000, 0.0000000000]),
];

/// rate, C, T, kept with the T+1 rule, mean soft hinge of the kept, objective on the hinge.
#[rustfmt::skip]
const ADAPTIVE_NPCL: [(f64, f64, usize, usize, f64, f64); 3] = [
    (0.0, 11.0, 7, 7, 0.8344982306, 4.6000000000),
    (0.25, 6.7500, 6, 6, 0.4336571414, 1.6000000000),
    (0.5, 3.50, 4, 4, 0.0000000000, 0.0000000000),
];

/// base loss, E, Q, NPCL fixed at rate 0.25.
#[rustfmt::skip]
const OBJECTIVES: [(&str, f64, f64, f64); 8] = [
    ("hinge", 2.0000000000, 4.6000000000, 1.0000000000),
    ("soft-hinge", 2.6019428482, 5.0000000000, 1.0000000000),
    ("weighted:0.3", 2.0000000000, 4.9724462843, 1.0000000000),
    ("squared-hinge", 2.0000000000, 5.0000000000, 1.0000000000),
    ("logistic", 2.7536200477, 5.0000000000, 1.6796826777),
    ("sigmoid", 3.0000000000, 4.8026253493, 1.9910728183),
    ("savage", 2.1608288552, 5.0000000000, 1.0584162661),
    ("truncated-hinge:2", 2.0000000000, 4.0000000000, 1.0000000000),
];

#[track_caller]
fn close(got: f64, wanted: f64, what: &str) {
    assert!((got - wanted).abs() < 1e-9, "{what}: {got}, wanted {wanted}");
}

fn losses(surrogate: Surrogate) -> Vec<f64> {
    surrogate.values(&LOGITS, &LABELS, 3).unwrap()
}

fn wrong() -> Vec<bool> {
    margin::margins(&LOGITS, &LABELS, 3).unwrap().iter().map(|u| *u < 0.0).collect()
}

#[test]
fn base_losses_of_the_golden_vector() {
    for (name, wanted) in BASE_LOSSES {
        for (row, (got, wanted)) in losses(name.parse().unwrap()).iter().zip(wanted).enumerate() {
            close(*got, wanted, &format!("{name}, row {row}"));
        }
    }
}

#[test]
fn adaptive_npcl_of_the_golden_vector() {
    let (hard, soft) = (losses(Surrogate::Hinge), losses(Surrogate::SoftHinge));
    for (rate, c, count, kept, mean, objective) in ADAPTIVE_NPCL {
        let threshold = Threshold::Npcl { rate };
        assert_eq!(threshold.value(8, 3), c);
        let npcl = Curriculum { threshold, extra: Extra::WhenSlack, balanced: false };
        let mut selector = Selector::new();
        let chosen = npcl.select(&mut selector, &hard, &wrong(), &LABELS, 3).unwrap();
        assert_eq!((chosen.count, chosen.kept.len()), (count, kept), "rate {rate}");
        close(chosen.objective, objective, "objective");
        let of_kept: f64 = chosen.kept.iter().map(|&i| soft[i as usize]).sum();
        close(of_kept / kept as f64, mean, "mean soft hinge of the kept");
    }
    close(soft.iter().sum::<f64>() / 8.0, 1.1866869999, "burn-in value");
}

#[test]
fn objectives_of_every_base_loss() {
    for (name, e, q, fixed) in OBJECTIVES {
        let losses = losses(name.parse().unwrap());
        let value = |threshold| Curriculum::new(threshold).value(&losses, &wrong(), &LABELS, 3).unwrap();
        close(value(Threshold::E), e, name);
        close(value(Threshold::Q), q, name);
        close(value(Threshold::NpclFixed { rate: 0.25 }), fixed, name);
    }
}
