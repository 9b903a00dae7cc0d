//! [`Contender`]: one row of a comparison: a method, which may have a name, a network and a plan of its own.

use super::noise_rate::NoiseRate;
use crate::learner::Learner;
use crate::ui::failure::Outcome;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;
use tares::{Method, Plan};
use tares_core::Error;

/// A row of a comparison. In files either a method (`"npcl"`) or a table that changes more than the method:
///
/// ```toml
/// [[methods]]
/// name = "standard (tuned)"
/// method = "standard"
/// plan.schedule = "cosine"     # all other settings are those of the comparison
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Contender {
    /// Its name in tables; if absent, the method's.
    pub name: Option<String>,
    /// The training method.
    pub method: Method,
    /// Its network, if it is not that of the comparison.
    pub network: Option<Learner>,
    /// The noise rate it is told, if it is not that of the comparison.
    pub noise_rate: Option<NoiseRate>,
    /// What is different in its plan.
    pub plan: toml::Table,
}

/// A [`Contender`] as a table.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct ContenderTable {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    method: Method,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    network: Option<Learner>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    noise_rate: Option<NoiseRate>,
    #[serde(default, skip_serializing_if = "toml::Table::is_empty")]
    plan: toml::Table,
}

impl Contender {
    /// Its name in tables.
    pub fn called(&self) -> String {
        self.name.clone().unwrap_or_else(|| self.method.to_string())
    }

    /// The plan of the comparison with this row's own settings in it.
    ///
    /// # Errors
    /// A plan has no such setting, or its value is not allowed.
    pub fn plan(&self, shared: &Plan) -> Outcome<Plan> {
        if self.plan.is_empty() {
            return Ok(shared.clone());
        }
        let wrong = |error: toml::de::Error| {
            let allowed = "settings that a plan has";
            Error::value(format!("plan of {}", self.called()), allowed, error.message().replace('\n', " "))
        };
        let mut plan = plan_table(shared)?;
        let usual = shared.schedule == tares::Schedule::usual(&shared.optimiser, shared.epochs);
        if usual && self.plan.contains_key("optimiser") {
            // Another optimiser brings its own schedule, unless the comparison has chosen one for all rows.
            plan.remove("schedule");
        }
        for (key, value) in &self.plan {
            plan.insert(key.clone(), value.clone());
        }
        Ok(toml::Value::Table(plan).try_into().map_err(wrong)?)
    }

    /// Gives this row a plan of its own, which overrides that of the comparison.
    ///
    /// # Errors
    /// A value TOML cannot hold.
    pub fn set_plan(&mut self, plan: &Plan) -> Outcome<()> {
        let mut table = plan_table(plan)?;
        // The seed comes from the comparison.
        table.remove("seed");
        self.plan = table;
        Ok(())
    }
}

fn plan_table(plan: &Plan) -> Outcome<toml::Table> {
    toml::Table::try_from(plan).map_err(crate::ui::failure::Failure::new)
}

impl From<Method> for Contender {
    fn from(method: Method) -> Self {
        Self { name: None, method, network: None, noise_rate: None, plan: toml::Table::new() }
    }
}

impl FromStr for Contender {
    type Err = tares::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse::<Method>().map(Self::from)
    }
}

impl Serialize for Contender {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if *self == Self::from(self.method.clone()) {
            return self.method.serialize(serializer);
        }
        let Self { name, method, network, noise_rate, plan } = self.clone();
        ContenderTable { name, method, network, noise_rate, plan }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Contender {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(MethodOrTable)
    }
}

struct MethodOrTable;

impl<'de> Visitor<'de> for MethodOrTable {
    type Value = Contender;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a method, or a table with `method` and what else is different: name, network, noise-rate, plan")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Contender, E> {
        text.parse().map_err(E::custom)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Contender, A::Error> {
        let table = toml::Table::deserialize(MapAccessDeserializer::new(map))?;
        let wrong = |error: toml::de::Error| A::Error::custom(error.message());
        if !table.contains_key("method") {
            let method: Method = toml::Value::Table(table).try_into().map_err(wrong)?;
            return Ok(Contender::from(method));
        }
        let ContenderTable { name, method, network, noise_rate, plan } =
            toml::Value::Table(table).try_into().map_err(wrong)?;
        Ok(Contender { name, method, network, noise_rate, plan })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct File {
        methods: Vec<Contender>,
    }

    const TUNED: &str =
        "[[methods]]\nname = \"tuned\"\nmethod = \"standard\"\nplan.batch = 64\nplan.schedule = \"cosine\"\n";

    #[test]
    fn a_row_may_have_a_plan_of_its_own() {
        let file: File = toml::from_str(TUNED).unwrap();
        let shared = Plan { epochs: 7, ..Plan::default() };
        let plan = file.methods[0].plan(&shared).unwrap();
        assert_eq!((plan.epochs, plan.batch, plan.schedule), (7, 64, tares::Schedule::Cosine));
        assert_eq!(file.methods[0].called(), "tuned");
    }

    #[test]
    fn another_optimiser_brings_its_schedule_unless_the_comparison_has_chosen_one() {
        let text = "[[methods]]\nmethod = \"standard\"\nplan.optimiser.sgd = { lr = 0.01, momentum = 0.9, weight_decay = 0.0 }\n";
        let file: File = toml::from_str(text).unwrap();
        let shared = Plan { epochs: 20, ..Plan::default() };
        let own = file.methods[0].plan(&shared).unwrap();
        assert_eq!(own.schedule, tares::Schedule::usual(&own.optimiser, 20));
        let constant = Plan { schedule: tares::Schedule::Constant, ..shared };
        assert_eq!(file.methods[0].plan(&constant).unwrap().schedule, tares::Schedule::Constant);
    }

    #[test]
    fn rows_survive_their_file() {
        let mut file: File = toml::from_str(TUNED).unwrap();
        file.methods.push("npcl:0.3".parse().unwrap());
        file.methods.push("standard".parse().unwrap());
        let text = toml::to_string(&file).unwrap();
        assert_eq!(toml::from_str::<File>(&text).unwrap(), file, "{text}");
    }

    #[test]
    fn a_setting_that_plans_do_not_have_is_refused_by_name() {
        let file: File = toml::from_str(&TUNED.replace("batch", "bach")).unwrap();
        let error = file.methods[0].plan(&Plan::default()).unwrap_err().to_string();
        assert!(error.contains("plan of tuned") && error.contains("bach"), "{error}");
        let error = toml::from_str::<File>(&TUNED.replace("plan.batch", "batch")).unwrap_err().to_string();
        assert!(error.contains("batch"), "{error}");
    }
}
