//! The six small matrix products of Winograd's algorithm F(4×4, 3×3), on sixteen channels at a time.
//!
//! With the points 0, ±1, ±2 and ∞, one dimension of a convolution of 6 inputs `d` with 3 weights `g` is
//!
//! ```text
//! y = Aᵀ[(G g) ∘ (Bᵀ d)]            6 multiplications for 4 outputs instead of 12
//!
//!      ⎡ 4  0 −5  0  1  0⎤        ⎡  1/4     0     0 ⎤         ⎡1  1  1  1  1  0⎤
//!      ⎢ 0 −4 −4  1  1  0⎥        ⎢−1/6  −1/6  −1/6 ⎥    Aᵀ = ⎢0  1 −1  2 −2  0⎥
//! Bᵀ = ⎢ 0  4 −4 −1  1  0⎥    G = ⎢−1/6   1/6  −1/6 ⎥         ⎢0  1  1  4  4  0⎥
//!      ⎢ 0 −2 −1  2  1  0⎥        ⎢ 1/24  1/12  1/6 ⎥         ⎣0  1 −1  8 −8  1⎦
//!      ⎢ 0  2 −1 −2  1  0⎥        ⎢ 1/24 −1/12  1/6 ⎥
//!      ⎣ 0  4  0 −5  0  1⎦        ⎣  0     0     1  ⎦
//! ```
//!
//! and in two dimensions every product is applied from both sides: 36 multiplications for 16 outputs instead of 144. The map
//! is bilinear, so its gradients are the transposed products: `dd = B[(G g) ∘ (A dy)]` and `dg = Gᵀ[(A dy) ∘ (Bᵀ d)]`.

use crate::cpu::simd::Register;

/// `Bᵀ d`.
#[inline(always)]
pub(crate) fn input<R: Register>(d: [R; 6]) -> [R; 6] {
    let even = d[4].plus(-4.0, d[2]);
    let odd = d[3].plus(-4.0, d[1]);
    let even2 = d[4].sub(d[2]);
    let odd2 = d[3].sub(d[1]);
    [
        d[4].plus(-5.0, d[2]).plus(4.0, d[0]),
        even.add(odd),
        even.sub(odd),
        even2.plus(2.0, odd2),
        even2.plus(-2.0, odd2),
        d[5].plus(-5.0, d[3]).plus(4.0, d[1]),
    ]
}

/// `B m`, the transpose of [`input`].
#[inline(always)]
pub(crate) fn input_transposed<R: Register>(m: [R; 6]) -> [R; 6] {
    let (sum1, difference1) = (m[1].add(m[2]), m[1].sub(m[2]));
    let (sum2, difference2) = (m[3].add(m[4]), m[3].sub(m[4]));
    [
        m[0].times(4.0),
        difference1.times(-4.0).plus(-2.0, difference2).plus(4.0, m[5]),
        sum1.times(-4.0).plus(-5.0, m[0]).sub(sum2),
        difference1.plus(2.0, difference2).plus(-5.0, m[5]),
        m[0].add(sum1).add(sum2),
        m[5],
    ]
}

/// `Aᵀ m`.
#[inline(always)]
pub(crate) fn output<R: Register>(m: [R; 6]) -> [R; 4] {
    let (sum1, difference1) = (m[1].add(m[2]), m[1].sub(m[2]));
    let (sum2, difference2) = (m[3].add(m[4]), m[3].sub(m[4]));
    [
        m[0].add(sum1).add(sum2),
        difference1.plus(2.0, difference2),
        sum1.plus(4.0, sum2),
        difference1.plus(8.0, difference2).add(m[5]),
    ]
}

/// `A dy`, the transpose of [`output`].
#[inline(always)]
pub(crate) fn output_transposed<R: Register>(y: [R; 4]) -> [R; 6] {
    let (even, odd) = (y[0].add(y[2]), y[1].add(y[3]));
    let (even2, odd2) = (y[0].plus(4.0, y[2]), y[1].times(2.0).plus(8.0, y[3]));
    [y[0], even.add(odd), even.sub(odd), even2.add(odd2), even2.sub(odd2), y[3]]
}

/// `G g`.
#[inline(always)]
pub(crate) fn weight<R: Register>(g: [R; 3]) -> [R; 6] {
    let even = g[0].add(g[2]).times(-1.0 / 6.0);
    let even2 = g[0].times(1.0 / 24.0).plus(1.0 / 6.0, g[2]);
    [
        g[0].times(0.25),
        even.plus(-1.0 / 6.0, g[1]),
        even.plus(1.0 / 6.0, g[1]),
        even2.plus(1.0 / 12.0, g[1]),
        even2.plus(-1.0 / 12.0, g[1]),
        g[2],
    ]
}

