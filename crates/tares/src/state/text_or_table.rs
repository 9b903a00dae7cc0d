//! How files hold what can be typed: as its text, or as a table with every value.

use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

/// Reads a `T` from its text or from the table `F`; `expected` says both in words.
pub(crate) fn text_or_table<'de, D, T, F>(deserializer: D, expected: &'static str) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr<Err: fmt::Display> + From<F>,
    F: Deserialize<'de>,
{
    deserializer.deserialize_any(TextOrTable(expected, PhantomData::<(T, F)>))
}

struct TextOrTable<T>(&'static str, PhantomData<T>);

impl<'de, T, F> Visitor<'de> for TextOrTable<(T, F)>
where
    T: FromStr<Err: fmt::Display> + From<F>,
    F: Deserialize<'de>,
{
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(E::custom)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        F::deserialize(MapAccessDeserializer::new(map)).map(T::from).map_err(A::Error::custom)
    }
}
