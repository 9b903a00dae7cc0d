//! Shuffled, varied batches, prepared on a second thread while the network works on the one before.
//!
//! The order of an epoch is a function of (seed, epoch) and so are the variations: a run that continues in epoch e needs
//! nothing from the epochs before it.

use crate::augment::Augment;
use crate::input_transform::InputTransform;
use crate::plan::Plan;
use burn::tensor::{Device, Int, Tensor, TensorData};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::JoinHandle;
use tares_core::{Dataset, Label, stream};
use tares_kernels::Reused;

/// How many finished batches may wait for the network.
const AHEAD: usize = 3;
/// With the quirks: the original counts from 0 and stops *after* batch 400.
const QUIRK_BATCHES: usize = 401;

/// Some rows on the device.
#[derive(Clone, Debug)]
pub struct Batch {
    /// The rows of the data set.
    pub indices: Vec<u32>,
    /// Their given labels.
    pub given: Vec<Label>,
    /// What the network sees: `[m, channels, height, width]`.
    pub inputs: Tensor<4>,
    /// The given labels on the device: `[m]`.
    pub targets: Tensor<1, Int>,
}

impl Batch {
    /// Rows in this batch.
    #[allow(clippy::len_without_is_empty)] // a batch is never empty
    pub fn len(&self) -> usize {
        self.indices.len()
    }
}

/// The batches of one pass; ends its thread when dropped.
pub struct Batches {
    prepared: Option<Receiver<Prepared>>,
    thread: Option<JoinHandle<()>>,
    device: Device,
    dims: [usize; 3],
}

struct Prepared {
    indices: Vec<u32>,
    given: Vec<Label>,
    inputs: Reused,
}

impl Batches {
    /// The batches of training epoch `epoch`: each of the rows `from` once, in an order of its own, varied as the plan
    /// says.
    pub fn training(
        data: &Dataset,
        from: &[usize],
        transform: &InputTransform,
        plan: &Plan,
        epoch: usize,
        device: &Device,
    ) -> Self {
        let mut order = from.to_vec();
        stream(plan.seed, &format!("order/{epoch}")).shuffle(&mut order);
        let mut rows: Vec<Vec<usize>> = order.chunks(plan.batch).map(<[usize]>::to_vec).collect();
        if plan.quirks {
            // A data set smaller than a batch would have none left.
            if rows.len() > 1 && rows.last().is_some_and(|last| last.len() < plan.batch) {
                rows.pop();
            }
            rows.truncate(QUIRK_BATCHES);
        } else if rows.len() > 1 && rows.last().is_some_and(|last| last.len() == 1) {
            // Batch norm has no variance over a single row: it goes along with the batch before.
            let single = rows.pop().expect("two batches");
            rows.last_mut().expect("one batch").extend(single);
        }
        let variation = Some((plan.augment.clone(), stream(plan.seed, &format!("augment/{epoch}"))));
        // Labels that are not certain are drawn anew in every epoch, by their class probabilities.
        let labels = stream(plan.seed, &format!("labels/{epoch}"));
        Self::start(data, transform, rows, variation, Some(labels), device)
    }

    /// The rows in their own order, `size` at a time, without variation.
    pub fn in_order(data: &Dataset, transform: &InputTransform, size: usize, device: &Device) -> Self {
        let all: Vec<usize> = (0..data.len()).collect();
        let rows = all.chunks(size.max(1)).map(<[usize]>::to_vec).collect();
        Self::start(data, transform, rows, None, None, device)
    }

    fn start(
        data: &Dataset,
        transform: &InputTransform,
        rows: Vec<Vec<usize>>,
        mut variation: Option<(Augment, tares_core::Stream)>,
        mut labels: Option<tares_core::Stream>,
        device: &Device,
    ) -> Self {
        let (send, receive) = sync_channel(AHEAD);
        let (dims, device) = (transform.dims(), device.clone());
        let (data, transform) = (data.clone(), transform.clone());
        data.want(rows.iter().flatten().copied());
        let thread = std::thread::spawn(move || {
            let size = dims.iter().product::<usize>();
            for rows in rows {
                let mut inputs = Reused::unwritten(rows.len() * size);
                for (&index, out) in rows.iter().zip(inputs.chunks_mut(size)) {
                    match &mut variation {
                        Some((augment, stream)) => transform.varied(data.row(index), augment, stream, out),
                        None => transform.plain(data.row(index), out),
                    }
                }
                let mut label = |index: usize| match (&mut labels, data.beliefs(index)) {
                    (Some(labels), Some(beliefs)) => {
                        let weights: Vec<f64> = beliefs.iter().map(|&part| f64::from(part)).collect();
                        labels.weighted(&weights) as Label
                    }
                    _ => data.given()[index],
                };
                let given = rows.iter().map(|&index| label(index)).collect();
                let indices = rows.iter().map(|&index| index as u32).collect();
                // The other side is gone when the run stopped in the middle of an epoch.
                if send.send(Prepared { indices, given, inputs }).is_err() {
                    return;
                }
            }
        });
        Self { prepared: Some(receive), thread: Some(thread), device, dims }
    }
}

impl Iterator for Batches {
    type Item = Batch;

