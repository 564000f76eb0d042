use std::time::Duration;

use agents_host::hosts;
use agents_testkit::scratch::Scratch;
use futures_util::StreamExt as _;

use super::*;
use crate::{
    error::Deadline,
    event::Turn,
    message::Message,
    request::{Deadlines, Effort, OutputSchema, ToolSpec, Work},
};

fn provider(host: &str, program: &str, cwd: Utf8PathBuf) -> HostProvider {
    let (hosts, _) = hosts(None);
    let host = hosts.into_iter().find(|it| it.id.as_str() == host).unwrap();
    HostProvider {
        name: "mine".to_owned(),
        command: vec![program.to_owned()],
        headless: host.headless.unwrap(),
        rights: None,
        cwd,
        models: Vec::new(),
        permits: Arc::new(Semaphore::new(1)),
    }
}

fn words(call: &Call) -> String {
    call.display()
}

#[test]
fn the_command_line_confines_the_host_and_keeps_the_prompt_out_of_it() {
    let request = Request::new("sonnet")
        .with_system("Be brief.")
        .with_message(Message::user("What?"))
        .with_effort(Effort::High);
    let (call, text) = provider("claude", "claude", "/".into()).call(&request).unwrap();
    assert_eq!(
        words(&call),
        "claude -p --output-format stream-json --verbose --include-partial-messages --no-session-persistence \
         --tools Read,Grep,Glob --strict-mcp-config --model sonnet --effort high --append-system-prompt Be brief."
    );
    assert_eq!(text, "What?");
    let edits =
        HostProvider { rights: Some(OwnRights::Edit), ..provider("codex", "codex", "/".into()) };
    let (call, text) = edits.call(&Request { model: DEFAULT_MODEL.to_owned(), ..request }).unwrap();
    assert_eq!(
        words(&call),
        "codex exec --json --skip-git-repo-check --ephemeral --sandbox workspace-write -"
    );
    assert_eq!(text, "Be brief.\n\nWhat?");
}

#[test]
fn every_host_that_can_be_run_is_confined_to_reading() {
    let (hosts, findings) = hosts(None);
    assert_eq!(findings, []);
    let headless: Vec<_> =
        hosts.iter().filter_map(|host| Some((&host.id, host.headless.as_ref()?))).collect();
    assert_eq!(headless.len(), 7);
    for (id, it) in headless {
        assert!(!it.read.args.is_empty() || !it.read.env.is_empty(), "{id}");
        assert_ne!(Some(&it.read), it.edit.as_ref(), "{id}");
        assert_ne!(it.edit, it.all, "{id}");
        assert!(it.all.is_some(), "{id}");
        assert_eq!(it.models.first().map(String::as_str), Some(DEFAULT_MODEL), "{id}");
    }
}

fn work(rights: OwnRights) -> Request {
    let work = Work { cwd: "/elsewhere".into(), rights };
    Request::new(DEFAULT_MODEL).with_message(Message::user("Do it.")).with_work(work)
}

#[test]
fn a_whole_task_is_run_with_the_rights_of_the_task_and_never_with_more() {
    for (host, configured, wanted, shown) in [
        ("claude", None, OwnRights::Read, "--tools Read,Grep,Glob"),
        ("claude", None, OwnRights::Edit, "--permission-mode acceptEdits"),
        ("claude", None, OwnRights::All, "--allowedTools Bash,WebFetch,WebSearch"),
        ("claude", Some(OwnRights::Edit), OwnRights::All, "--permission-mode acceptEdits"),
        ("claude", Some(OwnRights::All), OwnRights::Read, "--tools Read,Grep,Glob"),
        ("codex", Some(OwnRights::Read), OwnRights::All, "--sandbox read-only"),
        ("gemini", None, OwnRights::All, "--approval-mode yolo"),
        ("copilot", None, OwnRights::Edit, "--deny-tool=shell --allow-tool=write"),
    ] {
        let it = HostProvider { rights: configured, ..provider(host, host, "/".into()) };
        let (call, text) = it.call(&work(wanted)).unwrap();
        assert!(words(&call).contains(shown), "{host} {configured:?} {wanted:?}: {}", words(&call));
        assert!(
            words(&call).contains("Your last message is the result")
                || text.contains("Your last message"),
            "{text}"
        );
    }
    // It cannot be kept to changing files, so it does not.
    let goose = provider("goose", "goose", "/".into());
    assert_eq!(goose.hands(), Hands::Own { kept_to: vec![OwnRights::Read, OwnRights::All] });
    assert_eq!(granted(&goose.hands(), None, &work(OwnRights::Edit)).unwrap(), OwnRights::Read);
    let edits = HostProvider { rights: Some(OwnRights::Edit), ..goose };
    let error = edits.call(&Request::new(DEFAULT_MODEL)).unwrap_err().at("goose");
    assert_eq!(error.to_string(), "`goose`: it cannot be kept to the rights `edit`");
}

