//! [`InputTransform`]: from a stored row to a network's input. The row is scaled, varied in training, normalised.
//!
//! Bytes become [0, 1] first. Padding is 0 before normalisation, that is black, as in the set-ups compared with.

use crate::augment::{Augment, window};
use crate::error::Result;
use crate::normalise::Normalise;
use serde::{Deserialize, Serialize};
use tares_core::{Dataset, Error, Row, Shape, Stream};

/// How every row of one run becomes an input: decided once from the plan and the training data, kept with the model.
///
/// What is read from a file is checked like what [`InputTransform::new`] decides: sizes that don't fit each other are
/// errors of the file, not of the first row that is transformed.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(try_from = "Stored")]
pub struct InputTransform {
    /// Channels, height, width of a stored row; columns, 1, 1 for plain rows.
    input: [usize; 3],
    /// The same of what the network sees.
    output: [usize; 3],
    flat: bool,
    /// Subtracted per channel.
    mean: Vec<f32>,
    /// Divided by per channel.
    std: Vec<f32>,
}

/// The numbers of an [`InputTransform`] as a file holds them, not yet checked.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    input: [usize; 3],
    output: [usize; 3],
    flat: bool,
    mean: Vec<f32>,
    std: Vec<f32>,
}

impl TryFrom<Stored> for InputTransform {
    type Error = crate::Error;

    fn try_from(Stored { input, output, flat, mean, std }: Stored) -> Result<Self> {
        let numbers = input.iter().try_fold(1u32, |size, &side| size.checked_mul(u32::try_from(side).ok()?));
        if numbers.is_none_or(|numbers| numbers == 0) {
            let got = format!("{}×{}×{}", input[0], input[1], input[2]);
            return Err(Error::value("numbers per row", "from 1 to 4294967295", got).into());
        }
        if flat && input[1..] != [1, 1] {
            return Err(Error::value("input of plain rows", "columns, 1, 1", format!("{input:?}")).into());
        }
        let smaller = (1..3).all(|side| (1..=input[side]).contains(&output[side]));
        if output[0] != input[0] || !smaller || (flat && output != input) {
            let allowed = format!("the input {input:?}, or a smaller part of it with all channels");
            return Err(Error::value("output of the input transform", allowed, format!("{output:?}")).into());
        }
        if mean.len() != input[0] {
            return Err(Error::length("means, one per channel,", input[0], mean.len()).into());
        }
        Normalise::Given { mean: mean.clone(), std: std.clone() }.check()?;
        Ok(Self { input, output, flat, mean, std })
    }
}

impl InputTransform {
    /// The transform for this training data.
    ///
    /// # Errors
    /// Values outside their domain; augmentation of rows that are not pictures; a crop or a border larger than the
    /// picture; the wrong number of means.
    pub fn new(train: &Dataset, augment: &Augment, normalise: &Normalise) -> Result<Self> {
        augment.check()?;
        normalise.check()?;
        let input = dims(train.shape());
        let flat = matches!(train.shape(), Shape::Flat(_));
        if flat && !augment.is_none() {
            return Err(Error::value("augmentation", "off for rows that are not pictures", "on").into());
        }
        let mut output = input;
        let smaller = input[1].min(input[2]);
        for (what, size) in [("pad_crop", augment.pad_crop), ("resized_crop", augment.resized_crop)] {
            if size > smaller {
                return Err(Error::value(what, format!("at most {smaller}, the picture's smaller side"), size).into());
            }
        }
        if augment.resized_crop > 0 {
            output = [input[0], augment.resized_crop, augment.resized_crop];
        }
        let (mean, std) = match normalise {
            Normalise::None => (vec![0.0; input[0]], vec![1.0; input[0]]),
            Normalise::Standardise => {
                train.arrived()?;
                moments(train)
            }
            Normalise::Given { mean, std } => {
                if mean.len() != input[0] {
                    return Err(Error::length("means, one per channel,", input[0], mean.len()).into());
                }
                (mean.clone(), std.clone())
            }
        };
        Ok(Self { input, output, flat, mean, std })
    }

    /// What the network sees of each row.
    pub fn shape(&self) -> Shape {
        match self.flat {
            true => Shape::Flat(self.output[0]),
            false => Shape::Image { channels: self.output[0], height: self.output[1], width: self.output[2] },
        }
    }

    /// What a stored row looks like.
    pub fn input(&self) -> Shape {
        match self.flat {
            true => Shape::Flat(self.input[0]),
            false => Shape::Image { channels: self.input[0], height: self.input[1], width: self.input[2] },
        }
    }

    /// The tensor's dimensions for one row.
    pub(crate) fn dims(&self) -> [usize; 3] {
        self.output
    }

