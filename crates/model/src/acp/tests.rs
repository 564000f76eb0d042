use std::time::Duration;

use agents_testkit::scratch::Scratch;
use futures_util::StreamExt as _;

use super::*;
use crate::{event::Turn, message::Message};

/// An agent in a few lines of shell: it answers each request by its number, as the protocol has it.
const AGENT: &str = r#"#!/bin/sh
say() { printf '%s\n' "$1"; }
update() { say "{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"sessionId\":\"s-1\",\"update\":$1}}"; }
while read -r line; do
  printf '%s\n' "$line" >> heard
  # The number may be a string.
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\("[^"]*"\|[0-9]*\).*/\1/p')
  case "$line" in
    *'"method":"initialize"'*) say "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{\"protocolVersion\":1,\"agentCapabilities\":{}}}" ;;
    *'"method":"session/new"'*) say "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{\"sessionId\":\"s-1\",MODES\"configOptions\":[{\"id\":\"model\",\"name\":\"Model\",\"category\":\"model\",\"type\":\"select\",\"currentValue\":\"a\",\"options\":[{\"value\":\"a\",\"name\":\"A\"},{\"value\":\"b\",\"name\":\"B\"}]}]}}" ;;
    *'"method":"session/set_config_option"'*) say "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{\"configOptions\":[]}}" ;;
    *'"method":"session/set_mode"'*)
      update '{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"[MODE_UPDATE] plan"}}'
      say "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{}}" ;;
    *'"method":"session/prompt"'*)
      prompt=$id
      PROMPT ;;
    *'"id":"ask"'*)
      update '{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"failed"}'
      update '{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Forty-"}}'
      update '{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"two."}}'
      say "{\"jsonrpc\":\"2.0\",\"id\":$prompt,\"result\":{\"stopReason\":\"end_turn\",\"usage\":{\"totalTokens\":30,\"inputTokens\":20,\"outputTokens\":10}}}" ;;
  esac
done
"#;

const ASKS: &str = r#"update '{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"Hm."}}'
      update '{"sessionUpdate":"tool_call","toolCallId":"c1","title":"rm -rf /","kind":"execute","status":"pending"}'
      say '{"jsonrpc":"2.0","id":"ask","method":"session/request_permission","params":{"sessionId":"s-1","toolCall":{"toolCallId":"c1"},"options":[{"optionId":"always","name":"Always","kind":"allow_always"},{"optionId":"once","name":"Once","kind":"allow_once"},{"optionId":"no","name":"No","kind":"reject_once"}]}}'"#;

const MODES: &str = r#"\"modes\":{\"currentModeId\":\"auto\",\"availableModes\":[{\"id\":\"auto\",\"name\":\"A\"},{\"id\":\"plan\",\"name\":\"P\"}]},"#;

fn stage(prompt: &str) -> (Scratch, AcpProvider) {
    stage_with(prompt, MODES)
}

fn stage_with(prompt: &str, modes: &str) -> (Scratch, AcpProvider) {
    let scratch = Scratch::new();
    let agent = AGENT.replace("PROMPT", prompt).replace("MODES", modes);
    let program = scratch.script("agent", &agent);
    let provider = AcpProvider {
        name: "mine".to_owned(),
        command: vec![program.into_string()],
        rights: None,
        host: None,
        cwd: scratch.path("."),
        models: Vec::new(),
        permits: Arc::new(Semaphore::new(1)),
    };
    (scratch, provider)
}

fn ask(
    provider: &AcpProvider,
    model: &str,
    cancel: &CancellationToken,
) -> (Vec<Event>, Option<ModelError>) {
    let request = Request::new(model).with_system("Be brief.").with_message(Message::user("What?"));
    ask_for(provider, request, cancel)
}

fn ask_for(
    provider: &AcpProvider,
    request: Request,
    cancel: &CancellationToken,
) -> (Vec<Event>, Option<ModelError>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut events = Vec::new();
        let mut stream = match provider.stream(request, cancel.clone()).await {
            Ok(stream) => stream,
            Err(error) => return (events, Some(error)),
        };
        while let Some(event) = stream.next().await {
            match event {
                Ok(event) => events.push(event),
                Err(error) => return (events, Some(error)),
            }
        }
        (events, None)
    })
}

