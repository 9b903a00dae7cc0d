use super::*;
use crate::stream::stream;

/// Rows of normal logits; labels at random.
pub(in crate::estimate::posterior) fn case(rows: usize, classes: usize) -> (Vec<f32>, Vec<Label>) {
    let mut draws = stream(7, "judge");
    let (mut probs, mut given) = (Vec::new(), Vec::new());
    for _ in 0..rows {
        let truth = draws.below(classes);
        let weight = |class, z: f64| (2.0 * z + if class == truth { 5.0 } else { 0.0 }).exp();
        let weights: Vec<f64> = (0..classes).map(|class| weight(class, draws.normal())).collect();
        let total: f64 = weights.iter().sum();
        probs.extend(weights.iter().map(|w| (w / total) as f32));
        given.push(if draws.chance(0.2) { draws.below(classes) } else { truth } as Label);
    }
    (probs, given)
}

/// Powers of all probabilities of a row are what a list of its informative classes says.
#[test]
fn a_row_judged_by_powers_is_judged_as_by_its_informative_classes() {
    use crate::estimate::posterior::noise_model::NoiseModel;
    for classes in [300, 1000, 2100] {
        let (probs, given) = case(300, classes);
        let noise = NoiseModel::symmetric(classes, 0.2);
        let judge = Judge::new(noise.columns(), classes, ClassLikelihood::new(&[], &[], 0.0, 2.0, classes));
        for (row, &label) in probs.chunks_exact(classes).zip(&given) {
            let got = judge.row(row, label);
            let Entries { mut informative, mut likelihoods, .. } = Entries::default();
            informative.find(row, label as usize, RowSummary::of(row).max);
            let Informative { names, values, .. } = &mut informative;
            entry_log_ratios(values, classes);
            judge.likelihood.of_entries(names, values, &mut likelihoods);
            let column = judge.columns.of(label as usize, classes);
            let joint = |at: usize| f64::from(likelihoods[at] * column.at(names[at]));
            let total: f64 = (0..names.len()).map(joint).sum();
            let own = names.iter().position(|&name| name == label).unwrap();
            assert!((got.right - joint(own) / total).abs() < 1e-5, "{classes}: {} {}", got.right, joint(own) / total);
            let others = (0..names.len()).filter(|&at| at != own);
            let best = others.clone().map(joint).fold(0.0, f64::max);
            let suggested = names.iter().position(|&name| name == got.suggested).unwrap();
            assert!(joint(suggested) >= best * (1.0 - 1e-5), "{classes}");
            assert_eq!(got.contradicted, likelihoods[own] < 1.0);
            assert!((judge.probability(row, label, label) - got.right).abs() < 1e-5);
        }
    }
}

/// The formulas of `posterior` and `likelihood.rs`, in 64 bits and without lanes.
#[test]
fn the_judgement_is_what_the_formulas_say() {
    use crate::estimate::posterior::{likelihood::FLOOR, noise_model::NoiseModel};
    let classes = 4;
    let (probs, given) = case(500, classes);
    let prototypes: Vec<f64> = (0..16).map(|place| if place / 4 == place % 4 { 0.7 } else { 0.1 }).collect();
    let transition = |class: usize, given: usize| if given == class { 0.85 } else { 0.05 };
    let noise = NoiseModel::symmetric(classes, 0.15);
    let (share, sharpness) = (0.5, 2.5);
    let judge =
        Judge::new(noise.columns(), classes, ClassLikelihood::new(&prototypes, &[1.0; 4], share, sharpness, classes));
    for (row, &label) in probs.chunks_exact(classes).zip(&given) {
        // Another test covers rows with negligible entries.
        if row.iter().any(|&p| p < 2e-3) {
            continue;
        }
        let b = |class: usize| {
            let mixed = |s: usize| share * prototypes[class * 4 + s] + if s == class { 1.0 - share } else { 0.0 };
            let divergence: f64 = (0..4).map(|s| mixed(s) * (mixed(s) / (f64::from(row[s]) + FLOOR)).ln()).sum();
            (-sharpness * divergence).exp()
        };
        let joint = |class: usize| b(class) * transition(class, label as usize);
        let right = joint(label as usize) / (0..4).map(joint).sum::<f64>();
        let got = judge.row(row, label);
        assert!((got.right - right).abs() < 1e-5 * right.max(1e-3), "{} {right}", got.right);
        let others = (0..4).filter(|&class| class != label as usize);
        let best = others.max_by(|&x, &y| joint(x).total_cmp(&joint(y))).unwrap();
        assert_eq!(got.suggested as usize, best);
        assert_eq!(got.contradicted, (0..4).any(|class| b(class) > b(label as usize)));
    }
}
