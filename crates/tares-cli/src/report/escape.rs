//! Class names, file names and cells are data, wherever they are shown.

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

/// A text cell for CSV that no spreadsheet takes for a formula: a leading `=`, `+`, `-`, `@`, tab or carriage return
/// gets an apostrophe in front. (Quoting is the CSV writer's work.)
pub fn csv_text(text: &str) -> String {
    if text.starts_with(['=', '+', '-', '@', '\t', '\r', '\n']) { format!("'{text}") } else { text.to_owned() }
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

/// Text for a cell of a Markdown table; HTML in it stays text.
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

    #[test]
    fn no_cell_is_a_formula() {
        for cell in ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1"] {
            assert!(csv_text(cell).starts_with('\''), "{cell:?}");
        }
        assert_eq!(csv_text("cat"), "cat");
    }
}