    fn next(&mut self) -> Option<Batch> {
        let Ok(Prepared { indices, given, inputs }) = self.prepared.as_ref()?.recv() else {
            // All batches are out, unless the other thread panicked: then an epoch must not look complete.
            if let Some(Err(panic)) = self.thread.take().map(std::thread::JoinHandle::join) {
                std::panic::resume_unwind(panic);
            }
            return None;
        };
        let [channels, height, width] = self.dims;
        let shape = [indices.len(), channels, height, width];
        let targets: Vec<i32> = given.iter().map(|&label| label as i32).collect();
        Some(Batch {
            inputs: inputs.into_tensor(shape, &self.device),
            targets: Tensor::from_data(TensorData::new(targets, [given.len()]), &self.device),
            indices,
            given,
        })
    }
}

impl Drop for Batches {
    fn drop(&mut self) {
        // First the channel, so that a thread that waits to send wakes up and ends.
        self.prepared = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::normalise::Normalise;
    use tares_core::Shape;

    fn data(n: usize) -> (Dataset, InputTransform) {
        let values: Vec<f32> = (0..n).flat_map(|i| [i as f32, -(i as f32)]).collect();
        let labels = (0..n as u32).map(|i| i % 3).collect();
        let data = Dataset::new(values, Shape::Flat(2), labels, ["a", "b", "c"]).unwrap();
        let transform = InputTransform::new(&data, &Augment::default(), &Normalise::None).unwrap();
        (data, transform)
    }

    fn all(data: &Dataset) -> Vec<usize> {
        (0..data.len()).collect()
    }

    fn plan(batch: usize) -> Plan {
        Plan { batch, ..Plan::default() }
    }

    fn order(data: &Dataset, transform: &InputTransform, plan: &Plan, epoch: usize) -> Vec<Vec<u32>> {
        Batches::training(data, &all(data), transform, plan, epoch, &Device::flex())
            .map(|batch| batch.indices)
            .collect()
    }

    #[test]
    fn every_row_comes_once_with_its_own_label_and_features() {
        let (data, transform) = data(103);
        let mut seen = vec![0; 103];
        for batch in Batches::training(&data, &all(&data), &transform, &plan(10), 4, &Device::flex()) {
            let inputs = batch.inputs.into_data().try_to_vec::<f32>().unwrap();
            let targets = batch.targets.into_data().convert::<i64>().try_to_vec::<i64>().unwrap();
            for (position, &index) in batch.indices.iter().enumerate() {
                seen[index as usize] += 1;
                assert_eq!(inputs[2 * position..2 * position + 2], [index as f32, -(index as f32)]);
                assert_eq!((targets[position] as u32, batch.given[position]), (index % 3, index % 3));
            }
        }
        assert_eq!(seen, vec![1; 103]);
    }

    #[test]
    fn rows_set_aside_never_come() {
        let (data, transform) = data(30);
        let some: Vec<usize> = (0..30).filter(|row| row % 3 > 0).collect();
        let batches = Batches::training(&data, &some, &transform, &plan(7), 0, &Device::flex());
        let mut seen: Vec<usize> = batches.flat_map(|batch| batch.indices).map(|index| index as usize).collect();
        seen.sort_unstable();
        assert_eq!(seen, some);
    }

    #[test]
    fn the_order_is_a_function_of_seed_and_epoch() {
        let (data, transform) = data(50);
        let one = order(&data, &transform, &plan(8), 3);
        assert_eq!(one, order(&data, &transform, &plan(8), 3));
        assert_ne!(one, order(&data, &transform, &plan(8), 4));
        assert_ne!(one, order(&data, &transform, &Plan { seed: 2, ..plan(8) }, 3));
    }

    #[test]
    fn a_single_row_left_over_joins_the_batch_before() {
        let (data, transform) = data(21);
        let sizes = |plan: &Plan| order(&data, &transform, plan, 0).iter().map(Vec::len).collect::<Vec<_>>();
        assert_eq!(sizes(&plan(10)), [10, 11]);
        assert_eq!(sizes(&plan(8)), [8, 8, 5]);
        assert_eq!(sizes(&Plan { quirks: true, ..plan(8) }), [8, 8]);
        assert_eq!(sizes(&plan(100)), [21]);
    }

    #[test]
    fn the_quirks_stop_after_401_batches() {
        let (data, transform) = data(1000);
        assert_eq!(order(&data, &transform, &Plan { quirks: true, ..plan(2) }, 0).len(), 401);
    }

    #[test]
    fn dropping_in_the_middle_ends_the_thread() {
        let (data, transform) = data(1000);
        let mut batches = Batches::training(&data, &all(&data), &transform, &plan(2), 0, &Device::flex());
        assert_eq!(batches.next().unwrap().len(), 2);
        drop(batches); // would hang if the thread were still waiting to send
    }

    #[test]
    fn rows_in_order_are_in_order() {
        let (data, transform) = data(7);
        let batches = Batches::in_order(&data, &transform, 3, &Device::flex());
        assert_eq!(batches.map(|b| b.indices).collect::<Vec<_>>(), [vec![0, 1, 2], vec![3, 4, 5], vec![6]]);
    }
}
