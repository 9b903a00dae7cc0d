//! Rows that are copies of others: nobody who has seen a copy judges the row.

mod made;

use made::everyone;
use tares_core::stream;
use tares_judges::forest::out_of_bag;
use tares_judges::panel::judge;
use tares_judges::{Caller, Judgement, Labelled, PanelOptions};

/// 200 rows twice, copies with the label of the first, every fifth label wrong; the groups; which labels are wrong.
fn doubled() -> (tares_judges::Matrix, Vec<u32>, Vec<u32>, Vec<bool>) {
    let (inputs, truth) = made::blobs(200, 6, 2, 3);
    let mut draw = stream(9, "wrong");
    let wrong: Vec<bool> = (0..200).map(|_| draw.chance(0.2)).collect();
    let given: Vec<u32> =
        truth.iter().zip(&wrong).map(|(&label, &wrong)| if wrong { 1 - label } else { label }).collect();
    let twice: Vec<usize> = (0..200).chain(0..200).collect();
    let groups = twice.iter().map(|&row| row as u32).collect();
    (inputs.select(&twice), [&given[..], &given[..]].concat(), groups, [&wrong[..], &wrong[..]].concat())
}

/// The part of wrong labels that the judges find more likely than not.
fn believed(probs: &[f64], labels: &[u32], wrong: &[bool]) -> f64 {
    let rows = probs.chunks(2).zip(labels).zip(wrong).filter(|(_, wrong)| **wrong);
    rows.clone().filter(|((row, label), _)| row[**label as usize] > 0.5).count() as f64 / rows.count() as f64
}

#[test]
fn a_panel_does_not_repeat_the_wrong_labels_of_copies() {
    let (inputs, labels, groups, wrong) = doubled();
    let mut options = PanelOptions { repeats: Some(1), ..PanelOptions::default() };
    options.trees.rounds = 60;
    let ask = |groups| -> Judgement {
        judge(&Labelled { groups, ..Labelled::new(&inputs, &labels, 2) }, &options, Caller::none()).unwrap()
    };
    let (seen, apart) = (ask(None), ask(Some(&groups[..])));
    assert!(believed(&seen.probs, &labels, &wrong) > 0.5, "judges that saw the copies repeat their labels");
    assert!(believed(&apart.probs, &labels, &wrong) < 0.15, "{}", believed(&apart.probs, &labels, &wrong));
}

#[test]
fn a_forest_says_the_same_of_all_copies_on_any_number_of_threads() {
    let (inputs, labels, groups, wrong) = doubled();
    let data = Labelled { groups: Some(&groups), ..Labelled::new(&inputs, &labels, 2) };
    let said = everyone(|| out_of_bag(&data, 3, Caller::none()).unwrap().log_probs);
    assert!(said.iter().all(|one| *one == said[0]));
    assert_eq!(said[0][..400], said[0][400..]);
    let probs: Vec<f64> = said[0].iter().map(|log| log.exp()).collect();
    assert!(believed(&probs, &labels, &wrong) < 0.2, "{}", believed(&probs, &labels, &wrong));
}

#[test]
fn groups_must_be_named_by_their_first_row() {
    let (inputs, labels) = made::blobs(4, 2, 2, 1);
    let check = |groups: &[u32]| Labelled { groups: Some(groups), ..Labelled::new(&inputs, &labels, 2) }.check();
    assert!(check(&[0, 1, 0, 1]).is_ok());
    assert!(check(&[0, 1, 0]).is_err());
    let error = check(&[0, 1, 3, 3]).unwrap_err().to_string();
    assert_eq!(error, "group must be the first row of its group, got 3 at row 2");
    assert!(check(&[0, 0, 1, 3]).is_err(), "row 1 is not the first of its group");
}
