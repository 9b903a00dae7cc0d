//! Operators that treat every element alike, alone or in pairs.

use super::{Inputs, OpResult, one};
use crate::onnx::Node;
use crate::tensor::{Tensor, Values, elements, strided, strides};

/// One number at a time.
pub(super) fn unary(node: &Node, inputs: &Inputs<'_>) -> OpResult {
    let input = inputs.tensor(0)?;
    let alpha = node.float("alpha");
    let beta = node.float("beta").unwrap_or(0.5);
    let of: Box<dyn Fn(f32) -> f32> = match node.op.as_str() {
        "Relu" => Box::new(|x| x.max(0.0)),
        "Sigmoid" => Box::new(sigmoid),
        "HardSigmoid" => Box::new(move |x| (alpha.unwrap_or(0.2) * x + beta).clamp(0.0, 1.0)),
        "HardSwish" => Box::new(|x| x * (x / 6.0 + 0.5).clamp(0.0, 1.0)),
        "LeakyRelu" => Box::new(move |x| if x < 0.0 { alpha.unwrap_or(0.01) * x } else { x }),
        "Elu" => Box::new(move |x| if x < 0.0 { alpha.unwrap_or(1.0) * x.exp_m1() } else { x }),
        "Gelu" if node.text("approximate") == Some("tanh") => Box::new(gelu_by_tanh),
        "Gelu" => Box::new(|x| 0.5 * x * (1.0 + erf(x / std::f32::consts::SQRT_2))),
        "Erf" => Box::new(erf),
        "Tanh" => Box::new(f32::tanh),
        "Sqrt" => Box::new(f32::sqrt),
        "Exp" => Box::new(f32::exp),
        "Log" => Box::new(f32::ln),
        "Neg" => Box::new(|x| -x),
        "Abs" => Box::new(f32::abs),
        "Reciprocal" => Box::new(|x| 1.0 / x),
        "Softplus" => Box::new(|x| x.max(0.0) + (-x.abs()).exp().ln_1p()),
        "Mish" => Box::new(|x| x * (x.max(0.0) + (-x.abs()).exp().ln_1p()).tanh()),
        "Floor" => Box::new(f32::floor),
        other => return Err(format!("is no operator of one number: {other}")),
    };
    one(Tensor::floats(input.shape.clone(), input.as_floats()?.iter().map(|&x| of(x)).collect()))
}

fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + (-x).exp())
}

fn gelu_by_tanh(x: f32) -> f32 {
    0.5 * x * (1.0 + (0.797_884_6 * (x + 0.044_715 * x * x * x)).tanh())
}

/// The error function: Abramowitz and Stegun 7.1.26 in 64 bits has an error of 1.5e-7, near the precision of 32 bits.
fn erf(x: f32) -> f32 {
    let size = f64::from(x.abs());
    let t = 1.0 / (1.0 + 0.327_591_1 * size);
    let sum =
        t * (0.254_829_592 + t * (-0.284_496_736 + t * (1.421_413_741 + t * (-1.453_152_027 + t * 1.061_405_429))));
    let value = (1.0 - sum * (-size * size).exp()) as f32;
    if x < 0.0 { -value } else { value }
}

/// `Clip` between two numbers, as inputs or (old files) as attributes.
pub(super) fn clip(node: &Node, inputs: &Inputs<'_>) -> OpResult {
    let input = inputs.tensor(0)?;
    let bound = |at: usize, name: &str| match inputs.optional(at) {
        Some(bound) => bound.scalar().map(Some),
        None => Ok(node.float(name)),
    };
    let low = bound(1, "min")?.unwrap_or(f32::NEG_INFINITY);
    let high = bound(2, "max")?.unwrap_or(f32::INFINITY);
    let values = input.as_floats()?.iter().map(|&x| x.max(low).min(high)).collect();
    one(Tensor::floats(input.shape.clone(), values))
}

/// Two numbers at a time; sizes of 1 are broadcast.
pub(super) fn binary(node: &Node, inputs: &Inputs<'_>) -> OpResult {
    let (a, b) = (inputs.tensor(0)?, inputs.tensor(1)?);
    if let (Values::Integers(left), Values::Integers(right)) = (&a.values, &b.values) {
        let of: fn(i64, i64) -> Option<i64> = match node.op.as_str() {
            "Add" => i64::checked_add,
            "Sub" => i64::checked_sub,
            "Mul" => i64::checked_mul,
            "Div" => i64::checked_div,
            "Mod" => i64::checked_rem_euclid,
            "Equal" => |a, b| Some(i64::from(a == b)),
            "Greater" => |a, b| Some(i64::from(a > b)),
            "Less" => |a, b| Some(i64::from(a < b)),
            "Max" => |a, b| Some(a.max(b)),
            "Min" => |a, b| Some(a.min(b)),
            other => return Err(format!("is not run on integers: {other}")),
        };
        let (shape, values) = paired(a, b, left, right, of)?;
        let values = values.into_iter().collect::<Option<Vec<i64>>>().ok_or("overflows, or divides by 0")?;
        return one(Tensor::integers(shape, values));
    }
    let (left, right) = (as_floats(a), as_floats(b));
    let of: fn(f32, f32) -> f32 = match node.op.as_str() {
        "Add" => |a, b| a + b,
        "Sub" => |a, b| a - b,
        "Mul" => |a, b| a * b,
        "Div" => |a, b| a / b,
        "Pow" => power,
        "Max" => f32::max,
        "Min" => f32::min,
        "PRelu" => |a, slope| if a < 0.0 { slope * a } else { a },
        other => return Err(format!("is not run on floats: {other}")),
    };
    let (shape, values) = match node.op.as_str() {
        // The compiler inlines a closure, but not a function pointer.
        "Add" => paired(a, b, &left, &right, |a, b| a + b)?,
        "Mul" => paired(a, b, &left, &right, |a, b| a * b)?,
        _ => paired(a, b, &left, &right, of)?,
    };
    one(Tensor::floats(shape, values))
}

