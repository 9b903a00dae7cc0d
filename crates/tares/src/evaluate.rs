//! What a trained network says about data: probabilities, answers, and out-of-sample probabilities for an audit.

use crate::batches::Batches;
use crate::cross_validation::CrossValidation;
use crate::error::{Error, Result};
use crate::fit::{Control, Progress};
use crate::history::{argmax, softmax};
use crate::input_transform::InputTransform;
use crate::method::Method;
use crate::network::{Classifier, Network};
use crate::plan::Plan;
use crate::run::to_host;
use burn::tensor::Device;
use tares_core::{Dataset, Label};

/// Rows per batch without autodiff: large enough to keep every core busy, small enough that a layer of 128 maps of the
/// picture's size stays near 128 MB.
pub(crate) fn batch_size(transform: &InputTransform) -> usize {
    let [_, height, width] = transform.dims();
    ((1 << 18) / (height * width).max(1)).clamp(64, 512)
}

/// The logits of every row: `[N][K]`, one row after the other. `network` is one without autodiff (`valid()`).
///
/// # Errors
/// Data of another shape than the training data.
pub fn logits<N: Classifier>(
    network: &N,
    transform: &InputTransform,
    data: &Dataset,
    device: &Device,
) -> Result<Vec<f32>> {
    transform.check(data)?;
    let mut all = Vec::with_capacity(data.len() * data.classes());
    for batch in Batches::in_order(data, transform, batch_size(transform), device) {
        all.extend(to_host(network.logits(batch.inputs)));
    }
    data.sound()?;
    Ok(all)
}

/// The probability of every class for every row: `[N][K]`, one row after the other.
///
/// # Errors
/// Data of another shape than the training data.
pub fn probabilities<N: Classifier>(
    network: &N,
    transform: &InputTransform,
    data: &Dataset,
    device: &Device,
) -> Result<Vec<f32>> {
    let mut all = logits(network, transform, data, device)?;
    let classes = all.len() / data.len();
    all.chunks_exact_mut(classes).for_each(softmax);
    Ok(all)
}

/// What the last dense layer reads of every row: `[N][d]`, one row after the other. Empty for a network without hidden features.
///
/// # Errors
/// Data of another shape than the training data.
pub fn features<N: Classifier>(
    network: &N,
    transform: &InputTransform,
    data: &Dataset,
    device: &Device,
) -> Result<Vec<f32>> {
    transform.check(data)?;
    let mut all = Vec::new();
    for batch in Batches::in_order(data, transform, batch_size(transform), device) {
        if let Some(last) = network.features(batch.inputs).0.pop() {
            all.extend(to_host(last));
        }
    }
    data.sound()?;
    Ok(all)
}

/// The likeliest class of each of the rows of `[N][K]` probabilities or logits; the first one if several are equal.
pub fn answers(probabilities: &[f32], classes: usize) -> Vec<Label> {
    probabilities.chunks_exact(classes).map(|row| argmax(row).0).collect()
}

/// The part of right answers; with the quirks of the plan only whole batches count.
pub(crate) fn accuracy<N: Classifier>(
    network: &N,
    transform: &InputTransform,
    data: &Dataset,
    plan: &Plan,
    device: &Device,
) -> Result<f64> {
    let all = logits(network, transform, data, device)?;
    let classes = all.len() / data.len();
    let counted = match data.len() / plan.batch * plan.batch {
        whole if plan.quirks && whole > 0 => whole,
        _ => data.len(),
    };
    let answers = answers(&all[..counted * classes], classes);
    Ok(answers.iter().zip(data.given()).filter(|(a, b)| a == b).count() as f64 / counted as f64)
}

/// Probabilities for every row from a network that never saw it: `k` networks, each trained on all folds but one.
///
/// This is what an audit of the labels needs: probabilities of rows a network was trained on only repeat their labels.
/// `on_epoch` hears of every epoch of every fold, with the fold's number. To stop and go on later, train the folds of a
/// [`CrossValidation`] one by one.
///
/// # Errors
/// As [`Fit::train_network`](crate::Fit::train_network); `k` below 2 or above the number of rows; [`Error::Stopped`] when `on_epoch`
/// stopped a fold before its last epoch: half-trained networks give no probabilities.
///
/// ```
/// use tares::{Control, Method, Plan, evaluate::cross_validated_probabilities};
/// use tares_core::{Dataset, Shape};
/// let rows: Vec<f32> = (0..60).flat_map(|i| [(i % 2) as f32, 1.0]).collect();
/// let mut labels: Vec<u32> = (0..60).map(|i| i % 2).collect();
/// labels[7] = 0; // wrong
/// let data = Dataset::new(rows, Shape::Flat(2), labels, ["even", "odd"])?;
/// let plan = Plan { epochs: 20, batch: 8, ..Plan::default() };
/// let network = "mlp:16".parse()?;
/// let p = cross_validated_probabilities(&data, 3, &network, &Method::Standard, &plan, &Default::default(),
///     &mut |_, _| Control::Continue)?;
/// assert!(p[2 * 7 + 1] > 0.5, "row 7 looks odd to a network that never saw its label");
/// # Ok::<(), tares::Error>(())
/// ```
pub fn cross_validated_probabilities(
    data: &Dataset,
    k: usize,
    network: &Network,
    method: &Method,
    plan: &Plan,
    device: &Device,
    on_epoch: &mut dyn FnMut(usize, &Progress<'_>) -> Control,
) -> Result<Vec<f32>> {
    let judges = CrossValidation::new(data, k, network, method, plan, device)?;
    let mut finished = Vec::with_capacity(k);
    for fold in 0..k {
        let done = judges.fold(fold, None, &mut |progress| on_epoch(fold, progress))?;
        finished.push(done.ok_or(Error::Stopped)?);
    }
    judges.probabilities(&finished)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_shrink_with_the_picture() {
        let size = |side: usize| {
            let shape = tares_core::Shape::Image { channels: 1, height: side, width: side };
            let data = Dataset::new(vec![0u8; side * side], shape, vec![0], ["a", "b"]).unwrap();
            batch_size(&InputTransform::new(&data, &Default::default(), &Default::default()).unwrap())
        };
        assert_eq!([8, 28, 32, 64, 224].map(size), [512, 334, 256, 64, 64]);
    }

    #[test]
    fn answers_take_the_first_of_equals() {
        assert_eq!(answers(&[0.2, 0.4, 0.4, 1.0, 0.0, 0.0], 3), [1, 0]);
    }
}
