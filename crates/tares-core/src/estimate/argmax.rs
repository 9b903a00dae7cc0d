//! The plainest detector: every label that is not the classifier's first choice is wrong.

use super::Estimate;
use super::pass::fold;
use super::probabilities::Probabilities;
use super::row::{first_choice, largest};
use crate::dataset::Label;
use crate::error::Result;
use crate::noise::Transition;

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
    let mut counts = vec![vec![0.0; classes]; classes]; // [true][given]
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
            right.iter().enumerate().for_each(|(class, &rows)| counts[class][class] += rows as f64);
            mistakes.iter().for_each(|&(truth, label)| counts[truth as usize][label as usize] += 1.0);
            wrong += mistakes.len();
            found.extend(part);
            Ok(())
        },
    )?;
    for (class, row) in counts.iter_mut().enumerate() {
        let total: f64 = row.iter().sum();
        match total > 0.0 {
            true => row.iter_mut().for_each(|count| *count /= total),
            false => row[class] = 1.0,
        }
    }
    let estimate = Estimate::counted(wrong as f64 / given.len() as f64, given.len(), Transition::new(counts)?);
    Ok((estimate, found))
}
