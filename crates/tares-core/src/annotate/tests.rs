//! Laws of the consensus.

use super::*;
use crate::stream;

/// Answers of annotators with different skills, and a classifier: (answers, probabilities, truth).
fn crowd(
    rows: usize,
    annotators: usize,
    classes: usize,
    per_row: usize,
    seed: u64,
) -> (Vec<Answer>, Vec<f64>, Vec<Label>) {
    let mut draw = stream(seed, "crowd");
    let skills: Vec<f64> = (0..annotators).map(|_| 0.35 + 0.6 * draw.unit()).collect();
    let (mut answers, mut probs, mut truth) = (Vec::new(), Vec::new(), Vec::new());
    for row in 0..rows {
        let class = draw.below(classes);
        truth.push(class as Label);
        for &annotator in draw.permutation(annotators).iter().take(per_row) {
            let right = draw.chance(skills[annotator]);
            // Everybody who errs on class z says z + 1 half of the time.
            let wrong = if draw.chance(0.5) { (class + 1) % classes } else { draw.below(classes) };
            answers.push(Answer { row, annotator, label: if right { class } else { wrong } as Label });
        }
        let guess = if draw.chance(0.75) { class } else { draw.below(classes) };
        let sure = 0.4 + 0.5 * draw.unit();
        probs.extend((0..classes).map(|k| if k == guess { sure } else { (1.0 - sure) / (classes - 1) as f64 }));
    }
    (answers, probs, truth)
}

fn accuracy(labels: &[Label], truth: &[Label]) -> f64 {
    labels.iter().zip(truth).filter(|(a, b)| a == b).count() as f64 / truth.len() as f64
}

const ALL: [Pooling; 4] = [Pooling::Posterior, Pooling::DawidSkene, Pooling::OneCoin, Pooling::Majority];

fn of(answers: &[Answer], rows: usize, annotators: usize, classes: usize) -> Answers {
    Answers::new(rows, annotators, classes, answers).unwrap()
}

#[test]
fn the_objective_never_falls() {
    for seed in 0..5 {
        let (answers, probs, _) = crowd(300, 12, 4, 3, seed);
        let answers = of(&answers, 300, 12, 4);
        let mut found: Vec<Consensus> = ALL.iter().map(|&way| consensus(&answers, way).unwrap()).collect();
        found.push(consensus_with(&answers, &ProbabilityMatrix::new(&probs, 4).unwrap()).unwrap());
        for found in &found {
            for pair in found.objectives.windows(2) {
                assert!(pair[1] >= pair[0] - 1e-9 * pair[0].abs(), "seed {seed}: {} fell to {}", pair[0], pair[1]);
            }
        }
        assert!(found[0].objectives.len() > 2);
    }
}

#[test]
fn skills_beat_votes_and_a_classifier_beats_both() {
    let (answers, probs, truth) = crowd(2000, 40, 5, 3, 7);
    let answers = of(&answers, 2000, 40, 5);
    let right = |way| accuracy(&consensus(&answers, way).unwrap().labels, &truth);
    let judged = consensus_with(&answers, &ProbabilityMatrix::new(&probs, 5).unwrap()).unwrap();
    let (votes, posterior, with) =
        (right(Pooling::Majority), right(Pooling::Posterior), accuracy(&judged.labels, &truth));
    assert!(posterior > votes + 0.02, "{posterior} {votes}");
    assert!(right(Pooling::OneCoin) > votes && right(Pooling::DawidSkene) > votes);
    assert!(with > posterior + 0.02, "{with} {posterior}");
    let sure: f64 = judged.confidence().sum::<f64>() / 2000.0;
    assert!((sure - with).abs() < 0.05, "says {sure}, is {with}");
}

