//! One picture file → pixels of a fixed size, channel first.
//!
//! JPEG, PNG, GIF (first frame), BMP, WebP and PNM, told by content. A camera's orientation mark is obeyed. Pictures of another
//! size are stretched to the wanted one with a Lanczos filter of radius 3, which averages when it shrinks.

mod jpeg;

use image::imageops::{FilterType, resize};
use image::{DynamicImage, ExtendedColorType, ImageDecoder, ImageReader, Limits};
use std::borrow::Cow;
use std::io::Cursor;

/// No picture format gains more than about this factor, so a header that claims more is a lie or a bomb.
const MOST_GAIN: u64 = 1100;

/// Larger pictures are refused whatever their file says.
const MOST_BYTES: u64 = 1 << 30;

/// A decoded picture.
#[derive(Clone, Debug)]
pub struct Picture {
    image: DynamicImage,
    /// True if the file has no colours.
    pub grey: bool,
}

/// What a picture's header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub height: usize,
    pub width: usize,
    /// What [`Picture::grey`] will be.
    pub grey: bool,
}

/// Reads a picture's header. The picture may be damaged all the same.
///
/// # Errors
/// Why there is no header, in words.
pub(crate) fn header(bytes: &[u8]) -> Result<Header, String> {
    let mut decoder = decoder(bytes)?;
    let (width, height) = decoder.dimensions();
    let turned = decoder.orientation().is_ok_and(|orientation| {
        use image::metadata::Orientation::{Rotate90, Rotate90FlipH, Rotate270, Rotate270FlipH};
        matches!(orientation, Rotate90 | Rotate270 | Rotate90FlipH | Rotate270FlipH)
    });
    let (height, width) = if turned { (width, height) } else { (height, width) };
    Ok(Header { height: height as usize, width: width as usize, grey: has_no_colours(&decoder) })
}

/// Refuses a picture that ends too early, where that can be told without decoding it.
pub(crate) fn check_end(bytes: &[u8]) -> Result<(), String> {
    if jpeg::is_whole(bytes) { Ok(()) } else { Err("is a JPEG without its end (is it cut off?)".into()) }
}

impl Picture {
    /// Decodes a picture from the bytes of its file.
    ///
    /// # Errors
    /// Why it cannot be decoded, in words.
    pub fn decode(bytes: &[u8]) -> Result<Self, String> {
        check_end(bytes)?;
        let mut decoder = decoder(bytes)?;
        let grey = has_no_colours(&decoder);
        let orientation = decoder.orientation().map_err(|error| error.to_string())?;
        let mut image = DynamicImage::from_decoder(decoder).map_err(|error| error.to_string())?;
        image.apply_orientation(orientation);
        Ok(Self { grey, image })
    }

    /// Writes the picture as `[channels][height][width]` bytes; `out` holds 1 or 3 planes.
    pub fn write(&self, height: usize, width: usize, out: &mut [u8]) {
        let same = self.image.height() as usize == height && self.image.width() as usize == width;
        let resized;
        let image = if same {
            &self.image
        } else {
            resized = self::resized(&self.image, height, width, FilterType::Lanczos3);
            &resized
        };
        write_planes(image, height * width, out);
    }

    /// Writes the middle of the picture, as large as it fits the wanted shape, as `[channels][height][width]` bytes: the whole of
    /// the shorter side, resized with an antialiased bilinear filter (as torchvision and Pillow do), the longer side cut at both
    /// ends alike.
    pub fn write_cropped(&self, height: usize, width: usize, out: &mut [u8]) {
        let (has, wants) = ((self.image.height() as usize, self.image.width() as usize), (height, width));
        // The largest part of the picture with the wanted proportions; at least one pixel.
        let part = if has.0 * wants.1 <= has.1 * wants.0 {
            (has.0, (has.0 * wants.1 / wants.0).max(1))
        } else {
            ((has.1 * wants.0 / wants.1).max(1), has.1)
        };
        let (top, left) = ((has.0 - part.0) / 2, (has.1 - part.1) / 2);
        let middle = self.image.crop_imm(left as u32, top as u32, part.1 as u32, part.0 as u32);
        let image = match part == wants {
            true => middle,
            false => resized(&middle, height, width, FilterType::Triangle),
        };
        write_planes(&image, height * width, out);
    }

    /// A picture of one grey, to try a network on.
    pub fn grey(height: usize, width: usize) -> Self {
        let image = image::RgbImage::from_pixel(width as u32, height as u32, image::Rgb([128; 3]));
        Self { image: DynamicImage::ImageRgb8(image), grey: false }
    }

