//! How named things are written everywhere: `name` or `name:number`, such as `hinge`, `weighted:0.3`, `pair:0.35`.

use crate::error::{Error, Result};

/// The two halves of `name[:argument]`.
pub(crate) struct Named<'a> {
    kind: &'static str,
    pub(crate) name: &'a str,
    pub(crate) argument: Option<&'a str>,
}

impl<'a> Named<'a> {
    pub(crate) fn parse(kind: &'static str, text: &'a str) -> Result<Self> {
        let text = text.trim();
        if text.is_empty() {
            return Err(Error::empty(format!("name of a {kind}")));
        }
        Ok(match text.split_once(':') {
            Some((name, argument)) => Self { kind, name: name.trim(), argument: Some(argument.trim()) },
            None => Self { kind, name: text, argument: None },
        })
    }

    /// A thing without a parameter.
    pub(crate) fn plain<T>(&self, thing: T) -> Result<T> {
        match self.argument {
            None => Ok(thing),
            Some(argument) => {
                Err(Error::value(format!("{} {}", self.kind, self.name), "written without a parameter", argument))
            }
        }
    }

    /// A thing that needs a number.
    pub(crate) fn number(&self) -> Result<f64> {
        match self.argument {
            Some(argument) => argument.parse().map_err(|_| self.bad_number(argument)),
            None => Err(self.bad_number("none")),
        }
    }

    /// A thing whose number may be left out.
    pub(crate) fn number_or(&self, default: f64) -> Result<f64> {
        if self.argument.is_none() { Ok(default) } else { self.number() }
    }

    pub(crate) fn unknown(&self, known: &[&str]) -> Error {
        Error::unknown(self.kind, self.name, known)
    }

    fn bad_number(&self, got: &str) -> Error {
        Error::value(
            format!("parameter of {} {}", self.kind, self.name),
            format!("a number, as in {}:0.5", self.name),
            got,
        )
    }
}

/// With the feature `serde`: a type with `Display` and `FromStr` is text in files.
macro_rules! as_text {
    ($type:ty) => {
        #[cfg(feature = "serde")]
        impl TryFrom<String> for $type {
            type Error = crate::error::Error;

            fn try_from(text: String) -> crate::error::Result<Self> {
                text.parse()
            }
        }

        #[cfg(feature = "serde")]
        impl From<$type> for String {
            fn from(thing: $type) -> String {
                thing.to_string()
            }
        }
    };
}
pub(crate) use as_text;
