//! [`CardText`]: a text of a suspect, with the words in it that speak for the suggestion.

use super::card::Card;
use crate::ui::failure::Outcome;
use serde::{Deserialize, Serialize};
use tares_core::Dataset;
use tares_core::audit::Suspect;
use tares_judges::text::evidence::TextEvidence;

/// Characters of a text that are shown at most.
const LONGEST: usize = 2000;
/// Words that are marked at most.
const WORDS: usize = 8;

/// One text of a suspect.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CardText {
    /// Its column.
    pub name: String,
    /// The text, or its beginning.
    pub text: String,
    /// Words of it that speak for the suggested class and against the given one, in small letters, the strongest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub words: Vec<String>,
}

impl CardText {
    /// The texts of a row, no word marked yet.
    pub fn of(data: &Dataset, index: usize) -> Vec<Self> {
        let shown = |text: &str| match text.char_indices().nth(LONGEST) {
            Some((end, _)) => format!("{} …", &text[..end]),
            None => text.to_owned(),
        };
        let one = |(name, text): (&String, &str)| Self { name: name.clone(), text: shown(text), words: Vec::new() };
        data.texts().iter().map(|column| one((&column.name, &column.texts[index]))).collect()
    }
}

/// Finds the words that speak for each suggestion. Cards are those of the first suspects, in the same order.
///
/// # Errors
/// Texts and labels that don't fit together.
pub fn mark_words(cards: &mut [Card], suspects: &[Suspect], data: &Dataset) -> Outcome<()> {
    if data.texts().is_empty() || cards.is_empty() {
        return Ok(());
    }
    let columns: Vec<_> = data.texts().iter().map(|column| column.texts.as_slice()).collect();
    let evidence = TextEvidence::fit(&columns, data.given(), data.classes())?;
    for (card, suspect) in cards.iter_mut().zip(suspects) {
        for (column, text) in card.texts.iter_mut().enumerate() {
            text.words = evidence.words(column, &text.text, suspect.suggested, suspect.given, WORDS);
        }
    }
    Ok(())
}
