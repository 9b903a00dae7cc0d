//! [`Tensor`]: the values between the operators of a network.

/// Numbers with a shape, in row-major order.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tensor {
    pub shape: Vec<usize>,
    pub values: Values,
}

/// Floats of every width are computed in 32 bits, integers and truth values in 64.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Values {
    Floats(Vec<f32>),
    Integers(Vec<i64>),
}

/// No tensor of one picture has more elements than this: a file that asks for more is damaged.
pub(crate) const MOST_ELEMENTS: usize = 1 << 28;

impl Tensor {
    pub fn floats(shape: Vec<usize>, values: Vec<f32>) -> Self {
        debug_assert_eq!(shape.iter().product::<usize>(), values.len());
        Self { shape, values: Values::Floats(values) }
    }

    pub fn integers(shape: Vec<usize>, values: Vec<i64>) -> Self {
        debug_assert_eq!(shape.iter().product::<usize>(), values.len());
        Self { shape, values: Values::Integers(values) }
    }

    pub fn len(&self) -> usize {
        match &self.values {
            Values::Floats(values) => values.len(),
            Values::Integers(values) => values.len(),
        }
    }

    /// The floats, or an error for integers.
    pub fn as_floats(&self) -> Result<&[f32], String> {
        match &self.values {
            Values::Floats(values) => Ok(values),
            Values::Integers(_) => Err("needs floats, got integers".into()),
        }
    }

    /// The integers; a float that is whole counts as one.
    pub fn as_integers(&self) -> Result<Vec<i64>, String> {
        match &self.values {
            Values::Integers(values) => Ok(values.clone()),
            Values::Floats(values) if values.iter().all(|value| value.fract() == 0.0) => {
                Ok(values.iter().map(|&value| value as i64).collect())
            }
            Values::Floats(_) => Err("needs integers, got floats".into()),
        }
    }

    /// The only number.
    pub fn scalar(&self) -> Result<f32, String> {
        match &self.values {
            Values::Floats(values) if values.len() == 1 => Ok(values[0]),
            Values::Integers(values) if values.len() == 1 => Ok(values[0] as f32),
            _ => Err(format!("needs one number, got {:?}", self.shape)),
        }
    }

    /// The same numbers in another shape.
    pub fn with_shape(&self, shape: Vec<usize>) -> Result<Self, String> {
        if elements(&shape)? != self.len() {
            return Err(format!("cannot make {shape:?} of {:?}", self.shape));
        }
        Ok(Self { shape, values: self.values.clone() })
    }

    /// The elements at the given positions, in a new shape.
    pub fn picked(&self, shape: Vec<usize>, positions: impl Iterator<Item = usize>) -> Self {
        let values = match &self.values {
            Values::Floats(values) => Values::Floats(positions.map(|at| values[at]).collect()),
            Values::Integers(values) => Values::Integers(positions.map(|at| values[at]).collect()),
        };
        Self { shape, values }
    }
}

/// The number of elements of a shape, refused if that is too many for any picture.
pub(crate) fn elements(shape: &[usize]) -> Result<usize, String> {
    shape
        .iter()
        .try_fold(1usize, |count, &size| count.checked_mul(size))
        .filter(|&count| count <= MOST_ELEMENTS)
        .ok_or_else(|| format!("a shape of {shape:?} is too large"))
}

/// The distance between neighbours along each axis.
pub(crate) fn strides(shape: &[usize]) -> Vec<usize> {
    let mut strides = vec![1; shape.len()];
    for axis in (0..shape.len().saturating_sub(1)).rev() {
        strides[axis] = strides[axis + 1] * shape[axis + 1];
    }
    strides
}

/// Where the elements of a shape are, if neighbours along each axis are `steps` apart and the first is at `start`.
pub(crate) fn strided(shape: &[usize], steps: Vec<usize>, start: usize) -> impl Iterator<Item = usize> {
    let mut place = vec![0usize; shape.len()];
    let mut at = start;
    (0..shape.iter().product()).map(move |_| {
        let now = at;
        for axis in (0..shape.len()).rev() {
            place[axis] += 1;
            at += steps[axis];
            if place[axis] < shape[axis] {
                break;
            }
            at -= steps[axis] * shape[axis];
            place[axis] = 0;
        }
        now
    })
}

/// An axis, which may count from the end.
pub(crate) fn axis_of(axis: i64, rank: usize) -> Result<usize, String> {
    let from_start = if axis < 0 { axis + rank as i64 } else { axis };
    match usize::try_from(from_start) {
        Ok(axis) if axis < rank => Ok(axis),
        _ => Err(format!("axis {axis} is not among {rank}")),
    }
}