#[test]
fn permuting_rows_and_annotators_permutes_the_answer() {
    let (answers, probs, _) = crowd(200, 10, 3, 3, 1);
    let mut draw = stream(2, "test");
    let (rows, people) = (draw.permutation(200), draw.permutation(10));
    let mut moved: Vec<Answer> = answers
        .iter()
        .map(|answer| Answer { row: rows[answer.row], annotator: people[answer.annotator], ..*answer })
        .collect();
    draw.shuffle(&mut moved);
    let mut moved_probs = vec![0.0; probs.len()];
    for (row, &to) in rows.iter().enumerate() {
        moved_probs[to * 3..to * 3 + 3].copy_from_slice(&probs[row * 3..row * 3 + 3]);
    }
    let (before, after) = (of(&answers, 200, 10, 3), of(&moved, 200, 10, 3));
    let mut pairs: Vec<(Consensus, Consensus)> =
        ALL.iter().map(|&way| (consensus(&before, way).unwrap(), consensus(&after, way).unwrap())).collect();
    let with = |answers, probs: &[f64]| consensus_with(answers, &ProbabilityMatrix::new(probs, 3).unwrap()).unwrap();
    pairs.push((with(&before, &probs), with(&after, &moved_probs)));
    for (before, after) in pairs {
        for (row, &to) in rows.iter().enumerate() {
            for class in 0..3 {
                let (a, b) = (before.posterior[row * 3 + class], after.posterior[to * 3 + class]);
                assert!((a - b).abs() < 1e-6, "row {row}: {a} {b}");
            }
        }
        for (who, &to) in people.iter().enumerate() {
            assert!((before.annotators[who].quality - after.annotators[to].quality).abs() < 1e-6);
        }
    }
}

#[test]
fn perfect_annotators_are_believed() {
    let mut draw = stream(5, "test");
    let truth: Vec<Label> = (0..100).map(|_| draw.below(4) as Label).collect();
    let answers: Vec<Answer> = (0..100)
        .flat_map(|row| (0..3).map(move |annotator| (row, annotator)))
        .map(|(row, annotator)| Answer { row, annotator, label: truth[row] })
        .collect();
    let answers = of(&answers, 100, 3, 4);
    for way in ALL {
        let found = consensus(&answers, way).unwrap();
        assert_eq!(found.labels, truth, "{way}");
        assert!(found.annotators.iter().all(|one| one.quality > 0.95 && one.agreement == Some(1.0)), "{way}");
        assert!(found.doubtful(&answers).is_empty());
    }
    // A classifier that knows nothing changes nothing.
    let flat = vec![0.25; 400];
    assert_eq!(consensus_with(&answers, &ProbabilityMatrix::new(&flat, 4).unwrap()).unwrap().labels, truth);
}

#[test]
fn one_annotator_and_a_classifier_are_the_audit() {
    let (answers, probs, _) = crowd(800, 1, 3, 1, 9);
    let answers = of(&answers, 800, 1, 3);
    let matrix = ProbabilityMatrix::new(&probs, 3).unwrap();
    let given: Vec<Label> = answers.all().iter().map(|answer| answer.label).collect();
    let audited = audit(&matrix, &given, Detector::Posterior).unwrap();
    let mut expected = given.clone();
    audited.suspects.iter().for_each(|suspect| expected[suspect.index] = suspect.suggested);
    assert!(!audited.suspects.is_empty());
    assert_eq!(consensus_with(&answers, &matrix).unwrap().labels, expected);
}

#[test]
fn annotators_with_few_answers_do_no_harm() {
    let (mut answers, _, truth) = crowd(400, 10, 3, 5, 3);
    let before = consensus(&of(&answers, 400, 10, 3), Pooling::Posterior).unwrap();
    // Two hundred strangers with one random answer each.
    let mut draw = stream(4, "test");
    answers.extend((0..200).map(|who| Answer {
        row: draw.below(400),
        annotator: 10 + who,
        label: draw.below(3) as Label,
    }));
    let after = consensus(&of(&answers, 400, 210, 3), Pooling::Posterior).unwrap();
    assert!(accuracy(&after.labels, &truth) > accuracy(&before.labels, &truth) - 0.02);
    assert!(after.annotators[10..].iter().all(|one| one.interval.1 - one.interval.0 > 0.3));
}

