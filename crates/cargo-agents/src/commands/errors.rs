//! `cargo agents explain [CODE]`: what an error means, and how to fix it.
//!
//! The pages are files in `errors/`, without their titles, which are those of the [`Code`]. They are in the program, so that they can
//! be read where nothing else works. A test types what they show and sees the error.

mod page;

use std::process::ExitCode;

use agents_system::{
    explain::{Code, ErrorKind},
    nearest::{nearest, quoted_list},
};
use anstyle::Style;
use serde::Serialize;

use super::doctor::checks;
use crate::{failure::Failure, output::Output};

macro_rules! pages {
    ($($code:literal)+) => {
        /// Each page by its code, in order.
        const PAGES: &[(&str, &str)] =
            &[$(($code, include_str!(concat!("../../errors/", $code, ".md")))),+];
    };
}

pages! {
    "E0001" "E0002" "E0003" "E0004" "E0005" "E0006" "E0007" "E0008" "E0009" "E0010" "E0011"
    "E0020" "E0021" "E0023" "E0024" "E0025" "E0026"
    "E0040" "E0041" "E0042" "E0043" "E0044" "E0045" "E0047" "E0048" "E0049" "E0050"
    "E0060" "E0061" "E0062" "E0063" "E0064" "E0065" "E0066"
    "E0080" "E0081" "E0082" "E0083" "E0084"
    "E0100" "E0101" "E0102" "E0103" "E0104" "E0105" "E0106" "E0107" "E0108" "E0109" "E0110"
    "E0111" "E0112" "E0113" "E0114" "E0115" "E0116"
    "E0130" "E0131" "E0132" "E0133" "E0134" "E0135" "E0136" "E0137" "E0138" "E0139" "E0140"
    "E0141" "E0142" "E0143" "E0144" "E0145" "E0146" "E0147" "E0148" "E0149" "E0150"
    "E0160" "E0161" "E0162" "E0163" "E0164" "E0165" "E0166" "E0167" "E0168" "E0169"
}

