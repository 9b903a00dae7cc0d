//! Theorem "Partial Optimization", the proposition on its optimum, and the footnote on how many samples are pruned.

mod law;

use law::{equal, holds};
use tares_core::{Extra, Selector, Stream};

/// Losses with ties and zeros, in quarters so that sums are exact.
fn losses(n: usize, draws: &mut Stream) -> Vec<f64> {
    let top = 1 + draws.below(16);
    (0..n).map(|_| draws.below(top) as f64 / 4.0).collect()
}

/// C from 0 to 2n, whole or not.
fn threshold(n: usize, draws: &mut Stream) -> f64 {
    let c = 2.0 * n as f64 * draws.unit();
    if draws.chance(0.5) { c.round() } else { c }
}

fn prefix_sums(losses: &[f64]) -> Vec<f64> {
    let mut sorted = losses.to_vec();
    sorted.sort_by(f64::total_cmp);
    let mut sum = 0.0;
    std::iter::once(0.0)
        .chain(sorted.iter().map(|loss| {
            sum += loss;
            sum
        }))
        .collect()
}

#[test]
fn theorem_the_selection_is_the_minimum_over_all_choices() {
    holds("min over 2^n", 150, |draws| {
        let n = draws.below(15);
        let (losses, c) = (losses(n, draws), threshold(n, draws));
        let best = (0u32..1 << n)
            .map(|v| {
                let sum: f64 = (0..n).filter(|i| v >> i & 1 == 1).map(|i| losses[i]).sum();
                sum.max(c - f64::from(v.count_ones()))
            })
            .fold(f64::INFINITY, f64::min);
        let mut selector = Selector::new();
        let selection = selector.select(&losses, c, Extra::Never).unwrap();
        assert_eq!(selection.objective, best, "losses {losses:?}, C {c}");
        let kept_sum: f64 = selection.kept.iter().map(|&i| losses[i as usize]).sum();
        assert_eq!(kept_sum.max(c - selection.kept.len() as f64), best);
    });
}

#[test]
fn proposition_optimum_of_partial_optimisation() {
    holds("proposition", 500, |draws| {
        let n = draws.below(200);
        let (losses, c) = (losses(n, draws), threshold(n, draws));
        let sums = prefix_sums(&losses);
        let mut selector = Selector::new();
        let s = selector.select(&losses, c, Extra::Never).unwrap();
        let t = s.count;
        equal(s.sum, sums[t], "L_T");
        assert!(sums[t] <= c + 1.0 - t as f64 || t == 0, "L_T ≤ C + 1 − T");
        if t < n {
            assert!(sums[t + 1] > c - t as f64, "L_(T+1) > C − T");
            // The paper says ">" here; its proof needs l_(T+1) > 0, which fails when more than C + 1 losses are zero.
            let next_is_zero = sums[t + 1] == 0.0;
            assert!(sums[t + 1] > s.objective || next_is_zero && s.objective == 0.0, "L_(T+1) > max(L_T, C − T)");
        }
        assert_eq!(s.objective, s.sum.max(c - t as f64), "value = max(L_T, C − T)");
    });
}

#[test]
fn footnote_rate_times_n_samples_are_pruned_or_one_less() {
    // C = (1−ε)n with C and εn whole. All of the first (1−ε)n must fit for the pruned number to be exactly εn: that is
    // E on the rest keeping everything, which the footnote assumes; here the losses are small enough.
    holds("footnote", 300, |draws| {
        let n = 1 + draws.below(60);
        let pruned = draws.below(n + 1);
        let c = n - pruned;
        let zeros = draws.below(n + 1);
        let losses: Vec<f64> =
            (0..n).map(|i| if i < zeros { 0.0 } else { (1 + draws.below(3)) as f64 / (64.0 * 64.0) }).collect();
        let first_sum = if c < n { prefix_sums(&losses)[c + 1] } else { 1.0 };
        let mut selector = Selector::new();
        let count = selector.select(&losses, c as f64, Extra::Never).unwrap().count;
        assert_eq!(n - count, if first_sum != 0.0 { pruned } else { pruned - 1 }, "n {n}, C {c}, zeros {zeros}");
    });
}

#[test]
fn at_least_rate_times_n_less_one_samples_are_always_pruned() {
    holds("pruning", 300, |draws| {
        let n = 1 + draws.below(100);
        let pruned = draws.below(n + 1);
        let losses = losses(n, draws);
        let mut selector = Selector::new();
        let s = selector.select(&losses, (n - pruned) as f64, Extra::Never).unwrap();
        assert!(n - s.count + 1 >= pruned);
        let largest_kept = s.kept.iter().map(|&i| losses[i as usize]).fold(0.0, f64::max);
        let kept: std::collections::HashSet<u32> = s.kept.iter().copied().collect();
        let smallest_pruned =
            (0..n as u32).filter(|i| !kept.contains(i)).map(|i| losses[i as usize]).fold(f64::INFINITY, f64::min);
        assert!(largest_kept <= smallest_pruned, "only the largest losses are pruned");
    });
}

#[test]
fn npcl_equals_e_on_the_unpruned_rest() {
    holds("pruned form", 300, |draws| {
        let n = 1 + draws.below(80);
        let pruned = draws.below(n);
        let mut losses = losses(n, draws);
        let c = (n - pruned) as f64;
        let mut selector = Selector::new();
        let npcl = selector.select(&losses, c, Extra::Never).unwrap().objective;
        losses.sort_by(f64::total_cmp);
        losses.truncate(n - pruned);
        let e = selector.select(&losses, c, Extra::Never).unwrap().objective;
        // Where the footnote's exception holds, one zero more is kept and C − T is −1 instead of 0: the same maximum.
        assert_eq!(npcl, e, "n {n}, pruned {pruned}");
    });
}

#[test]
fn the_extra_sample_is_the_next_smallest_and_only_when_there_is_slack() {
    holds("T+1", 300, |draws| {
        let n = draws.below(120);
        let (losses, c) = (losses(n, draws), threshold(n, draws));
        let mut selector = Selector::new();
        let plain = selector.select(&losses, c, Extra::Never).unwrap();
        let (t, sum, objective, kept) = (plain.count, plain.sum, plain.objective, plain.kept.to_vec());
        let more = selector.select(&losses, c, Extra::WhenSlack).unwrap();
        assert_eq!((more.count, more.sum, more.objective), (t, sum, objective), "the value stays that of Algorithm 1");
        assert_eq!(more.extra, sum <= c - t as f64 && t < n);
        assert_eq!(more.kept.len(), t + usize::from(more.extra));
        if more.extra {
            let added: Vec<u32> = more.kept.iter().copied().filter(|i| !kept.contains(i)).collect();
            assert_eq!(added.len(), 1, "all of the first T are still there");
            let sums = prefix_sums(&losses);
            equal(losses[added[0] as usize], sums[t + 1] - sums[t], "the next smallest");
        } else {
            assert_eq!(more.kept, kept);
        }
    });
}
