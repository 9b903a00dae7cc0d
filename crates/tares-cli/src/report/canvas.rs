//! What all pictures share: colours, fonts, and the output as SVG (for pages) or PNG (for documents).
//!
//! SVG files contain the colours below as attributes; in dark mode the page's style sheet replaces them.

use crate::record::card::encode_png;
use crate::ui::failure::{Failure, Outcome};
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::register_font;
use std::sync::Once;

/// Text and axes.
pub const INK: RGBColor = RGBColor(0x1f, 0x29, 0x33);
/// Tick labels and captions.
pub const SOFT: RGBColor = RGBColor(0x5b, 0x67, 0x73);
/// Grid lines.
pub const GRID: RGBColor = RGBColor(0xe3, 0xe7, 0xeb);
/// The colour of a heat map's largest values.
pub const HEAT: RGBColor = RGBColor(0x2b, 0x6c, 0xb0);
/// Text on that colour.
pub const ON_HEAT: RGBColor = RGBColor(0xfe, 0xfe, 0xfe);

/// The colours of curves. Colour-blind readers can tell them apart too, on a light and on a dark background.
pub const SERIES: [RGBColor; 8] = [
    RGBColor(0x2b, 0x7b, 0xc4),
    RGBColor(0xdb, 0x7b, 0x2b),
    RGBColor(0x2f, 0x9e, 0x6e),
    RGBColor(0xc2, 0x4d, 0x6f),
    RGBColor(0x8a, 0x63, 0xc9),
    RGBColor(0x8f, 0x84, 0x2e),
    RGBColor(0x2f, 0x9f, 0xae),
    RGBColor(0x84, 0x8c, 0x95),
];

/// The size of a picture and of its text, in pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Size {
    /// Width of the picture.
    pub width: u32,
    /// Height of the picture.
    pub height: u32,
    /// Font size.
    pub type_size: u32,
}

impl Size {
    /// The same picture, `factor` times as wide and high.
    #[must_use]
    pub fn times(self, factor: u32) -> Self {
        Self { width: self.width * factor, height: self.height * factor, type_size: self.type_size * factor }
    }
}

/// A picture that any backend of plotters can draw.
pub trait Drawing {
    /// Draws the picture; `scale` is the width in pixels of a line of width 1.
    ///
    /// # Errors
    /// The backend cannot draw.
    fn draw<B: DrawingBackend>(&self, area: &DrawingArea<B, Shift>, size: Size, scale: u32) -> Result<(), String>
    where
        B::ErrorType: 'static;
}

/// The picture as an `<svg>` element that a page can scale, with a title and a description for screen readers.
///
/// # Errors
/// A picture that cannot be drawn.
pub fn svg(drawing: &impl Drawing, size: Size, title: &str, description: &str) -> Outcome<String> {
    fonts();
    let mut text = String::new();
    {
        let area = SVGBackend::with_string(&mut text, (size.width, size.height)).into_drawing_area();
        drawing.draw(&area, size, 1).map_err(Failure::new)?;
        area.present().map_err(Failure::new)?;
    }
    // Replace the opening tag: plotters writes a fixed size and no text for screen readers.
    let body = text.split_once('>').map_or("", |(_, body)| body);
    let (title, description) = (super::escape::html(title), super::escape::html(description));
    Ok(format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" viewBox=\"0 0 {0} {1}\" role=\"img\" \
         aria-label=\"{title}\" font-family=\"system-ui, sans-serif\">\n<title>{title}</title>\n\
         <desc>{description}</desc>{2}",
        size.width,
        size.height,
        body.replace(" font-family=\"sans-serif\"", "")
    ))
}

/// The picture as the bytes of a PNG file, on white, with twice the pixels of `size` in each direction.
///
/// # Errors
/// A picture that cannot be drawn.
pub fn png(drawing: &impl Drawing, size: Size) -> Outcome<Vec<u8>> {
    fonts();
    let fine = size.times(2);
    let mut pixels = vec![0xff; (fine.width * fine.height * 3) as usize];
    {
        let area = BitMapBackend::with_buffer(&mut pixels, (fine.width, fine.height)).into_drawing_area();
        area.fill(&WHITE).map_err(Failure::new)?;
        drawing.draw(&area, fine, 2).map_err(Failure::new)?;
        area.present().map_err(Failure::new)?;
    }
    encode_png(&pixels, fine.width, fine.height, png::ColorType::Rgb)
}

/// The font in the given size.
pub fn font(size: u32) -> FontDesc<'static> {
    FontDesc::new(FontFamily::SansSerif, f64::from(size), FontStyle::Normal)
}

/// Registers the font in the program, which PNG output needs: the machine may have no fonts.
fn fonts() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let font = include_bytes!("../../assets/roboto-subset.ttf");
        // Registering fails only if the font is damaged, and then the golden tests fail.
        let _ = register_font("sans-serif", FontStyle::Normal, font);
    });
}
