//! A text → its n-grams: runs of words, and runs of characters.
//!
//! Both are those of scikit-learn: `analyzer="word"` with its default token pattern, and `analyzer="char"` of the text with a
//! space at both ends.

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

/// Calls `visit` with every run of `least..=most` characters, also across words: any white space counts as one space, and
/// one is added at both ends. A text that is shorter than a run has none of that size.
pub(crate) fn characters(lower: &str, least: usize, most: usize, mut visit: impl FnMut(&str)) {
    let mut spaced = String::with_capacity(lower.len() + 2);
    for word in lower.split_whitespace() {
        spaced.push(' ');
        spaced.push_str(word);
    }
    if spaced.is_empty() {
        return;
    }
    spaced.push(' ');
    let mut ends: Vec<usize> = spaced.char_indices().map(|(place, _)| place).collect();
    ends.push(spaced.len());
    for size in least..=most {
        for run in ends.windows(size + 1) {
            visit(&spaced[run[0]..run[size]]);
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
    fn characters_run_across_words_and_white_space_is_one_space() {
        // CountVectorizer(analyzer="char", ngram_range=(3, 4)).build_analyzer()(" ab ö ")
        let mut found = Vec::new();
        characters("ab \n\t ö", 3, 4, |gram| found.push(gram.to_owned()));
        assert_eq!(found, [" ab", "ab ", "b ö", " ö ", " ab ", "ab ö", "b ö "]);
        characters(" \n", 1, 3, |gram| panic!("{gram}"));
        characters("x", 4, 5, |gram| panic!("{gram}"));
    }
}
