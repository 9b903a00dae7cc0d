//! Label noise does what its name says, and the same for the same seed.

use tares_core::noise::NAMES;
use tares_core::{Dataset, Noise, Realised, Shape, Transition, stream};

fn data(n: usize, classes: usize) -> Dataset {
    let features: Vec<f32> = (0..n * 3).map(|i| (i as f32 * 0.7).sin()).collect();
    let given = (0..n).map(|i| (i % classes) as u32).collect();
    Dataset::new(features, Shape::Flat(3), given, (0..classes).map(|k| k.to_string())).unwrap()
}

/// Inside six standard deviations of a binomial.
#[track_caller]
fn binomial(count: usize, n: usize, p: f64) {
    let (mean, deviation) = (n as f64 * p, (n as f64 * p * (1.0 - p)).sqrt());
    assert!((count as f64 - mean).abs() <= 6.0 * deviation + 1e-9, "{count} of {n}, wanted about {mean}");
}

#[test]
fn symmetric_noise_flips_to_every_other_class_alike() {
    let noisy = Noise::Symmetric { rate: 0.5 }.corrupt(&data(40_000, 5), 3).unwrap();
    binomial(noisy.realised.wrong, 40_000, 0.5);
    for (truth, row) in noisy.realised.counts.iter().enumerate() {
        for (given, &count) in row.iter().enumerate() {
            binomial(count, 8_000, if truth == given { 0.5 } else { 0.125 });
        }
    }
}

#[test]
fn pair_noise_flips_to_the_next_class_only() {
    let noisy = Noise::Pair { rate: 0.35 }.corrupt(&data(30_000, 3), 4).unwrap();
    for (truth, row) in noisy.realised.counts.iter().enumerate() {
        binomial(row[(truth + 1) % 3], 10_000, 0.35);
        assert_eq!(row[(truth + 2) % 3], 0);
    }
}

#[test]
fn uniform_all_redraws_over_all_classes_so_its_real_rate_is_lower() {
    let noise = Noise::UniformAll { rate: 0.4 };
    let noisy = noise.corrupt(&data(40_000, 4), 5).unwrap();
    assert!((noise.expected_rate(4).unwrap() - 0.3).abs() < 1e-12);
    binomial(noisy.realised.wrong, 40_000, 0.3);
}

#[test]
fn exact_noise_flips_exactly_as_many() {
    for (n, rate, flips) in
        [(1000, 0.2, 200), (1000, 0.2999, 299), (7, 0.5, 3), (10, 0.0, 0), (10, 1.0, 10), (100, 0.29, 29)]
    {
        let noisy = Noise::Exact { rate }.corrupt(&data(n, 3), 6).unwrap();
        assert_eq!(noisy.realised.wrong, flips, "n {n}, rate {rate}");
    }
}

#[test]
fn exact_per_class_flips_exactly_as_many_in_every_class() {
    let noisy = Noise::ExactPerClass { rate: 0.25 }.corrupt(&data(400, 4), 7).unwrap();
    for (class, row) in noisy.realised.counts.iter().enumerate() {
        assert_eq!(row[class], 75, "class {class}");
    }
}

#[test]
fn a_matrix_is_followed() {
    let transition = Transition::new(vec![vec![0.9, 0.1, 0.0], vec![0.0, 1.0, 0.0], vec![0.3, 0.3, 0.4]]).unwrap();
    let noisy = Noise::Matrix(transition.clone()).corrupt(&data(30_000, 3), 8).unwrap();
    for (row, wanted) in noisy.realised.counts.iter().zip(&transition.to_dense()) {
        row.iter().zip(wanted).for_each(|(&count, &p)| binomial(count, 10_000, p));
    }
    let found = noisy.realised.transition().unwrap();
    assert!((found.rate(&[1.0 / 3.0; 3]).unwrap() - noisy.realised.rate()).abs() < 1e-12);
}

#[test]
fn per_sample_probabilities_are_followed() {
    let rows: Vec<f64> = (0..30).flat_map(|i| if i < 10 { [1.0, 0.0, 0.0] } else { [0.0, 0.0, 1.0] }).collect();
    let noisy = Noise::PerSample(rows).corrupt(&data(30, 3), 9).unwrap();
    assert!(noisy.data.given().iter().enumerate().all(|(i, &label)| label == if i < 10 { 0 } else { 2 }));
}

