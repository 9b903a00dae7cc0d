//! [`ClaimVerdict`]: does a claim hold in our runs? Judged seed by seed, with an interval.
//!
//! Runs of one seed share noise, order of rows and initial weights, so the difference of two methods is taken within each
//! seed. The interval is the 95 % interval of Student's t for the mean of those differences. A claim holds if the whole
//! interval agrees with it, does not hold if the whole interval contradicts it, and cannot be told otherwise. What it says about columns that
//! the size leaves out does not count.

use super::claim::{Claim, Law, Metric};
use super::recipe::Recipe;
use super::scale::Headings;
use crate::record::RunRecord;
use crate::report::page::{name_of_typed, noise_name};
use std::collections::BTreeMap;
use tares_core::metric::MeanStd;

/// Whether a claim holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ruling {
    /// It is about noises that this size of the recipe leaves out, so it does not count.
    NotAtThisScale,
    /// The whole interval agrees with the claim.
    Holds,
    /// The interval contains both outcomes, or there are too few seeds.
    CannotBeTold,
    /// The whole interval contradicts the claim.
    DoesNotHold,
}

impl Ruling {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Self::NotAtThisScale => "not at this scale",
            Self::Holds => "holds",
            Self::CannotBeTold => "cannot be told",
            Self::DoesNotHold => "does not hold",
        }
    }
}

/// One number behind a verdict: a difference over seeds.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// What was subtracted from what, where: `NPCL − GCE at symmetric:0.5`.
    pub what: String,
    /// Its mean over seeds, in points; `None` if nothing ran.
    pub mean: Option<f64>,
    /// Its 95 % interval; `None` with fewer than two seeds.
    pub interval: Option<(f64, f64)>,
    /// How many seeds.
    pub seeds: usize,
    /// The same difference of the published numbers.
    pub published: Option<f64>,
    /// The ruling that follows from it.
    pub ruling: Ruling,
}

/// A claim and whether it holds.
#[derive(Clone, Debug, PartialEq)]
pub struct ClaimVerdict {
    /// The claim's sentence.
    pub says: String,
    /// The worst ruling of its evidence.
    pub ruling: Ruling,
    /// The numbers.
    pub evidence: Vec<Difference>,
}

/// What a difference must be.
#[derive(Clone, Copy)]
enum Wanted {
    Above(f64),
    Within(f64),
}

/// All verdicts of a recipe on some of its runs. `kept` are the headings of the columns that run at this size.
pub fn verdicts(recipe: &Recipe, kept: &Headings, runs: &[RunRecord]) -> Vec<ClaimVerdict> {
    recipe.claims.iter().map(|claim| verdict(claim, recipe, kept, runs)).collect()
}

