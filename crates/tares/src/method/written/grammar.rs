//! How methods are written: `name`, or `name:key=value,key=value`.
//!
//! ```text
//! npcl:rate=0.3,train=hinge    every parameter that differs from its default, and no other: two methods with the same
//!                              text are the same method
//! npcl:0.3  gce:0.5            one value may be written without its key: the rate, q, the loss of `loss`
//! rog:keep=0.5,on=npcl:0.3     `on` comes last: all that follows belongs to the method under RoG; rog:npcl:0.3 is short
//! ```
//! Parameters are the fields of each method's struct, as files hold them; `tares methods` lists them.

use super::table::MethodTable;
use crate::method::*;
use serde_json::{Map, Value};
use std::fmt;
use std::str::FromStr;

/// A parameter of a method.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Parameter {
    /// The text before the `=`.
    pub key: &'static str,
    /// What it is unless given.
    pub default: String,
    /// One line.
    pub meaning: &'static str,
}

impl Method {
    /// Its parameters with their defaults.
    ///
    /// ```
    /// let npcl: tares::Method = "npcl".parse()?;
    /// assert!(npcl.parameters().iter().any(|parameter| parameter.key == "burn-in" && parameter.default == "5"));
    /// # Ok::<(), tares::Error>(())
    /// ```
    pub fn parameters(&self) -> Vec<Parameter> {
        let defaults = self.defaults();
        let default = |key: &str| match (key, &defaults[key]) {
            ("on", _) => "standard".to_owned(),
            ("rate", Value::Null) => "told".to_owned(),
            (_, Value::Null) => "the same as train".to_owned(),
            (_, value) => shown(value),
        };
        self.meanings().iter().map(|&(key, meaning)| Parameter { key, default: default(key), meaning }).collect()
    }

    /// The values of this method's defaults, as a file would hold them.
    fn defaults(&self) -> Map<String, Value> {
        Self::named(self.name()).map_or_else(|_| Map::new(), |default| values(&default))
    }

    /// The parameter whose value may be written without its key.
    fn bare_key(&self) -> Option<&'static str> {
        match self {
            Self::Gce(_) => Some("q"),
            Self::Loss(_) => Some("loss"),
            Self::Rog(_) => None,
            _ => self.takes_rate().then_some("rate"),
        }
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        let (values, defaults) = (values(self), self.defaults());
        let mut parts = Vec::new();
        for (key, _) in self.meanings() {
            match (self, *key) {
                (Self::Loss(plain), _) => parts.push(plain.loss.to_string()),
                (Self::Rog(rog), "published") if rog.published => parts.push("published".to_owned()),
                (_, "published" | "on") => {}
                _ if values[*key] != defaults[*key] => parts.push(format!("{key}={}", shown(&values[*key]))),
                _ => {}
            }
        }
        if let Self::Rog(rog) = self
            && *rog.on != Self::Standard
        {
            parts.push(format!("on={}", rog.on));
        }
        if parts.is_empty() { Ok(()) } else { write!(f, ":{}", parts.join(",")) }
    }
}

impl FromStr for Method {
    type Err = crate::error::Error;