    /// A picture from `[channels][height][width]` bytes.
    pub(crate) fn from_planes(channels: usize, height: usize, width: usize, planes: &[u8]) -> Option<Self> {
        let (w, h) = (u32::try_from(width).ok()?, u32::try_from(height).ok()?);
        let plane = height * width;
        let image = match channels {
            1 => DynamicImage::ImageLuma8(image::GrayImage::from_raw(w, h, planes.to_vec())?),
            3 => {
                let pixels =
                    (0..plane).flat_map(|at| [planes[at], planes[plane + at], planes[2 * plane + at]]).collect();
                DynamicImage::ImageRgb8(image::RgbImage::from_raw(w, h, pixels)?)
            }
            _ => return None,
        };
        Some(Self { image, grey: channels == 1 })
    }
}

/// As `DynamicImage::resize_exact`, bit for bit, but several times as fast: for the usual pixels the filter's loops are compiled in
/// this crate, which is optimised.
fn resized(image: &DynamicImage, height: usize, width: usize, filter: FilterType) -> DynamicImage {
    let (width, height) = (width as u32, height as u32);
    match image {
        DynamicImage::ImageLuma8(pixels) => resize(pixels, width, height, filter).into(),
        DynamicImage::ImageRgb8(pixels) => resize(pixels, width, height, filter).into(),
        DynamicImage::ImageRgba8(pixels) => resize(pixels, width, height, filter).into(),
        other => other.resize_exact(width, height, filter),
    }
}

/// One plane of greys or three of colours, as `out` has room for.
fn write_planes(image: &DynamicImage, plane: usize, out: &mut [u8]) {
    if out.len() == plane {
        return out.copy_from_slice(image.to_luma8().as_raw());
    }
    let pixels = image.as_rgb8().map_or_else(|| Cow::Owned(image.to_rgb8()), Cow::Borrowed);
    let (red, others) = out.split_at_mut(plane);
    let (green, blue) = others.split_at_mut(plane);
    for (((pixel, red), green), blue) in pixels.as_raw().chunks_exact(3).zip(red).zip(green).zip(blue) {
        (*red, *green, *blue) = (pixel[0], pixel[1], pixel[2]);
    }
}

/// Whether a file has no colours, or its decoder gives none: both are known before any pixel is.
fn has_no_colours(decoder: &impl ImageDecoder) -> bool {
    use ExtendedColorType::{L1, L2, L4, L8, L16, La1, La2, La4, La8, La16};
    let grey = |colour| matches!(colour, L1 | L2 | L4 | L8 | L16 | La1 | La2 | La4 | La8 | La16);
    grey(decoder.original_color_type()) || grey(decoder.color_type().into())
}

fn decoder(bytes: &[u8]) -> Result<impl ImageDecoder + '_, String> {
    let mut reader = ImageReader::new(Cursor::new(bytes)).with_guessed_format().map_err(|error| error.to_string())?;
    if reader.format().is_none() {
        return Err("is not a picture (JPEG, PNG, GIF, BMP, WebP, PNM)".into());
    }
    let most = ((bytes.len() as u64).saturating_mul(MOST_GAIN) + (1 << 20)).min(MOST_BYTES);
    let mut limits = Limits::default();
    limits.max_alloc = Some(most);
    reader.limits(limits);
    let decoder = reader.into_decoder().map_err(|error| error.to_string())?;
    if decoder.total_bytes() > most {
        let (width, height) = decoder.dimensions();
        return Err(format!("claims {width}x{height} pixels in {} bytes", bytes.len()));
    }
    Ok(decoder)
}

#[cfg(test)]
mod tests {
    use super::*;
    use image::ImageFormat;

    /// 3 wide, 2 high, one red pixel in the lower right corner.
    fn red_corner(format: ImageFormat) -> Vec<u8> {
        let mut image = image::RgbImage::new(3, 2);
        image.put_pixel(2, 1, image::Rgb([250, 0, 0]));
        let mut bytes = Cursor::new(Vec::new());
        image.write_to(&mut bytes, format).unwrap();
        bytes.into_inner()
    }