    /// Refuses data of another shape than the training data.
    ///
    /// # Errors
    /// Another shape.
    pub fn check(&self, data: &Dataset) -> Result<()> {
        if dims(data.shape()) != self.input || matches!(data.shape(), Shape::Flat(_)) != self.flat {
            let shown = |[channels, height, width]: [usize; 3], flat: bool| match flat {
                true => format!("{channels} columns"),
                false => format!("{channels}×{height}×{width} (channels × height × width)"),
            };
            let got = shown(dims(data.shape()), matches!(data.shape(), Shape::Flat(_)));
            return Err(Error::value(
                "shape of a row",
                format!("{} as in training", shown(self.input, self.flat)),
                got,
            )
            .into());
        }
        Ok(())
    }

    /// Writes the input for testing: the middle of the picture, normalised.
    pub(crate) fn plain(&self, row: Row<'_>, out: &mut [f32]) {
        let (top, left) = ((self.input[1] - self.output[1]) / 2, (self.input[2] - self.output[2]) / 2);
        self.cut(row, top as isize, left as isize, false, out);
    }

    /// Writes the input for training, varied with draws from `stream`.
    pub(crate) fn varied(&self, row: Row<'_>, augment: &Augment, stream: &mut Stream, out: &mut [f32]) {
        if augment.resized_crop > 0 {
            let window = window(self.input[1], self.input[2], stream);
            let flip = augment.flip && stream.chance(0.5);
            return self.resize(row, window, flip, out);
        }
        let pad = augment.pad_crop;
        let mut offset = || if pad > 0 { stream.below(2 * pad + 1) as isize - pad as isize } else { 0 };
        let (top, left) = (offset(), offset());
        let flip = augment.flip && stream.chance(0.5);
        self.cut(row, top, left, flip, out);
    }

    /// The output's size from (`top`, `left`) on; black outside of the picture.
    fn cut(&self, row: Row<'_>, top: isize, left: isize, flip: bool, out: &mut [f32]) {
        let [channels, height, width] = self.input;
        let [_, out_height, out_width] = self.output;
        // Without augmentation nothing moves: one pass per channel.
        if (top, left, flip) == (0, 0, false) && self.input == self.output {
            let size = height * width;
            for channel in 0..channels {
                let (mean, scale) = (self.mean[channel], 1.0 / self.std[channel]);
                let part = channel * size..(channel + 1) * size;
                match row {
                    Row::Bytes(values) => {
                        for (out, &value) in out[part.clone()].iter_mut().zip(&values[part]) {
                            *out = (f32::from(value) / 255.0 - mean) * scale;
                        }
                    }
                    Row::Floats(values) => {
                        for (out, &value) in out[part.clone()].iter_mut().zip(&values[part]) {
                            *out = (value - mean) * scale;
                        }
                    }
                }
            }
            return;
        }
        for channel in 0..channels {
            let (mean, scale) = (self.mean[channel], 1.0 / self.std[channel]);
            for y in 0..out_height {
                for x in 0..out_width {
                    let from_y = y as isize + top;
                    let from_x = (if flip { out_width - 1 - x } else { x }) as isize + left;
                    let inside = (0..height as isize).contains(&from_y) && (0..width as isize).contains(&from_x);
                    let value = match inside {
                        true => value(row, (channel * height + from_y as usize) * width + from_x as usize),
                        false => 0.0,
                    };
                    out[(channel * out_height + y) * out_width + x] = (value - mean) * scale;
                }
            }
        }
    }

    /// The window `[top, left, height, width]` resized to the output, bilinearly.
    fn resize(&self, row: Row<'_>, window: [usize; 4], flip: bool, out: &mut [f32]) {
        let [channels, height, width] = self.input;
        let [_, out_height, out_width] = self.output;
        let [top, left, window_height, window_width] = window;
        // Pixel centres of the output mapped into the window; clamped to the centres of its outer pixels.
        let place = |position: usize, of: usize, start: usize, length: usize| {
            let at = ((position as f32 + 0.5) * length as f32 / of as f32 - 0.5).clamp(0.0, (length - 1) as f32);
            let low = at as usize;
            (start + low, start + (low + 1).min(length - 1), at - low as f32)
        };
        for channel in 0..channels {
            let (mean, scale) = (self.mean[channel], 1.0 / self.std[channel]);
            let pixel = |y: usize, x: usize| value(row, (channel * height + y) * width + x);
            for y in 0..out_height {
                let (y0, y1, fy) = place(y, out_height, top, window_height);
                for x in 0..out_width {
                    let (x0, x1, fx) = place(if flip { out_width - 1 - x } else { x }, out_width, left, window_width);
                    let upper = pixel(y0, x0) * (1.0 - fx) + pixel(y0, x1) * fx;
                    let lower = pixel(y1, x0) * (1.0 - fx) + pixel(y1, x1) * fx;
                    let value = upper * (1.0 - fy) + lower * fy;
                    out[(channel * out_height + y) * out_width + x] = (value - mean) * scale;
                }
            }
        }
    }
}

