//! What is drawn over epochs: a picture per quantity and noise, a curve per method.

use super::curves::{Curves, Series};
use super::page::noise_name;
use crate::record::{Doubt, EpochRecord, RunRecord, in_order};
use crate::ui::terminal::plain;

/// Tables with fewer rows than this are small for a network.
const FEW: usize = 1000;

/// A quantity that is drawn as a curve over epochs.
pub struct Quantity {
    /// The name of its picture files.
    pub file: &'static str,
    /// Its heading.
    pub title: &'static str,
    /// One sentence on how to read it.
    pub note: &'static str,
    /// Its value in an epoch.
    pub value: fn(&EpochRecord) -> Option<f64>,
}

/// All such quantities, in the order of the page.
pub const QUANTITIES: [Quantity; 7] = [
    Quantity {
        file: "test-accuracy",
        title: "Test accuracy",
        note: "The line is the mean over seeds, the shade one standard deviation.",
        value: |epoch| epoch.test_accuracy,
    },
    Quantity {
        file: "label-precision",
        title: "Label precision",
        note: "Of the samples that a method trained on, the fraction whose label is right.",
        value: |epoch| epoch.label_precision,
    },
    Quantity {
        file: "kept",
        title: "Kept samples",
        note: "The fraction of training samples that the method trained on.",
        value: |epoch| Some(epoch.kept_fraction),
    },
    Quantity {
        file: "train-accuracy",
        title: "Training accuracy",
        note: "On the labels as given, wrong ones included: a network that reaches 100 % has memorised them.",
        value: |epoch| epoch.train_accuracy,
    },
    Quantity {
        file: "bound",
        title: "Value of the bound",
        note: "The objective of the curriculum losses per sample. It is never below the share of misclassified samples among those that \
               are not pruned. While nothing is selected yet, it is the mean of the base loss.",
        value: |epoch| epoch.bound,
    },
    Quantity {
        file: "estimated-rate",
        title: "Estimated noise rate",
        note: "The fraction of labels that the method believes to be wrong, for methods that estimate it while they train.",
        value: |epoch| epoch.estimated_rate,
    },
    Quantity {
        file: "starved",
        title: "Steps without gradient",
        note: "Nothing was kept, or every kept sample lay beyond the margin of the loss: nothing was learnt in these steps.",
        value: EpochRecord::starved_fraction,
    },
];

/// One sentence per method and noise whose runs starved, in the order of the runs.
pub fn starvation(runs: &[RunRecord]) -> Vec<String> {
    let sentence = |(method, noise): (String, String)| {
        let same = runs.iter().filter(|run| run.manifest.method == method && noise_name(run) == noise);
        let epochs = || same.clone().flat_map(|run| &run.epochs);
        let starved: u64 = epochs().map(|epoch| epoch.starved_steps).sum();
        let steps: u64 = epochs().map(|epoch| epoch.steps).sum();
        let why = "nothing was kept, or every kept sample lay beyond the margin";
        (starved > 0).then(|| format!("{method}, {noise}: {starved} of {steps} steps had no gradient ({why})."))
    };
    let names = runs.iter().map(|run| (run.manifest.method.clone(), noise_name(run)));
    in_order(names).into_iter().filter_map(sentence).collect()
}

/// One sentence per method that predicts with a head on its network's features (RoG), in the order of the runs: its accuracy is not where its
/// curve ends.
pub fn heads(runs: &[RunRecord]) -> Vec<String> {
    let under_a_head = runs.iter().filter(|run| network_under_a_head(run).is_some());
    let sentence = |method: String| {
        format!(
            "{method}: the accuracy is that of its head, which is fitted after training and measured once; the curves are those of the \
             network under it."
        )
    };
    in_order(under_a_head.map(|run| run.manifest.method.clone())).into_iter().map(sentence).collect()
}

