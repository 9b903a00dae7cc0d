use super::*;
use crate::cpu::lane::ZERO;

struct Turn<'a>(&'a [[f32; LANES]; LANES], &'a mut [[f32; LANES]; LANES]);

impl Kernel for Turn<'_> {
    type Output = ();
    #[inline(always)]
    fn run<R: Register, const FMA: bool>(self) {
        let mut rows = [R::load(&ZERO); LANES];
        for (row, values) in rows.iter_mut().zip(self.0) {
            *row = R::read(values);
        }
        R::transpose(rows).iter().zip(self.1).for_each(|(row, values)| row.write(values));
    }
}

/// Each kind of register that this processor has.
#[test]
fn rows_become_columns() {
    let rows: [[f32; LANES]; LANES] = std::array::from_fn(|i| std::array::from_fn(|j| (i * LANES + j) as f32));
    let check = |turned: [[f32; LANES]; LANES]| {
        for i in 0..LANES {
            for j in 0..LANES {
                assert_eq!(turned[i][j], rows[j][i], "({i}, {j})");
            }
        }
    };
    let mut turned = [[0.0; LANES]; LANES];
    widest(Turn(&rows, &mut turned));
    check(turned);
    Turn(&rows, &mut turned).run::<Portable<false>, false>();
    check(turned);
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma") {
        // SAFETY: both features were found on this processor.
        unsafe { avx2(Turn(&rows, &mut turned)) };
        check(turned);
    }
}
