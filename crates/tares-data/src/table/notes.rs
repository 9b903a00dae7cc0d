//! What people are told about the columns of a table: the role of each, and a sentence for each that was changed or left out.

use super::columns::{LABEL_NAMES, LeftOut, RawTable, Values};
use super::rules::{ColumnRule, MOST_LEVELS, Rule, TableRules};
use crate::source::ColumnFound;
use rayon::prelude::*;
use std::collections::HashSet;

impl TableRules {
    /// What a person should see of the columns. The rules were fitted on `fitted` of the rows.
    pub(crate) fn found(&self, table: &RawTable, fitted: usize) -> Vec<ColumnFound> {
        let missing = |column: &ColumnRule| match column.rule {
            // Fitting has looked at every row and found none.
            Rule::Number { missing: false, .. } if fitted == table.rows => 0,
            _ => table.position(&column.name).map_or(0, |position| table.columns[position].values.missing()),
        };
        let ignored = self.ignored(table);
        let why = |name: &str| ignored.iter().find(|column| column.name == name).map_or("", |column| &column.why);
        let column = |column: &ColumnRule| ColumnFound {
            name: column.name.clone(),
            role: match &column.rule {
                rule if rule.is_date() => "date".into(),
                Rule::Number { .. } => "number".into(),
                Rule::Text { levels, .. } => format!("text, {} levels", levels.len()),
                Rule::Words => "text, read by its words".into(),
                Rule::Ignored => format!("left out ({})", why(&column.name)),
            },
            missing: missing(column),
        };
        let named = |name: &Option<String>, role: &str| {
            name.as_ref().map(|name| ColumnFound { name: name.clone(), role: role.into(), missing: 0 })
        };
        let left_out = table.left_out.iter().map(|column| ColumnFound {
            name: column.name.clone(),
            role: format!("left out ({})", column.why),
            missing: 0,
        });
        let special = named(&self.label, "label").into_iter().chain(named(&self.id, "id"));
        // Missing values are counted on all cores.
        let columns: Vec<ColumnFound> = self.columns.par_iter().map(column).collect();
        columns.into_iter().chain(left_out).chain(special).collect()
    }

    /// A sentence for every column of new rows that holds texts the model was not trained on. `whose` is empty or `test `.
    pub(crate) fn unseen(&self, table: &RawTable, whose: &str) -> Vec<String> {
        let said = |column: &ColumnRule| {
            // Where rarer levels share a feature, new ones have it too.
            let Rule::Text { levels, other: false, .. } = &column.rule else { return None };
            let (codes, texts) = table.columns[table.position(&column.name).ok()?].values.clone().into_text();
            let known: HashSet<&str> = levels.iter().map(String::as_str).collect();
            let unseen: Vec<bool> = texts.iter().map(|text| !known.contains(text.as_str())).collect();
            let is_unseen = |code: &&u32| unseen.get(**code as usize) == Some(&true);
            let (count, rows) = (codes.iter().filter(is_unseen).count(), table.rows);
            let example = codes.iter().find(is_unseen).map(|&code| &texts[code as usize])?;
            Some(format!(
                "column \"{}\": {count} of {rows} {whose}rows hold a text that no training row has, such as \"{example}\"; the model \
                 knows nothing of it",
                column.name
            ))
        };
        self.columns.par_iter().filter_map(said).collect()
    }

    /// A sentence for every column besides the label that is called like one and is learnt from: it may give the label away.
    pub(crate) fn other_labels(&self) -> Vec<String> {
        let called = |column: &ColumnRule, name: &str| column.name.trim().eq_ignore_ascii_case(name);
        // x and y are a place.
        let is_place = self.columns.iter().any(|column| called(column, "x"));
        let like_label = |column: &&ColumnRule| {
            LABEL_NAMES.iter().any(|name| called(column, name) && !(*name == "y" && is_place))
                && column.rule != Rule::Ignored
        };
        let Some(label) = &self.label else { return Vec::new() };
        let sentence = |ColumnRule { name, .. }: &ColumnRule| {
            format!(
                "column \"{name}\" is called like a label and is learnt from: if it holds labels too, leave it out \
                 (--ignore \"{name}\"), or name it with --label in place of \"{label}\""
            )
        };
        self.columns.iter().filter(like_label).map(sentence).collect()
    }

