//! Records: reading all of them, adding one, taking over somebody else's.

use std::process::ExitCode;

use agents_install::{
    Update,
    git::{Checkouts, GitAddress},
};
use agents_system::{
    atomic, env,
    explain::{Code, ErrorKind},
    foreign::{ForeignError, ForeignFile},
    process::Call,
    regular,
};
use agents_trust::audit::{AUDIT_FILE, IMPORTED, Record, Records, imported_name, subject};
use camino::{Utf8Path, Utf8PathBuf};
use serde::Serialize;

use super::rows::Row;
use crate::{
    commands::agent::change::{pen, pen_at},
    failure::Failure,
    here::Here,
    output::Output,
    settings::Settings,
};

/// `cargo agents audit record --json` and `… import --json`
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct AuditRecordsDocument {
    /// The file that they were written into
    file: String,
    /// Where somebody else's records were taken from
    #[serde(skip_serializing_if = "Option::is_none")]
    origin: Option<String>,
    /// What was written
    records: Vec<WrittenView>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct WrittenView {
    /// Of the content that somebody has looked at
    hash: String,
    /// Its kind and name
    what: String,
    /// Where it comes from, in words
    source: String,
    who: String,
    date: String,
    note: String,
}

impl From<&Record> for WrittenView {
    fn from(record: &Record) -> Self {
        Self {
            hash: record.hash.to_string(),
            what: record.what.clone(),
            source: record.from.clone(),
            who: record.who.clone(),
            date: record.date.clone(),
            note: record.note.clone(),
        }
    }
}

/// Where a record is kept.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Home {
    Workspace,
    User,
}

/// Every record that counts here, with the file that it is in. A file that cannot be understood is an error: what it says about
/// somebody's look must not get lost.
pub(crate) fn all_records(
    settings: &Settings,
    root: &Utf8Path,
) -> Result<Vec<(Utf8PathBuf, Records)>, Failure> {
    let mut files = vec![root.join(AUDIT_FILE), settings.dirs.config.join(AUDIT_FILE)];
    let imported = settings.dirs.config.join(IMPORTED);
    let listed = imported.read_dir_utf8().into_iter().flatten().flatten();
    let mut taken: Vec<Utf8PathBuf> = listed.map(|entry| entry.path().to_owned()).collect();
    taken.retain(|path| path.extension() == Some("toml"));
    taken.sort();
    files.extend(taken);
    let mut all = Vec::new();
    for file in files {
        if let Some(records) = load(&file)? {
            all.push((file, records));
        }
    }
    Ok(all)
}

fn load(file: &Utf8Path) -> Result<Option<Records>, Failure> {
    let text = regular::read_text(file).map_err(|error| match error {
        // Not even text, so no records either.
        ForeignError::NotUtf8 { .. } => no_records(file).details("it is no text"),
        error => error.into(),
    })?;
    text.map(|text| parse(file, &text)).transpose()
}

fn parse(file: &Utf8Path, text: &str) -> Result<Records, Failure> {
    Records::parse(file, text).map_err(|findings| {
        let said: Vec<String> = findings
            .iter()
            .map(|it| match &it.place {
                Some(place) => format!("{place}: {}", it.message),
                None => it.message.clone(),
            })
            .collect();
        no_records(file).details(said.join("\n"))
    })
}

fn no_records(file: &Utf8Path) -> Failure {
    Failure::new(ErrorKind::Usage, format!("`{file}` holds no valid records"))
}