fn verdict(claim: &Claim, recipe: &Recipe, kept: &Headings, runs: &[RunRecord]) -> ClaimVerdict {
    let columns = recipe.columns();
    let noises = claim.noises(&columns);
    let ours = |row: &str, noise: &str| per_seed(claim.metric, row, kept.of(noise), runs);
    let printed = |row: &str, noise: &str| -> Option<f64> {
        let column = columns.iter().position(|column| column == noise)?;
        // Only accuracies are printed.
        (claim.metric == Metric::TestAccuracy).then(|| recipe.published.at(row, column).map(|number| number.mean))?
    };
    let lead = |first: &str, second: &str, noise: &str| minus(&ours(first, noise), &ours(second, noise));
    let printed_lead = |first: &str, second: &str, noise: &str| Some(printed(first, noise)? - printed(second, noise)?);
    let mut evidence = Vec::new();
    match &claim.law {
        Law::Beats { first, others, by } => {
            for (noise, other) in noises.iter().flat_map(|noise| others.iter().map(move |other| (noise, other))) {
                let what = format!("{first} − {other} at {}", kept.of(noise));
                let published = printed_lead(first, other, noise);
                evidence.push(
                    weigh(what, &lead(first, other, noise), published, Wanted::Above(*by)).if_all(kept, &[noise]),
                );
            }
        }
        Law::Similar { first, second, within } => {
            for noise in &noises {
                let what = format!("{first} − {second} at {}", kept.of(noise));
                let published = printed_lead(first, second, noise);
                let found = weigh(what, &lead(first, second, noise), published, Wanted::Within(*within));
                evidence.push(found.if_all(kept, &[noise]));
            }
        }
        Law::LeadGrows { first, second, from, to } => {
            let what = format!("lead of {first} over {second}, {} minus {}", kept.of(to), kept.of(from));
            let growth = minus(&lead(first, second, to), &lead(first, second, from));
            let published = printed_lead(first, second, to).zip(printed_lead(first, second, from));
            let found = weigh(what, &growth, published.map(|(to, from)| to - from), Wanted::Above(0.0));
            evidence.push(found.if_all(kept, &[from, to]));
        }
        Law::SpreadGrows { rows, from, to } => {
            for to in to {
                let at = |noise: &str| spread(&rows.iter().map(|row| ours(row, noise)).collect::<Vec<_>>());
                let printed_at = |noise: &str| {
                    let all: Option<Vec<f64>> = rows.iter().map(|row| printed(row, noise)).collect();
                    all.and_then(|all| width(&all))
                };
                let what = format!("best minus worst row, {} minus {}", kept.of(to), kept.of(from));
                let published = printed_at(to).zip(printed_at(from)).map(|(to, from)| to - from);
                let found = weigh(what, &minus(&at(to), &at(from)), published, Wanted::Above(0.0));
                evidence.push(found.if_all(kept, &[from, to]));
            }
        }
        Law::AboveCleanPart { rows } => {
            for (noise, row) in noises.iter().flat_map(|noise| rows.iter().map(move |row| (noise, row))) {
                let what = format!("{} of {row} − part of right labels, {}", claim.metric.name(), kept.of(noise));
                let above = minus(&ours(row, noise), &clean(row, kept.of(noise), runs));
                evidence.push(weigh(what, &above, None, Wanted::Above(0.0)).if_all(kept, &[noise]));
            }
        }
    }
    let ruling = evidence.iter().map(|part| part.ruling).max().unwrap_or(Ruling::CannotBeTold);
    ClaimVerdict { says: claim.says.clone(), ruling, evidence }
}

type PerSeed = BTreeMap<u64, f64>;

fn matching<'a>(row: &'a str, noise: &'a str, runs: &'a [RunRecord]) -> impl Iterator<Item = &'a RunRecord> {
    runs.iter().filter(move |run| run.manifest.method == row && noise_name(run) == name_of_typed(noise))
}

fn per_seed(metric: Metric, row: &str, noise: &str, runs: &[RunRecord]) -> PerSeed {
    matching(row, noise, runs).filter_map(|run| Some((run.manifest.seed, metric.of(run)?))).collect()
}

/// The fraction of right labels, in per cent.
fn clean(row: &str, noise: &str, runs: &[RunRecord]) -> PerSeed {
    let part = |run: &RunRecord| Some((run.manifest.seed, 100.0 * (1.0 - run.manifest.noise.as_ref()?.realised)));
    matching(row, noise, runs).filter_map(part).collect()
}

/// The difference in every seed that both have.
fn minus(a: &PerSeed, b: &PerSeed) -> PerSeed {
    a.iter().filter_map(|(seed, value)| Some((*seed, value - b.get(seed)?))).collect()
}

/// Best minus worst in every seed that all have.
fn spread(rows: &[PerSeed]) -> PerSeed {
    let Some((first, rest)) = rows.split_first() else { return PerSeed::new() };
    let in_seed = |(seed, value): (&u64, &f64)| {
        let others: Option<Vec<f64>> = rest.iter().map(|row| row.get(seed).copied()).collect();
        let all: Vec<f64> = others?.into_iter().chain([*value]).collect();
        Some((*seed, width(&all)?))
    };
    first.iter().filter_map(in_seed).collect()
}

fn width(values: &[f64]) -> Option<f64> {
    let largest = values.iter().copied().reduce(f64::max)?;
    Some(largest - values.iter().copied().reduce(f64::min)?)
}

