//! Escapes class names, file names and cells for HTML, LaTeX and Markdown. ([`crate::files::cell`] does it for CSV.)

use crate::ui::terminal::plain;

/// Text for HTML, in element content and in quoted attributes. Control characters become visible.
///
/// ```
/// assert_eq!(tares_cli::report::escape::html("<b a='1'>"), "&lt;b a=&#39;1&#39;&gt;");
/// ```
pub fn html(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in plain(text).chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            other => safe.push(other),
        }
    }
    safe
}

/// Text for a LaTeX table.
pub fn latex(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in plain(text).chars() {
        match c {
            '\\' => safe.push_str("\\textbackslash{}"),
            '~' => safe.push_str("\\textasciitilde{}"),
            '^' => safe.push_str("\\textasciicircum{}"),
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => {
                safe.push('\\');
                safe.push(c);
            }
            other => safe.push(other),
        }
    }
    safe
}

/// Text for a cell of a Markdown table; HTML in it is escaped too.
pub fn markdown(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in plain(text).chars() {
        match c {
            '|' | '\\' | '*' | '_' | '`' | '[' | ']' | '#' => {
                safe.push('\\');
                safe.push(c);
            }
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            other => safe.push(other),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTILE: &str = "<script>alert(1)</script>|$\\input{x}\u{1b}[2J\"'&";

    #[test]
    fn hostile_text_stays_text() {
        assert!(!html(HOSTILE).contains(['<', '>', '"', '\'', '\u{1b}']));
        assert!(!markdown(HOSTILE).contains("<script") && !markdown(HOSTILE).contains(")|"));
        assert!(!latex(HOSTILE).contains("\\input"));
    }
}