fn heard(scratch: &Scratch) -> String {
    fs_err::read_to_string(scratch.path("heard")).unwrap()
}

#[test]
fn an_agent_is_asked_and_its_questions_are_answered_by_its_rights() {
    for (rights, answer) in
        [(OwnRights::Read, "\"optionId\":\"no\""), (OwnRights::Edit, "\"optionId\":\"once\"")]
    {
        let (scratch, provider) = stage(ASKS);
        let provider = AcpProvider { rights: Some(rights), ..provider };
        let (events, error) = ask(&provider, DEFAULT_MODEL, &CancellationToken::new());
        assert!(error.is_none(), "{error:?}");
        let mut turn = Turn::default();
        events.iter().cloned().for_each(|event| turn.push(event));
        assert_eq!((turn.id.as_str(), turn.message.text().as_str()), ("s-1", "Forty-two."));
        assert_eq!(turn.stop, Some(StopReason::End));
        assert_eq!(turn.usage, Some(Usage { input: 20, output: 10, ..Usage::default() }));
        assert!(events.contains(&Event::Thinking("Hm.".to_owned())));
        let notices: Vec<_> = events
            .iter()
            .filter_map(|event| match event {
                Event::ToolNotice(notice) => Some((notice.phase, notice.about.as_str())),
                _ => None,
            })
            .collect();
        assert_eq!(notices, [(ToolPhase::Begins, "rm -rf /"), (ToolPhase::Failed, "")]);
        let heard = heard(&scratch);
        assert!(heard.contains(answer), "{heard}");
        assert!(heard.contains("Be brief.\\n\\nWhat?"), "{heard}");
        assert!(!heard.contains("set_config_option"), "{heard}");
        assert_eq!(heard.contains("\"modeId\":\"plan\""), rights == OwnRights::Read, "{heard}");
    }
}