    fn from_str(text: &str) -> Result<Self> {
        let (name, parameters) = match text.trim().split_once(':') {
            Some((name, parameters)) => (name.trim(), Some(parameters)),
            None => (text.trim(), None),
        };
        let method = Self::named(name)?;
        let Some(parameters) = parameters else { return Ok(method) };
        if method.meanings().is_empty() {
            return Err(Error::value(format!("method {name}"), "written without parameters", parameters).into());
        }
        let mut table = values(&method);
        let (mut given, mut under) = (Vec::new(), None);
        let mut rest = Some(parameters);
        while let Some(text) = rest {
            let (piece, after) = text.split_once(',').map_or((text, None), |(piece, after)| (piece, Some(after)));
            rest = after;
            let (key, value) = match (pair(piece), method.bare_key()) {
                (Some((key, value)), _) => (key, value),
                (None, Some(key)) if given.is_empty() => (key, piece.trim()),
                (None, _) if matches!(method, Self::Rog(_)) && piece.trim() == "published" => ("published", "true"),
                (None, _) if matches!(method, Self::Rog(_)) && given.is_empty() => ("on", text.trim()),
                _ => {
                    let example = method.meanings()[0].0;
                    let allowed = format!("written as {name}:key=value,key=value, as in {name}:{example}=...");
                    return Err(Error::value(format!("parameter of {name}"), allowed, format!("'{piece}'")).into());
                }
            };
            let Some((key, _)) = method.meanings().iter().find(|(known, _)| *known == key) else {
                let known: Vec<&str> = method.meanings().iter().map(|(key, _)| *key).collect();
                return Err(Error::unknown(format!("parameter of {name}"), key, &known).into());
            };
            if given.contains(key) {
                return Err(Error::value(format!("{key} of {name}"), "given once", "twice").into());
            }
            given.push(key);
            if *key == "on" {
                // All the rest belongs to the method under RoG, its commas included.
                under = Some(text.trim().strip_prefix("on=").unwrap_or(text.trim()));
                break;
            }
            let value = read(name, key, value, &table[*key])?;
            table.insert((*key).to_owned(), value);
        }
        let mut method = build(method.name(), table)?;
        if let (Self::Rog(rog), Some(under)) = (&mut method, under) {
            // Not by recursion: a name out of a file may say `rog:` a million times.
            if under.trim_start().starts_with("rog") {
                return Err(Error::value("method under rog", "one that trains a network", "rog").into());
            }
            *rog.on = under.parse()?;
        }
        Ok(method)
    }
}

/// Methods separated by commas. A piece that is `key=value` belongs to the method before it.
///
/// ```
/// use tares::method::Methods;
/// let methods: Methods = "npcl:burn-in=3,train=hinge,gce:q=0.1,standard".parse()?;
/// let names: Vec<String> = methods.0.iter().map(ToString::to_string).collect();
/// assert_eq!(names, ["npcl:burn-in=3,train=hinge", "gce:q=0.1", "standard"]);
/// # Ok::<(), tares::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Methods(pub Vec<Method>);

impl FromStr for Methods {
    type Err = crate::error::Error;

    fn from_str(text: &str) -> Result<Self> {
        let mut texts: Vec<String> = Vec::new();
        for piece in text.split(',') {
            let further = pair(piece).is_some() || piece.trim() == "published";
            match texts.last_mut().filter(|_| further) {
                Some(last) if last.contains(':') => {
                    last.push(',');
                    last.push_str(piece);
                }
                Some(last) => {
                    let allowed = format!("written after a colon: {}:{}", last.trim(), piece.trim());
                    return Err(Error::value("parameter of a method", allowed, format!("{last},{piece}")).into());
                }
                None => texts.push(piece.to_owned()),
            }
        }
        texts.iter().map(|text| text.parse()).collect::<Result<_>>().map(Self)
    }
}

/// `key=value`, unless a colon before the `=` says that a new method begins.
fn pair(piece: &str) -> Option<(&str, &str)> {
    let (key, value) = piece.split_once('=')?;
    (!key.contains(':')).then_some((key.trim(), value.trim()))
}

/// The parameters of a method as a file would hold them.
fn values(method: &Method) -> Map<String, Value> {
    match serde_json::to_value(method) {
        Ok(Value::Object(named)) => match named.into_iter().next() {
            Some((_, Value::Object(values))) => values,
            _ => Map::new(),
        },
        _ => Map::new(),
    }
}

/// The method of a name with these values.
fn build(name: &str, values: Map<String, Value>) -> Result<Method> {
    let named = Value::Object(Map::from_iter([(name.to_owned(), Value::Object(values))]));
    let table: MethodTable = serde_json::from_value(named)
        .map_err(|error| Error::value(format!("parameters of {name}"), "of the right kind", error))?;
    Ok(table.into())
}

