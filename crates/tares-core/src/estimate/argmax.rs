//! The plainest detector: every label that is not the classifier's first choice is wrong.

use super::Estimate;
use super::pass::fold;
use super::probabilities::Probabilities;
use super::row::{first_choice, largest};
use crate::dataset::Label;
use crate::error::Result;
use crate::noise::Transition;
use std::collections::BTreeMap;

/// One pass: the estimate, and what `look` collected of the rows whose first choice is another class. `look` gets (index,
/// given label, first choice, probabilities); what it collects is returned in the order of the rows.
pub(crate) fn disagreements<P, S>(
    probs: &P,
    given: &[Label],
    look: impl Fn(&mut Vec<S>, usize, Label, Label, &[P::Number]) + Sync,
) -> Result<(Estimate, Vec<S>)>
where
    P: Probabilities + ?Sized,
    S: Send,
{
    let classes = probs.classes();
    let mut counts = BTreeMap::new(); // (true, given)
    let (mut wrong, mut found) = (0, Vec::new());
    fold(
        probs,
        given,
        || (vec![0usize; classes], Vec::new(), Vec::new()),
        |(right, mistakes, found), block| {
            for (index, label, row) in block.rows() {
                if first_choice(row, label as usize) {
                    right[label as usize] += 1;
                } else {
                    let choice = largest(row).0 as Label;
                    mistakes.push((choice, label));
                    look(found, index, label, choice, row);
                }
            }
            Ok(())
        },
        |(right, mistakes, part)| {
            let right =
                (0..).zip(right).filter(|(_, rows)| *rows > 0).map(|(class, rows)| ((class, class), rows as f64));
            let mistaken = mistakes.iter().map(|&pair| (pair, 1.0));
            right.chain(mistaken).for_each(|(pair, rows)| *counts.entry(pair).or_default() += rows);
            wrong += mistakes.len();
            found.extend(part);
            Ok(())
        },
    )?;
    let transition = Transition::of_counts(classes, &counts)?;
    Ok((Estimate::counted(wrong as f64 / given.len() as f64, given.len(), transition), found))
}
