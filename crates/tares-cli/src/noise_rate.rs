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
/// Epochs of those networks: enough to learn the classes, too few to learn wrong labels by heart.
const EPOCHS: usize = 20;

/// The part of wrong labels, with its band.
///
/// The judges are trained with generalised cross-entropy, which needs no noise rate itself and is hard to mislead.
///
/// # Errors
/// Training fails on this data.
pub fn estimate(spec: &Spec, train: &Dataset, network: &Network) -> Outcome<RateRecord> {
    let plan = Plan { epochs: EPOCHS.min(spec.plan.epochs), ..spec.plan.clone() };
    let device = tares::device::by_name(&spec.device)?;
    let judge: Method = "gce".parse()?;
    let probabilities: Vec<f64> =
        cross_validated_probabilities(train, FOLDS, network, &judge, &plan, &device, &mut |_, _| {
            if crate::interrupt::asked() { Control::Stop } else { Control::Continue }
        })?
        .into_iter()
        .map(f64::from)
        .collect();
    let found = count(&Table::new(&probabilities, train.classes())?, train.given(), Way::default())?;
    Ok(RateRecord {
        value: found.rate.clamp(0.0, 0.95),
        source: format!("estimated by {FOLDS} networks on rows they were not trained on"),
        band: Some(found.band),
    })
}
