//! Small things that people and programs write: schemas, times, amounts, dates, names.

use std::time::Duration;

use agents_model::{ToolInput, cost::MicroDollars, retry::parse_retry_after, settings::ollama_url};
use agents_plan::journal::RunId;
use agents_system::{explain::Code, span};
use agents_task::{
    TaskId,
    schema::Schema,
    submission::{self, Submission},
};
use agents_tool::{artifacts::ArtifactId, mcp::ServerName};
use camino::Utf8Path;
use serde_json::{Value, json};

/// A schema, then a line `%%` and a result: the schema compiles or it is said where it does not, what is handed in is a result that fits it
/// or a list of what is wrong that is short enough for a model, and the tool that it is handed in by is described by a schema as well.
pub fn schema(text: &str) {
    let (schema, result) = text.split_once("\n%%\n").unwrap_or((text, "{\"n\": 1}"));
    let schema = match Schema::compile(&Value::from(schema)) {
        Ok(schema) => schema,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let told = |issues: &[agents_task::schema::Issue]| {
        assert!(
            issues.len() <= 20 && issues.iter().all(|it| it.what.len() <= 4 * 301),
            "{issues:?}"
        );
    };
    for input in [ToolInput::parse(result.to_owned()), ToolInput::Json(json!({ "data": result }))] {
        match submission::read(&input, Some(&schema)) {
            Ok(Submission::Result(value)) => assert_eq!(schema.issues(&value), [], "{value}"),
            Ok(Submission::GaveUp(why)) => assert!(!why.is_empty()),
            Err(submission::Wrong::Result { issues, .. }) => told(&issues),
            Err(wrong) => assert!(!wrong.told().is_empty()),
        }
    }
    if let Some(value) = submission::valid_json(result, &schema) {
        assert_eq!(schema.issues(&value), [], "{value}");
    }
    drop(submission::spec(Some(&schema)));
}

/// Times, amounts, dates to come back at and ids: what is understood is written again as what it is.
pub fn values(text: &str) {
    if let Some(time) = span::parse(text, Duration::from_secs(1)) {
        assert_eq!(span::parse(&span::written(time), Duration::from_millis(1)), Some(time));
        drop((span::told(time), span::set(time)));
    }
    if let Some(amount) = MicroDollars::parse(text) {
        let (whole, rest) = (amount.0 / 1_000_000, amount.0 % 1_000_000);
        assert_eq!(MicroDollars::parse(&format!("{whole}.{rest:06}")), Some(amount));
        let shown = MicroDollars::parse(&amount.to_string()).expect("an amount");
        assert!(shown <= amount && (shown.0 > 0) == (amount.0 > 0), "{amount} is shown as {shown}");
    }
    let now = "2026-11-16T12:00:00Z".parse().expect("a time");
    let _ = parse_retry_after(text, now);
    if let Some(id) = TaskId::parse(text) {
        assert_eq!(TaskId::parse(&id.to_string()), Some(id));
        check_name(&id.to_string());
    }
    if let Some(run) = RunId::parse(text) {
        assert_eq!(RunId::parse(run.as_str()).as_ref(), Some(&run));
        check_name(run.as_str());
    }
    if let Some(id) = ArtifactId::parse(text) {
        assert_eq!(ArtifactId::parse(&id.to_string()).as_ref(), Some(&id));
        check_name(id.name());
    }
    if let Ok(name) = ServerName::parse(text) {
        assert_eq!(format!("mcp__{name}__tool").split("__").nth(1), Some(text));
    }
    if let Ok(code) = text.parse::<Code>() {
        let digits = text.trim().trim_start_matches(['e', 'E']);
        assert!(digits.bytes().all(|it| it.is_ascii_digit()), "{text:?}");
        assert_eq!(code.to_string().parse(), Ok(code));
    }
    let url = ollama_url(text);
    assert!(url.starts_with("http://") || url.starts_with("https://"), "{url:?}");
    assert!(url.ends_with("/v1"), "{url:?}");
}

/// What is called like this is in its directory, and nothing that a program takes for an option.
fn check_name(name: &str) {
    let home = Utf8Path::new("/home");
    assert_eq!(home.join(name).parent(), Some(home), "{name:?}");
    assert!(name != ".." && !name.contains('\0'), "{name:?}");
}