/// A value as it is written.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) if number.is_f64() => number.as_f64().unwrap_or_default().to_string(),
        other => other.to_string(),
    }
}

/// A value as it was written, of the kind that the default has.
fn read(name: &str, key: &str, text: &str, default: &Value) -> Result<Value> {
    let wrong = |allowed: &str| Error::value(format!("{key} of {name}"), allowed, format!("'{text}'"));
    let named = |error: &dyn fmt::Display| Error::value(format!("{key} of {name}"), "one that is known", error);
    Ok(match (key, default) {
        ("rate", _) => {
            text.parse::<Rate>().map_err(|_| wrong("a number in [0, 1), or a factor like x0.5")).map(to_value)?
        }
        ("c", _) => text.parse::<Bound>().map_err(|_| wrong("q, e or a number")).map(to_value)?,
        (_, Value::Null | Value::String(_)) => {
            text.parse::<SampleLoss>().map_err(|error| named(&error)).map(to_value)?
        }
        (_, Value::Bool(_)) => text.parse().map(Value::Bool).map_err(|_| wrong("true or false"))?,
        (_, Value::Number(number)) if number.is_u64() => {
            text.parse::<u64>().map(Value::from).map_err(|_| wrong("a whole number"))?
        }
        _ => {
            let number = text.parse().ok().and_then(serde_json::Number::from_f64);
            number.map(Value::Number).ok_or_else(|| wrong("a number"))?
        }
    })
}

