//! Plans as files: TOML, YAML or JSON, one model for all three, with the place of everything that is wrong.
//!
//! ```
//! use agents_plan::file::PlanFile;
//!
//! let text = r#"
//! plan = "hello"
//! [[tasks]]
//! id = "greet"
//! agent = "explore"
//! prompt = "say hello"
//! "#;
//! let (file, findings) = PlanFile::parse("plan.toml".into(), text);
//! assert!(findings.is_empty());
//! assert_eq!(file.unwrap().plan.tasks[0].id, "greet");
//!
//! let (_, findings) = PlanFile::parse("plan.toml".into(), &text.replace("prompt", "promt"));
//! let told: Vec<String> = findings.iter().map(|it| format!("{}: {}", it.place.as_ref().unwrap(), it.message)).collect();
//! assert_eq!(told, ["plan.toml:6:1: unknown key `promt`"]);
//! ```

mod load;
mod model;
mod read;
mod spots;

pub use load::{Bundle, Disk, Sources, load};
pub use model::{
    Budget, Concurrency, Contender, Dollars, Each, Isolation, Judge, Limits, List, OnFailure,
    Order, Param, ParamType, Pick, Plan, Race, Retry, Task, Time,
};
pub use read::PlanFile;
pub(crate) use spots::Path;

#[cfg(test)]
mod tests;
