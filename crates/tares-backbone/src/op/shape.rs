//! Operators that move elements or compute shapes; they do no arithmetic on the elements.

use super::elementwise::{common_shape, repeated};
use super::{Inputs, OpResult, one};
use crate::onnx::Node;
use crate::tensor::{Tensor, Values, axis_of, elements, strided, strides};

/// Integers from an input or (old files) from an attribute.
fn list(node: &Node, inputs: &Inputs<'_>, at: usize, name: &str) -> Result<Option<Vec<i64>>, String> {
    match inputs.optional(at) {
        Some(values) => values.as_integers().map(Some),
        None => Ok(node.integers(name).map(<[i64]>::to_vec)),
    }
}

fn size(value: i64) -> Result<usize, String> {
    usize::try_from(value).map_err(|_| format!("a size of {value} is not allowed"))
}

pub(super) fn reshape(node: &Node, inputs: &Inputs<'_>) -> OpResult {
    let input = inputs.tensor(0)?;
    let wanted = list(node, inputs, 1, "shape")?.ok_or("needs a shape")?;
    let zero_is_zero = node.integer("allowzero").unwrap_or(0) == 1;
    let mut shape = Vec::with_capacity(wanted.len());
    for (axis, &value) in wanted.iter().enumerate() {
        shape.push(match value {
            0 if !zero_is_zero => *input.shape.get(axis).ok_or("copies a size that is not there")?,
            -1 => 1,
            value => size(value)?,
        });
    }
    if let Some(open) = wanted.iter().position(|&value| value == -1) {
        let known = elements(&shape)?;
        if known == 0 || !input.len().is_multiple_of(known) {
            return Err(format!("cannot make {wanted:?} of {:?}", input.shape));
        }
        shape[open] = input.len() / known;
    }
    one(input.with_shape(shape)?)
}

pub(super) fn flatten(node: &Node, inputs: &Inputs<'_>) -> OpResult {
    let input = inputs.tensor(0)?;
    let rank = input.shape.len();
    let axis = node.integer("axis").unwrap_or(1);
    let axis = if axis == rank as i64 { rank } else { axis_of(axis, rank)? };
    one(input.with_shape(vec![input.shape[..axis].iter().product(), input.shape[axis..].iter().product()])?)
}

pub(super) fn squeeze(node: &Node, inputs: &Inputs<'_>) -> OpResult {
    let input = inputs.tensor(0)?;
    let gone = match list(node, inputs, 1, "axes")? {
        Some(axes) => axes.iter().map(|&axis| axis_of(axis, input.shape.len())).collect::<Result<Vec<_>, _>>()?,
        None => (0..input.shape.len()).filter(|&axis| input.shape[axis] == 1).collect(),
    };
    let kept = input.shape.iter().enumerate().filter(|(axis, _)| !gone.contains(axis)).map(|(_, &size)| size).collect();
    one(input.with_shape(kept)?)
}

pub(super) fn unsqueeze(node: &Node, inputs: &Inputs<'_>) -> OpResult {
    let input = inputs.tensor(0)?;
    let axes = list(node, inputs, 1, "axes")?.ok_or("needs axes")?;
    let rank = input.shape.len() + axes.len();
    let mut axes = axes.iter().map(|&axis| axis_of(axis, rank)).collect::<Result<Vec<_>, _>>()?;
    axes.sort_unstable();
    let mut shape = input.shape.clone();
    for axis in axes {
        if axis > shape.len() {
            return Err("names an axis twice".into());
        }
        shape.insert(axis, 1);
    }
    one(input.with_shape(shape)?)
}

