//! `cargo agents acp`, as an editor with the official library meets it.

use std::{
    process::Stdio,
    sync::{Arc, Mutex},
    time::Duration,
};

use agent_client_protocol::{
    Agent, ByteStreams, Client, Error, on_receive_notification, on_receive_request,
    schema::ProtocolVersion,
    v1::{
        ConnectionTo,
        schema::{
            CancelNotification, ContentBlock, InitializeRequest, ListSessionsRequest,
            LoadSessionRequest, NewSessionRequest, NewSessionResponse, PromptRequest,
            PromptResponse, RequestPermissionOutcome, RequestPermissionRequest,
            RequestPermissionResponse, SelectedPermissionOutcome, SessionNotification,
            SetSessionModeRequest, StopReason, TextContent,
        },
    },
};
use agents_testkit::collector::Collector;
use serde_json::{Value, json};
use tokio::{io::AsyncWriteExt as _, process::Command};
use tokio_util::compat::{TokioAsyncReadCompatExt as _, TokioAsyncWriteCompatExt as _};

use crate::{
    models::CUSTOMARY,
    tap::{Heard, Tap, ends_unread},
    tasks::{
        Stage, is_running,
        secrets::{VALUE, asking, got_it},
        telemetry::{in_order, sending_to},
    },
};

/// The answer of somebody who never does.
const SILENT: &str = "silent";

/// An editor, and what it has seen.
#[derive(Clone)]
struct Editor {
    /// What it answers to every question: the id of an option.
    answer: &'static str,
    /// The agent that it starts the program with, if any.
    agent: Option<&'static str>,
    /// Variables of the program.
    variables: Vec<(&'static str, String)>,
    /// Every byte that the program has sent.
    heard: Heard,
    updates: Arc<Mutex<Vec<Value>>>,
    asked: Arc<Mutex<Vec<Value>>>,
}

impl Default for Editor {
    fn default() -> Self {
        Self {
            answer: "",
            agent: Some("helper"),
            variables: Vec::new(),
            heard: Heard::default(),
            updates: Arc::default(),
            asked: Arc::default(),
        }
    }
}

impl Editor {
    fn answering(answer: &'static str) -> Self {
        Self { answer, ..Self::default() }
    }

