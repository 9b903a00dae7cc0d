//! What the paper proves, and what it says about cost, checked on real runs on the built-in digits.
//!
//! A network is trained with NPCL on digits with half of the labels wrong. In every epoch the margins u that training saw are
//! taken, and the bounds are computed from them: the 0-1 loss J, the sum of base losses Ĵ, the curriculum losses Q and E.

use super::verdict::{Ruling, student_interval};
use crate::ui::failure::{Failure, Outcome};
use serde::Serialize;
use std::time::Instant;
use tares::network::AnyNetwork;
use tares::{Control, Fit, Fitted, Method, Network, Plan, Progress};
use tares_core::{Curriculum, Dataset, Label, Noise, Threshold};

/// Epochs of the runs.
const EPOCHS: usize = 30;
/// How often the two methods are timed in turns, and for how many epochs each time: half a second and more.
const TURNS: usize = 11;
const TIMED_EPOCHS: usize = 30;
/// The fraction of wrong labels.
const RATE: f64 = 0.5;
/// Rounding of sums of thousands of numbers.
const ROUNDING: f64 = 1e-6;

/// A statement and what was found.
#[derive(Clone, Debug, Serialize)]
pub struct CheckedStatement {
    /// The statement.
    pub says: String,
    /// Whether it holds.
    pub ruling: Ruling,
    /// The numbers.
    pub found: String,
}

/// Checks everything; `hear` is told what is being done.
///
/// # Errors
/// Training fails.
pub fn check(hear: &dyn Fn(&str)) -> Outcome<Vec<CheckedStatement>> {
    let clean = tares_data::load("digits", &tares_data::LoadOptions::default(), &mut |_| {})?.train;
    let data = Noise::Symmetric { rate: RATE }.corrupt(&clean, 1)?.data;
    hear("training with NPCL, looking at every epoch");
    let bounds = bounds(&data)?;
    let mut checked = statements(&bounds);
    for name in ["npcl", "self-paced", "co-teaching"] {
        hear(&format!("label precision of {name}"));
        checked.push(precision(&data, name)?);
    }
    hear("timing NPCL and Co-teaching in turns");
    checked.extend(cost(&data)?);
    Ok(checked)
}

/// The losses of one epoch, summed over all training rows.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Bounds {
    rows: usize,
    /// J: misclassified rows.
    zero_one: f64,
    /// Ĵ: the sum of hinge losses.
    base: f64,
    q: f64,
    e: f64,
    /// Q and E over batches of 128.
    q_batched: f64,
    e_batched: f64,
}

impl Bounds {
    fn of(margins: &[f64], labels: &[Label], classes: usize) -> Outcome<Self> {
        let losses: Vec<f64> = margins.iter().map(|margin| (1.0 - margin).max(0.0)).collect();
        let wrong: Vec<bool> = margins.iter().map(|&margin| margin < 0.0).collect();
        let value = |threshold| Curriculum::new(threshold).value(&losses, &wrong, labels, classes);
        let batched = |threshold| Curriculum::new(threshold).batched_value(&losses, &wrong, labels, classes, 128);
        Ok(Self {
            rows: margins.len(),
            zero_one: wrong.iter().filter(|wrong| **wrong).count() as f64,
            base: losses.iter().sum(),
            q: value(Threshold::Q)?,
            e: value(Threshold::E)?,
            q_batched: batched(Threshold::Q)?,
            e_batched: batched(Threshold::E)?,
        })
    }
}

/// The bounds of every epoch of a run with NPCL.
fn bounds(data: &Dataset) -> Outcome<Vec<Bounds>> {
    let mut sums = vec![0.0; data.len()];
    let mut all = Vec::new();
    let mut trouble: Option<Failure> = None;
    let method = named("npcl")?.with_rate(RATE);
    train(data, &method, EPOCHS, &mut |progress| {
        // Mean times count minus the same of the epoch before: the margins this epoch saw.
        let now: Vec<f64> = (progress.history.mean_margins().iter())
            .zip(progress.history.times_seen())
            .map(|(mean, &seen)| mean * f64::from(seen))
            .collect();
        let margins: Vec<f64> = now.iter().zip(&sums).map(|(now, before)| now - before).collect();
        sums = now;
        match Bounds::of(&margins, data.given(), data.classes()) {
            Ok(bounds) => all.push(bounds),
            Err(failure) => trouble = Some(failure),
        }
    })?;
    trouble.map_or(Ok(all), Err)
}