fn power(base: f32, exponent: f32) -> f32 {
    if exponent == 2.0 { base * base } else { base.powf(exponent) }
}

fn as_floats(tensor: &Tensor) -> std::borrow::Cow<'_, [f32]> {
    match &tensor.values {
        Values::Floats(values) => values.into(),
        Values::Integers(values) => values.iter().map(|&value| value as f32).collect::<Vec<_>>().into(),
    }
}

/// `Where(condition, a, b)`.
pub(super) fn choose(inputs: &Inputs<'_>) -> OpResult {
    let (condition, a, b) = (inputs.tensor(0)?, inputs.tensor(1)?, inputs.tensor(2)?);
    let shape = common_shape(&common_shape(&condition.shape, &a.shape)?, &b.shape)?;
    let positions = |tensor: &Tensor| repeated(&tensor.shape, &shape).collect::<Vec<usize>>();
    let (from, at_a, at_b) = (condition.as_integers()?, positions(a), positions(b));
    let chosen = positions(condition).into_iter().map(|at| from[at] != 0);
    one(match (&a.values, &b.values) {
        (Values::Integers(a), Values::Integers(b)) => {
            let values = chosen.zip(at_a.iter().zip(&at_b)).map(|(yes, (&i, &j))| if yes { a[i] } else { b[j] });
            Tensor::integers(shape.clone(), values.collect())
        }
        _ => {
            let (a, b) = (as_floats(a), as_floats(b));
            let values = chosen.zip(at_a.iter().zip(&at_b)).map(|(yes, (&i, &j))| if yes { a[i] } else { b[j] });
            Tensor::floats(shape.clone(), values.collect())
        }
    })
}

fn paired<T: Copy, U>(
    a: &Tensor,
    b: &Tensor,
    left: &[T],
    right: &[T],
    of: impl Fn(T, T) -> U,
) -> Result<(Vec<usize>, Vec<U>), String> {
    if a.shape == b.shape {
        return Ok((a.shape.clone(), left.iter().zip(right).map(|(&a, &b)| of(a, b)).collect()));
    }
    let shape = common_shape(&a.shape, &b.shape)?;
    if right.len() == 1 && a.shape == shape {
        return Ok((shape, left.iter().map(|&a| of(a, right[0])).collect()));
    }
    // One number per plane, as in squeeze-and-excitation: faster, because no position is computed per element.
    if a.shape == shape && b.shape.len() == shape.len() {
        let split = b.shape.iter().rposition(|&size| size != 1).map_or(0, |axis| axis + 1);
        if b.shape[..split] == shape[..split] {
            let run: usize = shape[split..].iter().product();
            let pairs = left.chunks_exact(run.max(1)).zip(right);
            return Ok((
                shape,
                pairs.flat_map(|(run, &b)| run.iter().map(move |&a| (a, b))).map(|(a, b)| of(a, b)).collect(),
            ));
        }
    }
    let values = repeated(&a.shape, &shape).zip(repeated(&b.shape, &shape)).map(|(i, j)| of(left[i], right[j]));
    Ok((shape.clone(), values.collect()))
}

/// The shape that two shapes are broadcast to.
pub(super) fn common_shape(a: &[usize], b: &[usize]) -> Result<Vec<usize>, String> {
    let rank = a.len().max(b.len());
    let size = |shape: &[usize], axis: usize| (axis + shape.len()).checked_sub(rank).map_or(1, |axis| shape[axis]);
    let both = |axis: usize| match (size(a, axis), size(b, axis)) {
        (x, y) if x == y || y == 1 => Ok(x),
        (1, y) => Ok(y),
        _ => Err(format!("shapes {a:?} and {b:?} don't fit each other")),
    };
    let shape = (0..rank).map(both).collect::<Result<Vec<usize>, String>>()?;
    elements(&shape)?;
    Ok(shape)
}

/// For every element of `shape`, its position in a tensor of shape `own` that is broadcast to it.
pub(super) fn repeated<'a>(own: &[usize], shape: &'a [usize]) -> impl Iterator<Item = usize> + use<'a> {
    let missing = shape.len() - own.len();
    let own_strides = strides(own);
    let steps: Vec<usize> = (0..shape.len())
        .map(|axis| if axis < missing || own[axis - missing] == 1 { 0 } else { own_strides[axis - missing] })
        .collect();
    strided(shape, steps, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_function_is_as_exact_as_32_bits() {
        // scipy.special.erf
        for (x, wanted) in [(0.0, 0.0), (0.5, 0.520_499_9), (-1.0, -0.842_700_8), (2.5, 0.999_593), (9.0, 1.0)] {
            assert!((erf(x) - wanted).abs() < 3e-7, "{x}");
        }
    }

    #[test]
    fn repeated_positions_follow_the_broadcasting_rules() {
        assert_eq!(repeated(&[2, 1], &[2, 3]).collect::<Vec<_>>(), [0, 0, 0, 1, 1, 1]);
        assert_eq!(repeated(&[3], &[2, 3]).collect::<Vec<_>>(), [0, 1, 2, 0, 1, 2]);
        assert_eq!(repeated(&[], &[2]).collect::<Vec<_>>(), [0, 0]);
        assert!(common_shape(&[2, 3], &[2]).is_err());
    }
}