    /// Starts the program, speaks with it, and goes away.
    async fn meets<T>(
        &self,
        stage: &Stage,
        args: &[&str],
        speak: impl AsyncFnOnce(ConnectionTo<Agent>) -> Result<T, Error>,
    ) -> T {
        let mut all = vec!["acp"];
        all.extend(self.agent.iter().flat_map(|it| ["--agent", *it]));
        all.extend(args);
        let mut command = stage.world.command(&all);
        CUSTOMARY.iter().for_each(|name| {
            command.env_remove(name);
        });
        command.envs(self.variables.iter().cloned());
        let mut command = Command::from(command);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().unwrap();
        let (stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let stdout = Tap::new(stdout, Arc::clone(&self.heard));
        let transport = ByteStreams::new(stdin.compat_write(), stdout.compat());
        let (updates, asked, answer) = (self.updates.clone(), self.asked.clone(), self.answer);
        let said = Client
            .v1()
            .name("editor")
            .on_receive_notification(
                async move |it: SessionNotification, _| {
                    updates.lock().unwrap().push(serde_json::to_value(it.update).unwrap());
                    Ok(())
                },
                on_receive_notification!(),
            )
            .on_receive_request(
                async move |it: RequestPermissionRequest, responder, _| {
                    let outcome = match answer {
                        "" => RequestPermissionOutcome::Cancelled,
                        // Somebody who never answers; the connection goes on meanwhile.
                        SILENT => {
                            asked.lock().unwrap().push(serde_json::to_value(it).unwrap());
                            std::mem::forget(responder);
                            return Ok(());
                        }
                        id => {
                            RequestPermissionOutcome::Selected(SelectedPermissionOutcome::new(id))
                        }
                    };
                    asked.lock().unwrap().push(serde_json::to_value(it).unwrap());
                    responder.respond(RequestPermissionResponse::new(outcome))
                },
                on_receive_request!(),
            )
            .connect_with(transport, async |to| {
                let hello = InitializeRequest::new(ProtocolVersion::V1);
                let hello = to.send_request(hello).block_task().await?;
                assert!(hello.agent_capabilities.load_session);
                speak(to).await
            })
            .await
            .unwrap();
        assert_eq!(child.wait().await.unwrap().code(), Some(0));
        said
    }

    /// All updates of a kind.
    fn seen(&self, kind: &str) -> Vec<Value> {
        let all = self.updates.lock().unwrap();
        all.iter().filter(|it| it["sessionUpdate"] == kind).cloned().collect()
    }

    /// What was said, in one piece.
    fn heard(&self, kind: &str) -> String {
        let all = self.seen(kind);
        all.iter().filter_map(|it| it["content"]["text"].as_str()).collect()
    }
}

async fn begin(to: &ConnectionTo<Agent>, stage: &Stage) -> Result<NewSessionResponse, Error> {
    let root = stage.world.sample.root();
    to.send_request(NewSessionRequest::new(root.as_std_path())).block_task().await
}

async fn prompt(to: &ConnectionTo<Agent>, id: &str, text: &str) -> Result<PromptResponse, Error> {
    let text = ContentBlock::Text(TextContent::new(text));
    to.send_request(PromptRequest::new(id.to_owned(), vec![text])).block_task().await
}

#[tokio::test]
async fn a_conversation_is_told_as_it_happens() {
    let stage = Stage::new(
        "[[replies]]\nwhen = { text = \"what does it use\" }\ntext = \"I look.\"\ncalls = [{ name = \"read\", input = { path = \"Cargo.toml\" } }]\ntimes = 1\n\
         [[replies]]\nwhen = { result = \"tiny-sql\" }\ntext = \"It uses tiny-sql.\"\n\
         [[replies]]\nwhen = { text = \"which version\" }\ntext = \"0.3.1\"\n",
    );
    let editor = Editor::default();
    editor
        .meets(&stage, &[], async |to| {
            let session = begin(&to, &stage).await?;
            let modes = session.modes.unwrap();
            let ids: Vec<&str> = modes.available_modes.iter().map(|it| &*it.id.0).collect();
            assert_eq!(
                (&*modes.current_mode_id.0, ids),
                ("default", vec!["default", "accept-edits", "plan", "dont-ask"])
            );
            let id = session.session_id.0.to_string();
            let said = prompt(&to, &id, "what does it use?").await?;
            assert_eq!(said.stop_reason, StopReason::EndTurn);
            assert!(said.usage.is_some());
            // It goes on from there.
            prompt(&to, &id, "which version?").await
        })
        .await;
    assert_eq!(editor.heard("agent_message_chunk"), "I look.It uses tiny-sql.0.3.1");
    let calls = editor.seen("tool_call");
    assert_eq!(calls.len(), 1, "{calls:?}");
    assert_eq!(
        (&calls[0]["title"], &calls[0]["kind"]),
        (&json!("read Cargo.toml"), &json!("read"))
    );
    let ended = editor.seen("tool_call_update");
    assert_eq!(
        (&ended[0]["toolCallId"], &ended[0]["status"]),
        (&calls[0]["toolCallId"], &json!("completed"))
    );
    let commands = editor.seen("available_commands_update");
    assert!(commands[0].to_string().contains("\"review\""), "{commands:?}");
}

const ASKS: &str = "[[replies]]\ncalls = [{ name = \"bash\", input = { command = \"touch made\" } }]\n[[replies]]\ntext = \"Tried.\"\n";

#[tokio::test]
async fn the_editor_is_asked_for_permission() {
    for (answer, is_made) in [("once", true), ("always", true), ("no", false), ("", false)] {
        let stage = Stage::new(ASKS);
        let editor = Editor::answering(answer);
        editor
            .meets(&stage, &[], async |to| {
                let session = begin(&to, &stage).await?;
                prompt(&to, &session.session_id.0, "do it").await
            })
            .await;
        let made = stage.world.sample.root().join("made").exists();
        assert_eq!(made, is_made, "{answer}");
        let asked = editor.asked.lock().unwrap().clone();
        assert_eq!(asked.len(), 1, "{asked:?}");
        assert!(
            asked[0]["toolCall"]["title"].as_str().unwrap().contains("touch made"),
            "{asked:?}"
        );
    }
}

#[tokio::test]
async fn what_is_cancelled_in_the_middle_of_a_call_ends() {
    let stage = Stage::new(
        "[[replies]]\ncalls = [{ name = \"bash\", input = { command = \"touch started; sleep 47.2181\" } }]\n[[replies]]\nwhen = { text = \"again\" }\ntext = \"Here.\"\n",
    );
    let editor = Editor::default();
    let started = stage.world.sample.root().join("started");
    editor
        .meets(&stage, &["--allow", "bash"], async |to| {
            let id = begin(&to, &stage).await?.session_id;
            let cancel = async {
                while !started.exists() {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
                // One thing at a time.
                let busy = prompt(&to, &id.0, "meanwhile").await.unwrap_err();
                assert_eq!(code(&busy), -32602, "{busy:?}");
                to.send_notification(CancelNotification::new(id.clone())).unwrap();
            };
            let (said, ()) = tokio::join!(prompt(&to, &id.0, "sleep"), cancel);
            assert_eq!(said?.stop_reason, StopReason::Cancelled);
            assert!(!is_running("sleep 47.2181"));
            prompt(&to, &id.0, "again").await
        })
        .await;
    assert_eq!(editor.heard("agent_message_chunk"), "Here.");
}

#[tokio::test]
async fn what_is_cancelled_in_the_same_breath_does_not_begin() {
    let stage = Stage::new(
        "[[replies]]\nwhen = { text = \"again\" }\ntext = \"Here.\"\n[[replies]]\ntext = \"Too late.\"\n",
    );
    let editor = Editor::default();
    editor
        .meets(&stage, &[], async |to| {
            let id = begin(&to, &stage).await?.session_id;
            let text = ContentBlock::Text(TextContent::new("hello"));
            let said = to.send_request(PromptRequest::new(id.clone(), vec![text]));
            to.send_notification(CancelNotification::new(id.clone()))?;
            assert_eq!(said.block_task().await?.stop_reason, StopReason::Cancelled);
            prompt(&to, &id.0, "again").await
        })
        .await;
    assert_eq!(editor.heard("agent_message_chunk"), "Here.");
}

fn code(error: &Error) -> i32 {
    serde_json::to_value(error).unwrap()["code"].as_i64().unwrap().try_into().unwrap()
}

#[tokio::test]
async fn what_the_editor_could_have_said_otherwise_is_told_as_that() {
    let stage = Stage::new("");
    let missing = stage.world.sample.root().join("missing");
    Editor::default()
        .meets(&stage, &["--mode", "dont-ask"], async |to| {
            for cwd in [std::path::Path::new("relative"), missing.as_std_path()] {
                let begun = to.send_request(NewSessionRequest::new(cwd)).block_task().await;
                let error = begun.unwrap_err();
                assert_eq!(code(&error), -32602, "{error:?}");
                let told = error.data.unwrap().to_string();
                assert!(told.contains("the absolute path of a directory that exists"), "{told}");
            }
            let session = begin(&to, &stage).await?;
            let modes = session.modes.unwrap();
            assert_eq!(&*modes.current_mode_id.0, "dont-ask");
            assert!(modes.available_modes.iter().any(|it| it.id == modes.current_mode_id));
            let error = prompt(&to, &session.session_id.0, " ").await.unwrap_err();
            assert_eq!(code(&error), -32602, "{error:?}");
            Ok(())
        })
        .await;
}

#[tokio::test]
async fn an_editor_that_never_reads_is_not_waited_for() {
    let stage = Stage::new("");
    for is_signal in [false, true] {
        let mut command = Command::from(stage.world.command(&["acp"]));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().unwrap();
        let (mut write, read) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        for id in 0..1000 {
            let params = json!({"protocolVersion": 1});
            let request =
                json!({"jsonrpc": "2.0", "id": id, "method": "initialize", "params": params});
            write.write_all(format!("{request}\n").as_bytes()).await.unwrap();
        }
        ends_unread(child, write, is_signal).await;
        drop(read);
    }
}

#[tokio::test]
async fn a_session_goes_on_after_a_restart() {
    let stage = Stage::new(
        "[[replies]]\nwhen = { text = \"remember\" }\ntext = \"I will.\"\n[[replies]]\nwhen = { text = \"what was it\" }\ntext = \"Blue.\"\n",
    );
    let id = Editor::default()
        .meets(&stage, &[], async |to| {
            let id = begin(&to, &stage).await?.session_id;
            prompt(&to, &id.0, "remember: blue").await?;
            Ok(id)
        })
        .await;
    let editor = Editor::default();
    editor
        .meets(&stage, &[], async |to| {
            let listed = to.send_request(ListSessionsRequest::new()).block_task().await?;
            assert_eq!((listed.sessions.len(), &listed.sessions[0].session_id), (1, &id));
            assert_eq!(listed.sessions[0].title.as_deref(), Some("remember: blue"));
            let root = stage.world.sample.root();
            let load = LoadSessionRequest::new(id.clone(), root.as_std_path());
            to.send_request(load).block_task().await?;
            assert!(editor.heard("user_message_chunk").contains("remember: blue"));
            assert_eq!(editor.heard("agent_message_chunk"), "I will.");
            prompt(&to, &id.0, "what was it?").await?;
            let unknown = LoadSessionRequest::new("../../etc/passwd", root.as_std_path());
            let error = to.send_request(unknown).block_task().await.unwrap_err();
            assert_eq!(code(&error), -32002, "{error:?}");
            let error = prompt(&to, "no-such-session", "x").await.unwrap_err();
            assert_eq!(code(&error), -32002, "{error:?}");
            Ok(())
        })
        .await;
    assert_eq!(editor.heard("agent_message_chunk"), "I will.Blue.");
}

#[tokio::test]
async fn a_mode_narrows_what_comes_after_it_and_commands_can_be_typed() {
    let stage = Stage::new(
        "[[replies]]\nwhen = { text = \"do it\" }\ncalls = [{ name = \"bash\", input = { command = \"touch made\" } }]\ntimes = 1\n\
         [[replies]]\nwhen = { text = \"Greet the moon\" }\ntext = \"Hello, moon.\"\n\
         [[replies]]\ntext = \"I may not.\"\n",
    );
    stage
        .world
        .sample
        .write(".agents/commands/greet.md", "---\ndescription: greets\n---\nGreet $ARGUMENTS\n");
    let editor = Editor::answering("once");
    editor
        .meets(&stage, &["--allow", "bash"], async |to| {
            let id = begin(&to, &stage).await?.session_id;
            let plan = SetSessionModeRequest::new(id.clone(), "plan");
            to.send_request(plan).block_task().await?;
            prompt(&to, &id.0, "do it").await?;
            let more = SetSessionModeRequest::new(id.clone(), "bypass-permissions");
            assert!(to.send_request(more).block_task().await.is_err());
            prompt(&to, &id.0, "/greet the moon").await
        })
        .await;
    assert!(!stage.world.sample.root().join("made").exists());
    assert!(editor.heard("agent_message_chunk").ends_with("Hello, moon."), "{:?}", editor.updates);
}

#[tokio::test]
async fn the_editor_is_asked_whether_the_agent_gets_a_secret_and_never_sees_it() {
    let timeout = "[tasks]\napproval-timeout = \"1s\"\n";
    for (answer, got) in
        [("once", true), ("always", true), ("no", false), ("", false), (SILENT, false)]
    {
        let stage = asking();
        let more = if answer == SILENT { timeout } else { "" };
        stage.config(&format!("{more}[secrets]\nCI_TOKEN = {{ env = \"OUTER\" }}\n"));
        let mut editor = Editor::answering(answer);
        editor.variables.push(("OUTER", VALUE.to_owned()));
        editor
            .meets(&stage, &["--allow", "bash"], async |to| {
                let id = begin(&to, &stage).await?.session_id;
                prompt(&to, &id.0, "publish it").await
            })
            .await;
        let said = editor.heard("agent_message_chunk");
        let expected = if got { "Published." } else { "Then not." };
        assert_eq!((said.as_str(), got_it(&stage)), (expected, got), "{answer}");
        let asked = editor.asked.lock().unwrap().clone();
        assert_eq!(asked.len(), 1, "{asked:?}");
        assert_eq!(
            asked[0]["toolCall"]["title"],
            "helper: `helper` wants the secret `CI_TOKEN` (from `OUTER`) for commands that name it, and says: to publish it"
        );
        let names: Vec<&str> = asked[0]["options"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it["name"].as_str().unwrap())
            .collect();
        assert_eq!(names, ["Allow for 5 min", "Allow for this session", "Deny"]);
        let heard = String::from_utf8_lossy(&editor.heard.lock().unwrap()).into_owned();
        assert!(!heard.is_empty() && !heard.contains(VALUE), "{answer}");
    }
}

#[tokio::test]
async fn a_secret_that_the_session_was_given_is_not_asked_for_again() {
    let stage = asking();
    let mut editor = Editor::answering("always");
    editor.variables.push(("OUTER", VALUE.to_owned()));
    editor
        .meets(&stage, &["--allow", "bash"], async |to| {
            let id = begin(&to, &stage).await?.session_id;
            prompt(&to, &id.0, "publish it").await?;
            // The script plays from its beginning for each task: it asks once more.
            prompt(&to, &id.0, "and again").await
        })
        .await;
    assert_eq!(editor.heard("agent_message_chunk"), "Published.Published.");
    assert_eq!(editor.asked.lock().unwrap().len(), 1);
    let stage = asking();
    let editor = Editor { variables: editor.variables.clone(), ..Editor::default() };
    editor
        .meets(&stage, &["--allow", "bash", "--secret", "CI_TOKEN"], async |to| {
            let id = begin(&to, &stage).await?.session_id;
            prompt(&to, &id.0, "publish it").await
        })
        .await;
    assert!(got_it(&stage) && editor.asked.lock().unwrap().is_empty());
}

#[tokio::test]
async fn without_an_agent_it_is_the_usual_one_on_whichever_model_there_is() {
    // Its definition wants `sonnet`, which nobody has here.
    let stage = Stage::new(
        "[[replies]]\nwhen = { text = \"again\" }\ntext = \"Once more.\"\n[[replies]]\ntext = \"Hello.\"\n",
    );
    let editor = Editor { agent: None, ..Editor::default() };
    editor
        .meets(&stage, &[], async |to| {
            let id = begin(&to, &stage).await?.session_id;
            prompt(&to, &id.0, "hello").await?;
            prompt(&to, &id.0, "again").await
        })
        .await;
    assert_eq!(editor.heard("agent_message_chunk"), "Hello.Once more.");
    let list = stage.world.json(&["task", "list"]);
    assert_eq!(list["tasks"][0]["agent"], "general-purpose", "{list}");
    // Whoever chooses one gets that one, or is told why not.
    let editor = Editor { agent: Some("general-purpose"), ..Editor::default() };
    let error = editor
        .meets(&stage, &[], async |to| {
            let id = begin(&to, &stage).await?.session_id;
            Ok(prompt(&to, &id.0, "hello").await.unwrap_err())
        })
        .await;
    let told = error.data.unwrap().to_string();
    assert!(told.contains("no model that there is fits `sonnet`"), "{told}");
    // Where there is none at all, that is told, with what to do.
    stage.world.config("[defaults]\nsymposium-recommendations = false\n");
    let editor = Editor { agent: None, ..Editor::default() };
    let error = editor
        .meets(&stage, &[], async |to| {
            let id = begin(&to, &stage).await?.session_id;
            Ok(prompt(&to, &id.0, "hello").await.unwrap_err())
        })
        .await;
    let told = error.data.unwrap().to_string();
    assert!(told.contains("there is no provider to ask") && told.contains("hint:"), "{told}");
}

#[tokio::test]
async fn what_is_said_later_is_linked_to_what_was_said_before() {
    let stage = Stage::new("[[replies]]\ntext = \"Hello.\"\n");
    let collector = Collector::start();
    let mut editor = Editor::default();
    editor.variables.extend(sending_to(&collector.url()));
    editor
        .meets(&stage, &[], async |to| {
            let (one, other) = (begin(&to, &stage).await?, begin(&to, &stage).await?);
            prompt(&to, &one.session_id.0, "hello").await?;
            // Another session knows nothing of it.
            prompt(&to, &other.session_id.0, "hello").await?;
            prompt(&to, &one.session_id.0, "and again").await
        })
        .await;
    let sent = in_order(&collector);
    let tasks: Vec<_> = sent.iter().filter(|it| it.name == "invoke_agent helper").collect();
    let [first, other, again] = &tasks[..] else { panic!("{tasks:?}") };
    assert!(first.links.is_empty() && other.links.is_empty());
    assert_eq!(
        (again.links[0].trace_id.as_str(), again.links[0].span_id.as_str()),
        (first.trace_id.as_str(), first.span_id.as_str())
    );
}
