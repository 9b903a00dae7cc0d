//! `tares methods`: lists the training methods and their parameters.

use super::Exit;
use crate::ui::failure::Outcome;
use crate::ui::terminal::{FAINT, Screen, TITLE};
use clap::Args;
use tares::Method;
use tares::method::NAMES;

/// List the training methods, their parameters and defaults
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tares methods
  tares methods npcl
  tares train digits --method npcl:burn-in=3,train=hinge --noise symmetric:0.5

A method is written name:key=value,key=value with the parameters that differ from their defaults.
npcl:rate=x0.5 is half of whatever rate the method is told; rog:on=npcl:burn-in=3 is RoG on top of that method.")]
pub struct ListMethods {
    /// List only these methods
    #[arg(value_name = "METHOD")]
    names: Vec<Method>,
}

impl ListMethods {
    /// Prints the list.
    ///
    /// # Errors
    /// Stdout cannot be written.
    pub fn run(self, screen: &Screen) -> Outcome<Exit> {
        let all = || NAMES.iter().map(|name| name.parse::<Method>()).collect::<Result<Vec<_>, _>>();
        let methods = if self.names.is_empty() { all()? } else { self.names };
        let parameters: Vec<_> = methods.iter().map(Method::parameters).collect();
        let keys = parameters.iter().flatten().map(|parameter| parameter.key.len()).max().unwrap_or(0);
        let defaults = parameters.iter().flatten().map(|parameter| parameter.default.len()).max().unwrap_or(0);
        for (method, parameters) in methods.iter().zip(&parameters) {
            screen.line(format!("{}  {}", screen.paint(method.name(), TITLE), method.meaning()))?;
            for parameter in parameters {
                let default = format!("{:<defaults$}", parameter.default);
                let default = screen.paint(&default, FAINT);
                screen.line(format!("  {:<keys$}  {default}  {}", parameter.key, parameter.meaning))?;
            }
        }
        screen.result(|| {
            let listed = |(method, parameters): (&Method, &Vec<_>)| {
                serde_json::json!({ "name": method.name(), "meaning": method.meaning(), "parameters": parameters })
            };
            methods.iter().zip(&parameters).map(listed).collect::<Vec<_>>()
        })?;
        Ok(Exit::Fine)
    }
}
