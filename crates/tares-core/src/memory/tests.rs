use super::*;

/// Rows remembered as these answers.
fn memory(answers: &[[f32; 2]]) -> Memory {
    let mut memory = Memory::new(answers.len(), 2);
    answers.iter().enumerate().for_each(|(row, answer)| memory.remember(row, answer, 0.0));
    memory
}

#[test]
fn mistakes_are_counted_where_the_memory_is_sure() {
    // Class 0: two sure rows with label 0, two unsure rows with label 1. Class 1: both rows have label 0.
    let memory = memory(&[[0.9, 0.1], [0.6, 0.4], [0.95, 0.05], [0.7, 0.3], [0.1, 0.9], [0.2, 0.8]]);
    let given = [0, 1, 0, 1, 0, 0];
    let sure = memory.mistakes(&given, 0.5).unwrap();
    // One right row and half a row per label to begin with: (1 + 0.5 + 2) / 4 and 0.5 / 4.
    assert_eq!([sure.at(0, 0), sure.at(0, 1)], [0.875, 0.125]);
    assert_eq!([sure.at(1, 0), sure.at(1, 1)], [0.5, 0.5]);
    let all = memory.mistakes(&given, 1.0).unwrap();
    assert!((all.at(0, 0) - 3.5 / 6.0).abs() < 1e-6 && (all.at(1, 0) - 2.5 / 4.0).abs() < 1e-6);
}

#[test]
fn disagreement_is_the_share_of_mistakes_on_the_chosen_rows() {
    let memory = memory(&[[0.9, 0.1], [0.6, 0.4], [0.95, 0.05], [0.7, 0.3], [0.1, 0.9], [0.2, 0.8]]);
    let given = [0, 1, 0, 1, 0, 0];
    // All rows: 2 of class 0 are wrong, both of class 1. The surest half: none, and the one of class 1.
    assert_eq!(memory.disagreement(&given, 0..6, 1.0).unwrap(), 4.5 / 7.0);
    assert_eq!(memory.disagreement(&given, 0..6, 0.5).unwrap(), 1.5 / 4.0);
    assert_eq!(memory.disagreement(&given, [1, 3], 1.0).unwrap(), 2.5 / 3.0);
    assert_eq!(memory.disagreement(&given, [], 1.0).unwrap(), 0.5);
}

#[test]
fn mistakes_made_more_or_less_often_keep_their_proportions() {
    let mistakes = Mistakes { classes: 3, matrix: vec![0.8, 0.15, 0.05, 0.3, 0.3, 0.4, 0.0, 0.0, 1.0] };
    let same = mistakes.clone().times(1.0);
    assert!((0..9).all(|place| (same.matrix[place] - mistakes.matrix[place]).abs() < 1e-6), "{same:?}");
    let rarer = mistakes.clone().times(0.5);
    assert!((rarer.at(0, 0) - 0.9).abs() < 1e-6 && (rarer.at(1, 2) - 0.2).abs() < 1e-6, "{rarer:?}");
    for factor in [1.5, 2.0, 100.0] {
        let more = mistakes.clone().times(factor);
        let row = |truth| [0, 1, 2].map(|given| more.at(truth, given));
        assert!((0..3).all(|truth| (row(truth).iter().sum::<f32>() - 1.0).abs() < 1e-6), "{more:?}");
        assert!((more.at(0, 1) / more.at(0, 2) - 3.0).abs() < 1e-5, "{more:?}");
        assert!((f64::from(more.at(0, 0)) - (1.0 - 0.2 * factor).max(1.0 / 3.0)).abs() < 1e-6, "{more:?}");
        // Right less often than a guess before: as before. Never wrong: still never.
        assert!((more.at(1, 1) - 0.3).abs() < 1e-6 && row(2) == [0.0, 0.0, 1.0], "{more:?}");
    }
}

#[test]
fn what_is_known_of_hidden_labels_too_is_not_memorised() {
    let given: Vec<Label> = (0..400).map(|row| row % 2).collect();
    let hidden: Vec<bool> = (0..400).map(|row| row % 10 < 2).collect();
    // `known` to every row, `told` in addition to visible ones.
    let share = |known: f32, told: f32| {
        let right = |row: usize| 0.5 + known + if hidden[row] { 0.0 } else { told } + 0.01 * (row % 7) as f32;
        let rows: Vec<[f32; 2]> = (0..400)
            .map(|row| if row % 2 == 0 { [right(row), 1.0 - right(row)] } else { [1.0 - right(row), right(row)] })
            .collect();
        memory(&rows).memorised(&given, &hidden).unwrap()
    };
    let nothing = share(0.2, 0.0);
    assert!(nothing.share.abs() < 0.02 && nothing.errors.abs() < 1.0, "{nothing:?}");
    let (some, more) = (share(0.2, 0.05), share(0.2, 0.2));
    assert!(some.errors > 3.0 && (0.15..0.25).contains(&some.share), "{some:?}");
    assert!(more.share > some.share && more.errors > some.errors, "{more:?}");
    assert_eq!(memory(&[[0.9, 0.1]; 3]).memorised(&[0; 3], &[false, false, true]).unwrap().errors, 0.0);
    assert!(memory(&[[0.9, 0.1]; 3]).memorised(&[0; 2], &[false; 2]).is_err());
}

