//! Training on rows that are still on their way: the bits of rows that were there before, and an error for those that never come.

use std::time::Duration;
use tares::method::NAMES;
use tares::{Checkpoint, Control, Error, Fit, Method, Normalise, Plan};
use tares_core::{Arrivals, Dataset, RowSource, Shape, stream};

const ROWS: usize = 300;
const SHAPE: Shape = Shape::Image { channels: 1, height: 3, width: 4 };

fn row(index: usize) -> Vec<u8> {
    let mut draw = stream(index as u64, "row");
    (0..12).map(|at| (draw.below(120) + if at % 3 == index % 3 { 100 } else { 0 }) as u8).collect()
}

struct Slow {
    broken: Vec<usize>,
}

impl RowSource for Slow {
    fn make(&self, index: usize, out: &mut [u8]) -> Result<(), String> {
        std::thread::sleep(Duration::from_micros(200));
        out.copy_from_slice(&row(index));
        if self.broken.contains(&index) { Err("is cut off".into()) } else { Ok(()) }
    }

    fn refusal(&self, failed: &[(usize, String)]) -> String {
        format!("{:?}", failed.iter().map(|(row, _)| row).collect::<Vec<_>>())
    }
}

fn labels() -> Vec<u32> {
    (0..ROWS as u32).map(|index| if index % 7 == 2 { 0 } else { index % 3 }).collect()
}

fn arriving(broken: &[usize]) -> (Dataset, Dataset) {
    let rows = Arrivals::start(Slow { broken: broken.to_vec() }, ROWS, SHAPE.size(), 2);
    parts(Dataset::new(rows, SHAPE, labels(), ["a", "b", "c"]).unwrap())
}

fn there() -> (Dataset, Dataset) {
    let rows: Vec<u8> = (0..ROWS).flat_map(row).collect();
    parts(Dataset::new(rows, SHAPE, labels(), ["a", "b", "c"]).unwrap())
}

fn parts(all: Dataset) -> (Dataset, Dataset) {
    all.split(0.2, 1).unwrap()
}

fn plan() -> Plan {
    Plan { epochs: 2, batch: 32, ..Plan::default() }
}

#[test]
fn the_same_bits_in_model_epochs_and_checkpoint() {
    for normalise in [Normalise::None, Normalise::Standardise] {
        let plan = Plan { normalise, ..plan() };
        let run = |(train, test): (Dataset, Dataset), before: Option<Checkpoint>| {
            let mut kept = None;
            let mut fit = Fit::new(&train, &Method::Standard, &plan).test(&test).on_epoch(|progress| {
                kept.get_or_insert_with(|| progress.checkpoint().unwrap());
                Control::Continue
            });
            if let Some(checkpoint) = before {
                fit = fit.resume(checkpoint);
            }
            let fitted = fit.train_network(&"mlp:8".parse().unwrap()).unwrap();
            let epochs: Vec<_> = fitted.epochs.iter().map(|epoch| (epoch.train_loss, epoch.test_accuracy)).collect();
            ((fitted.safetensors().unwrap(), fitted.predictions(&test).unwrap(), epochs), kept.unwrap())
        };
        let (waited, before) = run(there(), None);
        let (begun, after) = run(arriving(&[]), None);
        assert_eq!(begun, waited);
        // Either continues where the other stopped: they are runs on the same data.
        assert_eq!(run(there(), Some(after)).0, waited);
        assert_eq!(run(arriving(&[]), Some(before)).0, waited);
    }
}

#[test]
fn every_method_stops_before_a_row_that_never_came_looks_like_a_result() {
    for name in NAMES {
        let method = name.parse::<Method>().unwrap().with_rate(0.1);
        let (plan, (train, test)) = (plan(), arriving(&[250, 17]));
        let mut epochs = 0;
        let fit = Fit::new(&train, &method, &plan).test(&test).on_epoch(|_| {
            epochs += 1;
            Control::Continue
        });
        let refused = fit.train_network(&"mlp:8".parse().unwrap()).map(|_| ()).unwrap_err();
        assert_eq!(refused, Error::Value(tares_core::Error::Unreadable("[17, 250]".into())), "{name}");
        assert_eq!(epochs, 0, "{name}");
    }
}
