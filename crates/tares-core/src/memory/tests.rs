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
fn mistakes_made_more_often_keep_their_proportions() {
    let mistakes = Mistakes { classes: 3, matrix: vec![0.8, 0.15, 0.05, 0.3, 0.3, 0.4, 0.0, 0.0, 1.0] };
    assert_eq!(mistakes.clone().more_often(1.0), mistakes);
    assert_eq!(mistakes.clone().more_often(0.5), mistakes, "never less often");
    for factor in [1.5, 2.0, 100.0] {
        let more = mistakes.clone().more_often(factor);
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