#[test]
fn a_whole_task_gives_an_agent_the_rights_that_it_can_be_kept_to() {
    let (hosts, _) = agents_host::hosts(None);
    let opencode = hosts.into_iter().find(|it| it.id.as_str() == "opencode").unwrap();
    for (host, configured, wanted, answer, env) in [
        (None, None, OwnRights::Read, "no", ""),
        // Nothing keeps it to changing files.
        (None, None, OwnRights::Edit, "no", ""),
        (None, None, OwnRights::All, "once", ""),
        (None, Some(OwnRights::Edit), OwnRights::All, "no", ""),
        (opencode.headless.clone(), None, OwnRights::Edit, "once", r#""bash":"deny""#),
    ] {
        let (scratch, provider) = stage(&format!("env > environment\n{ASKS}"));
        let provider = AcpProvider { rights: configured, host, ..provider };
        let work = crate::request::Work { cwd: scratch.path("."), rights: wanted };
        let request = Request::new(DEFAULT_MODEL).with_message(Message::user("Do it."));
        let (events, error) =
            ask_for(&provider, request.with_work(work), &CancellationToken::new());
        assert!(error.is_none(), "{error:?}");
        let turn: Turn = events.into_iter().collect();
        assert_eq!(turn.conclusion(), "Forty-two.");
        let heard = heard(&scratch);
        assert!(heard.contains(&format!("\"optionId\":\"{answer}\"")), "{wanted:?}: {heard}");
        assert!(heard.contains("Your last message is the result"), "{heard}");
        let environment = fs_err::read_to_string(scratch.path("environment")).unwrap();
        assert!(environment.contains(env), "{environment}");
    }
}

#[test]
fn an_agent_that_cannot_be_kept_to_reading_is_asked_nothing() {
    use agents_system::explain::Explain as _;
    let (scratch, provider) = stage_with(ASKS, "");
    let (events, error) = ask(&provider, DEFAULT_MODEL, &CancellationToken::new());
    assert_eq!(events, []);
    let error = error.unwrap();
    assert_eq!(error.to_string(), "`mine`: the agent cannot be kept to reading");
    assert_eq!(
        error.hint().unwrap(),
        "name the host that it is with `host` in [providers.mine], or let it change files and run commands with \
         `rights = \"edit\"`"
    );
    let heard = heard(&scratch);
    assert!(heard.contains("session/new") && !heard.contains("session/prompt"), "{heard}");

    let edits = AcpProvider { rights: Some(OwnRights::Edit), ..provider };
    let (_, error) = ask(&edits, DEFAULT_MODEL, &CancellationToken::new());
    assert!(error.is_none(), "{error:?}");
    // One that is confined by its environment needs no mode.
    let (hosts, _) = agents_host::hosts(None);
    let goose = hosts.into_iter().find(|it| it.id.as_str() == "goose").unwrap();
    let confined = AcpProvider { rights: None, host: goose.headless, ..edits };
    let (_, error) = ask(&confined, DEFAULT_MODEL, &CancellationToken::new());
    assert!(error.is_none(), "{error:?}");
}

#[test]
fn a_model_is_set_if_the_agent_has_it() {
    let (scratch, provider) = stage(ASKS);
    let (events, error) = ask(&provider, "b", &CancellationToken::new());
    assert!(error.is_none(), "{error:?}");
    assert!(matches!(&events[0], Event::Started { model, .. } if model == "b"));
    assert!(heard(&scratch).contains("\"value\":\"b\""));
    let (_, error) = ask(&provider, "c", &CancellationToken::new());
    assert_eq!(error.unwrap().to_string(), "`mine`: the agent has no model `c`; it has a, b");
}

#[test]
fn what_goes_wrong_is_told_with_the_last_that_was_said() {
    for (prompt, message) in [
        (
            "echo 'please log in' >&2; sleep 0.2; say \"{\\\"jsonrpc\\\":\\\"2.0\\\",\\\"id\\\":$id,\\\"error\\\":{\\\"code\\\":-32000,\\\"message\\\":\\\"Authentication required\\\"}}\"",
            "Authentication required",
        ),
        (
            "echo 'please log in' >&2; exit 3",
            "it did not finish its answer: it ended with exit code 3",
        ),
    ] {
        let (_scratch, provider) = stage(prompt);
        let (_, error) = ask(&provider, DEFAULT_MODEL, &CancellationToken::new());
        let error = error.unwrap();
        assert!(error.to_string().contains(message), "{error}");
        use agents_system::explain::Explain as _;
        assert_eq!(error.details().as_deref(), Some("please log in"), "{error}");
    }
}

#[test]
fn cancelling_ends_the_agent() {
    let (scratch, provider) = stage("sleep 60 & echo $! > pid; wait");
    let cancel = CancellationToken::new();
    let later = cancel.clone();
    let pid = scratch.path("pid");
    let file = pid.clone();
    let waiter = std::thread::spawn(move || {
        while fs_err::read_to_string(&file).map_or(true, |text| text.trim().is_empty()) {
            std::thread::sleep(Duration::from_millis(5));
        }
        later.cancel();
    });
    let (_, error) = ask(&provider, DEFAULT_MODEL, &cancel);
    waiter.join().unwrap();
    assert!(matches!(error.unwrap().problem, Problem::Cancelled));
    let stat = format!("/proc/{}/stat", fs_err::read_to_string(&pid).unwrap().trim());
    let gone = (0..500).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        fs_err::read_to_string(&stat).map_or(true, |stat| stat.contains(") Z "))
    });
    assert!(gone);
}

#[test]
fn tokens_are_told_in_two_places() {
    let told = |more: serde_json::Value| {
        let mut response = serde_json::json!({"stopReason": "end_turn"});
        response.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        usage(&serde_json::from_value(response).unwrap())
    };
    let seen = Some(Usage { input: 3, output: 4, ..Usage::default() });
    let gemini = serde_json::json!({"_meta": {"quota": {"token_count": {"input_tokens": 3, "output_tokens": 4}}}});
    assert_eq!(told(gemini), seen);
    let own = serde_json::json!({"usage": {"totalTokens": 7, "inputTokens": 3, "outputTokens": 4}});
    assert_eq!(told(own), seen);
    assert_eq!(told(serde_json::json!({"_meta": {"quota": {}}})), None);
}