fn dims(shape: Shape) -> [usize; 3] {
    match shape {
        Shape::Image { channels, height, width } => [channels, height, width],
        Shape::Flat(columns) => [columns, 1, 1],
    }
}

fn value(row: Row<'_>, position: usize) -> f32 {
    match row {
        Row::Bytes(values) => f32::from(values[position]) / 255.0,
        Row::Floats(values) => values[position],
    }
}

/// Mean and standard deviation per channel over all rows; a channel that never changes has deviation 1.
fn moments(data: &Dataset) -> (Vec<f32>, Vec<f32>) {
    let [channels, height, width] = dims(data.shape());
    let size = height * width;
    let count = (data.len() * size) as f64;
    let mut mean = vec![0.0f64; channels];
    let over = |add: &mut dyn FnMut(usize, f64)| {
        for index in 0..data.len() {
            let row = data.row(index);
            (0..channels * size).for_each(|position| add(position / size, f64::from(value(row, position))));
        }
    };
    over(&mut |channel, value| mean[channel] += value / count);
    // Two passes: the difference of mean square and squared mean cancels when the mean is far from 0.
    let mut variance = vec![0.0f64; channels];
    over(&mut |channel, value| variance[channel] += (value - mean[channel]).powi(2) / count);
    let std = variance.iter().map(|&v| if v.sqrt() > 1e-12 { v.sqrt() as f32 } else { 1.0 }).collect();
    (mean.iter().map(|&m| m as f32).collect(), std)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tares_core::stream;

    /// One 1×4×5 picture whose pixel (y, x) is 10 y + x, plus a white one.
    fn picture() -> Dataset {
        let pixels = (0..4u8).flat_map(|y| (0..5u8).map(move |x| 10 * y + x)).chain([255; 20]).collect::<Vec<u8>>();
        let shape = Shape::Image { channels: 1, height: 4, width: 5 };
        Dataset::new(pixels, shape, vec![0, 1], ["a", "b"]).unwrap()
    }

    fn shown(out: &[f32]) -> Vec<i32> {
        out.iter().map(|v| (v * 255.0).round() as i32).collect()
    }

    #[test]
    fn no_augmentation_is_division_by_255() {
        let data = picture();
        let transform = InputTransform::new(&data, &Augment::default(), &Normalise::None).unwrap();
        let mut out = vec![0.0; 20];
        transform.plain(data.row(0), &mut out);
        assert_eq!(shown(&out)[..6], [0, 1, 2, 3, 4, 10]);
        let mut varied = vec![0.0; 20];
        transform.varied(data.row(0), &Augment::default(), &mut stream(1, "t"), &mut varied);
        assert_eq!(out, varied);
    }

    #[test]
    fn a_crop_moves_the_picture_and_leaves_black_behind() {
        let data = picture();
        let augment = Augment { pad_crop: 1, flip: false, resized_crop: 0 };
        let transform = InputTransform::new(&data, &augment, &Normalise::None).unwrap();
        let mut out = vec![0.0; 20];
        transform.cut(data.row(0), -1, 1, false, &mut out);
        assert_eq!(shown(&out), [0, 0, 0, 0, 0, 1, 2, 3, 4, 0, 11, 12, 13, 14, 0, 21, 22, 23, 24, 0]);
        transform.cut(data.row(0), 0, 0, true, &mut out);
        assert_eq!(shown(&out)[..10], [4, 3, 2, 1, 0, 14, 13, 12, 11, 10]);
    }

    #[test]
    fn every_offset_and_both_sides_come_up_equally_often() {
        let data = picture();
        let augment = Augment { pad_crop: 1, flip: true, resized_crop: 0 };
        let transform = InputTransform::new(&data, &augment, &Normalise::None).unwrap();
        let mut draws = stream(1, "augment");
        let mut seen = std::collections::BTreeMap::<Vec<i32>, usize>::new();
        let mut out = vec![0.0; 20];
        for _ in 0..18_000 {
            transform.varied(data.row(0), &augment, &mut draws, &mut out);
            *seen.entry(shown(&out)).or_default() += 1;
        }
        assert_eq!(seen.len(), 18);
        // Six standard deviations of a binomial(18000, 1/18) are 184.
        assert!(seen.values().all(|&count| count.abs_diff(1000) < 184), "{:?}", seen.values());
    }

    #[test]
    fn resizing_a_window_of_the_same_size_copies_it() {
        let data = picture();
        let augment = Augment { resized_crop: 3, ..Augment::default() };
        let transform = InputTransform::new(&data, &augment, &Normalise::None).unwrap();
        assert_eq!(transform.shape(), Shape::Image { channels: 1, height: 3, width: 3 });
        let mut out = vec![0.0; 9];
        transform.resize(data.row(0), [1, 2, 3, 3], false, &mut out);
        assert_eq!(shown(&out), [12, 13, 14, 22, 23, 24, 32, 33, 34]);
        // Twice as large: the middle of a linear ramp stays what it was.
        transform.resize(data.row(0), [0, 0, 1, 5], false, &mut out);
        assert_eq!(shown(&out)[1], 2);
        transform.plain(data.row(0), &mut out);
        assert_eq!(shown(&out), [1, 2, 3, 11, 12, 13, 21, 22, 23]);
    }

    #[test]
    fn standardised_rows_have_mean_0_and_deviation_1() {
        let values: Vec<f32> = (0..40).map(|i| if i % 2 == 0 { 1e4 + i as f32 } else { 3.0 }).collect();
        let data = Dataset::new(values, Shape::Flat(2), vec![0; 20], ["a", "b"]).unwrap();
        let transform = InputTransform::new(&data, &Augment::default(), &Normalise::Standardise).unwrap();
        let mut out = vec![0.0; 2];
        let mut squares = 0.0;
        for index in 0..20 {
            transform.plain(data.row(index), &mut out);
            squares += f64::from(out[0]).powi(2) / 20.0;
            assert_eq!(out[1], 0.0); // constant column
        }
        assert!((squares - 1.0).abs() < 1e-3, "{squares}");
    }

    #[test]
    fn refuses_what_does_not_fit() {
        let data = picture();
        let flat = Dataset::new(vec![0.0f32; 4], Shape::Flat(2), vec![0, 1], ["a", "b"]).unwrap();
        let flip = Augment { flip: true, ..Augment::default() };
        assert!(InputTransform::new(&flat, &flip, &Normalise::None).is_err());
        let large = Augment { resized_crop: 5, ..Augment::default() };
        assert!(InputTransform::new(&data, &large, &Normalise::None).is_err());
        let given = Normalise::Given { mean: vec![0.0; 3], std: vec![1.0; 3] };
        assert!(InputTransform::new(&data, &Augment::default(), &given).is_err());
        assert!(Normalise::Given { mean: vec![0.0], std: vec![0.0] }.check().is_err());
        let transform = InputTransform::new(&data, &Augment::default(), &Normalise::None).unwrap();
        assert!(transform.check(&flat).unwrap_err().to_string().contains("1×4×5"));
        assert!(transform.check(&data).is_ok());
        let wide = Augment { pad_crop: usize::MAX, ..Augment::default() };
        let error = InputTransform::new(&data, &wide, &Normalise::None).unwrap_err().to_string();
        assert!(error.starts_with("pad_crop must be at most 4"), "{error}");
        let short = Normalise::Given { mean: vec![0.0], std: vec![] };
        assert!(InputTransform::new(&data, &Augment::default(), &short).is_err());
    }

    #[test]
    fn a_file_with_sizes_that_do_not_fit_is_refused() {
        let good = r#"{"input":[1,4,5],"output":[1,3,3],"flat":false,"mean":[0.5],"std":[2.0]}"#;
        let read = |text: String| serde_json::from_str::<InputTransform>(&text).map_err(|error| error.to_string());
        let transform = read(good.into()).unwrap();
        assert_eq!(read(serde_json::to_string(&transform).unwrap()).unwrap(), transform);
        for (from, to, say) in [
            ("[1,4,5]", "[1,2,5]", "a smaller part of it"), // the output is higher than the input
            ("[1,3,3]", "[2,3,3]", "with all channels"),    // a channel from nowhere
            ("[1,3,3]", "[1,0,3]", "a smaller part of it"), // nothing is left
            ("[1,4,5]", "[0,4,5]", "from 1 to 4294967295"), // no numbers at all
            ("[1,4,5]", "[4294967295,9,9]", "from 1 to 4294967295"), // more than memory holds
            ("[1,4,5]", "[18446744073709551615,4,5]", "from 1 to 4294967295"),
            ("false", "true", "input of plain rows"),
            ("[0.5]", "[0.5,0.5]", "means"),
            ("[2.0]", "[]", "standard deviations"),
            ("[2.0]", "[0.0]", "above 0"),
            ("[0.5]", "[1e999]", "number out of range"),
            ("\"flat\"", "\"shift\":1,\"flat\"", "unknown field `shift`"),
        ] {
            let error = read(good.replace(from, to)).unwrap_err();
            assert!(error.contains(say), "{from} → {to}: {error}");
        }
    }
}
