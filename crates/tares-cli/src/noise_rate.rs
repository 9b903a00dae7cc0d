//! The noise rate nobody knows: estimated before training, from networks that never saw the labels they judge.

use crate::failure::Outcome;
use crate::record::RateRecord;
use crate::spec::Spec;
use tares::evaluate::cross_validated_probabilities;
use tares::{Control, Method, Network, Plan};
use tares_core::Dataset;
use tares_core::estimate::{Method as Way, Table, estimate as count};

/// Parts of the data; each is judged by a network trained on the others.
const FOLDS: usize = 3;
/// Epochs of those networks, however many the training itself has: enough to learn the classes, too few to learn wrong
/// labels by heart.
const EPOCHS: usize = 20;

/// The part of wrong labels, with its band.
///
/// The judges are trained with generalised cross-entropy, which needs no noise rate itself and is hard to mislead.
///
/// # Errors
/// Training fails on this data.
pub fn estimate(spec: &Spec, train: &Dataset, network: &Network) -> Outcome<RateRecord> {
    let plan = Plan { epochs: EPOCHS, ..spec.plan.clone() };
    let device = tares::device::by_name(&spec.device)?;
    let judge: Method = "gce".parse()?;
    let probabilities: Vec<f64> =
        cross_validated_probabilities(train, FOLDS, network, &judge, &plan, &device, &mut |_, _| {
            if crate::interrupt::asked() { Control::Stop } else { Control::Continue }
        })?
        .into_iter()
        .map(f64::from)
        .collect();
    let table = Table::new(&probabilities, train.classes())?;
    let found = count(&table, train.given(), Way::default())?;
    let confident = count(&table, train.given(), Way::Confident)?.rate;
    let value = not_misled(found.rate, confident).clamp(0.0, 0.95);
    Ok(RateRecord {
        value,
        source: format!("estimated by {FOLDS} networks on rows they were not trained on"),
        band: Some((found.band.0.min(value), found.band.1.max(value))),
    })
}

/// Confident learning's rate where the default finds ten points less. With judges that are neither sure nor unsure
/// (robust losses on heavy noise) the default takes wrong labels for doubts; with weak judges confident learning takes
/// doubts for wrong labels, but by fewer points than that on the data this was tried on (results/README.md).
fn not_misled(rate: f64, confident: f64) -> f64 {
    if confident > rate + 0.1 { confident } else { rate }
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
    use super::{not_misled, sensitivity};

    #[test]
    fn confident_learning_steps_in_only_when_the_default_is_far_below_it() {
        assert_eq!([not_misled(0.04, 0.09), not_misled(0.12, 0.55), not_misled(0.0, 0.0)], [0.04, 0.55, 0.0]);
        assert_eq!(not_misled(0.175, 0.34), 0.34);
    }

    #[test]
    fn the_note_follows_the_rate() {
        assert!(sensitivity(0.02).contains("little"));
        assert!(sensitivity(0.2).contains("96.3 %"));
        assert!(sensitivity(0.5).contains("67.6 %") && sensitivity(0.35).contains("78.7 %"));
    }
}