/// The theorems as inequalities between neighbours.
fn statements(epochs: &[Bounds]) -> Vec<CheckedStatement> {
    type Chain = (&'static str, fn(&Bounds) -> Vec<f64>);
    let chains: [Chain; 4] = [
        ("J ≤ Q ≤ Ĵ: CL lies between the 0-1 loss and the sum of base losses", |b| vec![b.zero_one, b.q, b.base]),
        ("E ≤ Q and J ≤ 2E ≤ 2Ĵ: the scaled bound is tighter", |b| vec![0.5 * b.zero_one, b.e, b.q.min(b.base)]),
        ("J ≤ Q ≤ Q over batches ≤ Ĵ: minibatches keep the bound", |b| {
            vec![b.zero_one, b.q, b.q_batched, b.base]
        }),
        ("J ≤ 2E ≤ 2E over batches ≤ 2Ĵ", |b| vec![b.zero_one, 2.0 * b.e, 2.0 * b.e_batched, 2.0 * b.base]),
    ];
    chains.iter().map(|(says, chain)| chained(says, epochs, *chain)).collect()
}

fn chained(says: &str, epochs: &[Bounds], chain: fn(&Bounds) -> Vec<f64>) -> CheckedStatement {
    let slack = |bounds: &Bounds| {
        let steps = chain(bounds);
        let smallest = steps.windows(2).map(|pair| pair[1] - pair[0]).fold(f64::MAX, f64::min);
        smallest / bounds.rows as f64
    };
    let broken = epochs.iter().filter(|bounds| slack(bounds) < -ROUNDING).count();
    let mean = |part: usize| epochs.iter().map(|b| chain(b)[part] / b.rows as f64).sum::<f64>() / epochs.len() as f64;
    let levels: Vec<String> = (0..chain(&epochs[0]).len()).map(|part| format!("{:.3}", mean(part))).collect();
    CheckedStatement {
        says: says.to_owned(),
        ruling: if broken == 0 { Ruling::Holds } else { Ruling::DoesNotHold },
        found: format!(
            "in {} of {} epochs; on average per row {}",
            epochs.len() - broken,
            epochs.len(),
            levels.join(" ≤ ")
        ),
    }
}

/// Whether a method that selects trains on fewer wrong labels than the data has, in every epoch after its start.
fn precision(data: &Dataset, name: &str) -> Outcome<CheckedStatement> {
    /// Burn-in and ramp are over.
    const STARTED: usize = 10;
    let method = named(name)?.with_rate(RATE);
    let fitted = train(data, &method, EPOCHS, &mut |_| {})?;
    let clean = 1.0 - data.noise_rate().unwrap_or(RATE);
    let later: Vec<f64> = fitted.epochs.iter().skip(STARTED).filter_map(|epoch| epoch.label_precision).collect();
    let lowest = later.iter().copied().fold(f64::MAX, f64::min);
    let above = later.iter().filter(|part| **part > clean).count();
    Ok(CheckedStatement {
        says: format!("{name} selects: its label precision is above the part of right labels"),
        ruling: if !later.is_empty() && above == later.len() { Ruling::Holds } else { Ruling::DoesNotHold },
        found: format!(
            "in {above} of {} epochs after the first {STARTED}; lowest {:.1} %, right labels {:.1} %",
            later.len(),
            100.0 * lowest,
            100.0 * clean
        ),
    })
}

/// Seconds of processor time that this process has used, of all its threads: other programs on the machine hardly change them. The clock
/// where the system does not tell.
#[cfg_attr(not(unix), allow(unused_variables))]
fn work(since: Instant) -> f64 {
    #[cfg(unix)]
    if let Ok(used) = nix::time::clock_gettime(nix::time::ClockId::CLOCK_PROCESS_CPUTIME_ID) {
        return std::time::Duration::from(used).as_secs_f64();
    }
    since.elapsed().as_secs_f64()
}

/// Co-teaching trains two networks: twice the time and twice the weights of NPCL.
fn cost(data: &Dataset) -> Outcome<Vec<CheckedStatement>> {
    let methods = [named("npcl")?.with_rate(RATE), named("co-teaching")?.with_rate(RATE)];
    let mut ratios = Vec::new();
    let mut networks = [0; 2];
    let start = Instant::now();
    // On one thread: others would use processor time by looking for work. The first turn warms up.
    let alone = rayon::ThreadPoolBuilder::new().num_threads(1).build().map_err(Failure::new)?;
    for turn in 0..=TURNS {
        let mut seconds = [0.0; 2];
        // Each is first in every second turn, so that a machine that slows down favours neither.
        for position in [turn % 2, 1 - turn % 2] {
            let before = work(start);
            let fitted = alone.install(|| train(data, &methods[position], TIMED_EPOCHS, &mut |_| {}))?;
            seconds[position] = work(start) - before;
            networks[position] = fitted.networks.len();
        }
        if turn > 0 {
            ratios.push(seconds[1] / seconds[0]);
        }
    }
    let (mean, interval) = student_interval(&ratios);
    let (low, high) = interval.unwrap_or((mean, mean));
    // Both also select samples and read logits back once per batch; only the networks are doubled.
    let ruling = match (low, high) {
        (low, high) if low > 1.6 && high < 2.4 => Ruling::Holds,
        (low, high) if high < 1.6 || low > 2.4 => Ruling::DoesNotHold,
        _ => Ruling::CannotBeTold,
    };
    Ok(vec![
        CheckedStatement {
            says: "The processor time of Co-teaching is twice that of NPCL (1.6 to 2.4 times)".to_owned(),
            ruling,
            found: format!("{mean:.2} times ({low:.2} to {high:.2}) in {TURNS} turns of {TIMED_EPOCHS} epochs"),
        },
        CheckedStatement {
            says: "Co-teaching keeps twice the weights of NPCL".to_owned(),
            ruling: if networks[1] == 2 * networks[0] { Ruling::Holds } else { Ruling::DoesNotHold },
            found: format!("{} networks against {}", networks[1], networks[0]),
        },
    ])
}

fn named(name: &str) -> Outcome<Method> {
    Ok(name.parse()?)
}

fn train(
    data: &Dataset,
    method: &Method,
    epochs: usize,
    look: &mut dyn FnMut(&Progress<'_>),
) -> Outcome<Fitted<AnyNetwork>> {
    let plan = Plan { epochs, ..Plan::default() };
    let network: Network = "mlp".parse()?;
    let mut interrupted = false;
    let fitted = Fit::new(data, method, &plan)
        .on_epoch(|progress| {
            look(progress);
            interrupted = crate::ui::interrupt::asked();
            if interrupted { Control::Stop } else { Control::Continue }
        })
        .train_network(&network)?;
    if interrupted {
        return Err(Failure::Interrupted { way_out: "run the same command again".to_owned() });
    }
    Ok(fitted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bounds_of_the_golden_batch_are_in_order() {
        // Margins whose hinge losses are those of the golden vector: Q = max(L_T, C − T) with C = 8 + 3.
        let margins = [1.0, 1.0, 0.5, -2.0, 1.0, -2.5, -0.1, 1.0];
        let bounds = Bounds::of(&margins, &[0; 8], 2).unwrap();
        assert_eq!((bounds.zero_one, bounds.rows), (3.0, 8));
        assert!((bounds.base - 8.1).abs() < 1e-9);
        // T = 7: L_7 = 4.6, C − T = 4. For E: C = 8, T = 6 with L_6 = 1.6, C − T = 2.
        assert!((bounds.q - 4.6).abs() < 1e-9 && (bounds.e - 2.0).abs() < 1e-9, "{bounds:?}");
        assert!(statements(&[bounds]).iter().all(|checked| checked.ruling == Ruling::Holds));
    }

    #[test]
    fn a_broken_chain_does_not_hold() {
        let good = Bounds::of(&[0.5, -1.0, 2.0], &[0; 3], 2).unwrap();
        let bad = Bounds { q: good.zero_one - 0.5, ..good };
        let checked = statements(&[good, bad]);
        assert_eq!(checked[0].ruling, Ruling::DoesNotHold);
        assert!(checked[0].found.starts_with("in 1 of 2 epochs"), "{}", checked[0].found);
    }
}