fn to_value(value: impl Serialize) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tares_core::{Stream, stream};

    fn method(text: &str) -> Method {
        text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    /// A value of the kind of `value` that is not it.
    fn other(key: &str, value: &Value, draws: &mut Stream) -> Value {
        match (key, value) {
            ("rate", _) if draws.below(2) == 0 => to_value(Rate::Times(2.0 * draws.unit() + 0.01)),
            ("rate", _) => to_value(Rate::Given(draws.unit())),
            ("c", _) => to_value([Bound::E, Bound::Custom(2.0 * draws.unit())][draws.below(2)]),
            (_, Value::Null | Value::String(_)) => {
                let names = ["hinge", "soft-hinge", "weighted:0.3", "truncated-gce:0.5:0.25", "cross-entropy"];
                Value::from(names[draws.below(names.len())])
            }
            (_, Value::Bool(on)) => Value::Bool(!on),
            (_, Value::Number(number)) if number.is_u64() => Value::from(draws.below(1000)),
            _ => to_value(draws.unit() * 3.0),
        }
    }

    /// Every method with any of its parameters changed; RoG on top of any other.
    fn any(draws: &mut Stream) -> Method {
        let default = method(NAMES[draws.below(NAMES.len())]);
        let mut table = values(&default);
        for (key, value) in &mut table {
            if key != "on" && draws.below(3) == 0 {
                *value = other(key, &value.clone(), draws);
            }
        }
        let mut made = build(default.name(), table).unwrap();
        if let Method::Rog(rog) = &mut made {
            *rog.on = loop {
                match any(draws) {
                    Method::Rog(_) => {}
                    under => break under,
                }
            };
        }
        made
    }

    #[test]
    fn what_is_printed_is_read_back_and_names_are_unique() {
        let mut draws = stream(7, "methods");
        let mut seen = std::collections::HashMap::new();
        for _ in 0..4000 {
            let one = any(&mut draws);
            let text = one.to_string();
            assert_eq!(text.parse::<Method>().unwrap(), one, "{text}");
            let before = seen.entry(text.clone()).or_insert_with(|| one.clone());
            assert_eq!(*before, one, "two methods are called {text}");
        }
        let all: Vec<Method> = (0..40).map(|_| any(&mut draws)).collect();
        let list = all.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
        assert_eq!(list.parse::<Methods>().unwrap().0, all, "{list}");
    }

    #[test]
    fn a_name_has_every_parameter_that_differs_and_no_other() {
        for (typed, printed) in [
            ("npcl", "npcl"),
            ("npcl:rate=0.3,burn-in=5", "npcl:rate=0.3"),
            ("npcl:0.3", "npcl:rate=0.3"),
            ("npcl: rate = x0.5 , train = hinge", "npcl:rate=x0.5,train=hinge"),
            ("npcl:train=hinge,rate=x0.5", "npcl:rate=x0.5,train=hinge"),
            ("npcl:rate=told", "npcl"),
            ("gce:0.1", "gce:q=0.1"),
            ("gce:q=0.7", "gce"),
            ("cl-e", "cl:c=e"),
            ("cl:c=0.8", "cl:c=0.8"),
            ("loss", "loss:soft-hinge"),
            ("loss:weighted:0.3", "loss:weighted:0.3"),
            ("rog:npcl:0.3", "rog:on=npcl:rate=0.3"),
            ("rog:published", "rog:published"),
            ("rog:published,on=npcl:train=hinge,burn-in=3", "rog:published,on=npcl:burn-in=3,train=hinge"),
            ("rog:keep=0.5,on=standard", "rog:keep=0.5"),
            ("elr:lambda=7,beta=0.9", "elr:beta=0.9,lambda=7"),
        ] {
            assert_eq!(method(typed).to_string(), printed, "{typed}");
        }
    }

    #[test]
    fn every_parameter_has_a_meaning_and_a_default_that_is_read_back() {
        for name in NAMES {
            let method = method(name);
            let mut keys: Vec<String> = values(&method).keys().cloned().collect();
            let mut told: Vec<String> = method.parameters().iter().map(|p| p.key.to_owned()).collect();
            keys.sort();
            told.sort();
            assert_eq!(keys, told, "{name}");
            assert!(!method.meaning().is_empty());
            for parameter in method.parameters().iter().filter(|p| p.default != "the same as train") {
                let text = format!("{name}:{}={}", parameter.key, parameter.default);
                assert_eq!(text.parse::<Method>().unwrap(), method, "{text}");
            }
        }
    }

    #[test]
    fn mistakes_say_what_is_allowed() {
        let say = |text: &str| text.parse::<Method>().unwrap_err().to_string();
        assert!(say("npcl:burnin=3").contains("did you mean burn-in?"), "{}", say("npcl:burnin=3"));
        assert_eq!(say("npcl:burn-in=2.5"), "burn-in of npcl must be a whole number, got '2.5'");
        assert_eq!(say("npcl:extra=maybe"), "extra of npcl must be true or false, got 'maybe'");
        assert_eq!(say("elr:beta=nan"), "beta of elr must be a number, got 'nan'");
        assert_eq!(say("npcl:burn-in=1,burn-in=2"), "burn-in of npcl must be given once, got twice");
        assert!(say("npcl:much").contains("rate of npcl must be a number in [0, 1), or a factor like x0.5"));
        assert!(say("npcl:train=hinch").contains("did you mean hinge?"), "{}", say("npcl:train=hinch"));
        assert!(say("standard:1").contains("method standard must be written without parameters"));
        assert!(say("npcl:0.3,0.4").contains("npcl:key=value"), "{}", say("npcl:0.3,0.4"));
        assert!(say("npcl:").contains("rate of npcl"));
        assert!(say("d2l:5").contains("d2l:key=value"), "{}", say("d2l:5"));
        assert!(say("loss:hinch").contains("did you mean hinge?"));
        for deep in ["rog:".repeat(1 << 20), "rog:on=".repeat(1 << 20), "rog:published,on=".repeat(1 << 18)] {
            assert!(deep.parse::<Method>().is_err());
        }
        let say = |text: &str| text.parse::<Methods>().unwrap_err().to_string();
        assert!(say("npcl,train=hinge").contains("npcl:train=hinge"), "{}", say("npcl,train=hinge"));
        assert!(say("npcl,,gce").contains("method"), "{}", say("npcl,,gce"));
    }
}