pub(super) fn transpose(node: &Node, inputs: &Inputs<'_>) -> OpResult {
    let input = inputs.tensor(0)?;
    let rank = input.shape.len();
    let order = match node.integers("perm") {
        Some(order) => order.iter().map(|&axis| axis_of(axis, rank)).collect::<Result<Vec<_>, _>>()?,
        None => (0..rank).rev().collect(),
    };
    let mut seen = order.clone();
    seen.sort_unstable();
    if seen != (0..rank).collect::<Vec<_>>() {
        return Err(format!("an order of {order:?} does not name every axis once"));
    }
    let from = strides(&input.shape);
    let shape: Vec<usize> = order.iter().map(|&axis| input.shape[axis]).collect();
    let steps: Vec<usize> = order.iter().map(|&axis| from[axis]).collect();
    one(input.picked(shape.clone(), strided(&shape, steps, 0)))
}

pub(super) fn concat(node: &Node, inputs: &Inputs<'_>) -> OpResult {
    let parts: Vec<&Tensor> = (0..inputs.len()).map(|at| inputs.tensor(at)).collect::<Result<_, _>>()?;
    let first = parts.first().ok_or("needs something to join")?;
    let axis = axis_of(node.integer("axis").unwrap_or(0), first.shape.len())?;
    let alike = |part: &&Tensor| {
        part.shape.len() == first.shape.len()
            && part.shape.iter().zip(&first.shape).enumerate().all(|(at, (a, b))| at == axis || a == b)
    };
    if !parts.iter().all(alike) {
        return Err("joins tensors that don't fit each other".into());
    }
    let mut shape = first.shape.clone();
    shape[axis] = parts.iter().map(|part| part.shape[axis]).sum();
    let outer: usize = shape[..axis].iter().product();
    let run = |part: &Tensor| part.shape[axis..].iter().product::<usize>();
    one(if parts.iter().all(|part| matches!(part.values, Values::Integers(_))) {
        let lists = parts.iter().map(|part| part.as_integers()).collect::<Result<Vec<_>, _>>()?;
        let pieces = (0..outer).flat_map(|o| {
            parts.iter().zip(&lists).flat_map(move |(part, list)| list[o * run(part)..(o + 1) * run(part)].to_vec())
        });
        Tensor::integers(shape, pieces.collect())
    } else {
        let lists = parts.iter().map(|part| part.as_floats()).collect::<Result<Vec<_>, _>>()?;
        let mut values = Vec::with_capacity(elements(&shape)?);
        for o in 0..outer {
            parts
                .iter()
                .zip(&lists)
                .for_each(|(part, list)| values.extend_from_slice(&list[o * run(part)..(o + 1) * run(part)]));
        }
        Tensor::floats(shape, values)
    })
}

pub(super) fn split(node: &Node, inputs: &Inputs<'_>) -> OpResult {
    let input = inputs.tensor(0)?;
    let axis = axis_of(node.integer("axis").unwrap_or(0), input.shape.len())?;
    let sizes = match list(node, inputs, 1, "split")? {
        Some(sizes) => sizes.into_iter().map(size).collect::<Result<Vec<_>, _>>()?,
        None => {
            let parts = node.outputs.len().max(1);
            let each = input.shape[axis].div_ceil(parts);
            (0..parts).map(|part| input.shape[axis].saturating_sub(part * each).min(each)).collect()
        }
    };
    if sizes.iter().sum::<usize>() != input.shape[axis] {
        return Err(format!("cannot cut {} into {sizes:?}", input.shape[axis]));
    }
    let from = strides(&input.shape);
    let mut start = 0;
    let parts = sizes.iter().map(|&part| {
        let mut shape = input.shape.clone();
        shape[axis] = part;
        let piece = input.picked(shape.clone(), strided(&shape, from.clone(), start * from[axis]));
        start += part;
        piece
    });
    Ok(parts.collect())
}

