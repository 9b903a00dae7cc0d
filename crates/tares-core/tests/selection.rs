//! The linear-time selection is the sort-based Algorithm 1, on every kind of input; its edge cases; its order.

mod law;

use law::holds;
use tares_core::{Extra, Selector, Stream, stream};

/// Algorithm 1 as printed, with sums in 128-bit integers (units of 2⁻⁶⁴), so that nothing is rounded.
fn by_sorting(losses: &[f32], c: f64) -> (Vec<u32>, f64) {
    let whole = |x: f64| (x * 2f64.powi(64)) as i128;
    let mut order: Vec<u32> = (0..losses.len() as u32).filter(|&i| losses[i as usize].is_finite()).collect();
    order.sort_by(|&a, &b| losses[a as usize].total_cmp(&losses[b as usize]).then(a.cmp(&b)));
    let (mut sum, mut kept) = (0i128, Vec::new());
    for (i, &position) in (1i128..).zip(&order) {
        let next = sum + whole(f64::from(losses[position as usize]));
        if next > whole(c) + (1 - i) * (1 << 64) {
            break;
        }
        sum = next;
        kept.push(position);
    }
    kept.sort_unstable();
    (kept, sum as f64 / 2f64.powi(64))
}

type Make = fn(usize, &mut Stream) -> Vec<f32>;

/// All values are multiples of 2⁻⁴⁰ below 2⁴⁰ or so, exact in the reference's integers.
const KINDS: [(&str, Make); 10] = [
    ("uniform", |n, s| (0..n).map(|_| s.unit() as f32).map(quantised).collect()),
    ("hinge", |n, s| (0..n).map(|_| (1.0 - 2.0 * s.normal()).max(0.0) as f32).map(quantised).collect()),
    ("tied", |n, s| (0..n).map(|_| s.below(5) as f32 * 0.5).collect()),
    ("all zero", |n, _| vec![0.0; n]),
    ("all equal", |n, _| vec![0.375; n]),
    ("sorted", |n, _| (0..n).map(|i| i as f32 / 1024.0).collect()),
    ("reversed", |n, _| (0..n).rev().map(|i| i as f32 / 1024.0).collect()),
    ("heavy-tailed", |n, s| (0..n).map(|_| quantised((1.0 / (1e-9 + s.unit())) as f32)).collect()),
    // Every power of two there is room for, so that no split of the range is even.
    ("adversarial powers", |n, s| (0..n).map(|_| 2f32.powi(s.below(70) as i32 - 35)).collect()),
    // Almost all in one place, a few far away on either side, some infinite, some −0.
    ("adversarial clumps", |n, s| {
        let one = |s: &mut Stream| match s.below(100) {
            0 => 2f32.powi(-38),
            1 => 2f32.powi(35),
            2 => f32::INFINITY,
            3 => -0.0,
            _ => quantised(1.0 + s.unit() as f32 / 1e4),
        };
        (0..n).map(|_| one(s)).collect()
    }),
];

fn quantised(x: f32) -> f32 {
    ((f64::from(x) * 2f64.powi(40)).round() / 2f64.powi(40)) as f32
}

fn check(kind: &str, losses: &[f32], c: f64, selector: &mut Selector) {
    let (kept, sum) = by_sorting(losses, c);
    let selection = selector.select(losses, c, Extra::Never).unwrap();
    assert_eq!(selection.kept, kept, "{kind}, n {}, C {c}", losses.len());
    assert_eq!(selection.sum, sum, "{kind}, n {}, C {c}", losses.len());
    let wide: Vec<f64> = losses.iter().map(|&loss| f64::from(loss)).collect();
    let selection = selector.select(&wide, c, Extra::Never).unwrap();
    assert_eq!(selection.kept, kept, "as f64: {kind}, n {}, C {c}", losses.len());
}

#[test]
fn linear_selection_is_sorting_selection_on_small_inputs() {
    let mut selector = Selector::new();
    for (kind, make) in KINDS {
        for n in (0..40).chain([63, 64, 65, 100, 127, 128, 129, 250]) {
            let mut s = stream(n as u64, kind);
            let losses = make(n, &mut s);
            for c in [0.0, 0.5, 1.0, n as f64 / 3.0, n as f64 / 2.0, n as f64, 1.5 * n as f64, 2.0 * n as f64, 1e6] {
                check(kind, &losses, (c * 1024.0).round() / 1024.0, &mut selector);
            }
        }
    }
}

#[test]
fn linear_selection_is_sorting_selection_on_large_inputs() {
    let mut selector = Selector::new();
    for (kind, make) in KINDS {
        for n in [1_000, 10_000, 100_000] {
            let mut s = stream(n as u64, kind);
            let losses = make(n, &mut s);
            for _ in 0..4 {
                let c = (2.0 * n as f64 * s.unit() * 1024.0).round() / 1024.0;
                check(kind, &losses, c, &mut selector);
            }
        }
    }
}

