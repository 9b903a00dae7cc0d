//! The six small matrix products of Winograd's algorithm F(4×4, 3×3), on sixteen channels at a time.
//!
//! With the points 0, ±p, ±q and ∞, one dimension of a convolution of 6 inputs `d` with 3 weights `g` is
//!
//! ```text
//! y = Aᵀ[(G g) ∘ (Bᵀ d)]            6 multiplications for 4 outputs instead of 12
//!
//!      ⎡p²q²   0   −p²−q²   0     1  0⎤        ⎡ 1/P    0    0  ⎤         ⎡1  1   1   1   1  0⎤
//!      ⎢ 0   −pq²   −q²     p     1  0⎥        ⎢ 1/R   p/R  p²/R⎥    Aᵀ = ⎢0  p  −p   q  −q  0⎥
//! Bᵀ = ⎢ 0    pq²   −q²    −p     1  0⎥    G = ⎢ 1/R  −p/R  p²/R⎥         ⎢0  p²  p²  q²  q² 0⎥
//!      ⎢ 0   −p²q   −p²     q     1  0⎥        ⎢ 1/S   q/S  q²/S⎥         ⎣0  p³ −p³  q³ −q³ 1⎦
//!      ⎢ 0    p²q   −p²    −q     1  0⎥        ⎢ 1/S  −q/S  q²/S⎥
//!      ⎣ 0   p²q²    0   −p²−q²   0  1⎦        ⎣  0     0     1 ⎦     P = p²q²   R = 2p²(p²−q²)   S = 2q²(q²−p²)
//! ```
//!
//! and in two dimensions every product is applied from both sides: 36 multiplications for 16 outputs instead of 144. The map
//! is bilinear, so its gradients are the transposed products: `dd = B[(G g) ∘ (A dy)]` and `dg = Gᵀ[(A dy) ∘ (Bᵀ d)]`.
//!
//! The points decide how much rounding is enlarged. With p = 5/8 and q = 3/2 the 36 products are 3.6 (output, gradient of the weights) and 4.8
//! (gradient of the input) times as large as what is left of them in the end, with the usual 1 and 2 they are 7.7 and 10.8 times as large.
//! All entries of A and B are exact.

use crate::cpu::simd::Register;

const P: f32 = 0.625;
const Q: f32 = 1.5;
const P2: f32 = P * P;
const Q2: f32 = Q * Q;
/// What the rows of G are multiplied by.
const AT_0: f32 = 1.0 / (P2 * Q2);
const AT_P: f32 = 1.0 / (2.0 * P2 * (P2 - Q2));
const AT_Q: f32 = 1.0 / (2.0 * Q2 * (Q2 - P2));

/// `Bᵀ d`.
#[inline(always)]
pub(crate) fn input<R: Register>(d: [R; 6]) -> [R; 6] {
    let (even, odd) = (d[4].plus(-Q2, d[2]), d[3].plus(-Q2, d[1]));
    let (even2, odd2) = (d[4].plus(-P2, d[2]), d[3].plus(-P2, d[1]));
    [
        d[4].plus(-P2 - Q2, d[2]).plus(P2 * Q2, d[0]),
        even.plus(P, odd),
        even.plus(-P, odd),
        even2.plus(Q, odd2),
        even2.plus(-Q, odd2),
        d[5].plus(-P2 - Q2, d[3]).plus(P2 * Q2, d[1]),
    ]
}

/// `B m`, the transpose of [`input`].
#[inline(always)]
pub(crate) fn input_transposed<R: Register>(m: [R; 6]) -> [R; 6] {
    let (sum1, difference1) = (m[1].add(m[2]), m[1].sub(m[2]));
    let (sum2, difference2) = (m[3].add(m[4]), m[3].sub(m[4]));
    [
        m[0].times(P2 * Q2),
        difference1.times(-P * Q2).plus(-P2 * Q, difference2).plus(P2 * Q2, m[5]),
        sum1.times(-Q2).plus(-P2, sum2).plus(-P2 - Q2, m[0]),
        difference1.times(P).plus(Q, difference2).plus(-P2 - Q2, m[5]),
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
        difference1.times(P).plus(Q, difference2),
        sum1.times(P2).plus(Q2, sum2),
        m[5].plus(P2 * P, difference1).plus(Q2 * Q, difference2),
    ]
}

