//! Every kind of problem that `doctor` knows, and what a problem is.

use agents_system::finding::Finding;
use camino::Utf8PathBuf;

/// A kind of problem, as `docs/doctor.md` has it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Check {
    pub(crate) code: &'static str,
    pub(crate) meaning: &'static str,
    pub(crate) remedy: &'static str,
}

/// One problem on this machine.
#[derive(Debug)]
pub(super) struct Problem {
    pub(super) check: &'static Check,
    /// Its hint is the remedy.
    pub(super) finding: Finding,
    /// What `--fix` does about it.
    pub(super) repair: Option<Repair>,
}

/// Something that is safe to do without asking.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Repair {
    /// Ends what a killed writer began.
    Recover,
    /// Lets go of what a workspace has that is gone.
    Release(Utf8PathBuf),
    /// Removes what killed writers left.
    Sweep(Vec<Utf8PathBuf>),
    /// Runs `cargo agents sync` here.
    Sync,
}

impl Check {
    /// A problem of this kind; a finding that brings no next step gets the general one.
    pub(super) fn problem(&'static self, finding: Finding) -> Problem {
        let hint = finding.hint.clone().unwrap_or_else(|| self.remedy.to_owned());
        Problem { check: self, finding: finding.hint(hint), repair: None }
    }
}

impl Problem {
    pub(super) fn repair(self, repair: Repair) -> Self {
        Self { repair: Some(repair), ..self }
    }
}

macro_rules! checks {
    ($($ident:ident = $code:literal: $meaning:literal, $remedy:literal;)+) => {
        $(pub(super) const $ident: &Check =
            &Check { code: $code, meaning: $meaning, remedy: $remedy };)+
        /// All of them, in the order of the documentation.
        pub(crate) const ALL: &[&Check] = &[$($ident),+];
    };
}

