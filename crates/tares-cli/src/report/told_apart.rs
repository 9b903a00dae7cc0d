//! Only runs that differ in nothing but the seed are averaged. Other differences become part of their names.

use crate::record::{RunRecord, in_order};

/// Renames methods so that runs of different settings have different names: `npcl` with two networks becomes `npcl, lenet` and
/// `npcl, cnn9`. Runs of one seed without a recorded difference are named by their directories.
pub fn told_apart(mut runs: Vec<RunRecord>) -> Vec<RunRecord> {
    let settings: [fn(&RunRecord) -> String; 4] = [
        |run| run.manifest.data.source.clone(),
        // A file that was replaced has its old name.
        |run| format!("data {}", run.manifest.data.hash),
        |run| run.manifest.network.clone(),
        |run| format!("{} epochs", run.manifest.epochs),
    ];
    for setting in settings {
        add_where_it_differs(&mut runs, setting);
    }
    let twice = |run: &RunRecord, runs: &[RunRecord]| {
        let key = |run: &RunRecord| (run.manifest.method.clone(), super::page::noise_name(run), run.manifest.seed);
        runs.iter().filter(|other| key(other) == key(run)).count() > 1
    };
    let unclear: Vec<bool> = runs.iter().map(|run| twice(run, &runs)).collect();
    for (run, _) in runs.iter_mut().zip(unclear).filter(|(_, unclear)| *unclear) {
        run.manifest.method = format!("{}, {}", run.manifest.method, run.name);
    }
    runs
}

/// Adds a setting to the name of each method whose runs have more than one value of it.
fn add_where_it_differs(runs: &mut [RunRecord], setting: fn(&RunRecord) -> String) {
    for method in in_order(runs.iter().map(|run| run.manifest.method.clone())) {
        let mut same: Vec<&mut RunRecord> = runs.iter_mut().filter(|run| run.manifest.method == method).collect();
        if in_order(same.iter().map(|run| setting(run))).len() > 1 {
            same.iter_mut().for_each(|run| run.manifest.method = format!("{method}, {}", setting(run)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::made_up::made_up;

    fn names(runs: Vec<RunRecord>) -> Vec<String> {
        told_apart(runs).into_iter().map(|run| run.manifest.method).collect()
    }

    #[test]
    fn seeds_of_one_setting_keep_one_name() {
        let runs = (1..=3).map(|seed| made_up("npcl", "pair", 0.2, seed, 0.9)).collect();
        assert_eq!(names(runs), ["npcl"; 3]);
    }

    #[test]
    fn runs_with_other_networks_or_epochs_are_never_averaged() {
        let mut runs: Vec<RunRecord> = (1..=4).map(|seed| made_up("npcl", "pair", 0.2, seed, 0.9)).collect();
        runs[1].manifest.network = "lenet".into();
        runs[2].manifest.epochs = 99;
        runs[3].manifest.method = "standard".into();
        assert_eq!(names(runs), ["npcl, mlp, 12 epochs", "npcl, lenet", "npcl, mlp, 99 epochs", "standard"]);
    }

    #[test]
    fn a_file_that_was_replaced_between_two_seeds_is_two_data_sets() {
        let mut runs: Vec<RunRecord> = (1..=2).map(|seed| made_up("npcl", "pair", 0.2, seed, 0.9)).collect();
        runs[1].manifest.data.hash = "fedcba9876543210".into();
        assert_eq!(names(runs), ["npcl, data 0123456789abcdef", "npcl, data fedcba9876543210"]);
    }

    #[test]
    fn one_seed_twice_is_two_settings() {
        let mut runs: Vec<RunRecord> = (0..2).map(|_| made_up("npcl", "pair", 0.2, 1, 0.9)).collect();
        (runs[0].name, runs[1].name) = ("runs/a".into(), "runs/b".into());
        assert_eq!(names(runs), ["npcl, runs/a", "npcl, runs/b"]);
    }
}
