//! A text → its n-grams: runs of words, and runs of characters within words.
//!
//! Both are those of scikit-learn: `analyzer="word"` with its default token pattern, and `analyzer="char_wb"`.

/// Calls `visit` with every run of `least..=most` neighbouring words. A word is two or more letters, digits or
/// underscores; words of a run are joined by a space.
pub(crate) fn words(lower: &str, least: usize, most: usize, mut visit: impl FnMut(&str)) {
    let in_word = |c: char| c.is_alphanumeric() || c == '_';
    let long_enough = |word: &&str| word.chars().nth(1).is_some();
    let words: Vec<&str> = lower.split(|c| !in_word(c)).filter(long_enough).collect();
    let mut joined = String::new();
    for size in least..=most {
        for run in words.windows(size) {
            match run {
                [word] => visit(word),
                _ => {
                    joined.clear();
                    for (place, word) in run.iter().enumerate() {
                        if place > 0 {
                            joined.push(' ');
                        }
                        joined.push_str(word);
                    }
                    visit(&joined);
                }
            }
        }
    }
}

/// Calls `visit` with every run of `least..=most` characters inside what stands between white space, with a space added at
/// both ends. What is shorter than a run counts once, as a whole.
pub(crate) fn characters(lower: &str, least: usize, most: usize, mut visit: impl FnMut(&str)) {
    let mut padded = String::new();
    let mut ends = Vec::new();
    for word in lower.split_whitespace() {
        padded.clear();
        padded.push(' ');
        padded.push_str(word);
        padded.push(' ');
        ends.clear();
        ends.extend(padded.char_indices().map(|(place, _)| place));
        ends.push(padded.len());
        let length = ends.len() - 1;
        for size in least..=most {
            if size >= length {
                visit(&padded);
                break;
            }
            for first in 0..=length - size {
                visit(&padded[ends[first]..ends[first + size]]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_runs_of_letters_and_digits() {
        let mut found = Vec::new();
        words("l'été à 20 °c, i_am ok", 1, 2, |gram| found.push(gram.to_owned()));
        assert_eq!(found, ["été", "20", "i_am", "ok", "été 20", "20 i_am", "i_am ok"]);
    }

    #[test]
    fn characters_stay_within_words_and_short_words_count_once() {
        // CountVectorizer(analyzer="char_wb", ngram_range=(3, 4)).build_analyzer()("ab Ö c")
        let mut found = Vec::new();
        characters("ab ö c", 3, 4, |gram| found.push(gram.to_owned()));
        assert_eq!(found, [" ab", "ab ", " ab ", " ö ", " c "]);
    }
}
