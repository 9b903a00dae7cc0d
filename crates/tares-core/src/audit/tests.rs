use super::*;
use crate::estimate::ProbabilityMatrix;
use crate::estimate::row::largest;
use crate::metric::Retrieval;
use crate::noise::Transition;
use crate::stream::{Stream, stream};

mod unequal_classes;

/// A classifier of `classes` classes with normal logits around the truth, and labels drawn from `matrix`.
struct Case {
    probs: Vec<f64>,
    given: Vec<Label>,
    truth: Vec<Label>,
}

fn case(rows: usize, matrix: &Transition, strength: f64, draws: &mut Stream) -> Case {
    let (classes, dense) = (matrix.classes(), matrix.to_dense());
    let (mut probs, mut given, mut truth) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rows {
        let z = draws.below(classes);
        let logits: Vec<f64> =
            (0..classes).map(|class| draws.normal() + if class == z { strength } else { 0.0 }).collect();
        // The posterior under this model, blurred by the noise, is what a classifier trained on the labels learns.
        let weights: Vec<f64> = logits.iter().map(|logit| (strength * logit).exp()).collect();
        let total: f64 = weights.iter().sum();
        let start = probs.len();
        probs.resize(start + classes, 0.0);
        let row = &mut probs[start..];
        // Of a thousand classes nearly all have no weight to speak of.
        for class in (0..classes).filter(|&class| weights[class] > 1e-6 * total) {
            row.iter_mut().zip(&dense[class]).for_each(|(p, part)| *p += weights[class] / total * part);
        }
        let sum: f64 = row.iter().sum();
        row.iter_mut().for_each(|p| *p /= sum);
        truth.push(z as Label);
        given.push(draws.weighted(&dense[z]) as Label);
    }
    Case { probs, given, truth }
}

fn f1(case: &Case, audit: &Audited) -> f64 {
    let wrong: Vec<bool> = case.given.iter().zip(&case.truth).map(|(a, b)| a != b).collect();
    let flagged: Vec<u32> = audit.suspects.iter().map(|s| s.index as u32).collect();
    Retrieval::new(&flagged, &wrong).unwrap().f1().unwrap()
}

#[test]
fn class_dependent_noise_is_counted_and_found() {
    for (name, matrix) in [
        ("symmetric 20 %", Transition::symmetric(5, 0.2).unwrap()),
        ("pair 10 %", Transition::pair(5, 0.1).unwrap()),
        ("symmetric 40 %", Transition::symmetric(5, 0.4).unwrap()),
    ] {
        let case = case(6000, &matrix, 4.0, &mut stream(1, name));
        let table = ProbabilityMatrix::new(&case.probs, 5).unwrap();
        let found = audit(&table, &case.given, Detector::Posterior).unwrap();
        let rate = case.given.iter().zip(&case.truth).filter(|(a, b)| a != b).count() as f64 / 6000.0;
        assert!((found.estimate.rate - rate).abs() < 0.02, "{name}: {} for {rate}", found.estimate.rate);
        assert!(
            found.estimate.interval.0 <= rate && rate <= found.estimate.interval.1,
            "{name}: {:?}",
            found.estimate.interval
        );
        let ours = f1(&case, &found);
        let argmax = f1(&case, &audit(&table, &case.given, Detector::Argmax).unwrap());
        assert!(ours > 0.93 && ours > argmax - 0.005, "{name}: {ours} against {argmax}");
    }
}

/// Cats called dogs and dogs called cats: their prototypes must not become one.
#[test]
fn classes_that_are_taken_for_each_other_are_told_apart() {
    let part = |class: usize, given: usize| match class ^ given {
        0 => 0.6,
        1 => 0.4,
        _ => 0.0,
    };
    let row = |class: usize| (0..6).map(|given| part(class, given)).collect();
    let matrix = Transition::new((0..6).map(row).collect()).unwrap();
    let case = case(6000, &matrix, 5.0, &mut stream(5, "test"));
    let table = ProbabilityMatrix::new(&case.probs, 6).unwrap();
    let found = audit(&table, &case.given, Detector::Posterior).unwrap();
    let (ours, argmax) = (f1(&case, &found), f1(&case, &audit(&table, &case.given, Detector::Argmax).unwrap()));
    assert!(ours > argmax - 0.01 && ours > 0.9, "{ours} against {argmax}");
    assert!((found.estimate.rate - 0.4).abs() < 0.03, "{}", found.estimate.rate);
}

