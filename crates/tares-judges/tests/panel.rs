//! The panel: out-of-fold, blended, interruptible.

mod made;

use made::{accuracy, everyone};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use tares_core::stream;
use tares_judges::panel::{fit, judge};
use tares_judges::{
    Caller, Error, InputColumn, Judge, JudgeProgress, Labelled, Matrix, PanelOptions, TextCounts, TextOptions,
};

fn quick() -> PanelOptions {
    let mut options = PanelOptions { repeats: Some(1), ..PanelOptions::default() };
    options.trees.rounds = 60;
    options
}

#[test]
fn the_blend_is_at_least_as_good_as_its_best_judge() {
    for seed in 0..3 {
        let (inputs, labels) = made::mixed(600, 3, seed);
        let found = judge(&Labelled::new(&inputs, &labels, 3), &quick(), Caller::none()).unwrap();
        let best = found.scores.iter().map(|score| score.log_loss).fold(f64::INFINITY, f64::min);
        assert!(found.log_loss <= best + 5e-3, "seed {seed}: {} and {best}", found.log_loss);
        assert!((found.scores.iter().map(|score| score.weight).sum::<f64>() - 1.0).abs() < 1e-9);
        assert!(found.probs.chunks(3).all(|row| (row.iter().sum::<f64>() - 1.0).abs() < 1e-9));
    }
}

#[test]
fn labels_that_mean_nothing_are_not_learnt() {
    // In-sample probabilities would agree with these labels; out-of-fold ones cannot.
    let (inputs, _) = made::mixed(400, 2, 1);
    let mut draw = stream(5, "test");
    let labels: Vec<u32> = (0..400).map(|_| draw.below(2) as u32).collect();
    let found = judge(&Labelled::new(&inputs, &labels, 2), &quick(), Caller::none()).unwrap();
    assert!(found.agreement < 0.6, "{}", found.agreement);
    assert!(found.log_loss > 0.65, "{}", found.log_loss);
}

#[test]
fn a_rows_own_label_has_no_part_in_what_is_said_about_it() {
    // Flip one label: its own probabilities may change only through the two numbers chosen on all rows.
    let (inputs, mut labels) = made::blobs(200, 3, 2, 3);
    let ask = |labels: &[u32]| judge(&Labelled::new(&inputs, labels, 2), &quick(), Caller::none()).unwrap().probs;
    let before = ask(&labels);
    labels[17] = 1 - labels[17];
    let after = ask(&labels);
    assert!((before[34] - after[34]).abs() < 0.1, "{} and {}", before[34], after[34]);
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    let (inputs, labels) = made::mixed(500, 3, 2);
    let data = Labelled::new(&inputs, &labels, 3);
    let found = everyone(|| judge(&data, &quick(), Caller::none()).unwrap().probs);
    assert!(found.windows(2).all(|pair| pair[0] == pair[1]));
}

#[test]
fn an_interrupted_panel_gives_no_answer() {
    let (inputs, labels) = made::mixed(500, 3, 2);
    let data = Labelled::new(&inputs, &labels, 3);
    for judge_name in ["linear", "trees"] {
        let interrupt = AtomicBool::new(false);
        let stop = |progress: JudgeProgress| {
            if progress.judge == judge_name {
                interrupt.store(true, Ordering::Relaxed);
            }
        };
        let found = judge(&data, &quick(), Caller { progress: &stop, interrupt: &interrupt });
        assert_eq!(found.err(), Some(Error::Interrupted), "{judge_name}");
    }
}

#[test]
fn progress_has_a_total_and_ends_there() {
    let (inputs, labels) = made::mixed(300, 2, 2);
    let seen = Mutex::new(Vec::new());
    let caller = Caller { progress: &|progress| seen.lock().unwrap().push(progress), ..Caller::none() };
    judge(&Labelled::new(&inputs, &labels, 2), &quick(), caller).unwrap();
    let seen = seen.into_inner().unwrap();
    for name in ["linear", "trees"] {
        let own: Vec<&JudgeProgress> = seen.iter().filter(|progress| progress.judge == name).collect();
        assert!(own.len() > 5 && own.iter().all(|progress| progress.done <= progress.total), "{name}");
        assert_eq!(own.last().unwrap().done, own.last().unwrap().total, "{name}");
    }
}

#[test]
fn a_fitted_panel_predicts_new_rows() {
    let (inputs, labels) = made::mixed(900, 2, 4);
    let (train, test): (Vec<usize>, Vec<usize>) = (0..900).partition(|row| row % 3 != 0);
    let of = |rows: &[usize]| (inputs.select(rows), rows.iter().map(|&row| labels[row]).collect::<Vec<_>>());
    let ((seen, given), (new, truth)) = (of(&train), of(&test));
    let (panel, judgement) = fit(&Labelled::new(&seen, &given, 2), &quick(), Caller::none()).unwrap();
    let probs = panel.probs(&new).unwrap();
    let (found, promised) = (accuracy(&probs, &truth, 2), judgement.agreement);
    assert!((found - promised).abs() < 0.08, "{found}, out-of-fold {promised}");
}

#[test]
fn text_beside_a_table_is_judged() {
    let (table, labels) = made::mixed(200, 2, 6);
    let words: Vec<&str> = labels.iter().map(|&label| ["a red hen", "a black cow"][label as usize]).collect();
    let text = TextCounts::of(&words, TextOptions::default()).unwrap();
    let both = Matrix::mixed(table.columns().to_vec(), vec![text.clone()]).unwrap();
    let found = judge(&Labelled::new(&both, &labels, 2), &quick(), Caller::none()).unwrap();
    assert!(found.agreement > 0.99 && found.scores.len() == 4);
    let alone = Matrix::mixed(Vec::new(), vec![text.clone(), text]).unwrap();
    let found = judge(&Labelled::new(&alone, &labels, 2), &quick(), Caller::none()).unwrap();
    assert!(found.agreement > 0.99 && found.scores.len() == 2);
}

#[test]
fn classes_with_few_rows_are_judged() {
    let (inputs, mut labels) = made::blobs(60, 2, 2, 8);
    labels[0] = 2; // one row
    labels[1] = 3; // two rows
    labels[2] = 3;
    let found = judge(&Labelled::new(&inputs, &labels, 6), &quick(), Caller::none()).unwrap();
    assert!(found.probs.iter().all(|p| *p > 0.0 && *p < 1.0));
    // Always naming the larger class would agree with about half.
    assert!(found.agreement > 0.65, "{}", found.agreement);
    let all = judge(&Labelled::new(&inputs, &[1; 60], 2), &quick(), Caller::none()).unwrap();
    assert_eq!(all.agreement, 1.0);
    let two = Matrix::new(vec![InputColumn::Numbers(vec![0.0, 1.0])]).unwrap();
    assert!(judge(&Labelled::new(&two, &[0, 1], 2), &quick(), Caller::none()).is_ok());
}

#[test]
fn judges_are_named() {
    assert_eq!("trees".parse::<Judge>().unwrap(), Judge::Trees);
    assert_eq!("tree".parse::<Judge>().unwrap_err().to_string(), "unknown judge 'tree': did you mean trees?");
}
