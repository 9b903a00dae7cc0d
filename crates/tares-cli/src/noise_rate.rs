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
    // Judges that are neither sure nor unsure can mislead the default; confident learning counts too few rather than too
    // many, and not more labels are wrong than the judges disagree with.
    let low = count(&table, train.given(), Way::Confident)?.rate;
    let high = count(&table, train.given(), Way::Argmax)?.rate;
    Ok(RateRecord {
        value: found.rate.clamp(low.min(high), high.max(low)).clamp(0.0, 0.95),
        source: format!("estimated by {FOLDS} networks on rows they were not trained on"),
        band: Some(found.band),
    })
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
    use super::sensitivity;

    #[test]
    fn the_note_follows_the_rate() {
        assert!(sensitivity(0.02).contains("little"));
        assert!(sensitivity(0.2).contains("96.3 %"));
        assert!(sensitivity(0.5).contains("67.6 %") && sensitivity(0.35).contains("78.7 %"));
    }
}