#[test]
fn instance_noise_keeps_its_mean_rate_and_depends_on_the_sample() {
    let noisy = Noise::Instance { rate: 0.3 }.corrupt(&data(20_000, 4), 10).unwrap();
    binomial(noisy.realised.wrong, 20_000, 0.3);
    // Two samples alike in everything get the same distribution of targets, up to their own flip rates.
    let same =
        Dataset::new(vec![1.0f32, -2.0, 1.0, -2.0, 0.5, 3.0], Shape::Flat(2), vec![0, 0, 0], ["a", "b", "c"]).unwrap();
    let p = tares_core::noise::instance::probabilities(&same, 0.3, &mut stream(1, "noise")).unwrap();
    let target = |i: usize| p[i * 3 + 1] / (p[i * 3 + 1] + p[i * 3 + 2]);
    assert!((target(0) - target(1)).abs() < 1e-12 && (target(0) - target(2)).abs() > 1e-3);
    for rate in [0.0, 1.0] {
        let all = Noise::Instance { rate }.corrupt(&data(100, 3), 1).unwrap();
        assert_eq!(all.realised.rate(), rate);
    }
}

#[test]
fn the_same_seed_gives_the_same_labels_whatever_is_drawn_elsewhere() {
    let data = data(500, 10);
    for name in &NAMES[1..] {
        let noise: Noise = format!("{name}:0.4").parse().unwrap();
        let first = noise.corrupt(&data, 42).unwrap();
        let mut other = stream(42, "order");
        other.permutation(1000);
        assert_eq!(noise.corrupt(&data, 42).unwrap(), first, "{name}");
        assert_ne!(noise.corrupt(&data, 43).unwrap().data.given(), first.data.given(), "{name}");
    }
}

#[test]
fn the_truth_survives_a_second_corruption() {
    let clean = data(300, 3);
    let once = Noise::Pair { rate: 0.5 }.corrupt(&clean, 1).unwrap();
    let twice = Noise::Pair { rate: 0.5 }.corrupt(&once.data, 2).unwrap();
    assert_eq!(twice.data.truth(), Some(clean.given()));
    assert_eq!(twice.realised, Realised::between(clean.given(), twice.data.given(), 3).unwrap());
}

#[test]
fn no_noise_changes_nothing() {
    let noisy = Noise::None.corrupt(&data(50, 2), 1).unwrap();
    assert_eq!((noisy.realised.wrong, noisy.realised.rate()), (0, 0.0));
}

#[test]
fn names_are_read_as_they_are_written() {
    assert_eq!("none".parse::<Noise>().unwrap().to_string(), "none");
    for name in &NAMES[1..] {
        let text = format!("{name}:0.35");
        assert_eq!(text.parse::<Noise>().unwrap().to_string(), text);
    }
    let say = |text: &str| text.parse::<Noise>().unwrap_err().to_string();
    assert_eq!(say("pair:1.2"), "noise rate must be in [0, 1], got 1.2");
    assert_eq!(say("pair:NaN"), "noise rate must be in [0, 1], got NaN");
    assert_eq!(say("pair:x"), "parameter of noise pair must be a number, as in pair:0.5, got x");
    assert_eq!(say("symetric:0.5"), "unknown noise 'symetric': did you mean symmetric?");
}

#[test]
fn what_does_not_fit_the_data_is_an_error() {
    let data = data(10, 3);
    let say = |noise: Noise| noise.corrupt(&data, 1).unwrap_err().to_string();
    assert_eq!(say(Noise::PerSample(vec![1.0; 4])), "label probabilities must have 30 entries, got 4");
    let mut rows = vec![1.0 / 3.0; 30];
    rows[16] = 0.5;
    assert!(say(Noise::PerSample(rows)).starts_with("sum of label probabilities must be 1, got 1.16"));
    assert_eq!(say(Noise::Symmetric { rate: -0.1 }), "noise rate must be in [0, 1], got -0.1");
    let two = Transition::pair(2, 0.1).unwrap();
    assert_eq!(say(Noise::Matrix(two)), "label must be in 0..2, got 2 at row 2");
}
