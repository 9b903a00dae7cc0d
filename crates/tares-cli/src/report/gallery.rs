//! The suspects of a report: each with its picture or values, its given label and the suggested one.

use super::escape::html;
use crate::record::card::Card;
use crate::record::card_text::CardText;

/// Characters of a text on a card.
const LONGEST_TEXT: usize = 300;

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
                for CardText { name, text: shown, words } in &card.texts {
                    let (name, shown) = (html(name), marked(shown, words));
                    text.push_str(&format!("<div class=\"long\"><dt>{name}</dt><dd>{shown}</dd></div>"));
                }
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

/// The beginning of a text, its words that speak for the suggestion marked.
fn marked(text: &str, words: &[String]) -> String {
    let text: String = text.chars().take(LONGEST_TEXT).collect();
    let in_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut shown = String::new();
    for part in text.split_inclusive(|c| !in_word(c)) {
        let word = part.trim_end_matches(|c| !in_word(c));
        match words.iter().any(|marked| *marked == word.to_lowercase()) {
            true => shown.push_str(&format!("<mark>{}</mark>{}", html(word), html(&part[word.len()..]))),
            false => shown.push_str(&html(part)),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_speak_for_the_suggestion_are_marked_and_no_text_is_markup() {
        let words = ["prize".to_owned(), "won".to_owned()];
        assert_eq!(marked("Won <b>a PRIZE!", &words), "<mark>Won</mark> &lt;b&gt;a <mark>PRIZE</mark>!");
        assert_eq!(marked("prizes", &words), "prizes");
    }

    #[test]
    fn names_are_text_not_markup() {
        let run = crate::record::made_up::made_up("npcl", "symmetric", 0.5, 1, 0.9);
        let page = cards(&run.gallery);
        assert!(!page.contains("<b>cow") && page.contains("&lt;b&gt;cow"));
    }
}
