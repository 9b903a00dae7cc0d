//! Which columns hold texts that are read by their words, rather than names or codes.

/// A text has on average at least so many words,
const WORDS: f64 = 5.0;
/// and at least so many characters.
const CHARACTERS: f64 = 20.0;

/// Whether different texts of a column read like sentences: several words each. Names, codes and addresses of web pages don't.
pub(crate) fn is_prose(texts: &[&str]) -> bool {
    let mean = |of: fn(&str) -> f64| texts.iter().map(|text| of(text)).sum::<f64>() / texts.len() as f64;
    mean(words) >= WORDS && mean(|text| text.chars().map(room).sum()) >= CHARACTERS
}

/// Words between white space. Scripts without spaces have words of about two characters.
fn words(text: &str) -> f64 {
    let dense = text.chars().filter(|&c| is_dense(c)).count() as f64;
    text.split_whitespace().count() as f64 + dense / 2.0
}

/// A character of a script without spaces says about as much as two letters.
fn room(c: char) -> f64 {
    if is_dense(c) { 2.0 } else { 1.0 }
}

/// Chinese, Japanese, Thai, Lao, Burmese and Khmer are written without spaces between words.
fn is_dense(c: char) -> bool {
    matches!(c, '\u{0e00}'..='\u{0eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{3040}'..='\u{30ff}'
        | '\u{3400}'..='\u{9fff}' | '\u{20000}'..='\u{3ffff}')
}

#[cfg(test)]
mod tests {
    use super::is_prose;

    #[test]
    fn sentences_are_prose_and_names_codes_and_addresses_are_not() {
        assert!(is_prose(&["Free entry in a weekly competition, text WIN now", "ok see you there at 7 then"]));
        assert!(is_prose(&["这本书非常好看，孩子很喜欢", "质量太差了，再也不会买这家的东西"]));
        assert!(!is_prose(&["Braund, Mr. Owen Harris", "Heikkinen, Miss. Laina", "Allen, Mr. William Henry"]));
        assert!(!is_prose(&["王小明", "李雷"]));
        assert!(!is_prose(&["A/5 21171", "PC 17599"]));
        assert!(!is_prose(&[
            "https://example.org/a/very/long/page/of/ours?id=1",
            "https://example.org/b/another/page"
        ]));
    }
}
