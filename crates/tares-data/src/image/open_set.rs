//! Open-set noise: some pictures are replaced by pictures of other data sets, whose things belong to no class here. Their
//! labels stay, and the data set remembers which rows are foreign.

use crate::error::Result;
use crate::format::image::Picture;
use tares_core::{Dataset, Error, Row, Shape, stream};

/// Replaces `fraction` of the pictures of `data` by pictures of `sources`, resized and brought to the same number of channels.
///
/// The rows are drawn with stream `"open-set"`; `round(fraction · N)` rows are replaced, an equal share by each source. A picture
/// is used twice only if its source has fewer than its share. The truth of `data` is kept; if it had none, the given labels are the truth of the rows
/// that are not foreign.
///
/// ```
/// use tares_core::{Dataset, Shape};
/// let shape = Shape::Image { channels: 1, height: 1, width: 1 };
/// let data = Dataset::new(vec![1u8; 10], shape, vec![0, 1, 0, 1, 0, 1, 0, 1, 0, 1], ["a", "b"])?;
/// let other = Dataset::new(vec![9u8; 4], shape, vec![0, 1, 0, 1], ["c", "d"])?;
/// let noisy = tares_data::open_set(&data, &[&other], 0.3, 7)?;
/// assert_eq!(noisy.noise_rate(), Some(0.3));
/// assert_eq!(noisy.given(), data.given());
/// # Ok::<(), tares_data::DataError>(())
/// ```
///
/// # Errors
/// `fraction` outside 0..=1; no source; data that are not pictures of bytes.
pub fn open_set(data: &Dataset, sources: &[&Dataset], fraction: f64, seed: u64) -> Result<Dataset> {
    if !(0.0..=1.0).contains(&fraction) {
        return Err(Error::value("open-set fraction", "in [0, 1]", fraction).into());
    }
    let Shape::Image { channels: channels @ (1 | 3), height, width } = data.shape() else {
        return Err(Error::value("data for open-set noise", "pictures", "a table").into());
    };
    if sources.is_empty() {
        return Err(Error::empty("sources of open-set noise").into());
    }
    let mut stream = stream(seed, "open-set");
    let count = (fraction * data.len() as f64).round() as usize;
    let rows = stream.permutation(data.len());
    let donors: Vec<Vec<usize>> = sources.iter().map(|source| stream.permutation(source.len())).collect();
    let mut pixels = Vec::with_capacity(data.len() * data.shape().size());
    for index in 0..data.len() {
        pixels.extend_from_slice(bytes(data, index)?);
    }
    let mut foreign = vec![false; data.len()];
    for (position, &row) in rows[..count].iter().enumerate() {
        let (source, turn) = (position % sources.len(), position / sources.len());
        let donor = donors[source][turn % donors[source].len()];
        let picture = picture(sources[source], donor)?;
        let out = &mut pixels[row * data.shape().size()..][..channels * height * width];
        picture.write(height, width, out);
        foreign[row] = true;
    }
    let truth = data.truth().unwrap_or(data.given()).to_vec();
    let names = data.class_names().iter().cloned();
    let mut noisy = Dataset::new(pixels, data.shape(), data.given().to_vec(), names)?.with_truth(truth)?;
    if let Some(before) = data.foreign() {
        foreign.iter_mut().zip(before).for_each(|(foreign, before)| *foreign |= before);
    }
    noisy = noisy.with_foreign(foreign)?;
    if data.has_ids() {
        noisy = noisy.with_ids((0..data.len()).map(|index| data.id(index)).collect())?;
    }
    Ok(noisy)
}

fn bytes(data: &Dataset, index: usize) -> Result<&[u8]> {
    match data.row(index) {
        Row::Bytes(bytes) => Ok(bytes),
        Row::Floats(_) => Err(Error::value("data for open-set noise", "pictures of bytes", "numbers").into()),
    }
}

fn picture(source: &Dataset, index: usize) -> Result<Picture> {
    let Shape::Image { channels, height, width } = source.shape() else {
        return Err(Error::value("source of open-set noise", "pictures", "a table").into());
    };
    let picture = Picture::from_planes(channels, height, width, bytes(source, index)?);
    picture.ok_or_else(|| Error::value("channels of a picture", "1 or 3", channels).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pictures(channels: usize, side: usize, count: usize, value: u8) -> Dataset {
        let shape = Shape::Image { channels, height: side, width: side };
        let labels = (0..count as u32).map(|index| index % 2).collect();
        Dataset::new(vec![value; count * shape.size()], shape, labels, ["a", "b"]).unwrap()
    }

    #[test]
    fn exactly_the_marked_rows_are_replaced_and_resized() {
        let data = pictures(1, 4, 100, 10);
        let noisy = open_set(&data, &[&pictures(3, 2, 7, 200)], 0.25, 3).unwrap();
        let foreign = noisy.foreign().unwrap();
        assert_eq!(foreign.iter().filter(|&&f| f).count(), 25);
        for (index, &foreign) in foreign.iter().enumerate() {
            let Row::Bytes(pixels) = noisy.row(index) else { panic!("bytes") };
            assert!(pixels.iter().all(|&pixel| pixel == if foreign { 200 } else { 10 }));
        }
        assert_eq!(noisy.truth(), Some(data.given()));
        assert_eq!(noisy.noise_rate(), Some(0.25));
    }

    #[test]
    fn the_same_seed_gives_the_same_rows() {
        let (data, source) = (pictures(3, 2, 50, 1), pictures(3, 2, 50, 2));
        let noisy = |fraction, seed| open_set(&data, &[&source], fraction, seed).unwrap();
        assert_eq!(noisy(0.5, 1), noisy(0.5, 1));
        assert_ne!(noisy(0.5, 1), noisy(0.5, 2));
        assert_eq!(noisy(0.0, 1).foreign(), None);
    }

    #[test]
    fn two_sources_give_half_each() {
        let data = pictures(1, 2, 100, 10);
        let (a, b) = (pictures(1, 2, 40, 100), pictures(3, 4, 3, 200));
        let noisy = open_set(&data, &[&a, &b], 0.6, 1).unwrap();
        let value = |row: usize| bytes(&noisy, row).unwrap()[0];
        let count = |wanted: u8| (0..100).filter(|&row| value(row) == wanted).count();
        assert_eq!([10, 100, 200].map(count), [40, 30, 30]);
        assert!(open_set(&data, &[], 0.6, 1).is_err());
    }
}