#[test]
fn rows_and_annotators_without_answers_are_defined() {
    let given = [Answer { row: 1, annotator: 2, label: 0 }, Answer { row: 1, annotator: 0, label: 0 }];
    let answers = of(&given, 3, 4, 2);
    for way in ALL {
        let found = consensus(&answers, way).unwrap();
        assert_eq!((found.labels.len(), found.labels[1]), (3, 0), "{way}");
        assert!(found.posterior.iter().all(|part| part.is_finite()), "{way}");
        assert_eq!((found.annotators[1].answers, found.annotators[1].agreement), (0, None));
        assert!(found.gain.iter().all(|gain| (0.0..=1.0).contains(gain)));
        let matrix = found.confusion(&answers, 3);
        assert!(matrix.chunks_exact(2).all(|row| (row.iter().sum::<f64>() - 1.0).abs() < 1e-12));
    }
    // The classifier speaks for a row that nobody labelled.
    let probs = [0.1, 0.9, 0.9, 0.1, 0.8, 0.2];
    let found = consensus_with(&answers, &ProbabilityMatrix::new(&probs, 2).unwrap()).unwrap();
    assert_eq!(found.labels, [1, 0, 0]);
}

#[test]
fn all_the_same_label_and_a_single_row_are_defined() {
    let same: Vec<Answer> = (0..20).map(|row| Answer { row, annotator: row % 3, label: 1 }).collect();
    let one = [Answer { row: 0, annotator: 0, label: 1 }];
    for way in ALL {
        assert_eq!(consensus(&of(&same, 20, 3, 3), way).unwrap().labels, [1; 20], "{way}");
        assert_eq!(consensus(&of(&one, 1, 1, 2), way).unwrap().labels, [1], "{way}");
    }
}

#[test]
fn probabilities_that_do_not_fit_are_refused() {
    let answers = of(&[Answer { row: 0, annotator: 0, label: 1 }, Answer { row: 1, annotator: 1, label: 0 }], 2, 2, 2);
    let failure = |probs: &[f64], classes| {
        consensus_with(&answers, &ProbabilityMatrix::new(probs, classes).unwrap()).unwrap_err().to_string()
    };
    assert_eq!(failure(&[0.5, 0.5], 2), "rows of the probabilities must have 2 entries, got 1");
    assert_eq!(failure(&[0.2, 0.3, 0.5, 0.2, 0.3, 0.5], 3), "columns of the probabilities must have 2 entries, got 3");
    assert!(failure(&[0.5, 0.5, f64::NAN, 0.5], 2).contains("finite"));
    assert!(failure(&[0.5, 0.5, 0.1, 0.5], 2).contains("sum"));
}

#[test]
fn names_come_back() {
    for way in ALL {
        assert_eq!(way.to_string().parse::<Pooling>().unwrap(), way);
    }
    assert!("dawid".parse::<Pooling>().unwrap_err().to_string().contains("dawid-skene"));
}

