//! The noise rate nobody knows: estimated before training, from networks that never saw the labels they judge.

use crate::record::RateRecord;
use crate::run::spec::Spec;
use crate::ui::failure::Outcome;
use tares::evaluate::cross_validated_probabilities;
use tares::{Control, Method, Network, Plan};
use tares_core::Dataset;
use tares_core::audit::audit;
use tares_core::estimate::{Caution, Detector, ProbabilityMatrix};

/// Parts of the data; each is judged by a network trained on the others.
const FOLDS: usize = 3;
/// Epochs of those networks, however many the training itself has: enough to learn the classes, too few to learn wrong
/// labels by heart.
const EPOCHS: usize = 10;
/// And at least so many steps: a hundred rows are one step.
const STEPS: usize = 300;

/// The part of wrong labels, with its band.
///
/// The judges are trained plainly. A robust loss keeps wrong labels out of the probabilities, and it is from how they show
/// there that their number is told.
///
/// # Errors
/// Training fails on this data.
pub fn estimate(spec: &Spec, train: &Dataset, network: &Network) -> Outcome<RateRecord> {
    let plan = Plan { epochs: epochs(train.len(), spec.plan.batch), ..spec.plan.clone() };
    let device = tares::device::by_name(&spec.device)?;
    let probabilities =
        cross_validated_probabilities(train, FOLDS, network, &Method::Standard, &plan, &device, &mut |_, _| {
            if crate::ui::interrupt::asked() { Control::Stop } else { Control::Continue }
        })?;
    let matrix = ProbabilityMatrix::new(&probabilities, train.classes())?;
    let found = audit(&matrix, train.given(), Detector::default())?;
    let cautions = Caution::about(&found.overview, &found.estimate);
    let doubt = cautions.iter().find(|caution| caution.is_about_the_judge());
    Ok(RateRecord {
        value: found.estimate.rate.clamp(0.0, 0.95),
        source: format!("estimated by {FOLDS} networks on rows they were not trained on"),
        band: Some(found.estimate.interval),
        warning: doubt.map(|caution| caution.sentence(|class| train.class_names()[class].clone())),
    })
}

fn epochs(rows: usize, batch: usize) -> usize {
    let steps = (rows - rows / FOLDS).div_ceil(batch.max(1)).max(1);
    EPOCHS.max(STEPS.div_ceil(steps))
}

/// What a wrong noise rate costs: NPCL's test accuracy on MNIST told half, the whole and one and a half times the rate, as
/// published (table "different ε" of the paper).
pub fn sensitivity(rate: f64) -> &'static str {
    if rate < 0.1 {
        "with so few wrong labels a rate that is off by half costs little"
    } else if rate < 0.3 {
        "what if it is off? Published for NPCL at 20 %: 96.3 % told half of it, 99.4 % told it, 99.1 % told 1.5 times it; \
         --noise-rate R sets it"
    } else {
        "what if it is off? Published for NPCL at 50 %: 78.7 % told half of it, 98.5 % told it, 67.6 % told 1.5 times it; \
         --noise-rate R sets it"
    }
}

#[cfg(test)]
mod tests {
    use super::{epochs, sensitivity};

    #[test]
    fn few_rows_are_gone_through_more_often() {
        assert_eq!([epochs(150, 128), epochs(3823, 128), epochs(60_000, 128)], [300, 15, 10]);
    }

    #[test]
    fn the_note_follows_the_rate() {
        assert!(sensitivity(0.02).contains("little"));
        assert!(sensitivity(0.2).contains("96.3 %"));
        assert!(sensitivity(0.5).contains("67.6 %") && sensitivity(0.35).contains("78.7 %"));
    }
}