#[test]
fn a_label_is_given_up_when_the_memory_outweighs_it() {
    let mistakes = Mistakes { classes: 2, matrix: vec![0.9, 0.1, 0.1, 0.9] };
    // The label gives way where (t_0 / t_1)² > 0.9 / 0.1, that is beyond t_0 = 0.75.
    for (answer, wrong) in [([0.74, 0.26], false), ([0.76, 0.24], true)] {
        let mut belief = answer;
        mistakes.believe(&mut belief, 1, 2.0);
        assert_eq!(belief[1] < 0.5, wrong, "{answer:?}: {belief:?}");
        let mut slower = answer;
        mistakes.believe(&mut slower, 1, 1.0);
        assert!(slower[1] > 0.5, "with γ = 1 it takes t_0 = 0.9");
    }
}

#[test]
fn with_right_labels_the_belief_is_the_label() {
    let rows: Vec<[f32; 2]> = (0..1000).map(|row| if row % 2 == 0 { [0.97, 0.03] } else { [0.03, 0.97] }).collect();
    let given: Vec<Label> = (0..1000).map(|row| row % 2).collect();
    let mistakes = memory(&rows).mistakes(&given, 0.5).unwrap();
    let mut hard = [0.8, 0.2];
    mistakes.believe(&mut hard, 1, 2.0);
    assert!(hard[1] > 0.95, "{hard:?}");
}

#[test]
fn beliefs_sum_to_one_whatever_was_answered() {
    let mistakes = memory(&[[1.0, 0.0], [0.0, 1.0]]).mistakes(&[0, 1], 0.5).unwrap();
    for answer in [[1.0, 0.0], [0.0, 1.0], [0.5, 0.5], [1e-30, 1e-30]] {
        for sharpness in [1.0, 2.0, 50.0] {
            let mut belief = answer;
            mistakes.believe(&mut belief, 0, sharpness);
            assert!((belief[0] + belief[1] - 1.0).abs() < 1e-6 && belief[0] >= 0.0, "{answer:?}: {belief:?}");
        }
    }
}

#[test]
fn a_class_that_nothing_is_remembered_as_keeps_its_labels() {
    let mistakes = memory(&[[0.9, 0.1]; 4]).mistakes(&[0, 0, 0, 1], 1.0).unwrap();
    assert_eq!(mistakes.at(1, 1), 0.75);
    assert_eq!(Memory::new(3, 2).mistakes(&[1, 1, 1], 1.0).unwrap().at(1, 1), 0.75);
}

#[test]
fn what_does_not_fit_is_refused() {
    let said = |result: Result<Memory>| result.unwrap_err().to_string();
    assert!(said(Memory::from_sums(vec![0.0; 5], 2, 2)).contains("remembered answers"));
    assert!(said(Memory::from_sums(vec![0.0, f32::NAN], 1, 2)).contains("must be in [0, 1], got NaN"));
    assert!(Memory::new(2, 2).mistakes(&[0], 0.5).is_err());
    assert!(Memory::new(2, 2).mistakes(&[0, 2], 0.5).is_err());
}

/// Two classes, 400 hidden rows each; the memory is the surer of a row, the smaller its place. `wrong(place)`: whether its label is wrong.
fn hidden_rows(wrong: impl Fn(usize) -> bool) -> (Memory, Vec<Label>, Vec<bool>) {
    let sure = |row: usize| 0.99 - 0.4 * (row / 2) as f32 / 400.0;
    let rows: Vec<[f32; 2]> = (0..800)
        .map(|row| if row % 2 == 0 { [sure(row), 1.0 - sure(row)] } else { [1.0 - sure(row), sure(row)] })
        .collect();
    let given = (0..800).map(|row| (row % 2) as Label ^ Label::from(wrong(row / 2))).collect();
    (memory(&rows), given, vec![true; 800])
}

#[test]
fn wrong_labels_are_as_frequent_on_sure_rows_as_on_unsure_ones_and_hard_rows_are_not() {
    // 30 % of the labels are wrong wherever the memory is sure or not.
    let (memory, given, hidden) = hidden_rows(|place| place % 10 < 3);
    let known = memory.known(&given, &hidden).unwrap();
    assert!((known.sure - 0.4).abs() < 0.02 && (known.sure - known.unsure).abs() < 0.02, "{known:?}");
    assert!(known.at_least(0.5, 1.0), "{known:?}");
    assert_eq!(memory.least_disagreement(&given, &hidden, 0.5), memory.disagreement(&given, 0..800, 0.5));
    // All labels are right, and the memory errs the more, the less sure it is: never on the surest tenth, in 45 % of the last.
    let (memory, given, hidden) = hidden_rows(|place| (place * 7919) % 400 < place / 40 * 20);
    let known = memory.known(&given, &hidden).unwrap();
    assert!(!known.at_least(0.5, 1.0), "{known:?}");
    let [half, least] =
        [memory.disagreement(&given, 0..800, 0.5), memory.least_disagreement(&given, &hidden, 0.5)].map(Result::unwrap);
    assert!(half > 0.08 && least < 0.01, "{half}, {least}");
}

#[test]
fn a_memory_that_knows_nothing_is_not_trusted() {
    let (memory, given, hidden) = hidden_rows(|place| place % 2 == 0);
    assert!(!memory.known(&given, &hidden).unwrap().at_least(0.5, 1.0));
    let few: Vec<bool> = (0..800).map(|row| row < 4).collect();
    let (memory, given, _) = hidden_rows(|_| false);
    assert!(!memory.known(&given, &few).unwrap().at_least(0.5, 1.0), "four rows are too few");
    assert!(!memory.known(&given, &[false; 800]).unwrap().at_least(0.5, 1.0), "no row tells nothing");
    assert_eq!(memory.least_disagreement(&given, &[false; 800], 0.5).unwrap(), 0.5);
}
