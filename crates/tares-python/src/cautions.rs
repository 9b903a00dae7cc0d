//! Reasons not to trust a result, as sentences.

use tares_core::estimate::Caution;

/// How many classes one sentence names.
const MOST_NAMED: usize = 5;

/// One sentence per reason. Classes that would lose most of their rows share one, because there may be hundreds of them.
pub fn sentences(cautions: &[Caution], name: impl Fn(usize) -> String) -> Vec<String> {
    let emptied: Vec<String> = cautions.iter().filter_map(|caution| emptied(caution, &name)).collect();
    if emptied.len() < 2 {
        return cautions.iter().map(|caution| caution.sentence(&name)).collect();
    }
    let others = cautions.iter().filter(|caution| !matches!(caution, Caution::Emptied { .. }));
    let mut sentences: Vec<String> = others.map(|caution| caution.sentence(&name)).collect();
    let more = match emptied.len().saturating_sub(MOST_NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    sentences.push(format!(
        "taking all suggestions would leave {} classes with less than half of their rows: {}{more}; the model may simply not know \
         these classes, so look at their rows before changing any",
        emptied.len(),
        emptied[..emptied.len().min(MOST_NAMED)].join(", ")
    ));
    sentences
}

fn emptied(caution: &Caution, name: impl Fn(usize) -> String) -> Option<String> {
    let Caution::Emptied { class, rows, suspects } = caution else { return None };
    Some(format!("'{}' ({suspects} of {rows} rows are suspects)", name(*class)))
}
