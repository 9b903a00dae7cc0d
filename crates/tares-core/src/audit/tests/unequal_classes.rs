//! Rare classes, and classes that overlap.

use super::*;

/// A judge of two classes that says `believed` (times e^(noise)) of the second one, and e^`lift` times as much where it is
/// right; every 43rd row of 11,183 is of the second class, and no label is wrong.
pub(super) fn rare_class(believed: f64, lift: f64, seed: u64) -> (Vec<f32>, Vec<Label>) {
    let mut draws = stream(seed, "rare class");
    let (mut probs, mut given) = (Vec::new(), Vec::new());
    for row in 0..11_183 {
        let rare = row % 43 == 0;
        let odds = believed / (1.0 - believed) * (0.5 * draws.normal() + if rare { lift } else { 0.0 }).exp();
        let second = odds / (1.0 + odds);
        probs.extend([(1.0 - second) as f32, second as f32]);
        given.push(Label::from(rare));
    }
    (probs, given)
}

/// The judge names the rare class in none of its rows, as a robust loss makes it: that is no reason to call them wrong.
#[test]
fn a_rare_class_that_the_judge_never_names_is_not_emptied() {
    for (believed, lift) in [(1e-6, 0.0), (1e-6, 2.0), (1e-3, 3.0), (0.023, 1.0), (0.023, 2.0)] {
        for seed in [1, 2] {
            let (probs, given) = rare_class(believed, lift, seed);
            let found = audit(&ProbabilityMatrix::new(&probs, 2).unwrap(), &given, Detector::Posterior).unwrap();
            let rare = found.per_class[1];
            assert!(2 * rare.suspects < rare.rows, "{believed} {lift}: {rare:?} {:?}", found.estimate);
            assert!(found.cautions().iter().any(Caution::is_about_the_judge), "{:?}", found.cautions());
        }
    }
}

/// The predictions of a judge without skill look like wrong labels; they always come with a warning.
#[test]
fn a_class_is_never_emptied_without_a_caution() {
    for believed in [1e-3, 0.023, 0.1] {
        let (probs, given) = rare_class(believed, 0.0, 3);
        for method in [Detector::Posterior, Detector::Confident, Detector::Argmax] {
            let found = audit(&ProbabilityMatrix::new(&probs, 2).unwrap(), &given, method).unwrap();
            for (class, quality) in found.per_class.iter().enumerate() {
                let said =
                    found.cautions().iter().any(|c| matches!(c, Caution::Emptied { class: c, .. } if *c == class));
                assert_eq!(said, 2 * quality.suspects > quality.rows, "{believed} {method} {quality:?}");
            }
        }
    }
}

/// A frequent class is often mistaken for a rare one, so that most labels of the rare class are wrong.
#[test]
fn a_rare_class_does_not_capture_the_frequent_one_that_is_mistaken_for_it() {
    let sizes = [1100, 180, 2000, 30, 130, 140, 75, 170];
    let classes = sizes.len();
    for (seed, strength) in [(0, 4.0), (1, 4.0), (2, 3.0), (3, 5.0)] {
        let mut draws = stream(seed, "rare");
        let dense = Transition::pair(classes, 0.2).unwrap().to_dense();
        let mut case = Case { probs: Vec::new(), given: Vec::new(), truth: Vec::new() };
        for (class, &rows) in sizes.iter().enumerate() {
            for _ in 0..rows {
                let logits = (0..classes).map(|z| draws.normal() + if z == class { strength } else { 0.0 });
                let shares: Vec<f64> =
                    logits.zip(sizes).map(|(logit, size)| (strength * logit).exp() * size as f64).collect();
                let total: f64 = shares.iter().sum();
                let p = |y: usize| (0..classes).map(|z| shares[z] / total * dense[z][y]).sum::<f64>();
                case.probs.extend((0..classes).map(p));
                case.truth.push(class as Label);
                case.given.push(draws.weighted(&dense[class]) as Label);
            }
        }
        let table = ProbabilityMatrix::new(&case.probs, classes).unwrap();
        let found = audit(&table, &case.given, Detector::Posterior).unwrap();
        let plain = audit(&table, &case.given, Detector::Argmax).unwrap();
        assert!(f1(&case, &found) > 0.95, "seed {seed}: {}", f1(&case, &found));
        assert!(f1(&case, &found) >= f1(&case, &plain), "seed {seed}: {}", f1(&case, &plain));
        assert!((found.estimate.rate - 0.2).abs() < 0.02, "seed {seed}: {}", found.estimate.rate);
    }
}

/// Two overlapping classes: the nearer a row is to the border, the less a judge can know. A tenth of the labels is wrong.
#[test]
fn hard_rows_do_not_fill_the_list_of_suspects() {
    for seed in 0..5 {
        let mut draws = stream(seed, "hard rows");
        let mut case = Case { probs: Vec::new(), given: Vec::new(), truth: Vec::new() };
        for _ in 0..4000 {
            let sure = 0.5 + 0.5 * draws.unit();
            let truth = u32::from(!draws.chance(sure));
            let told = 0.9 * sure + 0.1 * (1.0 - sure);
            case.probs.extend([told, 1.0 - told]);
            case.truth.push(truth);
            case.given.push(if draws.chance(0.1) { 1 - truth } else { truth });
        }
        let table = ProbabilityMatrix::new(&case.probs, 2).unwrap();
        let all = audit(&table, &case.given, Detector::Posterior).unwrap();
        let mut found = all.clone();
        found.refine(&case.probs, &case.given).unwrap();
        assert!(found.estimate.rate < all.estimate.rate && found.suspects.len() < all.suspects.len(), "seed {seed}");
        assert_eq!(found.suspects.len(), (found.estimate.rate * 4000.0).round() as usize);
        assert_eq!(found.suspects[..], all.suspects[..found.suspects.len()], "the worst are kept");
        assert_eq!(found.per_class.iter().map(|class| class.suspects).sum::<usize>(), found.suspects.len());
        assert_eq!(found.merely_hard, all.suspects.len() - found.suspects.len());
        assert!(found.cautions().iter().any(|caution| matches!(caution, Caution::MerelyHard { .. })), "it is said");
        assert!(f1(&case, &found) > f1(&case, &all), "seed {seed}: {} {}", f1(&case, &found), f1(&case, &all));
    }
}
