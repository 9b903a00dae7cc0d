//! Which column of a probability file belongs to which class: by name where columns are named after the classes, else by
//! position.

use super::sort_classes;
use std::collections::HashSet;

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
        if let Some(columns) = Self::named_after(names, classes).map(|(columns, _)| columns) {
            let unused = (0..names.len()).filter(|at| !columns.contains(at)).collect();
            return Ok(Self { columns, by_name: true, unused });
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

    /// The classes that columns named after `labels` speak of: the labels, and what other columns have between the same texts, since no
    /// row may have one of the classes. Nothing where columns are not named after the labels.
    pub(super) fn classes_of_names(names: &[String], labels: &[String]) -> Option<Vec<String>> {
        let (columns, (before, after)) = Self::named_after(names, labels)?;
        let mut classes = labels.to_vec();
        if !(before.is_empty() && after.is_empty()) {
            let others = names.iter().enumerate().filter(|(at, _)| !columns.contains(at));
            let inside = others.filter_map(|(_, name)| inside(name, &before, &after).filter(|name| !name.is_empty()));
            classes.extend(inside.map(str::to_owned));
        }
        sort_classes(&mut classes);
        Some(classes)
    }

    /// The columns that are called like the classes, and the texts around them. `True` is `p_true` where nothing is called `p_True`.
    fn named_after(names: &[String], classes: &[String]) -> Option<(Vec<usize>, (String, String))> {
        let exact = |names: &[String], classes: &[String]| {
            let around = std::iter::once((String::new(), String::new())).chain(affixes(names, classes));
            around.into_iter().find_map(|(before, after)| {
                let called = |name: &str, class: &str| inside(name, &before, &after).is_some_and(|name| name == class);
                let column = |class: &String| names.iter().position(|name| called(name, class));
                Some((classes.iter().map(column).collect::<Option<Vec<usize>>>()?, (before.clone(), after.clone())))
            })
        };
        exact(names, classes).or_else(|| {
            let lower = |names: &[String]| names.iter().map(|name| name.to_lowercase()).collect::<Vec<_>>();
            let (small, classes) = (lower(names), lower(classes));
            let differ = |names: &[String]| names.iter().collect::<HashSet<_>>().len() == names.len();
            let (columns, (before, after)) = exact(&small, &classes).filter(|_| differ(&small) && differ(&classes))?;
            // The texts as they are written.
            let name = names[*columns.first()?].trim();
            let end = name.len().checked_sub(after.len())?;
            let written = (name.get(..before.len())?.to_owned(), name.get(end..)?.to_owned());
            Some((columns, written))
        })
    }
}

/// What stands between two texts in the name of a column.
fn inside<'a>(name: &'a str, before: &str, after: &str) -> Option<&'a str> {
    name.trim().strip_prefix(before)?.strip_suffix(after)
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
    fn case_decides_only_where_it_must() {
        let found = find(&["p_true", "p_false"], &["False", "True"]).unwrap();
        assert_eq!((found.columns, found.by_name), (vec![1, 0], true));
        let found = find(&["p_b", "p_B"], &["B", "b"]).unwrap();
        assert_eq!((found.columns, found.by_name), (vec![1, 0], true));
    }

    #[test]
    fn columns_called_alike_are_classes_though_no_row_has_them() {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let of = |names: &[&str], labels: &[&str]| ClassColumns::classes_of_names(&owned(names), &owned(labels));
        let names = ["p_cub", "sure", "p_cow", "p_cat"];
        assert_eq!(of(&names, &["cat", "cub"]), Some(owned(&["cat", "cow", "cub"])));
        assert_eq!(of(&["p10", "p2", "p0"], &["0", "2"]), Some(owned(&["0", "2", "10"])));
        assert_eq!(of(&["cat", "sure", "cub"], &["cat", "cub"]), Some(owned(&["cat", "cub"])));
        assert_eq!(of(&["a", "b"], &["cat", "cub"]), None);
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