    /// Columns without a rule, and why.
    fn ignored(&self, table: &RawTable) -> Vec<LeftOut> {
        let ignored = self.columns.iter().filter(|column| column.rule == Rule::Ignored);
        let why = |name: &str| {
            let column = table.columns.iter().find(|column| column.name == name).map(|column| &column.values);
            match column {
                Some(Values::Text { .. }) if column.is_some_and(|values| values.missing() < table.rows) => {
                    "short text that differs in nearly every row; --text reads it by its words"
                }
                Some(Values::Numbers(_)) => "has no value in any training row",
                _ => "has no value in any row",
            }
        };
        ignored.map(|column| LeftOut { name: column.name.clone(), why: why(&column.name).into() }).collect()
    }

    /// A sentence for every column that is not used as it stands.
    pub(crate) fn notes(&self, table: &RawTable) -> Vec<String> {
        let changed = |column: &ColumnRule| match &column.rule {
            Rule::Text { other: true, .. } => Some(format!(
                "column \"{}\" has more than {MOST_LEVELS} different texts: the rarer ones share one feature",
                column.name
            )),
            Rule::Words => Some(format!(
                "column \"{}\" is read as text, by its words: linear models and naive Bayes use it, networks and trees don't",
                column.name
            )),
            _ => None,
        };
        let left_out = table.left_out.iter().cloned().chain(self.ignored(table));
        let left_out: Vec<String> = left_out.map(|column| column.sentence()).collect();
        table.notes.iter().cloned().chain(left_out).chain(self.columns.iter().filter_map(changed)).collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::table::columns::LeftOut;
    use crate::table::rules::tests::{rules, table, text};

    #[test]
    fn texts_that_training_did_not_have_are_counted_with_an_example() {
        let train = table(vec![("city", text(&["Rome", "Oslo", "Rome"])), ("size", text(&["s", "m", "l"]))]);
        let rules = rules(&train, &[0, 1, 2]);
        let new = table(vec![("size", text(&["s", "", "m"])), ("city", text(&["Oslo", "Atlantis", "Atlantis"]))]);
        assert_eq!(
            rules.unseen(&new, ""),
            [
                "column \"city\": 2 of 3 rows hold a text that no training row has, such as \"Atlantis\"; the model knows nothing of it"
            ]
        );
        assert!(rules.unseen(&train, "").is_empty());
    }

    #[test]
    fn every_column_that_is_not_used_as_it_stands_is_named() {
        let comments: Vec<String> = (0..300).map(|i| format!("comment {i}")).collect();
        let comments: Vec<&str> = comments.iter().map(String::as_str).collect();
        let cities: Vec<String> = (0..300).map(|i| format!("city {}", i % 150)).collect();
        let cities: Vec<&str> = cities.iter().map(String::as_str).collect();
        let mut table = table(vec![("comment", text(&comments)), ("city", text(&cities)), ("empty", text(&[""; 300]))]);
        table.left_out.push(LeftOut { name: "tags".into(), why: "holds lists".into() });
        table.notes.push("column \"price\" has decimal commas".into());
        let rules = rules(&table, &(0..300).collect::<Vec<_>>());
        assert_eq!(
            rules.notes(&table),
            [
                "column \"price\" has decimal commas",
                "column \"tags\" is left out (holds lists)",
                "column \"comment\" is left out (short text that differs in nearly every row; --text reads it by its words)",
                "column \"empty\" is left out (has no value in any row)",
                "column \"city\" has more than 100 different texts: the rarer ones share one feature",
            ]
        );
        let roles: Vec<String> = rules.found(&table, 300).into_iter().map(|column| column.role).collect();
        assert_eq!(roles[3], "left out (holds lists)");
        assert_eq!(roles[0], "left out (short text that differs in nearly every row; --text reads it by its words)");
    }
}
