//! [`Method`] in files: its text (`"npcl:rate=0.3"`), or a table with its name and parameters.

use crate::method::*;
use crate::text_or_table::text_or_table;
use serde::{Deserialize, Deserializer};

impl<'de> Deserialize<'de> for Method {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        text_or_table::<_, _, MethodTable>(deserializer, "a method's name, or a table with its name and parameters")
    }
}

/// The tables of [`Method`]; `Method` itself cannot derive this because it reads text too.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum MethodTable {
    Standard {},
    Loss(PlainLoss),
    Cl(Cl),
    Npcl(Npcl),
    Gce(Gce),
    TruncatedGce(TruncatedGce),
    SelfPaced(SelfPaced),
    #[serde(rename = "mentornet")]
    MentorNet(MentorNet),
    CoTeaching(CoTeaching),
    CoTeachingPlus(CoTeachingPlus),
    #[serde(rename = "jocor")]
    JoCoR(JoCoR),
    D2l(D2l),
    Elr(Elr),
    Tares(Tares),
    Rog(Rog),
}

impl From<MethodTable> for Method {
    fn from(table: MethodTable) -> Self {
        match table {
            MethodTable::Standard {} => Self::Standard,
            MethodTable::Loss(loss) => Self::Loss(loss),
            MethodTable::Cl(cl) => Self::Cl(cl),
            MethodTable::Npcl(npcl) => Self::Npcl(npcl),
            MethodTable::Gce(gce) => Self::Gce(gce),
            MethodTable::TruncatedGce(gce) => Self::TruncatedGce(gce),
            MethodTable::SelfPaced(self_paced) => Self::SelfPaced(self_paced),
            MethodTable::MentorNet(mentornet) => Self::MentorNet(mentornet),
            MethodTable::CoTeaching(co_teaching) => Self::CoTeaching(co_teaching),
            MethodTable::CoTeachingPlus(plus) => Self::CoTeachingPlus(plus),
            MethodTable::JoCoR(jocor) => Self::JoCoR(jocor),
            MethodTable::D2l(d2l) => Self::D2l(d2l),
            MethodTable::Elr(elr) => Self::Elr(elr),
            MethodTable::Tares(tares) => Self::Tares(tares),
            MethodTable::Rog(rog) => Self::Rog(rog),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_survive_their_files() {
        for name in NAMES {
            let method = name.parse::<Method>().unwrap().with_rate(0.25);
            let text = serde_json::to_string(&method).unwrap();
            assert_eq!(serde_json::from_str::<Method>(&text).unwrap(), method, "{text}");
        }
    }

    #[test]
    fn files_take_text_or_tables_and_refuse_unknown_keys() {
        let read = |text: &str| serde_json::from_str::<Method>(text).map_err(|error| error.to_string());
        assert_eq!(read(r#""npcl:0.3""#).unwrap(), "npcl".parse::<Method>().unwrap().with_rate(0.3));
        assert_eq!(read(r#"{"npcl": {"rate": 0.3}}"#), read(r#""npcl:0.3""#));
        assert_eq!(read(r#"{"npcl": {"rate": "x0.5", "burn-in": 3}}"#), read(r#""npcl:rate=x0.5,burn-in=3""#));
        assert_eq!(read(r#"{"npcl": {"burn_in": 3}}"#), read(r#"{"npcl": {"burn-in": 3}}"#), "as files were before");
        assert!(read(r#"{"npcl": {"rat": 0.3}}"#).unwrap_err().contains("unknown field `rat`"));
        assert!(read(r#""nplc""#).unwrap_err().contains("did you mean npcl?"));
        assert!(read(r#""npcl:much""#).unwrap_err().contains("much"));
        assert!(read(r#""standard:1""#).is_err());
        assert!(read("3").unwrap_err().contains("a method's name"));
    }
}