    #[test]
    fn rows_columns_and_channels_stay_in_order() {
        for format in [ImageFormat::Png, ImageFormat::Bmp, ImageFormat::Pnm] {
            let bytes = red_corner(format);
            assert_eq!(header(&bytes), Ok(Header { height: 2, width: 3, grey: false }));
            let picture = Picture::decode(&bytes).unwrap();
            let mut out = [9; 18];
            picture.write(2, 3, &mut out);
            let mut expected = [0; 18];
            expected[5] = 250; // red plane, row 1, column 2
            assert_eq!(out, expected);
            assert!(!picture.grey);
        }
    }

    #[test]
    fn grey_pictures_are_expanded_and_resized() {
        let image = image::GrayImage::from_raw(2, 1, vec![0, 200]).unwrap();
        let mut bytes = Cursor::new(Vec::new());
        image.write_to(&mut bytes, ImageFormat::Png).unwrap();
        let picture = Picture::decode(bytes.get_ref()).unwrap();
        assert!(picture.grey);
        let mut out = [0; 6];
        picture.write(1, 2, &mut out);
        assert_eq!(out, [0, 200, 0, 200, 0, 200]);
        let mut small = [0; 1];
        picture.write(1, 1, &mut small);
        assert_eq!(small, [100]);
    }

    #[test]
    fn pictures_are_resized_to_the_bits_of_the_decoders_crate() {
        let pixels: Vec<u8> = (0..37 * 53 * 4u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        let image = DynamicImage::ImageRgba8(image::RgbaImage::from_raw(53, 37, pixels).unwrap());
        let kinds = [image.to_luma8().into(), image.to_rgb8().into(), image.to_rgb16().into(), image];
        for (height, width) in [(1, 1), (8, 5), (36, 53), (37, 20), (64, 64)] {
            for filter in [FilterType::Lanczos3, FilterType::Triangle] {
                for image in &kinds {
                    let theirs = image.resize_exact(width as u32, height as u32, filter);
                    assert_eq!(resized(image, height, width, filter), theirs, "{height}x{width} {:?}", image.color());
                }
            }
        }
    }

    #[test]
    fn a_header_says_whether_a_picture_is_grey_as_its_pixels_do() {
        let image = DynamicImage::new_rgba8(3, 2);
        let kinds: [DynamicImage; 8] = [
            image.to_luma8().into(),
            image.to_luma_alpha8().into(),
            image.to_rgb8().into(),
            image.to_luma16().into(),
            image.to_luma_alpha16().into(),
            image.to_rgb16().into(),
            image.to_rgba16().into(),
            image,
        ];
        let formats = [
            ImageFormat::Png,
            ImageFormat::Jpeg,
            ImageFormat::Gif,
            ImageFormat::Bmp,
            ImageFormat::WebP,
            ImageFormat::Pnm,
        ];
        let (mut grey, mut coloured) = (0, 0);
        for (image, format) in kinds.iter().flat_map(|image| formats.map(|format| (image, format))) {
            let mut bytes = Cursor::new(Vec::new());
            // Not every format can hold every kind of pixels.
            if image.write_to(&mut bytes, format).is_err() {
                continue;
            }
            let header = header(bytes.get_ref()).unwrap();
            let picture = Picture::decode(bytes.get_ref()).unwrap();
            let has_colours = picture.image.color().has_color();
            assert_eq!((header.height, header.width, header.grey), (2, 3, picture.grey), "{format:?}");
            assert!(header.grey || has_colours, "{format:?}: a file of colours gave greys");
            (grey, coloured) = (grey + usize::from(header.grey), coloured + usize::from(has_colours));
        }
        assert!(grey >= 8 && coloured >= 12, "{grey} grey, {coloured} coloured");
        // One bit per pixel, which decoders widen.
        let bits = b"P4\n3 2\n\xe0\x40";
        assert!(header(bits).unwrap().grey && Picture::decode(bits).unwrap().grey);
    }

    #[test]
    fn a_bomb_is_refused_before_it_is_unpacked() {
        // A PNG header that claims 60,000 x 60,000 pixels in under 100 bytes.
        let mut bytes = red_corner(ImageFormat::Png);
        bytes[16..24].copy_from_slice(&[0, 0, 0xea, 0x60, 0, 0, 0xea, 0x60]);
        let mut checksum = flate2::Crc::new();
        checksum.update(&bytes[12..29]);
        bytes[29..33].copy_from_slice(&checksum.sum().to_be_bytes());
        assert!(Picture::decode(&bytes).is_err());
        assert!(Picture::decode(b"GIF89a").is_err());
        assert_eq!(Picture::decode(b"plain text").unwrap_err(), "is not a picture (JPEG, PNG, GIF, BMP, WebP, PNM)");
    }
}
