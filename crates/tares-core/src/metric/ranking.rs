//! How well a score ranks the wanted samples above the others, whatever the cut.

use crate::error::{Error, Result, same_length};

/// Area under the ROC curve: the probability that a wanted sample scores above an unwanted one, ties counting half.
///
/// ```
/// use tares_core::metric::auroc;
/// assert_eq!(auroc(&[0.9, 0.8, 0.3, 0.1], &[true, false, true, false])?, 0.75);
/// # Ok::<(), tares_core::Error>(())
/// ```
///
/// # Errors
/// Different lengths; NaN; not at least one wanted and one unwanted sample.
pub fn auroc(scores: &[f64], wanted: &[bool]) -> Result<f64> {
    let order = descending(scores, wanted)?;
    let positives = wanted.iter().filter(|mark| **mark).count();
    let negatives = wanted.len() - positives;
    if positives == 0 || negatives == 0 {
        return Err(Error::value(
            "samples to rank",
            "of both kinds, wanted and unwanted",
            format!("{positives} wanted, {negatives} unwanted"),
        ));
    }
    // Going down the ranking, every unwanted sample lies below all wanted ones above it and beside half of its equals.
    let (mut above, mut area) = (0, 0.0);
    for tie in ties(&order, scores) {
        let up = tie.iter().filter(|&&index| wanted[index]).count();
        area += (tie.len() - up) as f64 * (above as f64 + up as f64 / 2.0);
        above += up;
    }
    Ok(area / (positives as f64 * negatives as f64))
}

/// Average precision: the mean, over the wanted samples, of the precision at their rank (Σ (R_i − R_{i−1}) P_i, equal
/// scores entering together).
///
/// # Errors
/// Different lengths; NaN; no wanted sample.
pub fn average_precision(scores: &[f64], wanted: &[bool]) -> Result<f64> {
    let order = descending(scores, wanted)?;
    let positives = wanted.iter().filter(|mark| **mark).count();
    if positives == 0 {
        return Err(Error::empty("wanted samples"));
    }
    let (mut seen, mut hits, mut total) = (0, 0, 0.0);
    for tie in ties(&order, scores) {
        let up = tie.iter().filter(|&&index| wanted[index]).count();
        seen += tie.len();
        hits += up;
        total += up as f64 * hits as f64 / seen as f64;
    }
    Ok(total / positives as f64)
}

fn descending(scores: &[f64], wanted: &[bool]) -> Result<Vec<usize>> {
    same_length("marks", scores.len(), wanted.len())?;
    if let Some(index) = scores.iter().position(|score| score.is_nan()) {
        return Err(Error::value("score", "a number", "NaN").at(format!("row {index}")));
    }
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_unstable_by(|&a, &b| scores[b].total_cmp(&scores[a]));
    Ok(order)
}

/// Runs of equal scores.
fn ties<'a>(order: &'a [usize], scores: &'a [f64]) -> impl Iterator<Item = &'a [usize]> {
    order.chunk_by(|&a, &b| scores[a] == scores[b])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::stream;

    #[test]
    fn auroc_is_the_share_of_pairs_in_order() {
        let mut s = stream(11, "test");
        for _ in 0..50 {
            let scores: Vec<f64> = (0..30).map(|_| s.below(8) as f64).collect();
            let wanted: Vec<bool> = (0..30).map(|_| s.chance(0.4)).collect();
            let (mut won, mut pairs) = (0.0, 0.0);
            for i in (0..30).filter(|&i| wanted[i]) {
                for j in (0..30).filter(|&j| !wanted[j]) {
                    pairs += 1.0;
                    won += if scores[i] > scores[j] {
                        1.0
                    } else if scores[i] == scores[j] {
                        0.5
                    } else {
                        0.0
                    };
                }
            }
            if pairs > 0.0 {
                assert!((auroc(&scores, &wanted).unwrap() - won / pairs).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn average_precision_of_a_perfect_ranking_is_1() {
        assert_eq!(average_precision(&[3.0, 2.0, 1.0], &[true, true, false]).unwrap(), 1.0);
        // One wanted sample at rank 3 of 4.
        assert_eq!(average_precision(&[4.0, 3.0, 2.0, 1.0], &[false, false, true, false]).unwrap(), 1.0 / 3.0);
        // All equal: no ranking at all, the share of wanted ones.
        assert_eq!(average_precision(&[1.0; 4], &[true, false, false, false]).unwrap(), 0.25);
    }
}
