//! Matrix products by the `gemm` crate. One of the three modules with `unsafe`.
//!
//! Why the call is sound: every element that `gemm` touches has the offset `i * row + j * column` with `i < rows` and
//! `j < columns`. The largest offset is compared with the slice's length before the call, and strides are unsigned, so all
//! smaller offsets are inside as well. The output is a `&mut` slice, so it overlaps no input. An output whose strides would
//! address one element twice is refused.
#![allow(unsafe_code)]

/// A matrix inside a slice: element `(i, j)` is `data[i * row + j * column]`.
#[derive(Clone, Copy)]
pub(crate) struct Matrix<'a> {
    pub data: &'a [f32],
    pub row: usize,
    pub column: usize,
}

/// `c = a · b`, or `c += a · b` when `add`; `c [m, n]` has rows `ldc` apart and adjacent columns.
///
/// Runs on the calling thread alone, so that the result depends on nothing but its operands.
pub(crate) fn multiply(size: [usize; 3], c: &mut [f32], ldc: usize, add: bool, a: Matrix, b: Matrix) {
    let [m, n, k] = size;
    if m == 0 || n == 0 {
        return;
    }
    let last = |rows: usize, columns: usize, row: usize, column: usize| (rows - 1) * row + (columns - 1) * column;
    assert!(
        (ldc >= n || m == 1) && last(m, n, ldc, 1) < c.len(),
        "product {size:?}: output of {} is too short",
        c.len()
    );
    if k == 0 {
        if !add {
            c.chunks_mut(ldc).take(m).for_each(|row| row[..n].fill(0.0));
        }
        return;
    }
    assert!(
        last(m, k, a.row, a.column) < a.data.len(),
        "product {size:?}: left factor of {} is too short",
        a.data.len()
    );
    assert!(
        last(k, n, b.row, b.column) < b.data.len(),
        "product {size:?}: right factor of {} is too short",
        b.data.len()
    );
    // SAFETY: all offsets are inside their slices (asserted above), and `c` is borrowed mutably.
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            c.as_mut_ptr(),
            1,
            ldc as isize,
            add,
            a.data.as_ptr(),
            a.column as isize,
            a.row as isize,
            b.data.as_ptr(),
            b.column as isize,
            b.row as isize,
            1.0,
            1.0,
            false,
            false,
            false,
            gemm::Parallelism::None,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strided_product_equals_the_definition() {
        let a: Vec<f32> = (0..24).map(|v| v as f32 * 0.5 - 3.0).collect();
        let b: Vec<f32> = (0..24).map(|v| 2.0 - v as f32 * 0.25).collect();
        let (m, n, k) = (3, 2, 4);
        let mut c = vec![1.0; 12];
        // `a` transposed, `b` with a gap between rows, `c` with rows 5 apart
        multiply(
            [m, n, k],
            &mut c,
            5,
            true,
            Matrix { data: &a, row: 1, column: 6 },
            Matrix { data: &b, row: 5, column: 2 },
        );
        for i in 0..m {
            for j in 0..n {
                let want: f32 = 1.0 + (0..k).map(|p| a[i + 6 * p] * b[5 * p + 2 * j]).sum::<f32>();
                assert!((c[i * 5 + j] - want).abs() < 1e-4, "({i}, {j}): {} instead of {want}", c[i * 5 + j]);
            }
        }
        assert_eq!(c[2], 1.0, "the gap between rows was written");
    }

    #[test]
    #[should_panic(expected = "right factor")]
    fn factor_that_is_too_short_is_refused() {
        let short = Matrix { data: &[1.0; 5], row: 3, column: 1 };
        multiply([2, 3, 2], &mut [0.0; 6], 3, false, Matrix { data: &[1.0; 4], row: 2, column: 1 }, short);
    }

    #[test]
    #[should_panic(expected = "output")]
    fn output_that_is_too_short_is_refused() {
        let ones = Matrix { data: &[1.0; 4], row: 2, column: 1 };
        multiply([2, 2, 2], &mut [0.0; 3], 2, false, ones, ones);
    }
}