checks! {
    PROGRAM_NOT_FOUND = "program-not-found":
        "hosts call `cargo-agents` by its name, and it is not on `PATH`",
        "add its directory to `PATH`, for the hosts too";
    ANOTHER_PROGRAM = "another-program":
        "the `cargo-agents` that hosts call is not the one that you run",
        "remove one of the two, or change the order of `PATH`";
    TWO_PROGRAMS = "two-programs":
        "several different `cargo-agents` are on `PATH`",
        "remove those that you do not want";
    CONFIG_BROKEN = "config-broken":
        "the configuration cannot be read, so nothing works that needs it",
        "fix `config.toml`";
    CONFIG_UNKNOWN_KEY = "config-unknown-key":
        "the configuration says something that has no effect",
        "correct or remove it";
    UNKNOWN_HOST = "unknown-host":
        "the configuration names an unknown host",
        "`cargo agents host list` has the names";
    UNKNOWN_SANDBOXED = "unknown-sandboxed":
        "`[sandbox] plugins` names a plugin that is not here, so it confines nothing",
        "correct the name, or leave it if the plugin belongs to another workspace";
    HOSTS_FILE_BROKEN = "hosts-file-broken":
        "`hosts.toml`, which changes the descriptions of hosts, has mistakes",
        "fix it; what is wrong in it is ignored";
    CONFIG_WRITABLE_BY_OTHERS = "config-writable-by-others":
        "everyone on this machine can change what runs as you",
        "remove that permission with `chmod o-w`";
    DIRECTORY_READ_ONLY = "directory-read-only":
        "a directory that we must write is read-only",
        "make it writable";
    FILE_READ_ONLY = "file-read-only":
        "a file of a host that we must write is read-only",
        "`chmod u+w` it, or leave it and register in the other scope (`hook-scope`)";
    SANDBOXED = "sandboxed":
        "directories are read-only although the workspace is not: this is the sandbox of a coding agent",
        "run it outside the sandbox, in your own terminal";
    LEDGER_BROKEN = "ledger-broken":
        "the record of what we own cannot be read, so nothing is written or taken back",
        "restore it from a backup; without it we cannot tell what is ours";
    LEDGER_NEWER = "ledger-newer":
        "a later version of this program wrote the record of what we own",
        "use that version of cargo agents";
    JOURNAL_BROKEN = "journal-broken":
        "the journal of a run of a plan cannot be read, so the run cannot be shown or resumed",
        "restore it from a backup, or remove its directory; `cargo agents plan check-journal` looks through all of them";
    UNFINISHED_SYNC = "unfinished-sync":
        "a sync was killed half-way",
        "`cargo agents doctor --fix` ends it, and so does the next sync";
    ORPHAN_WORKSPACE = "orphan-workspace":
        "something is stored for a workspace that no longer exists",
        "`cargo agents doctor --fix` takes it back";
    ORPHAN_SKILL = "orphan-skill":
        "a skill has our mark but is not in our record, so it is never updated or removed",
        "remove the directory if you do not want the skill";
    LEFTOVERS = "leftovers":
        "unfinished files of ours are beside files of hosts or agents",
        "`cargo agents doctor --fix` removes them";
    EDITED = "edited":
        "something of ours was edited, so it is no longer updated",
        "`cargo agents sync --overwrite` replaces it";
    MISSING = "missing":
        "something of ours is gone",
        "`cargo agents sync` brings it back";
    DRIFT = "drift":
        "hosts do not have what this workspace brings them",
        "`cargo agents sync` brings them up to date";
    LOCK_FILE_BROKEN = "lock-file-broken":
        "`agents.lock` cannot be used, so nothing is brought, and hooks of crates do not run",
        "restore it from version control, or delete it, and run `cargo agents sync`";
    CONTENT_WAITING = "content-waiting":
        "something changed and is not installed until you accept it",
        "`cargo agents update` shows and accepts it";
    CONTENT_ALTERED = "content-altered":
        "something differs from what was agreed to, although its version is the same",
        "fetch it again, or look at it with `cargo agents update`";
    NAME_TAKEN = "name-taken":
        "something of ours is not installed, because its place holds something that is not ours",
        "rename or remove that if you want ours";
    NO_HOST = "no-host":
        "no coding agent is configured",
        "`cargo agents init` configures those that are installed";
    HOST_NOT_INSTALLED = "host-not-installed":
        "a host is configured, and there is no sign of it on this machine",
        "install it, or remove it with `cargo agents init --remove-agent`";
    HOST_TOO_OLD = "host-too-old":
        "an installed host does not understand what we write",
        "update it";
    FILE_BROKEN = "file-broken":
        "a file of a host cannot be read, so neither it nor we can use it",
        "fix it";
    DANGLING_LINK = "dangling-link":
        "a dangling symbolic link is where a host looks for skills or settings",
        "remove it, or create its target";
    CODEX_HOOKS_UNTRUSTED = "codex-hooks-untrusted":
        "Codex silently skips hooks that nobody has reviewed",
        "open Codex in this folder and accept the hooks with `/hooks`";
    CODEX_FOLDER_UNTRUSTED = "codex-folder-untrusted":
        "Codex ignores the `.codex` directory of a folder that is not trusted",
        "open Codex in this folder and trust it";
    CLAUDE_SERVER_UNAPPROVED = "claude-server-unapproved":
        "Claude Code does not start servers of `.mcp.json` that nobody has approved",
        "start `claude` in this folder and approve it";
    LOADED_TWICE = "loaded-twice":
        "a host finds the same hook in two files, or two different skills under one name",
        "remove one of the two";
    SKILL_BUDGET = "skill-budget":
        "a host has more skills than it has room for, so it leaves descriptions out",
        "turn plugins off with `[plugins] disable`, or remove skills of your own";
    HOOK_PROGRAM_MISSING = "hook-program-missing":
        "the program of a hook is not installed, so the hook does not run",
        "`cargo agents sync` installs it";
    SERVER_PROGRAM_MISSING = "server-program-missing":
        "the program of an MCP server is not found",
        "install it, so that it is on `PATH`";
    CACHE_TAMPERED = "cache-tampered":
        "an installed program is not what was installed, and is not run",
        "`cargo agents sync --update fetch` installs it again";
    MANIFEST_BROKEN = "manifest-broken":
        "a plugin cannot be loaded",
        "`cargo agents plugin validate` shows what is wrong with it";
    REGISTRY_MISSING = "registry-missing":
        "a configured registry is not where it should be",
        "correct its place in the configuration, or remove it there";
    REGISTRY_NOT_FETCHED = "registry-not-fetched":
        "a configured registry has never been fetched",
        "`cargo agents plugin sync` fetches it";
    WORKSPACE_BROKEN = "workspace-broken":
        "the workspace cannot be understood",
        "`cargo metadata` shows what is wrong with it";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_of_problems_lists_all_of_them() {
        let cell = |text: &str| text.replace('|', "\\|");
        let rows: String = ALL
            .iter()
            .map(|it| format!("| `{}` | {} | {} |\n", it.code, cell(it.meaning), cell(it.remedy)))
            .collect();
        let page = format!(
            "# What `cargo agents doctor` finds\n\n\
             Generated from `crates/cargo-agents/src/commands/doctor/checks.rs`; a test keeps it true.\n\n\
             `cargo agents doctor` looks at the program, its settings, the files of every configured host and what this workspace brings them, \
             and writes nothing. The exit code is 0 if all is well and 1 if problems remain; notes, which `--verbose` shows, do not count. \
             If one check is impossible (a broken configuration, a workspace that cannot be understood), the others still run.\n\n\
             `--fix` does what is safe without asking: it finishes a sync that was killed, drops what is stored for workspaces that are gone, \
             removes what killed writers left, and runs `cargo agents sync` where something is missing or out of date. \
             It never touches what somebody edited, nor anything that our record does not list. Then it checks again and shows what remains.\n\n\
             `--json` prints [one document](json/doctor.schema.json) with the same codes.\n\n\
             | code | meaning | remedy |\n|---|---|---|\n{rows}\n{}",
            crate::commands::doctor::probe::PAGE
        );
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/doctor.md");
        agents_testkit::pages::check_generated(file, &page);
    }

    #[test]
    fn codes_are_kebab_case_and_unique() {
        for (at, check) in ALL.iter().enumerate() {
            assert!(check.code.chars().all(|c| c.is_ascii_lowercase() || c == '-'));
            assert!(ALL[..at].iter().all(|earlier| earlier.code != check.code), "{}", check.code);
        }
    }
}
