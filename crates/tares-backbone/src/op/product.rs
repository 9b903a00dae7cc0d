//! The matrix product behind convolutions and dense layers, on one thread: C = A·B, summed over k in ascending order, so a
//! picture gets the same bits whatever else is computed.
//!
//! A comes in panels of six rows, B in panels of sixteen columns; six by sixteen sums stay in registers.

use tares_core::widest::{Work, widest};

/// Rows of a panel of A, and columns of one of B.
const ROWS: usize = 6;
const COLUMNS: usize = 16;
/// Panels of B that are multiplied with one panel of A while it is in the cache.
const PANELS: usize = 8;

/// `out[m][n] = Σ_k a(m, k) · b(k, n)`, rows `out_stride` apart. `fill_a(k0.., row, into)` and `fill_b` write panels:
/// `a_row(m)` is row m of A; `b_columns(k, first, into)` writes entries (k, first..) of B, as many as there are.
pub(crate) fn product<'a>(
    (m, n, k): (usize, usize, usize),
    a_row: impl Fn(usize) -> &'a [f32],
    mut b_columns: impl FnMut(usize, usize, &mut [f32]),
    out: &mut [f32],
) {
    if k == 0 {
        return out.fill(0.0); // sums of nothing
    }
    let packed_a = pack_rows(m, k, a_row);
    let mut packed_b = vec![0f32; k * COLUMNS * PANELS.min(n.div_ceil(COLUMNS))];
    for first in (0..n).step_by(COLUMNS * PANELS) {
        let columns = (n - first).min(COLUMNS * PANELS);
        for (panel, into) in packed_b.chunks_exact_mut(k * COLUMNS).take(columns.div_ceil(COLUMNS)).enumerate() {
            let start = first + panel * COLUMNS;
            let there = (n - start).min(COLUMNS);
            for (row, into) in into.chunks_exact_mut(COLUMNS).enumerate() {
                b_columns(row, start, &mut into[..there]);
                into[there..].fill(0.0);
            }
        }
        widest(Block { a: &packed_a, b: &packed_b, out, m, n, k, first, columns });
    }
}

/// Panels of six rows, k by k; missing rows are 0.
fn pack_rows<'a>(m: usize, k: usize, row: impl Fn(usize) -> &'a [f32]) -> Vec<f32> {
    let mut packed = vec![0f32; m.div_ceil(ROWS) * ROWS * k];
    for r in 0..m {
        let panel = &mut packed[r / ROWS * ROWS * k..];
        panel[r % ROWS..].iter_mut().step_by(ROWS).zip(row(r)).for_each(|(to, &from)| *to = from);
    }
    packed
}

/// All rows of A times some columns of B.
struct Block<'a> {
    a: &'a [f32],
    b: &'a [f32],
    out: &'a mut [f32],
    m: usize,
    n: usize,
    k: usize,
    first: usize,
    columns: usize,
}

impl Work for Block<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (panel_a, a) in self.a.chunks_exact((ROWS * self.k).max(1)).enumerate() {
            let rows = (self.m - panel_a * ROWS).min(ROWS);
            let panels = self.b.chunks_exact((COLUMNS * self.k).max(1)).take(self.columns.div_ceil(COLUMNS));
            for (panel_b, b) in panels.enumerate() {
                let sums = tile(a, b);
                let start = self.first + panel_b * COLUMNS;
                let there = (self.n - start).min(COLUMNS);
                for (r, sums) in sums.iter().enumerate().take(rows) {
                    let at = (panel_a * ROWS + r) * self.n + start;
                    self.out[at..at + there].copy_from_slice(&sums[..there]);
                }
            }
        }
    }
}

/// Six rows of sums as separate variables, which the compiler keeps in registers, unlike one array.
#[inline(always)]
fn tile(a: &[f32], b: &[f32]) -> [[f32; COLUMNS]; ROWS] {
    let [mut s0, mut s1, mut s2, mut s3, mut s4, mut s5] = [[0f32; COLUMNS]; ROWS];
    let (a, _) = a.as_chunks::<ROWS>();
    let (b, _) = b.as_chunks::<COLUMNS>();
    for (a, b) in a.iter().zip(b) {
        add(&mut s0, a[0], b);
        add(&mut s1, a[1], b);
        add(&mut s2, a[2], b);
        add(&mut s3, a[3], b);
        add(&mut s4, a[4], b);
        add(&mut s5, a[5], b);
    }
    [s0, s1, s2, s3, s4, s5]
}

#[inline(always)]
fn add(sums: &mut [f32; COLUMNS], a: f32, b: &[f32; COLUMNS]) {
    for c in 0..COLUMNS {
        sums[c] = a.mul_add(b[c], sums[c]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panels_give_what_three_loops_give() {
        for (m, n, k) in [(1, 1, 1), (6, 16, 3), (7, 17, 5), (13, 150, 9), (2, 3, 0)] {
            let a: Vec<f32> = (0..m * k).map(|i| (i % 7) as f32 - 3.0).collect();
            let b: Vec<f32> = (0..k * n).map(|i| (i % 5) as f32 - 2.0).collect();
            let mut out = vec![9f32; m * n];
            let columns = |row: usize, first: usize, into: &mut [f32]| {
                into.copy_from_slice(&b[row * n + first..row * n + first + into.len()]);
            };
            product((m, n, k), |row| &a[row * k..row * k + k], columns, &mut out);
            for r in 0..m {
                for c in 0..n {
                    let wanted: f32 = (0..k).map(|i| a[r * k + i] * b[i * n + c]).sum();
                    assert_eq!(out[r * n + c], wanted, "{m} x {n} x {k}");
                }
            }
        }
    }
}