/// A stand-in that speaks a host's real format.
struct Stage {
    scratch: Scratch,
    provider: HostProvider,
}

impl Stage {
    fn new(host: &str, script: &str) -> Self {
        let scratch = Scratch::new();
        let program = scratch.script("host", script);
        let provider = provider(host, program.as_str(), scratch.path("."));
        Self { scratch, provider }
    }

    fn ask(&self, request: Request) -> (Turn, Option<ModelError>) {
        self.ask_until(request, &CancellationToken::new(), |_| {})
    }

    fn ask_until(
        &self,
        request: Request,
        cancel: &CancellationToken,
        mut each: impl FnMut(&Event),
    ) -> (Turn, Option<ModelError>) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut turn = Turn::default();
            let mut stream = match self.provider.stream(request, cancel.clone()).await {
                Ok(stream) => stream,
                Err(error) => return (turn, Some(error)),
            };
            while let Some(event) = stream.next().await {
                match event {
                    Ok(event) => {
                        each(&event);
                        turn.push(event);
                    }
                    Err(error) => return (turn, Some(error)),
                }
            }
            (turn, None)
        })
    }

    /// Whether the process whose id the stand-in wrote is gone.
    fn is_gone(&self) -> bool {
        let id = fs_err::read_to_string(self.scratch.path("pid")).unwrap();
        let stat = format!("/proc/{}/stat", id.trim());
        (0..500).any(|_| {
            std::thread::sleep(Duration::from_millis(10));
            fs_err::read_to_string(&stat).map_or(true, |stat| stat.contains(") Z "))
        })
    }
}

fn question() -> Request {
    Request::new(DEFAULT_MODEL).with_message(Message::user("What is it?"))
}

#[test]
fn a_host_is_asked_and_answers() {
    let stage = Stage::new(
        "codex",
        "#!/bin/sh\ncat > prompt\necho 'a banner'\necho '{\"type\":\"thread.started\",\"thread_id\":\"t\"}'\n\
         echo '{\"type\":\"item.completed\",\"item\":{\"type\":\"agent_message\",\"text\":\"Forty-two.\"}}'\n\
         echo '{\"type\":\"turn.completed\",\"usage\":{\"input_tokens\":5,\"output_tokens\":2}}'\n",
    );
    let (turn, error) = stage.ask(question());
    assert!(error.is_none(), "{error:?}");
    assert_eq!(turn.message.text(), "Forty-two.");
    assert_eq!(turn.stop, Some(crate::StopReason::End));
    assert_eq!(turn.usage.unwrap().input, 5);
    assert_eq!(fs_err::read_to_string(stage.scratch.path("prompt")).unwrap(), "What is it?");
}

#[test]
fn a_host_that_fails_is_quoted() {
    let stage = Stage::new(
        "codex",
        "#!/bin/sh\ncat > /dev/null\necho 'no login: run codex login' >&2\nexit 7\n",
    );
    let (_, error) = stage.ask(question());
    let error = error.unwrap();
    assert_eq!(
        error.to_string(),
        "`mine`: it did not finish its answer: it ended with exit code 7"
    );
    use agents_system::explain::Explain as _;
    assert_eq!(error.details().unwrap(), "no login: run codex login");
}

#[test]
fn a_host_that_stops_in_the_middle_keeps_what_it_said() {
    let stage = Stage::new(
        "codex",
        "#!/bin/sh\necho '{\"type\":\"item.completed\",\"item\":{\"type\":\"agent_message\",\"text\":\"Half\"}}'\nkill -9 $$\n",
    );
    let (turn, error) = stage.ask(question());
    assert_eq!(turn.message.text(), "Half");
    assert_eq!(turn.stop, None);
    assert!(error.unwrap().to_string().ends_with("it ended with signal 9"));
}

#[test]
fn silence_and_hanging_end_by_their_deadlines_with_the_whole_group() {
    let forever = "sh -c 'trap \"\" TERM; echo $$ > pid; while :; do sleep 1; done' & ";
    let short = Duration::from_millis(1500);
    let long = Duration::from_secs(60);
    let said = "echo '{\"type\":\"item.completed\",\"item\":{\"type\":\"agent_message\",\"text\":\"Half\"}}'";
    for (before, deadlines, which) in [
        ("", Deadlines { first_token: short, idle: long, total: long }, Deadline::FirstToken),
        (said, Deadlines { first_token: long, idle: short, total: long }, Deadline::Idle),
        (said, Deadlines { first_token: long, idle: long, total: short }, Deadline::Total),
    ] {
        let stage = Stage::new("codex", &format!("#!/bin/sh\n{forever}\n{before}\nwait\n"));
        let (_, error) = stage.ask(question().with_deadlines(deadlines));
        let problem = error.unwrap().problem;
        assert!(
            matches!(problem, Problem::Timeout { deadline, .. } if deadline == which),
            "{problem:?}"
        );
        assert!(stage.is_gone(), "{which:?}");
    }
}

