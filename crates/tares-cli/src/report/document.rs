//! The frame that every page of the program shares: style, policy, and text that is escaped wherever it stands.

use super::escape;
use crate::ui::failure::{Failure, Outcome};
use crate::ui::terminal::plain;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use minijinja::value::Value;
use minijinja::{Environment, context};
use sha2::{Digest, Sha256};

/// The style sheet of every page.
pub const STYLE: &str = include_str!("../../templates/style.css");

/// A whole HTML document around a body that is already HTML. Its policy lets the page load nothing and run nothing but
/// `script`.
///
/// # Errors
/// The template is broken.
pub fn document(title: &str, body: &str, more_style: &str, script: &str) -> Outcome<String> {
    let style = format!("\n{STYLE}{more_style}");
    render(
        "document.html",
        include_str!("../../templates/document.html"),
        context! {
            title => plain(title),
            version => env!("CARGO_PKG_VERSION"),
            policy => Value::from_safe_string(policy(&style, script)),
            style => Value::from_safe_string(style),
            body => Value::from_safe_string(body.to_owned()),
            script => Value::from_safe_string(script.to_owned()),
        },
    )
}

/// The Content Security Policy: this very style and this very script, told by their hashes, and pictures inside the page.
/// Markup that should ever slip into a page (from a file name, a class) can neither load nor run anything.
fn policy(style: &str, script: &str) -> String {
    let hash = |text: &str| format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text)));
    let scripts = if script.is_empty() { String::new() } else { format!("; script-src {}", hash(script)) };
    format!("default-src 'none'; img-src data:; style-src {}{scripts}", hash(style))
}

/// Fills a template whose values are escaped unless marked safe.
///
/// # Errors
/// The template is broken, or a value is missing.
pub fn render(name: &str, template: &str, values: Value) -> Outcome<String> {
    let mut templates = Environment::new();
    templates.set_undefined_behavior(minijinja::UndefinedBehavior::Strict);
    // Our own escape also makes control characters visible.
    templates.set_formatter(|out, state, value| {
        if value.is_safe() || value.as_str().is_none() {
            return minijinja::escape_formatter(out, state, value);
        }
        out.write_str(&escape::html(value.as_str().unwrap_or_default())).map_err(minijinja::Error::from)
    });
    templates.add_template(name, template).map_err(Failure::new)?;
    templates.get_template(name).and_then(|template| template.render(values)).map_err(Failure::new)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text between two marks.
    fn between<'a>(text: &'a str, from: &str, to: &str) -> &'a str {
        text.split_once(from).and_then(|(_, rest)| rest.split_once(to)).map_or("", |(inside, _)| inside)
    }

    #[test]
    fn a_page_may_run_its_own_script_and_nothing_else() {
        let page = document("title", "<p>body</p>", "p { margin: 0 }\n", "\"use strict\";\n").unwrap();
        let hash = |text: &str| format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text)));
        let policy = between(&page, "Content-Security-Policy\" content=\"", "\"");
        assert!(policy.contains(&format!("script-src {}", hash(between(&page, "<script>", "</script>")))), "{policy}");
        assert!(policy.contains(&format!("style-src {}", hash(between(&page, "<style>", "</style>")))), "{policy}");
        let page = document("title", "<p>body</p>", "", "").unwrap();
        assert!(!page.contains("script") && !page.contains("unsafe-inline"), "{page}");
    }
}