/// Documented: annotators are independent given the true class. With the matrices held, a second name under which somebody repeats
/// their answers multiplies the odds of two classes on a row by exactly the factor of the first name, and leaves other rows alone.
#[test]
fn a_second_name_multiplies_the_odds_by_the_factor_of_the_first() {
    // Few answers per row are multiplied, many go through logarithms: both.
    for (annotators, per_row) in [(6, 3), (40, 36)] {
        let (mut given, _, _) = crowd(60, annotators, 3, per_row, 8);
        let last = annotators - 1;
        let mut draw = stream(9, "test");
        let matrix: Vec<f64> = (0..(annotators + 1) * 9).map(|_| 0.05 + draw.unit()).collect();
        // The entries of a column, by true class; the second name has the matrix of the first.
        let column = |who: usize, label: Label| {
            let who = if who == annotators { last } else { who };
            (0..3).map(move |truth| (who * 3 + truth) * 3 + label as usize)
        };
        let odds = |given: &[Answer], annotators: usize| {
            let answers = of(given, 60, annotators, 3);
            let columns = Columns::new(&answers);
            let (belief, levels) = (Belief::shares(3, 1.0), levels::Levels::single());
            let table = (0..annotators)
                .flat_map(|who| columns.of_annotator(who).map(move |(_, label)| (who, label as Label)))
                .flat_map(|(who, label)| column(who, label).map(|at| matrix[at]))
                .collect();
            let mut posterior = vec![0.0; 180];
            let parts = pass::Parts { answers: &answers, columns: &columns, belief: &belief, levels: &levels };
            parts.expect(&confusion::Confusions(table), Some(&mut posterior));
            posterior.chunks_exact(3).map(|row| [(row[1] / row[0]).ln(), (row[2] / row[0]).ln()]).collect::<Vec<_>>()
        };
        let alone = odds(&given, annotators);
        let twice: Vec<Answer> = given.iter().filter(|answer| answer.annotator == last).copied().collect();
        assert!(!twice.is_empty());
        given.extend(twice.iter().map(|answer| Answer { annotator: annotators, ..*answer }));
        for (row, (before, after)) in alone.iter().zip(odds(&given, annotators + 1)).enumerate() {
            let said: Vec<f64> = match twice.iter().find(|answer| answer.row == row) {
                Some(answer) => column(last, answer.label).map(|at| matrix[at].ln()).collect(),
                None => vec![0.0; 3],
            };
            for class in 1..3 {
                let (added, factor) = (after[class - 1] - before[class - 1], said[class] - said[0]);
                assert!((added - factor).abs() < 1e-9, "row {row}: {added} {factor}");
            }
        }
    }
}

/// The same after fitting: the odds on every row are those of the class shares times one factor per name, and two names with the same
/// answers have the same matrix, hence the same factor.
#[test]
fn the_odds_of_a_row_are_a_product_over_names() {
    let (mut given, _, _) = crowd(400, 6, 3, 4, 12);
    let again: Vec<Answer> =
        given.iter().filter(|answer| answer.annotator == 5).map(|answer| Answer { annotator: 6, ..*answer }).collect();
    given.extend(again);
    let answers = of(&given, 400, 7, 3);
    let found = consensus(&answers, Pooling::DawidSkene).unwrap();
    let matrices: Vec<Vec<f64>> = (0..7).map(|who| found.confusion(&answers, who)).collect();
    assert_eq!(matrices[5], matrices[6]);
    assert_eq!(found.annotators[5], found.annotators[6]);
    let share = |class: usize| found.posterior.iter().skip(class).step_by(3).sum::<f64>() + CLASS_PRIOR;
    for row in 0..400 {
        let log = |class: usize| {
            let said =
                answers.of_row(row).iter().map(|one| matrices[one.annotator][class * 3 + one.label as usize].ln());
            share(class).ln() + said.sum::<f64>()
        };
        let logs = [log(0), log(1), log(2)];
        let all: f64 = logs.iter().map(|log| log.exp()).sum();
        for (class, log) in logs.iter().enumerate() {
            let (expected, got) = (log.exp() / all, found.posterior[row * 3 + class]);
            // EM has all but converged.
            assert!((expected - got).abs() < 0.01, "row {row}, class {class}: {got}, expected {expected}");
        }
    }
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    let (given, probs, _) = crowd(3000, 30, 4, 3, 21);
    let answers = of(&given, 3000, 30, 4);
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| consensus_with(&answers, &ProbabilityMatrix::new(&probs, 4).unwrap()).unwrap())
    };
    let (one, three) = (with(1), with(3));
    assert_eq!(one.posterior, three.posterior);
    assert_eq!((one.annotators, one.objectives), (three.annotators, three.objectives));
}