#[test]
fn cancelling_ends_the_whole_group_at_once() {
    let stage = Stage::new(
        "codex",
        "#!/bin/sh\nsh -c 'echo $$ > pid.new; mv pid.new pid; sleep 60' &\nwhile ! [ -e pid ]; do sleep 0.01; done\n\
         echo '{\"type\":\"item.completed\",\"item\":{\"type\":\"agent_message\",\"text\":\"Half\"}}'\nwait\n",
    );
    let cancel = CancellationToken::new();
    let (turn, error) = stage.ask_until(question(), &cancel, |event| {
        if matches!(event, Event::Text(_)) {
            cancel.cancel();
        }
    });
    assert_eq!(turn.message.text(), "Half");
    assert!(matches!(error.unwrap().problem, Problem::Cancelled));
    assert!(stage.is_gone());
}

#[test]
fn a_line_without_end_is_an_error() {
    let stage = Stage::new("gemini", "#!/bin/sh\nexec cat /dev/zero\n");
    let (_, error) = stage.ask(question());
    assert!(matches!(error.unwrap().problem, Problem::Protocol { .. }));
}

#[test]
fn tools_of_ours_are_refused_before_anything_is_started() {
    let stage = Stage::new("claude", "#!/bin/sh\ntouch started\n");
    let tool = ToolSpec {
        name: "read".to_owned(),
        description: String::new(),
        schema: serde_json::json!({"type": "object"}),
    };
    let (_, error) = stage.ask(question().with_tools([tool]));
    assert!(matches!(error.unwrap().problem, Problem::Unsupported { .. }));
    assert!(!stage.scratch.path("started").exists());
}

#[test]
fn a_program_that_is_not_there_is_named() {
    let provider = provider("claude", "/no/such/claude", "/".into());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let error =
        runtime.block_on(provider.stream(question(), CancellationToken::new())).err().unwrap();
    assert_eq!(error.to_string(), "`mine`: there is no program `/no/such/claude`");
}

#[test]
fn a_longer_conversation_says_whose_word_it_is() {
    let request = question()
        .with_message(Message::assistant("Which one?"))
        .with_message(Message::user("The second."));
    let (system, text) = prompt(&request);
    assert_eq!(
        (system.as_str(), text.as_str()),
        ("", "User: What is it?\n\nYou: Which one?\n\nUser: The second.")
    );
}

/// As Claude Code 2 printed it when it had to look something up first.
const WORKS: &str = r#"#!/bin/sh
cat > prompt
printf '%s\n' "$@" > arguments
pwd > cwd
echo '{"type":"system","subtype":"init","session_id":"s","model":"claude-sonnet-5"}'
echo '{"type":"stream_event","event":{"type":"content_block_delta","delta":{"type":"text_delta","text":"Let me look."}}}'
echo '{"type":"assistant","message":{"content":[{"type":"text","text":"Let me look."},{"type":"tool_use","id":"t","name":"Read","input":{"file_path":"a"}}]}}'
echo '{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"1"}]}}'
echo '{"type":"stream_event","event":{"type":"content_block_delta","delta":{"type":"text_delta","text":"{\"lines\":"}}}'
echo '{"type":"stream_event","event":{"type":"content_block_delta","delta":{"type":"text_delta","text":"1}"}}}'
echo '{"type":"result","is_error":false,"stop_reason":"end_turn","usage":{"input_tokens":3,"output_tokens":4}}'
"#;

#[test]
fn the_result_of_a_whole_task_is_what_is_said_at_last() {
    let stage = Stage::new("claude", WORKS);
    let cwd = stage.scratch.path("tree");
    fs_err::create_dir(&cwd).unwrap();
    let schema = OutputSchema {
        name: "result".to_owned(),
        schema: serde_json::json!({"properties": {"lines": {"type": "integer"}}}),
    };
    let request = Request::new(DEFAULT_MODEL)
        .with_system("You count lines.")
        .with_message(Message::user("Count."))
        .with_schema(schema)
        .with_work(Work { cwd: cwd.clone(), rights: OwnRights::Edit });
    let (turn, error) = stage.ask(request);
    assert!(error.is_none(), "{error:?}");
    assert_eq!(turn.conclusion(), "{\"lines\":1}");
    assert_eq!(turn.message.text(), "Let me look.{\"lines\":1}");
    let said = |file: &str| fs_err::read_to_string(cwd.join(file)).unwrap();
    assert_eq!(said("prompt"), "Count.");
    assert!(
        said("arguments").contains("--permission-mode\nacceptEdits\n"),
        "{}",
        said("arguments")
    );
    let told = said("arguments");
    assert!(told.contains("You count lines.\n\nDo this by yourself"), "{told}");
    assert!(told.contains("Make your last message one JSON value"), "{told}");
    assert!(told.contains(r#""lines":{"type":"integer"}"#), "{told}");
    assert_eq!(said("cwd").trim(), cwd.as_str());
}
