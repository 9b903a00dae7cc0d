//! Texts beside the numbers of the rows: one column each, one text per row.

use super::{Dataset, Label, Shape};
use crate::error::{Error, Result, same_length};
use std::sync::Arc;

/// A column of texts. A row without one has the empty text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextColumn {
    /// Its name.
    pub name: String,
    /// A text per row, shared between a data set and its subsets.
    pub texts: Vec<Arc<str>>,
}

impl TextColumn {
    /// Takes a name and a text per row.
    pub fn new<T: Into<Arc<str>>>(name: impl Into<String>, texts: impl IntoIterator<Item = T>) -> Self {
        Self { name: name.into(), texts: texts.into_iter().map(Into::into).collect() }
    }

    pub(super) fn pick(&self, indices: &[usize]) -> Self {
        Self { name: self.name.clone(), texts: indices.iter().map(|&index| self.texts[index].clone()).collect() }
    }
}

impl Dataset {
    /// Rows of texts alone: their [`shape`](Dataset::shape) is `Flat(0)`.
    ///
    /// ```
    /// use tares_core::{Dataset, TextColumn};
    /// let subject = TextColumn::new("subject", ["you have won", "lunch?"]);
    /// let data = Dataset::of_texts(vec![subject], vec![1, 0], ["ham", "spam"])?;
    /// assert_eq!(&*data.subset(&[1])?.texts()[0].texts[0], "lunch?");
    /// # Ok::<(), tares_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// No column of texts; otherwise as [`new`](Dataset::new) and [`with_texts`](Dataset::with_texts).
    pub fn of_texts<N: Into<String>>(
        texts: Vec<TextColumn>,
        given: Vec<Label>,
        class_names: impl IntoIterator<Item = N>,
    ) -> Result<Self> {
        if texts.is_empty() {
            return Err(Error::empty("list of text columns"));
        }
        let class_names = class_names.into_iter().map(Into::into).collect();
        Self::checked(Vec::<f32>::new().into(), Shape::Flat(0), given, class_names)?.with_texts(texts)
    }

    /// Adds columns of texts, each with a text per row.
    ///
    /// # Errors
    /// A different length.
    pub fn with_texts(mut self, texts: Vec<TextColumn>) -> Result<Self> {
        for column in &texts {
            same_length(&format!("texts of column '{}'", column.name), self.len(), column.texts.len())?;
        }
        self.texts = texts.into();
        Ok(self)
    }

    /// The columns of texts; position in each is the row.
    pub fn texts(&self) -> &[TextColumn] {
        &self.texts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_follow_their_rows() {
        let texts = TextColumn::new("t", ["a", "b", "c", "d"]);
        let data = Dataset::new(vec![0f32, 1.0, 2.0, 3.0], Shape::Flat(1), vec![0, 1, 0, 1], ["x", "y"]).unwrap();
        let data = data.with_texts(vec![texts]).unwrap();
        let picked = data.subset(&[3, 1]).unwrap().subset(&[1, 0, 0]).unwrap();
        assert_eq!(picked.texts(), [TextColumn::new("t", ["b", "d", "d"])]);
        assert_eq!(picked.clone().relabel(vec![0, 0, 0]).unwrap().texts(), picked.texts());
    }

    #[test]
    fn texts_must_be_as_many_as_rows() {
        let column = || TextColumn::new("note", ["only one"]);
        let error = Dataset::of_texts(vec![column()], vec![0, 1], ["x", "y"]).unwrap_err().to_string();
        assert!(error.contains("texts of column 'note'"), "{error}");
        assert!(Dataset::of_texts(Vec::new(), vec![0, 1], ["x", "y"]).is_err());
        assert!(Dataset::new(Vec::<f32>::new(), Shape::Flat(0), vec![0, 1], ["x", "y"]).is_err());
    }
}
