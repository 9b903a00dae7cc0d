//! Which column of a probability file belongs to which class: by name where columns are named after the classes, else by
//! position.

/// The columns of the classes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassColumns {
    /// The column of every class, in the order of the classes.
    pub columns: Vec<usize>,
    /// Whether names decided, not positions.
    pub by_name: bool,
    /// Columns that belong to no class and are not used.
    pub unused: Vec<usize>,
}

impl ClassColumns {
    /// The first column is the first class, and so on.
    pub(crate) fn in_order(classes: usize) -> Self {
        Self { columns: (0..classes).collect(), by_name: false, unused: Vec::new() }
    }

    /// Finds the column of every class among columns called `names`.
    ///
    /// A column is named after a class if it is called like it, or if all are with the same text around it (`p_cat`, `p_dog`).
    ///
    /// # Errors
    /// Names that fit some classes but not all: positions would be a guess. Too few or too many columns.
    pub(crate) fn find(names: &[String], classes: &[String]) -> Result<Self, String> {
        let around = std::iter::once((String::new(), String::new())).chain(affixes(names, classes));
        for (before, after) in around {
            let column = |class: &String| names.iter().position(|name| named(name, &before, class, &after));
            if let Some(columns) = classes.iter().map(column).collect::<Option<Vec<usize>>>() {
                let unused = (0..names.len()).filter(|at| !columns.contains(at)).collect();
                return Ok(Self { columns, by_name: true, unused });
            }
        }
        let is_class = |name: &String| classes.iter().any(|class| class == name.trim());
        let list = |names: Vec<&String>| {
            let shown: Vec<String> = names.iter().take(8).map(|name| format!("'{name}'")).collect();
            let more = if names.len() > 8 { format!(" and {} more", names.len() - 8) } else { String::new() };
            format!("{}{more}", shown.join(", "))
        };
        if names.iter().any(is_class) {
            let without =
                classes.iter().filter(|class| !names.iter().any(|name| name.trim() == class.as_str())).collect();
            let others: Vec<&String> = names.iter().filter(|name| !is_class(name)).collect();
            let others =
                if others.is_empty() { String::new() } else { format!(", the columns {} name none", list(others)) };
            return Err(format!(
                "probability columns must be named after all classes or after none, got no column for {}{others}",
                list(without)
            ));
        }
        if names.len() != classes.len() {
            return Err(format!(
                "probabilities must have a column for each of the {} classes ({}), got {}",
                classes.len(),
                list(classes.iter().collect()),
                names.len()
            ));
        }
        Ok(Self::in_order(classes.len()))
    }
}

/// Whether a column is called like a class with this text around it.
fn named(name: &str, before: &str, class: &str, after: &str) -> bool {
    let inside = name.trim().strip_prefix(before).and_then(|rest| rest.strip_suffix(after));
    inside.is_some_and(|inside| inside == class)
}

/// The texts that may stand around all class names: those around a class in the name of a column that belongs to it. With the
/// longest class first, since `cat` is also inside `p_wildcat`.
fn affixes(names: &[String], classes: &[String]) -> Vec<(String, String)> {
    let Some(longest) = classes.iter().filter(|class| !class.is_empty()).max_by_key(|class| class.len()) else {
        return Vec::new();
    };
    let around = |name: &String| {
        let name = name.trim().to_owned();
        let starts: Vec<usize> = name.match_indices(longest.as_str()).map(|(start, _)| start).collect();
        starts.into_iter().map(move |start| (name[..start].to_owned(), name[start + longest.len()..].to_owned()))
    };
    names.iter().flat_map(around).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(names: &[&str], classes: &[&str]) -> Result<ClassColumns, String> {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        ClassColumns::find(&owned(names), &owned(classes))
    }

    #[test]
    fn columns_named_after_classes_are_found_in_any_order() {
        let found = find(&["dog", "cat", "cow"], &["cat", "cow", "dog"]).unwrap();
        assert_eq!((found.columns, found.by_name), (vec![1, 2, 0], true));
        let found = find(&["p(2)", "p(0)", "p(1)"], &["0", "1", "2"]).unwrap();
        assert_eq!((found.columns, found.by_name), (vec![1, 2, 0], true));
        let found = find(&["p_wildcat", "p_cat"], &["cat", "wildcat"]).unwrap();
        assert_eq!((found.columns, found.by_name), (vec![1, 0], true));
        // A class inside another's name, and every class a digit.
        let found = find(&["p10", "p1", "p0", "p2"], &["0", "1", "2", "10"]).unwrap();
        assert_eq!((found.columns, found.by_name), (vec![2, 1, 3, 0], true));
    }

    #[test]
    fn other_columns_beside_named_ones_are_not_used() {
        let found = find(&["id", "dog", "cat"], &["cat", "dog"]).unwrap();
        assert_eq!((found.columns, found.unused), (vec![2, 1], vec![0]));
    }

    #[test]
    fn names_that_say_nothing_about_classes_leave_the_order() {
        for names in [["p0", "p1"], ["column 1", "column 2"], ["a", "b"]] {
            let found = find(&names, &["cat", "dog"]).unwrap();
            assert_eq!((found.columns, found.by_name), (vec![0, 1], false));
        }
    }

    #[test]
    fn names_that_fit_in_part_are_refused() {
        let said = find(&["dog", "cat", "mouse"], &["cat", "cow", "dog"]).unwrap_err();
        assert_eq!(
            said,
            "probability columns must be named after all classes or after none, got no column for 'cow', the columns \
             'mouse' name none"
        );
        let said = find(&["a", "b"], &["cat", "cow", "dog"]).unwrap_err();
        assert!(said.contains("each of the 3 classes ('cat', 'cow', 'dog'), got 2"), "{said}");
    }
}
