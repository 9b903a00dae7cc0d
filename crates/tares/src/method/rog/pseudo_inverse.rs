//! The pseudo-inverse of a symmetric matrix, from its eigenvalues.

/// The inverse of a symmetric `n × n` matrix on the directions whose eigenvalue is above `cut` times the largest one, and 0
/// on the others: features that never change say nothing.
pub(super) fn pseudo_inverse(matrix: &[f64], n: usize, cut: f64) -> Vec<f64> {
    let (values, vectors) = eigen(matrix.to_vec(), n);
    let largest = values.iter().fold(0.0f64, |largest, value| largest.max(value.abs()));
    let mut out = vec![0.0; n * n];
    for (value, vector) in values.iter().zip(vectors.chunks_exact(n)) {
        if value.abs() <= cut * largest || *value == 0.0 {
            continue;
        }
        for (i, line) in out.chunks_exact_mut(n).enumerate() {
            let scale = vector[i] / value;
            line.iter_mut().zip(vector).for_each(|(out, v)| *out += scale * v);
        }
    }
    out
}

/// Eigenvalues of a symmetric matrix and its eigenvectors, one per row, by Jacobi's rotations.
fn eigen(mut matrix: Vec<f64>, n: usize) -> (Vec<f64>, Vec<f64>) {
    let mut vectors = vec![0.0; n * n];
    (0..n).for_each(|i| vectors[i * n + i] = 1.0);
    let size: f64 = matrix.iter().map(|value| value * value).sum();
    // Converges quadratically: 6 to 10 sweeps are enough, 50 are never needed.
    for _ in 0..50 {
        let outside: f64 = (0..n).map(|i| (0..i).map(|j| matrix[i * n + j].powi(2)).sum::<f64>()).sum();
        if outside <= 1e-28 * size {
            break;
        }
        for p in 0..n {
            for q in p + 1..n {
                rotate(&mut matrix, &mut vectors, n, p, q);
            }
        }
    }
    ((0..n).map(|i| matrix[i * n + i]).collect(), vectors)
}

/// Turns the axes p and q so that the entry between them becomes 0.
fn rotate(matrix: &mut [f64], vectors: &mut [f64], n: usize, p: usize, q: usize) {
    let between = matrix[p * n + q];
    if between == 0.0 {
        return;
    }
    let theta = (matrix[q * n + q] - matrix[p * n + p]) / (2.0 * between);
    let t = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
    let t = if theta == 0.0 { 1.0 } else { t };
    let cosine = 1.0 / (t * t + 1.0).sqrt();
    let sine = t * cosine;
    let turn = |a: &mut f64, b: &mut f64| {
        let (x, y) = (*a, *b);
        (*a, *b) = (cosine * x - sine * y, sine * x + cosine * y);
    };
    for row in matrix.chunks_exact_mut(n) {
        let (left, right) = row.split_at_mut(q);
        turn(&mut left[p], &mut right[0]);
    }
    for rows in [matrix, vectors] {
        let (above, below) = rows.split_at_mut(q * n);
        above[p * n..(p + 1) * n].iter_mut().zip(&mut below[..n]).for_each(|(a, b)| turn(a, b));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tares_core::stream;

    fn product(a: &[f64], b: &[f64], n: usize) -> Vec<f64> {
        (0..n * n).map(|at| (0..n).map(|k| a[at / n * n + k] * b[k * n + at % n]).sum()).collect()
    }

    #[test]
    fn an_invertible_matrix_times_its_inverse_is_the_identity() {
        let mut draws = stream(3, "matrix");
        for n in [1, 2, 7, 40] {
            let root: Vec<f64> = (0..n * n).map(|_| draws.normal()).collect();
            let transposed: Vec<f64> = (0..n * n).map(|at| root[at % n * n + at / n]).collect();
            let mut matrix = product(&root, &transposed, n);
            (0..n).for_each(|i| matrix[i * n + i] += 0.1);
            let identity = product(&matrix, &pseudo_inverse(&matrix, n, 1e-12), n);
            for (at, value) in identity.iter().enumerate() {
                let expected = f64::from(u8::from(at / n == at % n));
                assert!((value - expected).abs() < 1e-8, "{n}: entry {at} is {value}");
            }
        }
    }

    #[test]
    fn directions_without_variance_are_left_out() {
        // Rank 1: the inverse of v vᵀ is v vᵀ / |v|⁴. With v = (1, 2): 25.
        let inverse = pseudo_inverse(&[1.0, 2.0, 2.0, 4.0], 2, 1e-10);
        for (value, expected) in inverse.iter().zip([0.04, 0.08, 0.08, 0.16]) {
            assert!((value - expected).abs() < 1e-12, "{inverse:?}");
        }
        assert_eq!(pseudo_inverse(&[0.0; 4], 2, 1e-10), [0.0; 4]);
    }
}
