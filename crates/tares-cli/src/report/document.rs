//! The frame that all pages share: style sheet, security policy, and templates that escape all text.

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

/// A whole HTML document around `body`, which is already HTML. Its security policy forbids loading anything, and running
/// anything but `script`.
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

/// The Content Security Policy: it allows this style and this script, identified by their hashes, and pictures inside the
/// page. Should markup from a file name or a class ever get into a page, it can neither load nor run anything.
fn policy(style: &str, script: &str) -> String {
    let hash = |text: &str| format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text)));
    let scripts = if script.is_empty() { String::new() } else { format!("; script-src {}", hash(script)) };
    format!("default-src 'none'; img-src data:; style-src {}{scripts}", hash(style))
}

/// Fills a template; values are escaped unless they are marked safe.
///
/// # Errors
/// The template is broken, or a value is missing.
pub fn render(name: &str, template: &str, values: Value) -> Outcome<String> {
    let mut templates = Environment::new();
    templates.set_undefined_behavior(minijinja::UndefinedBehavior::Strict);
    // Our own escaping, because it also makes control characters visible.
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

    /// The text between `from` and `to`.
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
