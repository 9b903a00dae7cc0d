//! What products of 16-bit floats (bf16, sums in 32 bits) could gain at most: `RAYON_NUM_THREADS=1 cargo bench --workspace --bench bf16`.
//!
//! Printed are billions of multiplications per second: what one core can do at most in registers; of whole matrix products, whose factors
//! come as 32-bit floats and are packed; and of the convolution that such a product would replace, counted as a direct one. The product of a
//! convolution has its columns laid out beforehand, so it is faster here than a convolution by it could be.

#[cfg(target_arch = "x86_64")]
fn main() {
    use std::arch::is_x86_feature_detected as has;
    if has!("avx512f") && has!("avx512bw") && has!("avx512vl") && has!("avx512bf16") {
        x86::main();
    } else {
        println!("this processor has no AVX-512-BF16");
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn main() {
    println!("only for x86-64");
}

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
mod x86 {
    use burn::tensor::{Device, Tensor};
    use std::arch::x86_64::*;
    use std::hint::black_box;
    use std::mem::transmute;
    use std::time::Instant;

    /// Rows and columns of the block of the result that stays in registers.
    const ROWS: usize = 12;
    const COLUMNS: usize = 32;
    /// Terms of the sums that are added up before the next block of them: a panel of them stays in the second-level cache.
    const DEPTH: usize = 384;

    /// Name, rows, columns and terms of a product; for a 3×3 convolution its batch, channels in and out, and side.
    type Case = (&'static str, [usize; 3], Option<[usize; 4]>);

    const CASES: [Case; 9] = [
        ("mlp 784-256", [128, 256, 784], None),
        ("mlp 256-256", [128, 256, 256], None),
        ("cnn9 128-128 at 32", [128, 8 * 1024, 9 * 128], Some([8, 128, 128, 32])),
        ("cnn9 256-256 at 16", [256, 32 * 256, 9 * 256], Some([32, 256, 256, 16])),
        ("resnet18 64-64 at 32", [64, 8 * 1024, 9 * 64], Some([8, 64, 64, 32])),
        ("resnet18 128-128 at 16", [128, 32 * 256, 9 * 128], Some([32, 128, 128, 16])),
        ("resnet18 256-256 at 8", [256, 32 * 64, 9 * 256], Some([32, 256, 256, 8])),
        ("resnet18 512-512 at 4", [512, 32 * 16, 9 * 512], Some([32, 512, 512, 4])),
        ("densenet 120-48 at 32, 1x1", [48, 8 * 1024, 120], None),
    ];

    pub fn main() {
        // SAFETY (all calls below): `main` found the features on this processor.
        let (single, half) = unsafe { (peak_f32(), peak_bf16()) };
        println!("in registers: f32 {single:.0}, bf16 {half:.0}, ratio {:.2}", half / single);
        println!(
            "product,f32,bf16,ratio,our f32 convolution,bf16 over it,largest error of bf16 over the largest value"
        );
        for (name, [m, n, k], conv) in CASES {
            let count = (m * n * k) as f64 / 1e9;
            let value = |i: usize| ((i * 7919 + 104_729) % 2003) as f32 / 1001.0 - 1.0;
            let a: Vec<f32> = (0..m * k).map(value).collect();
            let b: Vec<f32> = (0..k * n).map(|i| value(i + 17)).collect();
            let (mut c, mut d) = (vec![0.0; m * n], vec![0.0; m * n]);
            let mut packed = Packed::default();
            let single = count / fastest(|| unsafe { product::<false>([m, n, k], &a, &b, &mut c, &mut packed) });
            let half = count / fastest(|| unsafe { product::<true>([m, n, k], &a, &b, &mut d, &mut packed) });
            let largest = c.iter().fold(0.0f32, |most, v| most.max(v.abs()));
            let error = c.iter().zip(&d).fold(0.0f32, |most, (c, d)| most.max((c - d).abs())) / largest;
            let ours = conv.map(|[batch, channels, outputs, side]| {
                let device = Device::flex();
                let x = Tensor::<4>::ones([batch, channels, side, side], &device);
                let weight = Tensor::<4>::ones([outputs, channels, 3, 3], &device);
                count / fastest(|| drop(tares_kernels::conv2d(x.clone(), weight.clone(), None, [1, 1], [1, 1])))
            });
            let ours = ours.map_or(",".into(), |ours| format!("{ours:.0},{:.2}", half / ours));
            println!("{name},{single:.0},{half:.0},{:.2},{ours},{error:.1e}", half / single);
        }
    }

    /// The least seconds of `work` within half a second.
    fn fastest(mut work: impl FnMut()) -> f64 {
        let (begin, mut least) = (Instant::now(), f64::INFINITY);
        while begin.elapsed().as_secs_f64() < 0.5 {
            let start = Instant::now();
            work();
            least = least.min(start.elapsed().as_secs_f64());
        }
        least
    }

    const TURNS: usize = 1 << 20;

    #[target_feature(enable = "avx512f")]
    fn peak_f32() -> f64 {
        let (a, b) = (_mm512_set1_ps(black_box(0.5)), _mm512_set1_ps(black_box(0.25)));
        let mut sums = [_mm512_setzero_ps(); 24];
        let seconds = fastest(|| {
            for _ in 0..TURNS {
                sums.iter_mut().for_each(|sum| *sum = _mm512_fmadd_ps(a, b, *sum));
            }
            black_box(&mut sums);
        });
        (TURNS * 24 * 16) as f64 / seconds / 1e9
    }

    #[target_feature(enable = "avx512f,avx512bf16")]
    fn peak_bf16() -> f64 {
        let a = _mm512_set1_ps(black_box(0.5));
        let a = _mm512_cvtne2ps_pbh(a, a);
        let mut sums = [_mm512_setzero_ps(); 24];
        let seconds = fastest(|| {
            for _ in 0..TURNS {
                sums.iter_mut().for_each(|sum| *sum = _mm512_dpbf16_ps(*sum, a, a));
            }
            black_box(&mut sums);
        });
        (TURNS * 24 * 32) as f64 / seconds / 1e9
    }

    /// Panels of both factors: one 32-bit number is one f32, or two bf16 of adjacent terms.
    #[derive(Default)]
    struct Packed {
        a: Vec<u32>,
        b: Vec<u32>,
    }

    /// `c [m, n] = a [m, k] · b [k, n]`, `n` a multiple of 32, `k` even.
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512bf16")]
    fn product<const HALF: bool>([m, n, k]: [usize; 3], a: &[f32], b: &[f32], c: &mut [f32], packed: &mut Packed) {
        assert!(n % COLUMNS == 0 && k % 2 == 0 && a.len() == m * k && b.len() == k * n && c.len() == m * n);
        let per_word = if HALF { 2 } else { 1 };
        for first in (0..k).step_by(DEPTH) {
            let terms = DEPTH.min(k - first);
            let words = terms / per_word;
            packed.a.clear();
            for row in (0..m).step_by(ROWS) {
                for term in (first..first + terms).step_by(per_word) {
                    packed.a.extend((row..row + ROWS).map(|row| match row < m {
                        true if HALF => bf16(a[row * k + term]) | bf16(a[row * k + term + 1]) << 16,
                        true => a[row * k + term].to_bits(),
                        false => 0,
                    }));
                }
            }
            for column in (0..n).step_by(COLUMNS) {
                packed.b.resize(words * COLUMNS, 0);
                for (term, into) in (first..).step_by(per_word).zip(packed.b.chunks_exact_mut(COLUMNS)) {
                    for side in [0, 16] {
                        let at = term * n + column + side;
                        // SAFETY: sixteen floats of row `term` (and of the next one) are in `b`, sixteen words in `into`.
                        unsafe {
                            let row = _mm512_loadu_ps(b[at..at + 16].as_ptr());
                            let word = if HALF {
                                let next = _mm512_loadu_ps(b[at + n..at + n + 16].as_ptr());
                                let [low, high] = [row, next].map(|row| {
                                    _mm512_cvtepu16_epi32(transmute::<__m256bh, __m256i>(_mm512_cvtneps_pbh(row)))
                                });
                                _mm512_or_si512(low, _mm512_slli_epi32(high, 16))
                            } else {
                                _mm512_castps_si512(row)
                            };
                            _mm512_storeu_si512(into[side..side + 16].as_mut_ptr().cast(), word);
                        }
                    }
                }
                for (block, rows) in packed.a.chunks_exact(words * ROWS).enumerate() {
                    let at = block * ROWS * n + column;
                    let height = ROWS.min(m - block * ROWS);
                    block_product::<HALF>(rows, &packed.b, &mut c[at..], n, height, first > 0);
                }
            }
        }
    }

    /// A block of `ROWS × COLUMNS` of the result, of which `height` rows are wanted.
    #[target_feature(enable = "avx512f,avx512bf16")]
    fn block_product<const HALF: bool>(a: &[u32], b: &[u32], c: &mut [f32], n: usize, height: usize, add: bool) {
        let mut sums = [[_mm512_setzero_ps(); 2]; ROWS];
        for (a, b) in a.chunks_exact(ROWS).zip(b.chunks_exact(COLUMNS)) {
            // SAFETY: two times sixteen words are in `b`.
            let columns = unsafe { [_mm512_loadu_ps(b.as_ptr().cast()), _mm512_loadu_ps(b[16..].as_ptr().cast())] };
            for r in 0..ROWS {
                let row = _mm512_set1_epi32(a[r] as i32);
                for (sum, column) in sums[r].iter_mut().zip(columns) {
                    // SAFETY: both types are 64 bytes that may hold anything.
                    *sum = unsafe {
                        if HALF {
                            let [row, column] =
                                [row, _mm512_castps_si512(column)].map(|word| transmute::<__m512i, __m512bh>(word));
                            _mm512_dpbf16_ps(*sum, row, column)
                        } else {
                            _mm512_fmadd_ps(_mm512_castsi512_ps(row), column, *sum)
                        }
                    };
                }
            }
        }
        for (r, sums) in sums.iter().enumerate().take(height) {
            for (half, sum) in sums.iter().enumerate() {
                let into = &mut c[r * n + 16 * half..][..16];
                // SAFETY: sixteen floats are in `into`.
                unsafe {
                    let sum = if add { _mm512_add_ps(*sum, _mm512_loadu_ps(into.as_ptr())) } else { *sum };
                    _mm512_storeu_ps(into.as_mut_ptr(), sum);
                }
            }
        }
    }

    /// The upper half of a float, rounded to the nearest.
    fn bf16(value: f32) -> u32 {
        let bits = value.to_bits();
        (bits + 0x7fff + (bits >> 16 & 1)) >> 16
    }
}