/// A classifier that is sure of a wrong class wherever it errs must not take the consensus below that of people alone.
#[test]
fn a_classifier_that_is_too_sure_does_no_harm() {
    let (given, _, truth) = crowd(1500, 20, 6, 4, 31);
    let mut draw = stream(32, "test");
    let probs: Vec<f64> = truth
        .iter()
        .flat_map(|&class| {
            let guess = if draw.chance(0.6) { class as usize } else { draw.below(6) };
            (0..6).map(move |k| if k == guess { 1.0 } else { 0.0 })
        })
        .collect();
    let answers = of(&given, 1500, 20, 6);
    let alone = accuracy(&consensus(&answers, Pooling::Posterior).unwrap().labels, &truth);
    let judged = consensus_with(&answers, &ProbabilityMatrix::new(&probs, 6).unwrap()).unwrap();
    let with = accuracy(&judged.labels, &truth);
    assert!(with > alone + 0.01, "{with} {alone}");
}

#[test]
fn answers_without_any_overlap_are_defined() {
    let given: Vec<Answer> = (0..60).map(|row| Answer { row, annotator: row, label: (row % 3) as Label }).collect();
    let answers = of(&given, 60, 60, 3);
    for way in ALL {
        let found = consensus(&answers, way).unwrap();
        let expected: Vec<Label> = (0..60).map(|row| row % 3).collect();
        assert_eq!(found.labels, expected, "{way}");
    }
    assert_eq!(pair_agreement(&answers), None);
}

/// Five people who only guess on hard rows must not outvote a classifier there, however good they are elsewhere.
#[test]
fn people_who_guess_on_hard_rows_are_believed_on_easy_ones_alone() {
    let mut draw = stream(11, "hard rows");
    let (mut given, mut probs, mut truth) = (Vec::new(), Vec::new(), Vec::<Label>::new());
    for row in 0..2000 {
        let (class, hard) = (draw.below(2), draw.chance(0.5));
        for annotator in 0..5 {
            let wrong = draw.chance(if hard { 0.45 } else { 0.02 });
            given.push(Answer { row, annotator, label: if wrong { 1 - class } else { class } as Label });
        }
        let (right, sure) = if hard { (draw.chance(0.8), 0.75) } else { (draw.chance(0.99), 0.97) };
        let guess = if right { class } else { 1 - class };
        probs.extend((0..2).map(|k| if k == guess { sure } else { 1.0 - sure }));
        truth.push(class as Label);
    }
    let answers = of(&given, 2000, 5, 2);
    let alone = accuracy(&consensus(&answers, Pooling::Posterior).unwrap().labels, &truth);
    let judged = consensus_with(&answers, &ProbabilityMatrix::new(&probs, 2).unwrap()).unwrap();
    let with = accuracy(&judged.labels, &truth);
    assert!(with > alone + 0.07, "{with} {alone}");
    for pair in judged.objectives.windows(2) {
        assert!(pair[1] >= pair[0] - 1e-9 * pair[0].abs(), "{} fell to {}", pair[0], pair[1]);
    }
}

#[test]
fn rows_that_nobody_answered_get_what_is_said_of_them() {
    let given: Vec<Answer> =
        (0..40).map(|row| Answer { row, annotator: row % 2, label: (row % 4 == 0).into() }).collect();
    let (answered, unanswered) = ((0..40).collect::<Vec<usize>>(), [40, 41]);
    let all = of(&given, 42, 2, 2);
    let found = consensus(&of(&given, 40, 2, 2), Pooling::Posterior).unwrap();
    let before = found.posterior.clone();
    let found = found.with_unanswered(&all, &answered, &unanswered, &[(1, 0.75)]);
    assert_eq!(found.posterior[..80], before);
    assert_eq!((found.posterior[81], found.labels[40]), (0.75, 1));
    // Nobody said anything about the last one: the commonest class.
    assert_eq!((found.labels.len(), found.labels[41]), (42, 0));
}