/// Of a million kinds of mistakes nearly all are unseen, and with so many classes a little belief in each is much.
#[test]
fn a_thousand_classes_with_ten_rows_each() {
    let case = case(10_000, &Transition::symmetric(1000, 0.2).unwrap(), 4.5, &mut stream(4, "test"));
    let found = audit(&ProbabilityMatrix::new(&case.probs, 1000).unwrap(), &case.given, Detector::Posterior).unwrap();
    assert!((found.estimate.rate - 0.2).abs() < 0.06, "{}", found.estimate.rate);
    assert!(f1(&case, &found) > 0.85, "{}", f1(&case, &found));
}

#[test]
fn clean_labels_of_a_good_classifier_are_left_alone() {
    let case = case(5000, &Transition::identity(4).unwrap(), 5.0, &mut stream(2, "test"));
    let found = audit(&ProbabilityMatrix::new(&case.probs, 4).unwrap(), &case.given, Detector::Posterior).unwrap();
    assert!(found.estimate.rate < 0.01, "{}", found.estimate.rate);
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let case = case(30_000, &Transition::symmetric(6, 0.2).unwrap(), 3.0, &mut stream(3, "test"));
    let table = ProbabilityMatrix::new(&case.probs, 6).unwrap();
    for detector in [Detector::Posterior, Detector::Confident, Detector::Argmax] {
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| audit(&table, &case.given, detector).unwrap())
        };
        let (one, three) = (run(1), run(3));
        assert_eq!(one.suspects, three.suspects);
        assert_eq!(one.estimate, three.estimate);
    }
}

/// A classifier that learnt from 40 % of the cats called dogs says so of every cat, a little more or less: its first choice
/// is often the label and seldom the truth.
#[test]
fn heavy_pair_noise_is_seen_through() {
    let mut draws = stream(7, "test");
    let mut case = case(6000, &Transition::pair(5, 0.4).unwrap(), 4.0, &mut draws);
    for row in case.probs.chunks_exact_mut(5) {
        row.iter_mut().for_each(|p| *p *= (0.4 * draws.normal()).exp());
        let total: f64 = row.iter().sum();
        row.iter_mut().for_each(|p| *p /= total);
    }
    let table = ProbabilityMatrix::new(&case.probs, 5).unwrap();
    let found = audit(&table, &case.given, Detector::Posterior).unwrap();
    assert!((found.estimate.rate - 0.4).abs() < 0.03, "{}", found.estimate.rate);
    let [argmax, confident] = [Detector::Argmax, Detector::Confident]
        .map(|detector| f1(&case, &audit(&table, &case.given, detector).unwrap()));
    let ours = f1(&case, &found);
    assert!(ours > 0.93 && ours > argmax.max(confident) + 0.05, "{ours} against {argmax} and {confident}");
}

/// A classifier that is wrong about one row in ten but rightly sure of many others: that is not noise.
#[test]
fn a_weak_classifier_of_clean_labels_is_not_taken_for_noise() {
    let case = case(6000, &Transition::identity(5).unwrap(), 2.0, &mut stream(8, "test"));
    let found = audit(&ProbabilityMatrix::new(&case.probs, 5).unwrap(), &case.given, Detector::Posterior).unwrap();
    let disagreement = found.overview.disagreement();
    assert!(disagreement > 0.08, "{disagreement}");
    assert!(found.estimate.uniform_rate < 0.05, "{}", found.estimate.uniform_rate);
    assert!(found.estimate.rate < 0.5 * disagreement, "{}", found.estimate.rate);
}

/// Labels drawn from the classifier's own doubts, the truth being its first choice: a sure classifier of doubtful labels looks
/// exactly like an unsure one of right labels. The rate cannot be determined, but the interval shows that.
#[test]
fn the_band_holds_what_probabilities_cannot_tell() {
    let mut draws = stream(9, "test");
    let mut case = case(6000, &Transition::identity(5).unwrap(), 2.6, &mut draws);
    for (row, (given, truth)) in case.probs.chunks_exact(5).zip(case.given.iter_mut().zip(&mut case.truth)) {
        *truth = largest(row).0 as Label;
        *given = draws.weighted(row) as Label;
    }
    let found =
        audit(&ProbabilityMatrix::new(&case.probs, 5).unwrap(), &case.given, Detector::Posterior).unwrap().estimate;
    let rate = case.given.iter().zip(&case.truth).filter(|(a, b)| a != b).count() as f64 / 6000.0;
    assert!(found.interval.0 < 0.01 && 0.75 * rate < found.interval.1, "{rate} {found:?}");
}