/// `cargo agents explain --json`
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ErrorsDocument {
    /// The one that was asked for, or all
    errors: Vec<ErrorView>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ErrorView {
    /// `E0042`, or a word of `doctor`
    code: String,
    /// What it means, in a line
    title: String,
    /// The page, as Markdown; absent in the list of all
    #[serde(skip_serializing_if = "Option::is_none")]
    page: Option<String>,
}

/// What a code stands for.
enum Meant {
    Error(Code),
    Problem(&'static checks::Check),
}

pub(crate) fn run(output: &Output, wanted: Option<&str>) -> Result<ExitCode, Failure> {
    let Some(wanted) = wanted else { return list(output) };
    let meant = find(wanted)?;
    let (code, title, text) = match meant {
        Meant::Error(code) => (code.to_string(), code.title(), text_of(code)),
        Meant::Problem(check) => {
            let text = format!(
                "`cargo agents doctor` says so. What to do: {}.\n\nMore: [what `doctor` finds](doctor.md).\n",
                check.remedy
            );
            (check.code.to_owned(), check.meaning, text)
        }
    };
    if output.is_json() {
        let title = title.to_owned();
        let page = Some(page::without_remarks(&text));
        output.document(&ErrorsDocument { errors: vec![ErrorView { code, title, page }] })?;
        return Ok(ExitCode::SUCCESS);
    }
    output.line(heading(&format!("{code}: {title}"), output))?;
    output.line("")?;
    output.text(page::plain(&text))?;
    Ok(ExitCode::SUCCESS)
}

fn list(output: &Output) -> Result<ExitCode, Failure> {
    if output.is_json() {
        let errors = Code::ALL.iter().map(|code| (code.to_string(), code.title()));
        let problems = checks::ALL.iter().map(|check| (check.code.to_owned(), check.meaning));
        let view =
            |(code, title): (String, &str)| ErrorView { code, title: title.to_owned(), page: None };
        output.document(&ErrorsDocument { errors: errors.chain(problems).map(view).collect() })?;
        return Ok(ExitCode::SUCCESS);
    }
    for code in Code::ALL {
        output.line(format!("{code}  {}", code.title()))?;
    }
    let width = checks::ALL.iter().map(|check| check.code.len()).max().unwrap_or(0);
    output.line(format!("\n{}", heading("What `cargo agents doctor` finds", output)))?;
    for check in checks::ALL {
        output.line(format!("{:width$}  {}", check.code, check.meaning))?;
    }
    output.line("\n`cargo agents explain CODE` prints the page of one")?;
    Ok(ExitCode::SUCCESS)
}

fn find(wanted: &str) -> Result<Meant, Failure> {
    if let Ok(code) = wanted.parse() {
        return Ok(Meant::Error(code));
    }
    let word = wanted.trim().to_lowercase();
    if let Some(check) = checks::ALL.iter().find(|check| check.code == word) {
        return Ok(Meant::Problem(check));
    }
    let codes: Vec<String> = Code::ALL.iter().map(ToString::to_string).collect();
    let words = checks::ALL.iter().map(|check| check.code);
    let upper = wanted.trim().to_uppercase();
    let near = match upper.strip_prefix('E').unwrap_or(&upper).parse::<u16>() {
        Ok(number) => around(number),
        Err(_) => nearest(&word, words.chain(codes.iter().map(String::as_str)))
            .into_iter()
            .map(str::to_owned)
            .collect(),
    };
    let near: Vec<&str> = near.iter().map(String::as_str).collect();
    let failure = Failure::new(ErrorKind::Usage, format!("`{wanted}` is not an error code"));
    Err(failure.hint(match near.as_slice() {
        [] => "`cargo agents explain` lists all of them".to_owned(),
        near => {
            format!(
                "did you mean {}? `cargo agents explain` lists all of them",
                quoted_list(near, "or")
            )
        }
    }))
}

/// The codes right before and after a number: those near it are about the same.
fn around(number: u16) -> Vec<String> {
    let before = Code::ALL.iter().rev().find(|code| code.number() < number);
    let after = Code::ALL.iter().find(|code| code.number() > number);
    before.into_iter().chain(after).map(ToString::to_string).collect()
}

/// The page of a code.
fn text_of(code: Code) -> String {
    let name = code.to_string();
    let page = PAGES.iter().find(|(of, _)| *of == name);
    page.map(|(_, text)| (*text).to_owned()).unwrap_or_default()
}

fn heading(text: &str, output: &Output) -> String {
    let style = Style::new().bold();
    if output.colors_results() { format!("{style}{text}{style:#}") } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use agents_plugin::confine::ConfineError;
    use agents_sync::ApplyError;
    use agents_system::{
        explain::{Explain as _, with_causes},
        lock::LockError,
        sandbox::Lack,
    };
    use agents_task::Refusal;

    use super::*;
    use crate::dispatch;

    #[test]
    fn every_code_has_a_page_and_every_page_a_code() {
        let codes: Vec<String> = Code::ALL.iter().map(ToString::to_string).collect();
        let pages: Vec<&str> = PAGES.iter().map(|(code, _)| *code).collect();
        assert_eq!(codes, pages);
        let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/errors");
        let mut files: Vec<String> = fs_err::read_dir(dir)
            .unwrap()
            .map(|it| it.unwrap().file_name().into_string().unwrap())
            .collect();
        files.sort();
        assert_eq!(files, codes.iter().map(|it| format!("{it}.md")).collect::<Vec<_>>());
    }

    #[test]
    fn a_code_that_is_none_leads_to_its_neighbours() {
        let hint = |text: &str| format!("{:?}", find(text).err().unwrap());
        assert!(hint("E0027").contains("`E0026` or `E0040`"), "{}", hint("E0027"));
        assert!(hint("9999").contains("did you mean `E0169`?"), "{}", hint("9999"));
        assert!(hint("config-brken").contains("`config-broken`"), "{}", hint("config-brken"));
        assert!(matches!(find(" CONFIG-BROKEN "), Ok(Meant::Problem(_))));
        assert!(matches!(find("e42"), Ok(Meant::Error(Code::UnknownRegistry))));
    }

    /// Pages whose commands cannot be typed by a test: what they show is what the program would say.
    #[test]
    fn what_is_not_typed_is_shown_as_it_would_be_said() {
        let waited = agents_sync::PATIENCE;
        let path = "/home/ann/.local/state/cargo-agents/sync.lock".into();
        let busy = ApplyError::from(LockError::TimedOut { path, waited });
        let unavailable = ConfineError::Unavailable(Lack::Kernel);
        let full = Refusal::NoSlot { running: 4 };
        assert_eq!(busy.code(), Some(Code::Busy));
        let said = [
            (Code::Busy, with_causes(&busy), None),
            (
                Code::NoSandbox,
                dispatch::not_confined("schema", "db", &unavailable),
                Some(dispatch::IS_CONFINED.to_owned()),
            ),
            (Code::NoSlot, with_causes(&full), None),
        ];
        for (code, message, hint) in &said {
            let page = text_of(*code);
            let hint = hint.as_ref().map(|it| format!("hint: {it}\n")).unwrap_or_default();
            let lines = format!("\nerror[{code}]: {message}\n{hint}");
            assert!(page.contains(&lines), "{page}\nThe program says:{lines}");
        }
        let not_typed = PAGES.iter().filter(|(_, page)| page.contains("<!-- not run: "));
        let not_typed: Vec<&str> = not_typed.map(|(code, _)| *code).collect();
        assert_eq!(not_typed, said.map(|(code, ..)| code.to_string()));
    }

    #[test]
    fn the_page_of_errors_holds_all_of_them() {
        let row = |code: &Code| {
            let anchor = page::anchor(&format!("{code}: {}", code.title()));
            format!("| [{code}](#{anchor}) | {} |\n", code.title())
        };
        let rows: String = Code::ALL.iter().map(row).collect();
        // Each is typed where it comes from, at a machine of its own.
        let shown = |code: &Code| {
            let text = page::without_remarks(&text_of(*code));
            text.trim_end().replace("```console", "```text")
        };
        let section = |code: &Code| format!("\n## {code}: {}\n\n{}", code.title(), shown(code));
        let sections: Vec<String> = Code::ALL.iter().map(section).collect();
        let page = format!(
            "# Errors\n\nGenerated from `crates/system/src/explain/code.rs` and `crates/cargo-agents/errors`; a test keeps it true, \
             runs the examples and checks for the error.\n\n\
             An error that needs more than its message and its hint has a code: `error[E0042]: …`, or `code` in \
             [`--json`](json/error.schema.json). `cargo agents explain E0042` prints its section of this page, offline; \
             `cargo agents explain` lists all codes, including those of [`doctor`](doctor.md). \
             A code keeps its meaning: one that is removed is never reused.\n\n\
             | code | what |\n|---|---|\n{rows}{}\n",
            sections.join("\n")
        );
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/errors.md");
        agents_testkit::pages::check_generated(file, &page);
    }
}