/// `Gᵀ m`, the transpose of [`weight`].
#[inline(always)]
pub(crate) fn weight_transposed<R: Register>(m: [R; 6]) -> [R; 3] {
    let (sum1, difference1) = (m[1].add(m[2]), m[1].sub(m[2]));
    let (sum2, difference2) = (m[3].add(m[4]), m[3].sub(m[4]));
    [
        m[0].times(0.25).plus(-1.0 / 6.0, sum1).plus(1.0 / 24.0, sum2),
        difference1.times(-1.0 / 6.0).plus(1.0 / 12.0, difference2),
        m[5].plus(-1.0 / 6.0, sum1).plus(1.0 / 6.0, sum2),
    ]
}

/// `P x Pᵀ`: the one-dimensional `product` `P` of `OUT × IN` applied to rows, then to columns.
///
/// A macro, because a function passed as a value would be compiled without the vector instructions of its caller.
macro_rules! both_sides {
    ($product:expr, $x:expr, $in:literal => $out:literal) => {{
        let x = $x;
        let mut half = [[x[0][0]; $out]; $in];
        for i in 0..$in {
            half[i] = $product(x[i]);
        }
        let mut whole = [[x[0][0]; $out]; $out];
        for j in 0..$out {
            let mut column = [half[0][j]; $in];
            for i in 1..$in {
                column[i] = half[i][j];
            }
            let done = $product(column);
            for i in 0..$out {
                whole[i][j] = done[i];
            }
        }
        whole
    }};
}
pub(crate) use both_sides;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::lane::{LANES, Lane, ZERO};
    use crate::cpu::simd::Portable;

    type P = Portable<false>;

    fn splat(v: f32) -> P {
        P::load(&Lane([v; LANES]))
    }

    fn lane(v: P) -> Lane {
        let mut lane = ZERO;
        v.store(&mut lane);
        lane
    }

    const BT: [[f32; 6]; 6] = [
        [4.0, 0.0, -5.0, 0.0, 1.0, 0.0],
        [0.0, -4.0, -4.0, 1.0, 1.0, 0.0],
        [0.0, 4.0, -4.0, -1.0, 1.0, 0.0],
        [0.0, -2.0, -1.0, 2.0, 1.0, 0.0],
        [0.0, 2.0, -1.0, -2.0, 1.0, 0.0],
        [0.0, 4.0, 0.0, -5.0, 0.0, 1.0],
    ];
    const S: f32 = 1.0 / 6.0;
    const G: [[f32; 3]; 6] =
        [[0.25, 0.0, 0.0], [-S, -S, -S], [-S, S, -S], [S / 4.0, S / 2.0, S], [S / 4.0, -S / 2.0, S], [0.0, 0.0, 1.0]];
    const AT: [[f32; 6]; 4] = [
        [1.0, 1.0, 1.0, 1.0, 1.0, 0.0],
        [0.0, 1.0, -1.0, 2.0, -2.0, 0.0],
        [0.0, 1.0, 1.0, 4.0, 4.0, 0.0],
        [0.0, 1.0, -1.0, 8.0, -8.0, 1.0],
    ];

    /// The columns that `product` maps the unit vectors to, compared with `entry(row, column)`.
    fn is_matrix<const IN: usize, const OUT: usize>(
        product: impl Fn([P; IN]) -> [P; OUT],
        entry: impl Fn(usize, usize) -> f32,
    ) {
        for j in 0..IN {
            let mut unit = [splat(0.0); IN];
            unit[j] = splat(1.0);
            let column = product(unit).map(lane);
            for (i, got) in column.iter().enumerate() {
                assert!((got[0] - entry(i, j)).abs() < 1e-6, "({i}, {j}): {} instead of {}", got[0], entry(i, j));
                assert!(got.0.iter().all(|v| v == &got[0]));
            }
        }
    }

    #[test]
    fn products_are_the_documented_matrices_and_their_transposes() {
        is_matrix(input::<P>, |i, j| BT[i][j]);
        is_matrix(input_transposed::<P>, |i, j| BT[j][i]);
        is_matrix(output::<P>, |i, j| AT[i][j]);
        is_matrix(output_transposed::<P>, |i, j| AT[j][i]);
        is_matrix(weight::<P>, |i, j| G[i][j]);
        is_matrix(weight_transposed::<P>, |i, j| G[j][i]);
    }

    #[test]
    fn one_dimension_is_a_convolution() {
        let (d, g) = ([0.5, -1.0, 2.0, 0.25, -0.75, 1.5], [0.3, -0.6, 0.9]);
        let (v, u) = (input(d.map(splat)), weight(g.map(splat)));
        let m: [P; 6] = std::array::from_fn(|i| v[i].times(lane(u[i])[0]));
        for (i, y) in output(m).map(lane).iter().enumerate() {
            let want = d[i] * g[0] + d[i + 1] * g[1] + d[i + 2] * g[2];
            assert!((y[0] - want).abs() < 1e-5);
        }
    }
}
