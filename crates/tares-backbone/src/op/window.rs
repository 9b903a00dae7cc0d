//! [`Window`]: how a filter or a pool moves over a plane.

use crate::onnx::Node;
use crate::tensor::elements;

/// Sizes are (height, width) of one plane.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    pub size: (usize, usize),
    pub filter: (usize, usize),
    pub strides: (usize, usize),
    pub dilations: (usize, usize),
    /// Before the first row and the first column.
    pub pads: (usize, usize),
    pub out: (usize, usize),
}

impl Window {
    /// From the attributes of a `Conv`, `MaxPool` or `AveragePool`.
    pub fn of(node: &Node, size: (usize, usize), filter: (usize, usize)) -> Result<Self, String> {
        let list = |name: &str, wanted: usize, default: usize| -> Result<Vec<usize>, String> {
            let values = node.integers(name).unwrap_or_default();
            if values.is_empty() {
                return Ok(vec![default; wanted]);
            }
            let values: Vec<usize> = values.iter().filter_map(|&value| usize::try_from(value).ok()).collect();
            let fits = values.len() == wanted && (default == 0 || values.iter().all(|&value| value > 0));
            if fits { Ok(values) } else { Err(format!("has bad {name}")) }
        };
        let pair = |values: Vec<usize>| (values[0], values[1]);
        let strides = pair(list("strides", 2, 1)?);
        let dilations = pair(list("dilations", 2, 1)?);
        let ceil = node.integer("ceil_mode").unwrap_or(0) == 1;
        if filter.0 == 0 || filter.1 == 0 {
            return Err("has an empty window".into());
        }
        let mut pads = list("pads", 4, 0)?;
        let auto = node.text("auto_pad").unwrap_or("NOTSET");
        let reach = |axis: usize| -> usize {
            let (filter, dilation) = if axis == 0 { (filter.0, dilations.0) } else { (filter.1, dilations.1) };
            (filter - 1) * dilation + 1
        };
        if auto == "SAME_UPPER" || auto == "SAME_LOWER" {
            for axis in 0..2 {
                let (size, stride) = if axis == 0 { (size.0, strides.0) } else { (size.1, strides.1) };
                let needed =
                    ((size.div_ceil(stride) - usize::from(size > 0)) * stride + reach(axis)).saturating_sub(size);
                let less = needed / 2;
                let before = if auto == "SAME_UPPER" { less } else { needed - less };
                (pads[axis], pads[axis + 2]) = (before, needed - before);
            }
        }
        let out = |axis: usize, size: usize, stride: usize| -> Result<usize, String> {
            let padded = size + pads[axis] + pads[axis + 2];
            let room = padded.checked_sub(reach(axis)).ok_or_else(|| {
                format!(
                    "a window of {} does not fit a plane that is {size} wide: the picture is too small",
                    reach(axis)
                )
            })?;
            let steps = if ceil { room.div_ceil(stride) } else { room / stride };
            // A window that would begin beyond the padded plane does not count.
            let beyond = ceil && steps * stride >= size + pads[axis];
            Ok(steps + 1 - usize::from(beyond))
        };
        Ok(Self {
            size,
            filter,
            strides,
            dilations,
            pads: (pads[0], pads[1]),
            out: (out(0, size.0, strides.0)?, out(1, size.1, strides.1)?),
        })
    }

    /// The row of a plane at a padded position, if it is inside.
    #[inline(always)]
    pub fn line<'a>(&self, plane: &'a [f32], padded: usize) -> Option<&'a [f32]> {
        let row = padded.checked_sub(self.pads.0).filter(|&row| row < self.size.0)?;
        Some(&plane[row * self.size.1..(row + 1) * self.size.1])
    }

    /// The output columns `from..to` whose input for filter column `kx` is inside the plane.
    #[inline(always)]
    pub fn inside(&self, kx: usize) -> (usize, usize) {
        let (shift, stride) = (kx * self.dilations.1, self.strides.1);
        let from = self.pads.1.saturating_sub(shift).div_ceil(stride);
        let to = (self.size.1 + self.pads.1).saturating_sub(shift).div_ceil(stride).min(self.out.1);
        (from.min(to), to)
    }

    /// The inputs that the filter's weight (ky, kx) reads for the outputs from `first` on; 0 outside the plane.
    pub fn patch(&self, plane: &[f32], (ky, kx): (usize, usize), first: usize, into: &mut [f32]) {
        let (mut done, columns) = (0, self.out.1);
        while done < into.len() {
            let (row, column) = ((first + done) / columns, (first + done) % columns);
            let count = (columns - column).min(into.len() - done);
            let part = &mut into[done..done + count];
            done += count;
            part.fill(0.0);
            let Some(line) = self.line(plane, row * self.strides.0 + ky * self.dilations.0) else { continue };
            let (from, to) = self.inside(kx);
            let (from, to) = (from.max(column), to.min(column + count));
            if from >= to {
                continue;
            }
            let start = from * self.strides.1 + kx * self.dilations.1 - self.pads.1;
            let part = &mut part[from - column..to - column];
            match self.strides.1 {
                1 => part.copy_from_slice(&line[start..start + part.len()]),
                stride => part.iter_mut().zip(line[start..].iter().step_by(stride)).for_each(|(to, from)| *to = *from),
            }
        }
    }
}

/// Rows times columns, refused if that is too many for any picture.
pub(super) fn plane_size(rows: usize, columns: usize) -> Result<usize, String> {
    match elements(&[rows, columns])? {
        0 => Err("nothing is left of the picture: it is too small".into()),
        size => Ok(size),
    }
}