/// Who judged the suspects of these runs.
pub fn judged_by(runs: &[RunRecord]) -> String {
    let (columns, networks): (Vec<&RunRecord>, Vec<&RunRecord>) =
        runs.iter().filter(|run| !run.gallery.is_empty()).partition(|run| run.is_of_columns());
    let out_of_fold = "judged by models that were not trained on them, as <code>tares audit</code> does";
    let in_sample = "judged in-sample, by a network that was trained on these labels; <code>tares audit</code> judges every label by models \
                     that never saw it";
    match (columns.first(), networks.first()) {
        (Some(_), None) => format!("They are {out_of_fold}."),
        (Some(columns), Some(_)) => {
            format!(
                "Those of models of columns ({}) are {out_of_fold}; the others are {in_sample}.",
                columns.manifest.network
            )
        }
        (None, _) => format!("They are {in_sample}."),
    }
}

/// A sentence if the final model of columns was fitted without the rows whose labels its judges doubt most. (Networks and trees
/// select anew in every epoch and round, and are drawn.)
pub fn left_out(run: &RunRecord) -> Option<String> {
    let fitted_once = ["panel", "linear", "forest"].contains(&run.manifest.network.as_str());
    let (kept, rows) = (run.epochs.last().filter(|_| fitted_once)?.kept, run.manifest.data.train_rows as u64);
    (kept < rows).then(|| {
        format!(
            "the final model learnt from {kept} of {rows} rows: the labels of the other {} are those that its judges doubt most",
            rows - kept
        )
    })
}

/// A sentence if the method `tares` corrected nothing: why, and what to do.
pub fn uncorrected(run: &RunRecord) -> Option<String> {
    let ours = run.manifest.method.split(':').next() == Some("tares");
    let last = run.epochs.last().filter(|_| ours)?;
    if last.estimated_rate.is_some() {
        return None;
    }
    let data = &run.manifest.data;
    let (rows, classes) = (data.train_rows, data.classes.len());
    // Photos from scratch are many rows too hard for the network, and there the others do more harm.
    let panel = if data.shape.len() == 1 { "leave --network out (a panel of models learns a table), or " } else { "" };
    let others = format!("; with so few rows, {panel}try --method elr, or npcl, which estimates a rate first");
    let (why, advice) = match run.manifest.result.as_ref().and_then(|result| result.uncorrected) {
        Some(Doubt::FewRows) => (
            format!("a tenth of {rows} rows is fewer than ten for each of {classes} classes, and cannot tell wrong labels from hard rows"),
            others,
        ),
        Some(Doubt::KnowsTooLittle) => (
            "the network knew too little of rows whose labels were hidden from it, and had not memorised other labels while they were".to_owned(),
            if rows < FEW { others } else { String::new() },
        ),
        None => ("the network knows too little of these rows, or there are too few".to_owned(), String::new()),
    };
    Some(format!(
        "`tares` corrected no label ({why}), so this is plain training: its list is what the network answers otherwise, and it estimates \
         no rate{advice}"
    ))
}

/// For each noise, its name and a picture with a curve per method.
pub fn curves(runs: &[RunRecord], quantity: &Quantity) -> Vec<(String, Curves)> {
    let noises = in_order(runs.iter().map(noise_name));
    let picture = |noise: String| {
        let here: Vec<&RunRecord> = runs.iter().filter(|run| noise_name(run) == noise).collect();
        let methods = in_order(here.iter().map(|run| run.manifest.method.clone()));
        let series = methods.into_iter().map(|method| {
            let same = here.iter().filter(|run| run.manifest.method == method);
            let values: Vec<Vec<Option<f64>>> =
                same.clone().map(|run| run.epochs.iter().map(quantity.value).collect()).collect();
            // A head (RoG) has no epochs, so the network under it is drawn.
            let under_a_head = same.clone().any(|run| network_under_a_head(run).is_some());
            let name = plain(&method);
            Series::over(if under_a_head { format!("{name}'s network") } else { name.into_owned() }, &values)
        });
        let title = format!("{}, {noise}", quantity.title);
        let curves = Curves { title, y_label: quantity.title.to_owned(), series: series.collect() };
        (noise, curves)
    };
    // A picture of zeros only (no step starved) says nothing.
    noises.into_iter().map(picture).filter(|(_, curves)| !curves.is_empty() && !curves.is_zero()).collect()
}