pub(super) fn slice(node: &Node, inputs: &Inputs<'_>) -> OpResult {
    let input = inputs.tensor(0)?;
    let starts = list(node, inputs, 1, "starts")?.ok_or("needs starts")?;
    let ends = list(node, inputs, 2, "ends")?.ok_or("needs ends")?;
    let axes = list(node, inputs, 3, "axes")?.unwrap_or_else(|| (0..starts.len() as i64).collect());
    let steps = inputs.optional(4).map(Tensor::as_integers).transpose()?.unwrap_or_else(|| vec![1; starts.len()]);
    if ends.len() != starts.len() || axes.len() != starts.len() || steps.len() != starts.len() {
        return Err("has lists of different lengths".into());
    }
    let mut kept: Vec<Vec<usize>> = input.shape.iter().map(|&size| (0..size).collect()).collect();
    for (((start, end), axis), step) in starts.into_iter().zip(ends).zip(axes).zip(steps) {
        let axis = axis_of(axis, input.shape.len())?;
        let size = input.shape[axis] as i64;
        let place = |at: i64| if at < 0 { at.saturating_add(size) } else { at };
        kept[axis] = match step {
            1.. => (place(start).clamp(0, size)..place(end).clamp(0, size))
                .step_by(step as usize)
                .map(|at| at as usize)
                .collect(),
            ..=-1 => {
                let (from, to) = (place(start).clamp(-1, size - 1), place(end).clamp(-1, size));
                let to = if end < -size { -1 } else { to };
                (to + 1..=from).rev().step_by(step.unsigned_abs() as usize).map(|at| at as usize).collect()
            }
            0 => return Err("has a step of 0".into()),
        };
    }
    let shape: Vec<usize> = kept.iter().map(Vec::len).collect();
    let from = strides(&input.shape);
    let ones = strides(&shape);
    let positions = (0..shape.iter().product()).map(|index: usize| {
        (0..shape.len()).map(|axis| kept[axis][index / ones[axis] % shape[axis]] * from[axis]).sum()
    });
    one(input.picked(shape.clone(), positions))
}

pub(super) fn gather(node: &Node, inputs: &Inputs<'_>) -> OpResult {
    let (input, indices) = (inputs.tensor(0)?, inputs.tensor(1)?);
    let axis = axis_of(node.integer("axis").unwrap_or(0), input.shape.len())?;
    let wanted = indices.as_integers()?;
    let places = wanted.iter().map(|&at| axis_of(at, input.shape[axis])).collect::<Result<Vec<_>, _>>()?;
    let inner: usize = input.shape[axis + 1..].iter().product();
    let outer: usize = input.shape[..axis].iter().product();
    let mut shape = input.shape[..axis].to_vec();
    shape.extend(&indices.shape);
    shape.extend(&input.shape[axis + 1..]);
    elements(&shape)?;
    let size = input.shape[axis];
    let positions = (0..outer)
        .flat_map(|o| places.iter().flat_map(move |&at| (0..inner).map(move |i| (o * size + at) * inner + i)));
    one(input.picked(shape, positions))
}

pub(super) fn expand(inputs: &Inputs<'_>) -> OpResult {
    let input = inputs.tensor(0)?;
    let wanted = inputs.tensor(1)?.as_integers()?.into_iter().map(size).collect::<Result<Vec<_>, _>>()?;
    let shape = common_shape(&input.shape, &wanted)?;
    one(input.picked(shape.clone(), repeated(&input.shape, &shape)))
}

pub(super) fn shape(node: &Node, inputs: &Inputs<'_>) -> OpResult {
    let sizes: Vec<i64> = inputs.tensor(0)?.shape.iter().map(|&size| size as i64).collect();
    let rank = sizes.len() as i64;
    let place = |at: i64| (if at < 0 { at + rank } else { at }).clamp(0, rank) as usize;
    let (from, to) = (place(node.integer("start").unwrap_or(0)), place(node.integer("end").unwrap_or(rank)));
    let sizes = sizes[from..to.max(from)].to_vec();
    one(Tensor::integers(vec![sizes.len()], sizes))
}

pub(super) fn constant_of_shape(node: &Node, inputs: &Inputs<'_>) -> OpResult {
    let shape = inputs.tensor(0)?.as_integers()?.into_iter().map(size).collect::<Result<Vec<_>, _>>()?;
    let count = elements(&shape)?;
    one(match node.tensor("value").map(|value| &value.values) {
        Some(Values::Integers(value)) => Tensor::integers(shape, vec![*value.first().ok_or("has no value")?; count]),
        Some(Values::Floats(value)) => Tensor::floats(shape, vec![*value.first().ok_or("has no value")?; count]),
        None => Tensor::floats(shape, vec![0.0; count]),
    })
}

