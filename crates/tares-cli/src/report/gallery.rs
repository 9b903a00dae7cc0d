//! Samples to look at: the picture or the values, the label it was given and the one that fits better.

use super::canvas::encode_png;
use super::escape::html;
use crate::ui::failure::Outcome;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

/// One sample.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Card {
    /// Row id or file path.
    pub id: String,
    /// The label it came with.
    pub given: String,
    /// The label that fits better.
    pub suggested: String,
    /// The true label, in experiments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub truth: Option<String>,
    /// Quality of the given label: small is suspicious.
    pub score: f64,
    /// A PNG file in base64, for pictures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub picture: Option<String>,
    /// Column and value, for tables.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<(String, String)>,
}

/// The picture of a sample stored `[channels][height][width]`, as base64 of a PNG file. Channels other than 1 and 3
/// show their first.
///
/// # Errors
/// Pixels that don't fill the shape.
pub fn picture(pixels: &[u8], channels: usize, height: usize, width: usize) -> Outcome<String> {
    let plane = height * width;
    let (bytes, color) = if channels == 3 && pixels.len() == 3 * plane {
        let interleaved = (0..plane).flat_map(|at| [pixels[at], pixels[plane + at], pixels[2 * plane + at]]).collect();
        (interleaved, png::ColorType::Rgb)
    } else {
        (pixels.get(..plane).unwrap_or(pixels).to_vec(), png::ColorType::Grayscale)
    };
    Ok(STANDARD.encode(encode_png(&bytes, width as u32, height as u32, color)?))
}

/// The cards as a list of figures. The first pictures load at once, the others when they are scrolled to.
pub fn cards(cards: &[Card]) -> String {
    let mut text = String::from("<ul class=\"gallery\">\n");
    for card in cards {
        let alt = format!("sample {}, given {}, suggested {}", card.id, card.given, card.suggested);
        text.push_str("<li><figure>");
        match &card.picture {
            Some(data) => {
                text.push_str(&format!("<img src=\"data:image/png;base64,{}\" alt=\"{}\">", html(data), html(&alt)))
            }
            None => {
                text.push_str("<dl class=\"values\">");
                for (name, value) in card.values.iter().take(8) {
                    text.push_str(&format!("<div><dt>{}</dt><dd>{}</dd></div>", html(name), html(value)));
                }
                if card.values.len() > 8 {
                    text.push_str(&format!("<div><dt>… {} more</dt><dd></dd></div>", card.values.len() - 8));
                }
                text.push_str("</dl>");
            }
        }
        text.push_str(&format!(
            "<figcaption><span class=\"labels\"><s class=\"given\">{}</s> <span aria-hidden=\"true\">→</span> \
             <b class=\"suggested\">{}</b></span>",
            html(&card.given),
            html(&card.suggested)
        ));
        if let Some(truth) = &card.truth {
            let verdict = if *truth == card.given { "given label is right" } else { "given label is wrong" };
            text.push_str(&format!("<span class=\"truth\" title=\"{verdict}\">truth {}</span>", html(truth)));
        }
        text.push_str(&format!("<span class=\"id\">{}</span></figcaption></figure></li>\n", html(&card.id)));
    }
    text.push_str("</ul>\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colour_planes_are_interleaved_and_rows_stay_rows() {
        // 2 × 1 picture, one red pixel left, one blue pixel right.
        let base64 = picture(&[255, 0, 0, 0, 0, 255], 3, 1, 2).unwrap();
        let bytes = STANDARD.decode(base64).unwrap();
        let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut pixels).unwrap();
        assert_eq!((info.width, info.height), (2, 1));
        assert_eq!(pixels, [255, 0, 0, 0, 0, 255]);
    }

    #[test]
    fn names_are_text_not_markup() {
        let run = crate::record::tests::made_up("npcl", "symmetric", 0.5, 1, 0.9);
        let page = cards(&run.gallery);
        assert!(!page.contains("<b>cow") && page.contains("&lt;b&gt;cow"));
    }
}