/// `A dy`, the transpose of [`output`].
#[inline(always)]
pub(crate) fn output_transposed<R: Register>(y: [R; 4]) -> [R; 6] {
    let (even, odd) = (y[0].plus(P2, y[2]), y[1].plus(P2, y[3]));
    let (even2, odd2) = (y[0].plus(Q2, y[2]), y[1].plus(Q2, y[3]));
    [y[0], even.plus(P, odd), even.plus(-P, odd), even2.plus(Q, odd2), even2.plus(-Q, odd2), y[3]]
}

/// `G g`.
#[inline(always)]
pub(crate) fn weight<R: Register>(g: [R; 3]) -> [R; 6] {
    let even = g[0].times(AT_P).plus(P2 * AT_P, g[2]);
    let even2 = g[0].times(AT_Q).plus(Q2 * AT_Q, g[2]);
    [
        g[0].times(AT_0),
        even.plus(P * AT_P, g[1]),
        even.plus(-P * AT_P, g[1]),
        even2.plus(Q * AT_Q, g[1]),
        even2.plus(-Q * AT_Q, g[1]),
        g[2],
    ]
}

/// `Gᵀ m`, the transpose of [`weight`].
#[inline(always)]
pub(crate) fn weight_transposed<R: Register>(m: [R; 6]) -> [R; 3] {
    let (sum1, difference1) = (m[1].add(m[2]), m[1].sub(m[2]));
    let (sum2, difference2) = (m[3].add(m[4]), m[3].sub(m[4]));
    [
        m[0].times(AT_0).plus(AT_P, sum1).plus(AT_Q, sum2),
        difference1.times(P * AT_P).plus(Q * AT_Q, difference2),
        m[5].plus(P2 * AT_P, sum1).plus(Q2 * AT_Q, sum2),
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

    type Sixteen = Portable<false>;

    fn splat(v: f32) -> Sixteen {
        Sixteen::load(&Lane([v; LANES]))
    }

    fn lane(v: Sixteen) -> Lane {
        let mut lane = ZERO;
        v.store(&mut lane);
        lane
    }

    const D: f32 = P2 + Q2;
    const BT: [[f32; 6]; 6] = [
        [P2 * Q2, 0.0, -D, 0.0, 1.0, 0.0],
        [0.0, -P * Q2, -Q2, P, 1.0, 0.0],
        [0.0, P * Q2, -Q2, -P, 1.0, 0.0],
        [0.0, -P2 * Q, -P2, Q, 1.0, 0.0],
        [0.0, P2 * Q, -P2, -Q, 1.0, 0.0],
        [0.0, P2 * Q2, 0.0, -D, 0.0, 1.0],
    ];
    const G: [[f32; 3]; 6] = [
        [AT_0, 0.0, 0.0],
        [AT_P, P * AT_P, P2 * AT_P],
        [AT_P, -P * AT_P, P2 * AT_P],
        [AT_Q, Q * AT_Q, Q2 * AT_Q],
        [AT_Q, -Q * AT_Q, Q2 * AT_Q],
        [0.0, 0.0, 1.0],
    ];
    const AT: [[f32; 6]; 4] = [
        [1.0, 1.0, 1.0, 1.0, 1.0, 0.0],
        [0.0, P, -P, Q, -Q, 0.0],
        [0.0, P2, P2, Q2, Q2, 0.0],
        [0.0, P2 * P, -P2 * P, Q2 * Q, -Q2 * Q, 1.0],
    ];

    /// The columns that `product` maps the unit vectors to, compared with `entry(row, column)`.
    fn is_matrix<const IN: usize, const OUT: usize>(
        product: impl Fn([Sixteen; IN]) -> [Sixteen; OUT],
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
        is_matrix(input::<Sixteen>, |i, j| BT[i][j]);
        is_matrix(input_transposed::<Sixteen>, |i, j| BT[j][i]);
        is_matrix(output::<Sixteen>, |i, j| AT[i][j]);
        is_matrix(output_transposed::<Sixteen>, |i, j| AT[j][i]);
        is_matrix(weight::<Sixteen>, |i, j| G[i][j]);
        is_matrix(weight_transposed::<Sixteen>, |i, j| G[j][i]);
    }

    #[test]
    fn one_dimension_is_a_convolution() {
        let (d, g) = ([0.5, -1.0, 2.0, 0.25, -0.75, 1.5], [0.3, -0.6, 0.9]);
        let (v, u) = (input(d.map(splat)), weight(g.map(splat)));
        let m: [Sixteen; 6] = std::array::from_fn(|i| v[i].times(lane(u[i])[0]));
        for (i, y) in output(m).map(lane).iter().enumerate() {
            let want = d[i] * g[0] + d[i + 1] * g[1] + d[i + 2] * g[2];
            assert!((y[0] - want).abs() < 1e-5);
        }
    }
}