#[test]
fn suspects_are_ranked_worst_first_and_look_like_another_class() {
    let case = case(4000, &Transition::pair(4, 0.2).unwrap(), 3.0, &mut stream(4, "test"));
    let table = ProbabilityMatrix::new(&case.probs, 4).unwrap();
    for score in Score::NAMES {
        let found = audit_ranked(&table, &case.given, Detector::Posterior, score.parse().unwrap()).unwrap();
        assert!(found.suspects.windows(2).all(|pair| pair[0].score <= pair[1].score), "{score}");
        for s in &found.suspects {
            assert_ne!(s.suggested, s.given);
            let verdict = found.model.judge(&case.probs[s.index * 4..][..4], s.given);
            assert!(verdict.contradicted && verdict.suggested == s.suggested);
        }
        let total: usize = found.per_class.iter().map(|class| class.suspects).sum();
        assert_eq!(total, found.suspects.len());
    }
}

#[test]
fn rare_missing_and_single_classes_break_nothing() {
    let mut case = case(3000, &Transition::symmetric(4, 0.1).unwrap(), 4.0, &mut stream(5, "test"));
    // Class 3 becomes a single row; class 2 disappears.
    for (i, label) in case.given.iter_mut().enumerate() {
        if *label >= 2 {
            *label = if i == 0 { 3 } else { (i % 2) as Label };
        }
    }
    let table = ProbabilityMatrix::new(&case.probs, 4).unwrap();
    for detector in [Detector::Posterior, Detector::Confident, Detector::Argmax] {
        let found = audit(&table, &case.given, detector).unwrap();
        assert!(found.estimate.rate.is_finite() && found.suspects.iter().all(|s| s.score.is_finite()), "{detector}");
    }
    // One row, one class given.
    let found = audit(&ProbabilityMatrix::new(&[0.2, 0.8], 2).unwrap(), &[0], Detector::Posterior).unwrap();
    assert!(found.suspects.len() <= 1);
}

#[test]
fn uniform_and_one_hot_probabilities_break_nothing() {
    let given: Vec<Label> = (0..300).map(|i| i % 3).collect();
    let flat = vec![1.0 / 3.0; 900];
    let sure: Vec<f64> = given.iter().flat_map(|&y| (0..3).map(move |k| f64::from(u8::from(k == y)))).collect();
    for probs in [flat, sure] {
        for detector in [Detector::Posterior, Detector::Confident, Detector::Argmax] {
            let found = audit(&ProbabilityMatrix::new(&probs, 3).unwrap(), &given, detector).unwrap();
            assert!(found.estimate.rate.is_finite() && found.estimate.rate <= 1.0, "{detector}");
        }
    }
}

#[test]
fn scores_of_all_rows_agree_with_those_of_the_suspects() {
    let case = case(2000, &Transition::symmetric(3, 0.2).unwrap(), 3.0, &mut stream(6, "test"));
    let table = ProbabilityMatrix::new(&case.probs, 3).unwrap();
    let found = audit(&table, &case.given, Detector::Posterior).unwrap();
    let scores = found.scores(&table, &case.given, Score::Posterior).unwrap();
    assert!(found.suspects.iter().all(|s| scores[s.index] == s.score));
}