fn weigh(what: String, differences: &PerSeed, published: Option<f64>, wanted: Wanted) -> Difference {
    let values: Vec<f64> = differences.values().copied().collect();
    let (mean, interval) = match values.is_empty() {
        true => (None, None),
        false => {
            let (mean, interval) = student_interval(&values);
            (Some(mean), interval)
        }
    };
    let ruling = match (interval, wanted) {
        (Some((low, _)), Wanted::Above(by)) if low > by => Ruling::Holds,
        (Some((_, high)), Wanted::Above(by)) if high < by => Ruling::DoesNotHold,
        (Some((low, high)), Wanted::Within(most)) if low >= -most && high <= most => Ruling::Holds,
        (Some((low, high)), Wanted::Within(most)) if low > most || high < -most => Ruling::DoesNotHold,
        _ => Ruling::CannotBeTold,
    };
    Difference { what, mean, interval, seeds: values.len(), published, ruling }
}

/// The mean and its 95 % interval; no interval for fewer than two values.
pub(super) fn student_interval(values: &[f64]) -> (f64, Option<(f64, f64)>) {
    let Ok(MeanStd { count, mean, std }) = MeanStd::of(values) else { return (f64::NAN, None) };
    let half = std.map(|std| student(count - 1) * std / (count as f64).sqrt());
    (mean, half.map(|half| (mean - half, mean + half)))
}

/// The 97.5 % point of Student's t.
fn student(freedom: usize) -> f64 {
    const POINTS: [f64; 30] = [
        12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
        2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
    ];
    match freedom {
        0 => f64::INFINITY,
        few if few <= POINTS.len() => POINTS[few - 1],
        // Beyond the table it is a little too wide, never too narrow.
        _ => POINTS[POINTS.len() - 1],
    }
}

impl Difference {
    /// The same if all these noises run at this size; otherwise it does not count.
    fn if_all(self, kept: &Headings, noises: &[&String]) -> Self {
        let here = self.seeds > 0 || noises.iter().all(|noise| kept.has(noise));
        if here { self } else { Self { ruling: Ruling::NotAtThisScale, ..self } }
    }

