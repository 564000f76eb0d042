//! The codes of errors: one for each thing that a page explains.

use std::{borrow::Cow, fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::digits::decimal;

macro_rules! codes {
    ($($(#[doc = $meaning:literal])+ $name:ident = $number:literal, $title:literal;)+) => {
        /// What went wrong, as far as one page explains it: several errors may share a code, and an error that says all there is
        /// to say has none. Numbers are never used again for something else. `cargo agents explain` prints the pages.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u16)]
        #[non_exhaustive]
        pub enum Code {
            $($(#[doc = $meaning])+ $name = $number,)+
        }

        impl Code {
            /// All of them, in order.
            pub const ALL: &[Self] = &[$(Self::$name),+];

            /// What its page is called.
            #[must_use]
            pub fn title(self) -> &'static str {
                match self { $(Self::$name => $title,)+ }
            }
        }
    };
}

codes! {
    // This machine.
    /// `config.toml` cannot be used.
    ConfigInvalid = 1, "the configuration is not valid";
    /// Where to keep things is not known.
    NoDirectories = 2, "there is nowhere to keep files";
    /// The system does not let us write.
    NotWritable = 3, "a file or a directory cannot be written";
    /// Somebody else's file does not parse, or has another shape than its program expects.
    ForeignFile = 4, "another program's file cannot be edited";
    /// A link that leads nowhere, a directory, something that is no text.
    NotAFile = 5, "something else is where a file should be";
    /// Another process holds a lock, or writes the same file.
    Busy = 6, "another process is using it";
    /// A file of ours with a format that is not known yet.
    LaterVersion = 7, "a later version of cargo agents wrote it";
    /// No terminal, and a question.
    NobodyToAsk = 8, "nobody can be asked";
    /// What must be confined cannot be.
    NoSandbox = 9, "the sandbox is not available";
    /// An address that cannot be listened at.
    CannotListen = 10, "cannot listen at that address";
    /// A feature that was left out.
    NotBuilt = 11, "this program was built without it";

    // The workspace.
    /// There is no `Cargo.toml`.
    NoWorkspace = 20, "this is not a Rust workspace";
    /// A manifest is wrong.
    WorkspaceBroken = 21, "the workspace cannot be understood";
    /// There is no cargo.
    NoCargo = 23, "cargo cannot be run";
    /// Cargo or git did not reach whom they asked.
    Unreachable = 24, "the network does not answer";
    /// The network is off, and something is missing.
    Offline = 25, "the network is off, and something is missing";
    /// No crate of that name or version.
    NoSuchCrate = 26, "there is no such crate";

    // Plugins.
    /// A manifest of a plugin is wrong.
    ManifestInvalid = 40, "a plugin's manifest is not valid";
    /// No plugin of that name.
    UnknownPlugin = 41, "there is no such plugin";
    /// No registry of that name.
    UnknownRegistry = 42, "there is no such registry";
    /// No command of that name.
    UnknownCommand = 43, "there is no such command";
    /// A plugin's command whose gate does not hold.
    CommandElsewhere = 44, "the command does not apply here";
    /// Two plugins bring it.
    CommandTwice = 45, "several plugins have the same command";
    /// A step of an installation failed.
    InstallFailed = 47, "a plugin's program could not be installed";
    /// A repository, a branch or a directory that is not there.
    GitPlace = 48, "there is nothing at that place in a git repository";
    /// Installed, and nothing in it can be run.
    NothingToRun = 49, "there is nothing to run in what was installed";
    /// `[plugins] disable` names it.
    TurnedOff = 50, "the plugin is turned off";

    // Hosts, and what they are brought.
    /// No host of that name.
    UnknownHost = 60, "there is no such host";
    /// None is configured or installed.
    NoHost = 61, "no coding agent was found";
    /// Our record cannot be read.
    LedgerDamaged = 62, "the ledger cannot be read";
    /// `agents.lock` cannot be read.
    LockFileBroken = 63, "`agents.lock` cannot be read";
    /// `--locked`, and something is not what `agents.lock` lists.
    LockFileDiffers = 64, "something differs from `agents.lock`";
    /// It changed, and nobody has accepted that.
    NotAccepted = 65, "a change has not been accepted";
    /// `--require-audit`.
    NotAudited = 66, "nobody has reviewed it";

    // Agents.
    /// No agent of that name.
    UnknownAgent = 80, "there is no such agent";
    /// A file that holds no definition.
    AgentInvalid = 81, "an agent's definition is not valid";
    /// A file that cannot say it, or is not the user's.
    AgentUnchangeable = 82, "an agent's definition cannot be changed like that";
    /// A file is in the way.
    AlreadyThere = 83, "something already exists there";
    /// `KEY=VALUE` that says nothing.
    BadAssignment = 84, "an agent has no such setting";

    // Models.
    /// Nobody to ask.
    NoProvider = 100, "there is no provider to ask";
    /// No provider of that name.
    UnknownProvider = 101, "there is no such provider";
    /// Its key cannot be found.
    NoKey = 102, "there is no key for the provider";
    /// Its key is not accepted.
    KeyRefused = 103, "the provider does not accept the key";
    /// Too many requests.
    RateLimited = 104, "the provider wants fewer requests";
    /// It failed on its side.
    Overloaded = 105, "the provider is overloaded or failed";
    /// No money left.
    OutOfCredit = 106, "the account has no credit left";
    /// No model fits.
    NoModel = 107, "there is no such model";
    /// The conversation does not fit.
    TooLong = 108, "the conversation is too long for the model";
    /// The model, or its provider, would not.
    ModelRefused = 109, "the model refused to answer";
    /// It does not understand what we send.
    RequestRejected = 110, "the provider rejected the request";
    /// Nobody answers, or not in time.
    ProviderUnreachable = 111, "the provider cannot be reached";
    /// What comes is not what the protocol says.
    ProviderGarbled = 112, "the provider answered something unexpected";
    /// A program that answers as the model failed.
    ProgramFailed = 113, "the program that answers as the model failed";
    /// A program that has tools of its own cannot be kept to what the agent may do.
    ProgramUnconfined = 114, "the program that answers cannot be restricted as the agent requires";
    /// A script of a model is wrong.
    ScriptInvalid = 115, "a model's script is not valid";
    /// Its settings do not work.
    ProviderSettings = 116, "a provider's settings do not work";

    // Tasks.
    /// No task of that id.
    UnknownTask = 130, "there is no such task";
    /// The beginning of several.
    AmbiguousId = 131, "an id is ambiguous";
    /// It has not ended.
    StillRunning = 132, "the task is still running";
    /// Its transcript is gone, or is not one.
    TranscriptDamaged = 133, "a transcript cannot be read";
    /// Time, turns, tokens or money.
    OutOfLimits = 134, "the task reached a limit";
    /// A rule about who may start whom.
    MayNotStart = 135, "the agent may not be started from here";
    /// `tasks.disabled-agents`.
    AgentDisabled = 136, "the agent is disabled";
    /// A permission mode that is not allowed.
    ModeNotAllowed = 137, "the permission mode is not allowed here";
    /// A tool that was not allowed.
    NotPermitted = 138, "a tool call was not permitted";
    /// No worktree.
    NoWorktree = 139, "a worktree cannot be made";
    /// As many run as may.
    NoSlot = 140, "too many tasks are running";
    /// What the result must look like is not said well.
    SchemaInvalid = 141, "a result's schema is not valid";
    /// `done-when` does not hold.
    NotDone = 142, "a final check failed";
    /// Nothing, or the wrong thing, was handed in.
    NoResult = 143, "the task submitted no valid result";
    /// A request that says too little or too much.
    BadRequest = 144, "the assignment is not valid";
    /// Nobody was named, and nobody fits.
    NoMatch = 145, "no agent fits the assignment";
    /// A secret that is not configured, or cannot be read.
    NoSecret = 146, "the secret is not available";
    /// Nobody runs it where it was looked for.
    NotInBackground = 147, "the task does not run in the background";
    /// Some of several failed.
    SomeFailed = 148, "some tasks did not complete";
    /// Its place, its tools or its model could not be had.
    NotStarted = 149, "the task could not start";
    /// It can be resumed.
    Interrupted = 150, "the process that ran the task is gone";

    // Plans.
    /// A plan that cannot run.
    PlanInvalid = 160, "the plan cannot run";
    /// No run of that name.
    UnknownRun = 161, "there is no such run";
    /// Another process drives it.
    RunBusy = 162, "another process runs the plan";
    /// Its journal cannot be read.
    JournalDamaged = 163, "a run's journal cannot be used";
    /// Some of its tasks failed.
    PlanFailed = 164, "the plan did not complete";
    /// Its budget is used up.
    PlanBudget = 165, "the plan's budget is used up";
    /// It asks what is to be done.
    PlanWaits = 166, "the plan is waiting for an answer";
    /// Restate does not answer, or says no.
    Engine = 167, "the engine failed";
    /// Whoever reaches it could run tasks.
    WorkerOpen = 168, "the worker would be open to anyone";
    /// Nobody drives it.
    RunIdle = 169, "no process is running the plan";
}

impl Code {
    /// The number, without the letter.
    #[must_use]
    pub fn number(self) -> u16 {
        self as u16
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "E{:04}", self.number())
    }
}

/// A text that is no code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this is not an error code")]
pub struct NoCode;

impl FromStr for Code {
    type Err = NoCode;

    /// `E0042`, and what people make of it: `e42`, `42`.
    fn from_str(text: &str) -> Result<Self, NoCode> {
        let digits = text.trim().trim_start_matches(['E', 'e']);
        let number: u16 = decimal(digits).ok_or(NoCode)?;
        Self::ALL.iter().copied().find(|it| it.number() == number).ok_or(NoCode)
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Code {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// For `deserialize_with`: a code that only a later version knows is none.
pub fn if_known<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Code>, D::Error> {
    let text = Option::<Cow<'_, str>>::deserialize(deserializer)?;
    Ok(text.and_then(|text| text.parse().ok()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unique_in_order_and_read_back() {
        assert!(Code::ALL.is_sorted_by(|a, b| a.number() < b.number()));
        for code in Code::ALL {
            assert_eq!(code.to_string().parse(), Ok(*code));
            let said = serde_json::to_string(code).unwrap();
            assert_eq!(serde_json::from_str::<Code>(&said).unwrap(), *code);
        }
    }

    #[test]
    fn what_people_make_of_a_code_is_understood() {
        for text in ["E0042", "e0042", "E42", "42", " 0042 "] {
            assert_eq!(text.parse(), Ok(Code::UnknownRegistry), "{text}");
        }
        for text in ["", "E", "E0000", "0", "42x", "config-broken", "70000", "-1", "E+42"] {
            assert_eq!(text.parse::<Code>(), Err(NoCode), "{text}");
        }
    }

    #[test]
    fn a_code_of_a_later_version_is_none() {
        #[derive(Deserialize)]
        struct Told {
            #[serde(default, deserialize_with = "if_known")]
            code: Option<Code>,
        }
        let told = |text: &str| serde_json::from_str::<Told>(text).unwrap().code;
        assert_eq!(told(r#"{"code":"E0102"}"#), Some(Code::NoKey));
        assert_eq!(
            (told(r#"{"code":"E9999"}"#), told("{}"), told(r#"{"code":null}"#)),
            (None, None, None)
        );
    }
}