/// The accuracy of the network itself, for a run in which a head on its features predicts (RoG).
fn network_under_a_head(run: &RunRecord) -> Option<f64> {
    run.manifest.result.as_ref()?.network_accuracy_last10
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::made_up::made_up;

    #[test]
    fn a_run_that_corrected_nothing_says_so() {
        let mut run = made_up("tares", "symmetric", 0.5, 1, 0.9);
        assert!(uncorrected(&run).unwrap().contains("plain training"));
        let because = |run: &mut RunRecord, doubt| {
            run.manifest.result.as_mut().unwrap().uncorrected = Some(doubt);
            uncorrected(run).unwrap()
        };
        let said = because(&mut run, Doubt::KnowsTooLittle);
        assert!(said.contains("knew too little") && !said.contains("elr"), "{said}");
        (run.manifest.data.train_rows, run.manifest.data.shape) = (290, vec![4]);
        let said = because(&mut run, Doubt::FewRows);
        assert!(said.contains("a tenth of 290 rows is fewer than ten for each of 3 classes"), "{said}");
        assert!(said.contains("leave --network out") && said.contains("--method elr"), "{said}");
        run.epochs.last_mut().unwrap().estimated_rate = Some(0.4);
        assert_eq!(uncorrected(&run), None);
        assert_eq!(uncorrected(&made_up("npcl:rate=0.5", "symmetric", 0.5, 1, 0.9)), None);
    }

    #[test]
    fn a_run_that_starved_says_so_and_one_that_did_not_is_silent() {
        let mut runs = vec![made_up("npcl", "pair", 0.2, 1, 0.9), made_up("gce", "pair", 0.2, 1, 0.9)];
        let starved = QUANTITIES.iter().find(|quantity| quantity.file == "starved").unwrap();
        assert!(starvation(&runs).is_empty() && curves(&runs, starved).is_empty());
        runs[0].epochs[3].starved_steps = 12;
        let said = starvation(&runs);
        assert_eq!(said.len(), 1);
        assert!(said[0].starts_with("npcl, pair:0.2: 12 of 360 steps had no gradient"), "{said:?}");
        let (_, picture) = curves(&runs, starved).remove(0);
        assert_eq!(picture.series[0].points[3], (4.0, 0.4, 0.0));
    }

    #[test]
    fn suspects_of_columns_are_not_called_in_sample() {
        let network = made_up("npcl", "pair", 0.2, 1, 0.9);
        let mut panel = network.clone();
        panel.manifest.network = "panel".into();
        assert!(judged_by(std::slice::from_ref(&network)).starts_with("They are judged in-sample, by a network"));
        let said = judged_by(std::slice::from_ref(&panel));
        assert!(
            said.starts_with("They are judged by models that were not trained on them") && !said.contains("in-sample"),
            "{said}"
        );
        let both = judged_by(&[network, panel]);
        assert!(
            both.contains("(panel) are judged by models") && both.contains("the others are judged in-sample"),
            "{both}"
        );
    }

    #[test]
    fn the_accuracy_of_a_head_is_told_from_the_curve_of_its_network() {
        let mut runs: Vec<RunRecord> = (1..=2).map(|seed| made_up("rog", "pair", 0.2, seed, 0.9)).collect();
        assert!(heads(&runs).is_empty());
        for run in &mut runs {
            run.manifest.result.as_mut().unwrap().network_accuracy_last10 = Some(0.8);
        }
        let said = heads(&runs);
        assert_eq!(said.len(), 1, "one sentence for all seeds");
        assert!(said[0].starts_with("rog: the accuracy is that of its head"), "{said:?}");
    }

    #[test]
    fn only_curriculum_losses_have_a_bound() {
        let bound = QUANTITIES.iter().find(|quantity| quantity.file == "bound").unwrap();
        assert!(curves(&[made_up("gce", "pair", 0.2, 1, 0.9)], bound).is_empty());
        assert_eq!(curves(&[made_up("npcl", "pair", 0.2, 1, 0.9)], bound).len(), 1);
    }
}