pub(super) fn range(inputs: &Inputs<'_>) -> OpResult {
    let number =
        |at: usize| inputs.tensor(at)?.as_integers()?.first().copied().ok_or_else(|| "needs a number".to_owned());
    let (start, limit, step) = (number(0)?, number(1)?, number(2)?);
    let values: Vec<i64> = match step {
        1.. => (start..limit).step_by(step as usize).take(1 << 24).collect(),
        _ => return Err("only counts upwards here".into()),
    };
    one(Tensor::integers(vec![values.len()], values))
}

/// `Cast`: floats of any width are 32 bits here, integers and truth values 64.
pub(super) fn cast(node: &Node, inputs: &Inputs<'_>) -> OpResult {
    let input = inputs.tensor(0)?;
    let to = node.integer("to").unwrap_or(1);
    let values = match (&input.values, to) {
        (Values::Integers(values), 1 | 10 | 11 | 16) => {
            Values::Floats(values.iter().map(|&value| value as f32).collect())
        }
        (Values::Floats(values), 9) => Values::Integers(values.iter().map(|&value| i64::from(value != 0.0)).collect()),
        (Values::Integers(values), 9) => Values::Integers(values.iter().map(|&value| i64::from(value != 0)).collect()),
        (Values::Floats(values), 2..=7 | 12 | 13) => {
            Values::Integers(values.iter().map(|&value| value as i64).collect())
        }
        (values, 1..=7 | 10..=13 | 16) => values.clone(),
        (_, other) => return Err(format!("casts to ONNX type {other}, which is not run here")),
    };
    one(Tensor { shape: input.shape.clone(), values })
}

/// `Pad` with a constant or with the mirrored picture.
pub(super) fn pad(node: &Node, inputs: &Inputs<'_>) -> OpResult {
    let input = inputs.tensor(0)?;
    let rank = input.shape.len();
    let pads = list(node, inputs, 1, "pads")?.ok_or("needs pads")?;
    let axes = match inputs.optional(3) {
        Some(axes) => axes.as_integers()?.iter().map(|&axis| axis_of(axis, rank)).collect::<Result<Vec<_>, _>>()?,
        None => (0..rank).collect(),
    };
    if pads.len() != 2 * axes.len() {
        return Err(format!("needs {} pads, got {}", 2 * axes.len(), pads.len()));
    }
    let mut before = vec![0i64; rank];
    let mut shape = input.shape.clone();
    for (place, &axis) in axes.iter().enumerate() {
        before[axis] = pads[place];
        shape[axis] = size(input.shape[axis] as i64 + pads[place] + pads[place + axes.len()])?;
    }
    let fill = inputs.optional(2).filter(|value| value.len() == 1).map(Tensor::scalar).transpose()?.unwrap_or(0.0);
    let mirrored = match node.text("mode").unwrap_or("constant") {
        "constant" => false,
        "reflect" => true,
        other => return Err(format!("pads in a way that is not run here: {other}")),
    };
    let (from, ones) = (strides(&input.shape), strides(&shape));
    let values = input.as_floats()?;
    let source = |index: usize| -> Option<usize> {
        (0..rank).try_fold(0, |at, axis| {
            let own = input.shape[axis] as i64;
            let mut place = (index / ones[axis] % shape[axis]) as i64 - before[axis];
            if mirrored && !(0..own).contains(&place) {
                place = if place < 0 { -place } else { 2 * own - 2 - place };
            }
            (0..own).contains(&place).then(|| at + place as usize * from[axis])
        })
    };
    let padded = (0..elements(&shape)?).map(|index| source(index).map_or(fill, |at| values[at])).collect();
    one(Tensor::floats(shape, padded))
}