/// Signs off what is there now.
pub(super) fn record(
    here: &Here<'_>,
    output: &Output,
    rows: &[Row],
    name: &str,
    note: &str,
    home: Home,
) -> Result<ExitCode, Failure> {
    let meant: Vec<&Row> = rows
        .iter()
        .filter(|row| matches!(row.kind, "plugin" | "skill" | "agent" | "installation"))
        .filter(|row| row.name == name && subject(&row.entry).is_some())
        .collect();
    if meant.is_empty() {
        let message = format!("nothing with a content of its own is called `{name}` here");
        return Err(Failure::new(ErrorKind::Usage, message)
            .hint("`cargo agents audit` lists what is active"));
    }
    let dir = match (home, &here.workspace) {
        (Home::Workspace, Some(workspace)) => &workspace.root,
        (Home::Workspace, None) | (Home::User, _) => &here.settings.dirs.config,
    };
    let file = dir.join(AUDIT_FILE);
    let (who, date) = (who(dir), today());
    // Whoever else writes into it at the same time must not be lost.
    let _pen = pen_at(here.settings, &file)?;
    let loaded = ForeignFile::load(&file)?;
    let there = loaded.text().map(|text| parse(&file, text)).transpose()?;
    let mut records = there.unwrap_or_default();
    let before = records.records.len();
    for row in &meant {
        let Some(hash) = subject(&row.entry) else { continue };
        records.records.push(Record {
            hash,
            what: format!("{} {}", row.kind, row.name),
            from: row.entry.source.to_string(),
            who: who.clone(),
            date: date.clone(),
            note: note.to_owned(),
        });
    }
    loaded.replace(&records.render())?;
    if output.is_json() {
        let written = records.records[before..].iter().map(WrittenView::from).collect();
        let file = file.into_string();
        output.document(&AuditRecordsDocument { file, origin: None, records: written })?;
        return Ok(ExitCode::SUCCESS);
    }
    for row in &meant {
        output.line(format!(
            "Recorded: {} `{}` of {}, by {who}, in `{file}`",
            row.kind, row.name, row.entry.source
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Takes over somebody else's records, under the name of where they are from.
pub(super) fn import(
    settings: &Settings,
    output: &Output,
    from: &str,
) -> Result<ExitCode, Failure> {
    let file = settings.cwd.join(from);
    let (file, origin) = if file.is_file() {
        (file.clone(), file.to_string())
    } else {
        refuse_missing(&file, from)?;
        let address = GitAddress::parse(from).map_err(|error| {
            Failure::new(
                ErrorKind::Usage,
                format!("`{from}` is neither a file nor an address: {error}"),
            )
            .code(Code::GitPlace)
        })?;
        let (network, progress) = (settings.cargo.network(), &settings.progress);
        let checkouts = Checkouts::new(&settings.dirs.cache, network, progress);
        let checkout = checkouts.checkout(&address, Update::Check)?;
        output.findings(&checkout.findings);
        let commit = checkout.commit.get(..12).unwrap_or_default().to_owned();
        (checkout.dir.join(AUDIT_FILE), format!("{} at {commit}", address.redacted_url()))
    };
    let Some(theirs) = load(&file)? else {
        let message = format!("there is no `{AUDIT_FILE}` in {origin}");
        return Err(Failure::new(ErrorKind::Usage, message));
    };
    let count = theirs.records.len();
    let taken = Records { origin: Some(origin), records: theirs.records };
    let dir = settings.dirs.config.join(IMPORTED);
    let into = dir.join(imported_name(from));
    let _pen = pen(settings)?;
    // What a killed import left.
    atomic::remove_unfinished(&dir);
    atomic::write(&into, taken.render().as_bytes())
        .map_err(|error| Failure::new(ErrorKind::Failure, error.to_string()))?;
    if output.is_json() {
        let written = taken.records.iter().map(WrittenView::from).collect();
        let (file, origin) = (into.into_string(), taken.origin);
        output.document(&AuditRecordsDocument { file, origin, records: written })?;
        return Ok(ExitCode::SUCCESS);
    }
    let what = if count == 1 { "1 record".to_owned() } else { format!("{count} records") };
    output.line(format!("Imported: {what} into `{into}`"))?;
    Ok(ExitCode::SUCCESS)
}

/// What can only be a path must be there: git would say about it that a network failed.
fn refuse_missing(file: &Utf8Path, from: &str) -> Result<(), Failure> {
    let place = from.strip_prefix("file://").map_or(file, Utf8Path::new);
    let is_path = place != file || from.starts_with(['/', '.']) || from.ends_with(".toml");
    if !is_path || from.starts_with("http") || place.exists() {
        return Ok(());
    }
    let said = format!("there is neither a file nor a repository at `{place}`");
    Err(Failure::new(ErrorKind::Usage, said))
}

/// As git knows the user, else as the system does.
fn who(dir: &Utf8Path) -> String {
    let ask = |key: &str| {
        let captured = Call::new("git").args(["config", "--get", key]).cwd(dir).capture().ok()?;
        let said = captured.stdout_text().trim().to_owned();
        (captured.status.success() && !said.is_empty()).then_some(said)
    };
    match (ask("user.name"), ask("user.email")) {
        (Some(name), Some(email)) => format!("{name} <{email}>"),
        (Some(one), None) | (None, Some(one)) => one,
        (None, None) => env::USER.text().unwrap_or_else(|| "somebody".to_owned()),
    }
}

fn today() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%d").to_string()
}