#[test]
fn rate_interval_and_number_of_suspects_agree() {
    let mut cases: Vec<(String, Vec<f32>, Vec<Label>, usize)> = Vec::new();
    for (believed, lift) in [(1e-6, 0.0), (1e-3, 1.0), (0.023, 0.0), (0.1, 1.0)] {
        let (probs, given) = unequal_classes::rare_class(believed, lift, 4);
        cases.push((format!("rare {believed} {lift}"), probs, given, 2));
    }
    for (rate, strength) in [(0.0, 5.0), (0.0, 2.0), (0.05, 3.0), (0.2, 3.0), (0.4, 4.0)] {
        let made = case(3000, &Transition::symmetric(4, rate).unwrap(), strength, &mut stream(9, "agree"));
        let probs = made.probs.iter().map(|&p| p as f32).collect();
        cases.push((format!("symmetric {rate} {strength}"), probs, made.given, 4));
    }
    for (name, probs, given, classes) in cases {
        for method in [Detector::Posterior, Detector::Confident, Detector::Argmax] {
            let found = audit(&ProbabilityMatrix::new(&probs, classes).unwrap(), &given, method).unwrap();
            let (rate, (low, high)) = (found.estimate.rate, found.estimate.interval);
            assert!(low <= rate && rate <= high && low < high, "{name} {method}: {rate} in {low} to {high}");
            // Every suspect is at least a quarter of a wrong label.
            let most = 4.0 * rate * given.len() as f64 + 1e-3;
            assert!(found.suspects.len() as f64 <= most, "{name} {method}: {} of {most}", found.suspects.len());
        }
    }
}

/// What an audit says, by the names of rows.
fn by_name(found: &Audited, name: impl Fn(usize) -> usize) -> (Estimate, Vec<(usize, Label, u64)>) {
    let mut suspects: Vec<_> = found.suspects.iter().map(|s| (name(s.index), s.suggested, s.score.to_bits())).collect();
    suspects.sort_unstable();
    (found.estimate.clone(), suspects)
}

/// So many rows that a sample is drawn, in another order: with ids nothing changes, not a bit.
#[test]
fn rows_with_ids_get_the_same_verdicts_in_any_order() {
    use crate::estimate::{ListedIds, MissingRows};
    let case = case(45_000, &Transition::symmetric(4, 0.2).unwrap(), 3.0, &mut stream(8, "test"));
    let run = |order: &[usize], missing: MissingRows| {
        let probs: Vec<f64> = order.iter().flat_map(|&row| case.probs[4 * row..4 * row + 4].to_vec()).collect();
        let given: Vec<Label> = order.iter().map(|&row| case.given[row]).collect();
        let ids: Vec<String> = order.iter().map(|row| format!("row {row}")).collect();
        let ids = ListedIds { ids: &ids, seed: 0 };
        let options = AuditOptions { ids: Some(&ids), missing, ..AuditOptions::default() };
        let found = audit_with(&ProbabilityMatrix::new(&probs, 4).unwrap(), &given, &options).unwrap();
        by_name(&found, |index| order[index])
    };
    let (straight, mixed) = ((0..45_000).collect::<Vec<_>>(), stream(9, "test").permutation(45_000));
    let expected = run(&straight, MissingRows::Refuse);
    assert!(expected.1.len() > 5000, "{}", expected.1.len());
    assert_eq!(run(&mixed, MissingRows::Refuse), expected);
    assert_eq!(run(&mixed, MissingRows::Skip), expected);
}

/// Partitions of any number and size, each judged on its own with a model that was sent as bytes.
#[test]
fn parts_on_many_machines_are_the_audit_of_one() {
    use crate::estimate::{Draw, DrawnRows, ListedIds, MissingRows};
    let case = case(40_000, &Transition::pair(5, 0.1).unwrap(), 3.0, &mut stream(10, "test"));
    let (probs, given) = (&case.probs, &case.given);
    let ids: Vec<String> = (0..given.len()).map(|row| row.to_string()).collect();
    let listed = ListedIds { ids: &ids, seed: 7 };
    let options = AuditOptions { ids: Some(&listed), ..AuditOptions::default() };
    let whole = audit_with(&ProbabilityMatrix::new(probs, 5).unwrap(), given, &options).unwrap();
    let counts = &whole.overview.counts;
    let draw = Draw::of(counts).unwrap();
    for bounds in [vec![0, 40_000], vec![0, 0, 1, 17, 17, 30_000, 39_999, 40_000]] {
        let parts: Vec<_> = bounds.windows(2).map(|pair| pair[0]..pair[1]).collect();
        let mut drawn = DrawnRows::new(5);
        // In another order than the rows have.
        for part in parts.iter().rev() {
            let mut own = DrawnRows::new(5);
            for row in part.clone() {
                let key = crate::row_key(7, &ids[row]);
                if draw.takes(given[row], key) {
                    own.add(key, given[row], &probs[5 * row..5 * row + 5]);
                }
            }
            drawn.merge(DrawnRows::from_bytes(&own.to_bytes().unwrap()).unwrap());
        }
        let model = Posterior::from_bytes(&drawn.fit(counts).unwrap().to_bytes()).unwrap();
        let (mut totals, mut suspects) = (None::<PartCounts>, Vec::new());
        for part in parts {
            let rows = ProbabilityMatrix::new(&probs[5 * part.start..5 * part.end], 5).unwrap();
            let judged =
                AuditPart::judge(&model, part.start, &rows, &given[part], Score::Posterior, MissingRows::Refuse)
                    .unwrap();
            let counts = PartCounts::from_bytes(&judged.counts.to_bytes().unwrap()).unwrap();
            match &mut totals {
                Some(totals) => totals.merge(counts),
                none => *none = Some(counts),
            }
            suspects.extend(judged.suspects);
        }
        let totals = totals.unwrap().finish(&model).unwrap();
        assert_eq!((&totals.overview, &totals.estimate), (&whole.overview, &whole.estimate));
        assert_eq!(totals.per_class, whole.per_class);
        suspects.sort_by(|a, b| a.score.total_cmp(&b.score).then(a.index.cmp(&b.index)));
        assert_eq!(suspects, whole.suspects);
    }
}

