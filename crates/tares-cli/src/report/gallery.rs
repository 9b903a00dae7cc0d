//! The suspects of a report: each with its picture or values, its given label and the suggested one.

use super::escape::html;
use crate::record::card::Card;

/// The cards as an HTML list of figures.
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
    fn names_are_text_not_markup() {
        let run = crate::record::made_up::made_up("npcl", "symmetric", 0.5, 1, 0.9);
        let page = cards(&run.gallery);
        assert!(!page.contains("<b>cow") && page.contains("&lt;b&gt;cow"));
    }
}