    /// `NPCL − GCE at symmetric:0.5: +6.05 points (5.10 to 7.00, 3 seeds); published +6.05`.
    pub fn sentence(&self) -> String {
        let mut text = match (self.mean, self.interval) {
            (None, _) if self.ruling == Ruling::NotAtThisScale => self.what.clone(),
            (None, _) => format!("{}: not run", self.what),
            (Some(mean), Some((low, high))) => {
                format!("{}: {mean:+.2} points ({low:+.2} to {high:+.2}, {} seeds)", self.what, self.seeds)
            }
            (Some(mean), None) => format!("{}: {mean:+.2} points (one seed, no interval)", self.what),
        };
        if let Some(published) = self.published {
            text.push_str(&format!("; published {published:+.2}"));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::made_up::made_up;

    /// Runs of two rows whose differences over seeds are `leads`, in points.
    fn runs(leads: &[f64]) -> Vec<RunRecord> {
        let pair = |(seed, lead): (usize, &f64)| {
            let level = 0.8 + 0.01 * seed as f64;
            let mut a = made_up("A", "pair", 0.2, seed as u64, level);
            let mut b = made_up("B", "pair", 0.2, seed as u64, level);
            a.epochs.iter_mut().for_each(|epoch| epoch.test_accuracy = Some(level + lead / 100.0));
            b.epochs.iter_mut().for_each(|epoch| epoch.test_accuracy = Some(level));
            [a, b]
        };
        leads.iter().enumerate().flat_map(pair).collect()
    }

    fn all(recipe: &Recipe) -> Headings {
        recipe.columns().into_iter().collect()
    }

    fn ruling(law: &str, leads: &[f64]) -> Difference {
        let claim: Claim = toml::from_str(&format!("says = \"s\"\non = [\"pair:0.2\"]\nlaw.{law}\n")).unwrap();
        let recipe = super::super::recipe::tests::recipe();
        verdict(&claim, &recipe, &all(&recipe), &runs(leads)).evidence.remove(0)
    }

    #[test]
    fn a_claim_is_judged_within_seeds() {
        let beats = "beats = { first = \"A\", others = [\"B\"] }";
        // The levels of the seeds differ by far more than the lead, which is what pairing is for.
        let evidence = ruling(beats, &[1.0, 1.1, 0.9]);
        assert_eq!(evidence.ruling, Ruling::Holds, "{evidence:?}");
        assert!((evidence.mean.unwrap() - 1.0).abs() < 1e-9);
        let (low, _) = evidence.interval.unwrap();
        assert!((low - (1.0 - 4.303 * 0.1 / 3f64.sqrt())).abs() < 1e-9, "{low}");
        assert_eq!(ruling(beats, &[-1.0, -1.1, -0.9]).ruling, Ruling::DoesNotHold);
        assert_eq!(ruling(beats, &[1.0, -1.0, 0.5]).ruling, Ruling::CannotBeTold);
        assert_eq!(ruling(beats, &[5.0]).ruling, Ruling::CannotBeTold, "one seed tells nothing");
        assert_eq!(ruling(beats, &[]).mean, None);
        assert_eq!(
            ruling("beats = { first = \"A\", others = [\"B\"], by = 2 }", &[1.0, 1.1, 0.9]).ruling,
            Ruling::DoesNotHold
        );
    }

    #[test]
    fn similar_means_the_whole_interval_is_small() {
        let law = "similar = { first = \"A\", second = \"B\", within = 0.5 }";
        assert_eq!(ruling(law, &[0.1, 0.0, -0.1]).ruling, Ruling::Holds);
        assert_eq!(ruling(law, &[2.0, 2.1, 1.9]).ruling, Ruling::DoesNotHold);
        assert_eq!(ruling(law, &[0.6, 0.3, 0.5]).ruling, Ruling::CannotBeTold);
    }

    #[test]
    fn precision_is_compared_with_the_part_of_right_labels() {
        let text = "says = \"s\"\nmetric = \"label-precision\"\nlaw.above-clean-part = { rows = [\"A\"] }\n";
        let claim: Claim = toml::from_str(text).unwrap();
        let recipe = super::super::recipe::tests::recipe();
        let found = verdict(&claim, &recipe, &all(&recipe), &runs(&[0.0, 0.0]));
        // Made-up runs keep 83.5 % right labels at the end and have 49.67 % wrong ones.
        assert_eq!(found.ruling, Ruling::Holds, "{found:?}");
        assert!(found.evidence[0].published.is_none());
    }
    #[test]
    fn a_column_that_a_size_leaves_out_does_not_count() {
        let claim = "says = \"s\"\nlaw.beats = { first = \"A\", others = [\"B\"] }\n";
        let mut recipe = super::super::recipe::tests::recipe();
        recipe.noises.push("symmetric:0.5".parse().unwrap());
        let kept: Headings = ["pair:0.2".to_owned()].into_iter().collect();
        let found = |claim: &str, kept: &Headings| {
            verdict(&toml::from_str(claim).unwrap(), &recipe, kept, &runs(&[1.0, 1.1, 0.9]))
        };
        let verdict = found(claim, &kept);
        assert_eq!(verdict.ruling, Ruling::Holds, "{verdict:?}");
        assert_eq!(verdict.evidence.iter().map(|part| part.ruling).max(), Some(Ruling::Holds));
        assert_eq!(verdict.evidence[1].ruling, Ruling::NotAtThisScale);
        assert_eq!(found(claim, &all(&recipe)).ruling, Ruling::CannotBeTold, "it was to run and did not");
        let elsewhere = format!("on = [\"symmetric:0.5\"]\n{claim}");
        assert_eq!(found(&elsewhere, &kept).ruling, Ruling::NotAtThisScale);
        let grows = "says = \"s\"\nlaw.lead-grows = { first = \"A\", second = \"B\", from = \"pair:0.2\", to = \"symmetric:0.5\" }\n";
        assert_eq!(found(grows, &kept).ruling, Ruling::NotAtThisScale);
    }
}