#[test]
fn rows_without_label_or_probability_are_left_out_and_counted() {
    use crate::estimate::{MissingRows, NO_LABEL};
    let mut case = case(3000, &Transition::symmetric(3, 0.2).unwrap(), 3.0, &mut stream(11, "test"));
    let skip = AuditOptions { missing: MissingRows::Skip, ..AuditOptions::default() };
    let table = ProbabilityMatrix::new(&case.probs, 3).unwrap();
    let plain = audit(&table, &case.given, Detector::Posterior).unwrap();
    assert_eq!(by_name(&audit_with(&table, &case.given, &skip).unwrap(), |row| row), by_name(&plain, |row| row));
    // Rows that lack something, put in between.
    for row in [0usize, 1, 700, 2999] {
        case.probs.splice(3 * row..3 * row, [f64::NAN, 0.5, 0.5]);
        case.given.insert(row, 1);
        case.probs.splice(3 * row..3 * row, [0.2, 0.3, 0.5]);
        case.given.insert(row, NO_LABEL);
    }
    let table = ProbabilityMatrix::new(&case.probs, 3).unwrap();
    let found = audit_with(&table, &case.given, &skip).unwrap();
    assert_eq!((found.missing, found.overview.rows), (8, 3000));
    // Four of them have a label, which counts in the weight of the drawn rows; so the model differs by a trace.
    assert!(found.suspects.len().abs_diff(plain.suspects.len()) <= 3, "{}", found.suspects.len());
    assert!((found.estimate.rate - plain.estimate.rate).abs() < 1e-3);
    let refused = audit(&table, &case.given, Detector::Posterior).unwrap_err().to_string();
    assert!(refused.contains("at row"), "{refused}");
    let argmax = AuditOptions { detector: Detector::Argmax, ..skip };
    assert!(
        audit_with(&table, &case.given, &argmax).unwrap_err().to_string().contains("refused with another detector")
    );
}

#[test]
fn full_agreement_is_suspicious_unless_rows_were_held_out() {
    let probs: Vec<f64> = (0..400).flat_map(|row| if row % 2 == 0 { [0.999, 0.001] } else { [0.001, 0.999] }).collect();
    let given: Vec<Label> = (0..400).map(|row| row % 2).collect();
    let mut found = audit(&ProbabilityMatrix::new(&probs, 2).unwrap(), &given, Detector::Posterior).unwrap();
    assert!(matches!(found.cautions()[..], [Caution::InSample { .. }]), "{:?}", found.cautions());
    found.out_of_fold = true;
    assert!(matches!(found.cautions()[..], [Caution::HardlyAnyDoubt { .. }]), "{:?}", found.cautions());
    // The column that tells the labels explains it.
    found.about_rows.push(Caution::GivenAway { column: "code".into(), agreement: 1.0 });
    assert!(matches!(found.cautions()[..], [Caution::GivenAway { .. }]), "{:?}", found.cautions());
}