#[test]
fn permuting_the_losses_permutes_what_is_kept() {
    holds("permutation", 100, |draws| {
        let n = 1 + draws.below(2000);
        // All different, so that ties don't decide; sums that f64 has to round.
        let losses: Vec<f64> = (0..n).map(|i| draws.unit() * 3.0 + i as f64 * 1e-13).collect();
        let c = draws.unit() * 2.0 * n as f64;
        let order = draws.permutation(n);
        let turned: Vec<f64> = order.iter().map(|&i| losses[i]).collect();
        let mut selector = Selector::new();
        let a = selector.select(&losses, c, Extra::WhenSlack).unwrap();
        let (kept, sum) = (a.kept.to_vec(), a.sum);
        let b = selector.select(&turned, c, Extra::WhenSlack).unwrap();
        assert_eq!(b.sum.to_bits(), sum.to_bits(), "the sum has the same bits in any order");
        let mut back: Vec<u32> = b.kept.iter().map(|&i| order[i as usize] as u32).collect();
        back.sort_unstable();
        assert_eq!(back, kept);
    });
}

#[test]
fn edge_cases_are_defined() {
    let mut s = Selector::new();
    let none: [f64; 0] = [];
    let empty = s.select(&none, 3.0, Extra::WhenSlack).unwrap();
    assert_eq!((empty.kept.len(), empty.count, empty.sum, empty.objective, empty.extra), (0, 0, 0.0, 3.0, false));

    let one = s.select(&[0.5], 1.0, Extra::Never).unwrap();
    assert_eq!((one.kept, one.sum, one.objective), (&[0][..], 0.5, 0.5));
    let too_much = s.select(&[1.5], 1.0, Extra::Never).unwrap();
    assert_eq!((too_much.count, too_much.objective), (0, 1.0), "T = 0: the objective is C");
    let rescued = s.select(&[1.5], 1.0, Extra::WhenSlack).unwrap();
    assert_eq!((rescued.kept, rescued.count, rescued.extra), (&[0][..], 0, true));

    let all = s.select(&[0.25; 5], 100.0, Extra::WhenSlack).unwrap();
    assert_eq!((all.kept.len(), all.objective, all.extra), (5, 95.0, false), "all kept: there is no next sample");
    assert_eq!(s.select(&[0.0; 4], 0.0, Extra::Never).unwrap().kept, [0], "C = 0 keeps one sample that costs nothing");
    assert_eq!(s.select(&[0.0; 4], 2.0, Extra::Never).unwrap().kept, [0, 1, 2], "ties go by position");
}

#[test]
fn infinite_losses_are_never_kept() {
    let mut s = Selector::new();
    let losses = [f32::INFINITY, 1.0, f32::INFINITY, 0.0];
    assert_eq!(s.select(&losses, 1e9, Extra::WhenSlack).unwrap().kept, [1, 3]);
    assert_eq!(s.select(&[f32::INFINITY; 3], 5.0, Extra::WhenSlack).unwrap().kept, []);
    let huge = [f64::MAX, f64::MAX, 1.0];
    assert_eq!(s.select(&huge, 10.0, Extra::Never).unwrap().kept, [2]);
}

#[test]
fn the_tiniest_losses_are_told_apart() {
    let mut s = Selector::new();
    let tiny: Vec<f64> = (0..100).map(|i| f64::from_bits(100 - i)).collect();
    // C = 49: fifty samples would need a sum of 0.
    let kept = s.select(&tiny, 49.0, Extra::Never).unwrap();
    assert_eq!((kept.count, kept.kept[0]), (49, 51));
}

#[test]
fn bad_values_are_errors_that_say_where() {
    let mut s = Selector::new();
    let mut say = |losses: &[f64], c: f64| s.select(losses, c, Extra::Never).unwrap_err().to_string();
    assert_eq!(say(&[0.0, f64::NAN], 1.0), "base loss must be a number >= 0, got NaN at position 1");
    assert_eq!(say(&[-1.0], 1.0), "base loss must be a number >= 0, got -1 at position 0");
    assert_eq!(say(&[f64::NEG_INFINITY], 1.0), "base loss must be a number >= 0, got -inf at position 0");
    assert_eq!(say(&[1.0], f64::NAN), "selection threshold must be a finite number >= 0, got NaN");
    assert_eq!(say(&[1.0], f64::INFINITY), "selection threshold must be a finite number >= 0, got inf");
    assert_eq!(say(&[1.0], -0.5), "selection threshold must be a finite number >= 0, got -0.5");
    let by_class = s.select_by_class(&[1.0, 1.0], &[0, 5], 2, Extra::Never, |_, _| 1.0).unwrap_err();
    assert_eq!(by_class.to_string(), "label must be in 0..2, got 5 at row 1");
}
