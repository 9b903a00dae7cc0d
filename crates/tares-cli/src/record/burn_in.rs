//! A burn-in that lasts to the end: the method never selected.

use super::{RunRecord, in_order};
use tares::Method;

/// One sentence per method whose burn-in lasted to the end, in the order of the runs: it never selected.
pub fn never_selected(runs: &[RunRecord]) -> Vec<String> {
    fn burn_in(method: &Method) -> Option<usize> {
        match method {
            Method::Npcl(npcl) => Some(npcl.burn_in),
            Method::Cl(cl) => Some(cl.burn_in),
            Method::MentorNet(mentor) => Some(mentor.burn_in),
            Method::Rog(rog) => burn_in(&rog.on),
            _ => None,
        }
    }
    let sentence = |run: &RunRecord| {
        let (name, epochs) = (&run.manifest.method, run.manifest.epochs);
        let burn_in = name.parse::<Method>().ok().as_ref().and_then(burn_in).filter(|_| !run.is_of_columns())?;
        (burn_in >= epochs).then(|| {
            format!(
                "{name} never left out a label: its burn-in of {burn_in} epochs lasts to the end of a run of {epochs}; train longer, \
                 or write {name}{}burn-in=1",
                if name.contains(':') { "," } else { ":" }
            )
        })
    };
    in_order(runs.iter().filter_map(sentence))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::made_up::made_up;

    #[test]
    fn a_burn_in_that_lasts_to_the_end_is_said_once_per_method() {
        let mut runs: Vec<RunRecord> = ["npcl", "npcl:rate=x0.5", "npcl:burn-in=2", "elr", "npcl"]
            .map(|method| made_up(method, "pair", 0.2, 1, 0.9))
            .into();
        assert!(never_selected(&runs).is_empty(), "12 epochs");
        runs.iter_mut().for_each(|run| run.manifest.epochs = 5);
        let said = never_selected(&runs);
        assert_eq!(said.len(), 2, "{said:?}");
        assert!(said[0].starts_with("npcl never left out a label: its burn-in of 5 epochs"), "{said:?}");
        assert!(said[1].contains("npcl:rate=x0.5,burn-in=1"), "{said:?}");
        runs.iter_mut().for_each(|run| run.manifest.network = "panel".into());
        assert!(never_selected(&runs).is_empty(), "a panel has no burn-in");
    }
}
