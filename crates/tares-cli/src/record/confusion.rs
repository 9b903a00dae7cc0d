//! How a model answered the test rows, and whether that is better than naming one class.

use tares_core::Dataset;
use tares_core::estimate::{Caution, Overview};

/// The confusion matrix: counts, `[true][predicted]`.
pub fn confusion(data: &Dataset, predictions: &[u32]) -> Vec<Vec<u64>> {
    let mut counts = vec![vec![0; data.classes()]; data.classes()];
    for (&given, &predicted) in data.given().iter().zip(predictions) {
        counts[given as usize][predicted as usize] += 1;
    }
    counts
}

/// A warning if a network that answered test rows like this (`[true][predicted]`) is hardly better than always naming the largest class. (Judges of
/// columns are asked about rows they were not trained on; a network has only the test rows for that.)
pub fn weak_on_test_rows(confusion: &[Vec<u64>]) -> Option<String> {
    let counts: Vec<usize> = confusion.iter().map(|row| row.iter().sum::<u64>() as usize).collect();
    let rows = counts.iter().sum();
    // One class given alone says nothing about the network.
    if counts.iter().filter(|&&count| count > 0).count() < 2 {
        return None;
    }
    let right: u64 = confusion.iter().enumerate().map(|(class, row)| row[class]).sum();
    let self_confidence = vec![None; counts.len()];
    let overview = Overview { rows, counts, self_confidence, disagreements: rows - right as usize, confidence: 0.0 };
    let said = Caution::weak(&overview)?.sentence(|class| class.to_string());
    Some(format!("on the test rows, {said}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_that_names_hardly_more_than_the_largest_class_is_weak() {
        let said = weak_on_test_rows(&[vec![20, 10, 10], vec![12, 9, 9], vec![10, 10, 10]]).unwrap();
        assert!(said.starts_with("on the test rows, the predictions equal 39.0 %"), "{said}");
        assert_eq!(weak_on_test_rows(&[vec![40, 0], vec![3, 27]]), None);
        assert_eq!(weak_on_test_rows(&[vec![40, 9], vec![0, 0]]), None, "one class says nothing");
        assert_eq!(weak_on_test_rows(&[]), None, "no test rows");
    }
}
