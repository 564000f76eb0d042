use insta::assert_snapshot;

use super::*;
use crate::{
    host::TimeUnit,
    testing::{built_in, pick},
};

fn shown(name: &str, events: &[Event]) -> String {
    let hosts = built_in();
    let host = pick(&hosts, &[name])[0];
    let lines = registrations(host, events).into_iter().map(|it| {
        let value = match it.owned {
            Owned::WholeFile if it.value.is_string() => it.file_text(),
            Owned::WholeFile | Owned::Key => serde_json::to_string_pretty(&it.value).unwrap(),
            _ => it.value.to_string(),
        };
        format!("{:?} {}\n{value}\n", it.owned, it.at.join("."))
    });
    lines.collect()
}

/// One event about a tool and one that is not.
const TWO: &[Event] = &[Event::PreToolUse, Event::UserPromptSubmit];

#[test]
fn claude() {
    assert_snapshot!(shown("claude", &Event::ALL), @r#"
    ListItem hooks.PreToolUse
    {"matcher":"*","hooks":[{"type":"command","command":"cargo-agents hook claude pre-tool-use","timeout":30}]}
    ListItem hooks.PostToolUse
    {"matcher":"*","hooks":[{"type":"command","command":"cargo-agents hook claude post-tool-use","timeout":30}]}
    ListItem hooks.PostToolUseFailure
    {"matcher":"*","hooks":[{"type":"command","command":"cargo-agents hook claude post-tool-use-failure","timeout":30}]}
    ListItem hooks.UserPromptSubmit
    {"hooks":[{"type":"command","command":"cargo-agents hook claude user-prompt-submit","timeout":30}]}
    ListItem hooks.SessionStart
    {"hooks":[{"type":"command","command":"cargo-agents hook claude session-start","timeout":30}]}
    ListItem hooks.SessionEnd
    {"hooks":[{"type":"command","command":"cargo-agents hook claude session-end","timeout":30}]}
    ListItem hooks.Stop
    {"hooks":[{"type":"command","command":"cargo-agents hook claude stop","timeout":30}]}
    ListItem hooks.SubagentStart
    {"hooks":[{"type":"command","command":"cargo-agents hook claude subagent-start","timeout":30}]}
    ListItem hooks.SubagentStop
    {"hooks":[{"type":"command","command":"cargo-agents hook claude subagent-stop","timeout":30}]}
    ListItem hooks.PermissionRequest
    {"matcher":"*","hooks":[{"type":"command","command":"cargo-agents hook claude permission-request","timeout":30}]}
    ListItem hooks.PreCompact
    {"hooks":[{"type":"command","command":"cargo-agents hook claude pre-compact","timeout":30}]}
    ListItem hooks.Notification
    {"hooks":[{"type":"command","command":"cargo-agents hook claude notification","timeout":30}]}
    "#);
}

#[test]
fn codex() {
    assert_snapshot!(shown("codex", &Event::ALL), @r#"
    ListItem hooks.PreToolUse
    {"matcher":"","hooks":[{"type":"command","command":"cargo-agents hook codex pre-tool-use","timeout":30}]}
    ListItem hooks.PostToolUse
    {"matcher":"","hooks":[{"type":"command","command":"cargo-agents hook codex post-tool-use","timeout":30}]}
    ListItem hooks.UserPromptSubmit
    {"hooks":[{"type":"command","command":"cargo-agents hook codex user-prompt-submit","timeout":30}]}
    ListItem hooks.SessionStart
    {"hooks":[{"type":"command","command":"cargo-agents hook codex session-start","timeout":30}]}
    ListItem hooks.SessionEnd
    {"hooks":[{"type":"command","command":"cargo-agents hook codex session-end","timeout":30}]}
    ListItem hooks.Stop
    {"hooks":[{"type":"command","command":"cargo-agents hook codex stop","timeout":30}]}
    ListItem hooks.SubagentStart
    {"hooks":[{"type":"command","command":"cargo-agents hook codex subagent-start","timeout":30}]}
    ListItem hooks.SubagentStop
    {"hooks":[{"type":"command","command":"cargo-agents hook codex subagent-stop","timeout":30}]}
    ListItem hooks.PermissionRequest
    {"matcher":"","hooks":[{"type":"command","command":"cargo-agents hook codex permission-request","timeout":30}]}
    ListItem hooks.PreCompact
    {"hooks":[{"type":"command","command":"cargo-agents hook codex pre-compact","timeout":30}]}
    "#);
}

#[test]
fn copilot() {
    assert_snapshot!(shown("copilot", TWO), @r#"
    WholeFile 
    {
      "version": 1,
      "hooks": {
        "preToolUse": [
          {
            "type": "command",
            "bash": "cargo-agents hook copilot pre-tool-use",
            "powershell": "cargo-agents hook copilot pre-tool-use",
            "timeoutSec": 30
          }
        ],
        "userPromptSubmitted": [
          {
            "type": "command",
            "bash": "cargo-agents hook copilot user-prompt-submit",
            "powershell": "cargo-agents hook copilot user-prompt-submit",
            "timeoutSec": 30
          }
        ]
      }
    }
    "#);
}

#[test]
fn gemini_counts_milliseconds() {
    assert_snapshot!(shown("gemini", &Event::ALL), @r#"
    ListItem hooks.BeforeTool
    {"matcher":".*","hooks":[{"name":"cargo-agents","type":"command","command":"cargo-agents hook gemini pre-tool-use","timeout":30000}]}
    ListItem hooks.AfterTool
    {"matcher":".*","hooks":[{"name":"cargo-agents","type":"command","command":"cargo-agents hook gemini post-tool-use","timeout":30000}]}
    ListItem hooks.BeforeAgent
    {"hooks":[{"name":"cargo-agents","type":"command","command":"cargo-agents hook gemini user-prompt-submit","timeout":30000}]}
    ListItem hooks.SessionStart
    {"hooks":[{"name":"cargo-agents","type":"command","command":"cargo-agents hook gemini session-start","timeout":30000}]}
    ListItem hooks.SessionEnd
    {"hooks":[{"name":"cargo-agents","type":"command","command":"cargo-agents hook gemini session-end","timeout":30000}]}
    ListItem hooks.AfterAgent
    {"hooks":[{"name":"cargo-agents","type":"command","command":"cargo-agents hook gemini stop","timeout":30000}]}
    ListItem hooks.PreCompress
    {"hooks":[{"name":"cargo-agents","type":"command","command":"cargo-agents hook gemini pre-compact","timeout":30000}]}
    ListItem hooks.Notification
    {"hooks":[{"name":"cargo-agents","type":"command","command":"cargo-agents hook gemini notification","timeout":30000}]}
    "#);
}

#[test]
fn antigravity() {
    assert_snapshot!(shown("antigravity", &Event::ALL), @r#"
    Key cargo-agents
    {
      "PreToolUse": [
        {
          "matcher": "*",
          "hooks": [
            {
              "type": "command",
              "command": "cargo-agents hook antigravity pre-tool-use",
              "timeout": 30
            }
          ]
        }
      ],
      "PostToolUse": [
        {
          "matcher": "*",
          "hooks": [
            {
              "type": "command",
              "command": "cargo-agents hook antigravity post-tool-use",
              "timeout": 30
            }
          ]
        }
      ],
      "PreInvocation": [
        {
          "type": "command",
          "command": "cargo-agents hook antigravity user-prompt-submit",
          "timeout": 30
        }
      ],
      "Stop": [
        {
          "type": "command",
          "command": "cargo-agents hook antigravity stop",
          "timeout": 30
        }
      ]
    }
    "#);
}

#[test]
fn kiro() {
    assert_snapshot!(shown("kiro", TWO), @r#"
    WholeFile 
    {
      "version": "v1",
      "hooks": [
        {
          "name": "cargo-agents-pre-tool-use",
          "trigger": "PreToolUse",
          "action": {
            "type": "command",
            "command": "cargo-agents hook kiro pre-tool-use"
          },
          "timeout": 30,
          "enabled": true
        },
        {
          "name": "cargo-agents-user-prompt-submit",
          "trigger": "UserPromptSubmit",
          "action": {
            "type": "command",
            "command": "cargo-agents hook kiro user-prompt-submit"
          },
          "timeout": 30,
          "enabled": true
        }
      ]
    }
    "#);
}

#[test]
fn goose() {
    assert_snapshot!(shown("goose", TWO), @r#"
    WholeFile 
    {
      "hooks": {
        "PreToolUse": [
          {
            "hooks": [
              {
                "type": "command",
                "command": "cargo-agents hook goose pre-tool-use",
                "timeout": 30
              }
            ]
          }
        ],
        "UserPromptSubmit": [
          {
            "hooks": [
              {
                "type": "command",
                "command": "cargo-agents hook goose user-prompt-submit",
                "timeout": 30
              }
            ]
          }
        ]
      }
    }
    "#);
}

#[test]
fn cursor() {
    assert_snapshot!(shown("cursor", TWO), @r#"
    Scaffold version
    1
    ListItem hooks.preToolUse
    {"command":"cargo-agents hook cursor pre-tool-use","timeout":30}
    ListItem hooks.beforeSubmitPrompt
    {"command":"cargo-agents hook cursor user-prompt-submit","timeout":30}
    "#);
}

#[test]
fn qwen() {
    assert_snapshot!(shown("qwen", TWO), @r#"
    ListItem hooks.PreToolUse
    {"matcher":"*","hooks":[{"type":"command","command":"cargo-agents hook qwen pre-tool-use","timeout":30}]}
    ListItem hooks.UserPromptSubmit
    {"hooks":[{"type":"command","command":"cargo-agents hook qwen user-prompt-submit","timeout":30}]}
    "#);
}

#[test]
fn factory() {
    assert_snapshot!(shown("factory", &Event::ALL), @r#"
    ListItem hooks.PreToolUse
    {"matcher":"*","hooks":[{"type":"command","command":"cargo-agents hook factory pre-tool-use","timeout":30}]}
    ListItem hooks.PostToolUse
    {"matcher":"*","hooks":[{"type":"command","command":"cargo-agents hook factory post-tool-use","timeout":30}]}
    ListItem hooks.UserPromptSubmit
    {"hooks":[{"type":"command","command":"cargo-agents hook factory user-prompt-submit","timeout":30}]}
    ListItem hooks.SessionStart
    {"hooks":[{"type":"command","command":"cargo-agents hook factory session-start","timeout":30}]}
    ListItem hooks.SessionEnd
    {"hooks":[{"type":"command","command":"cargo-agents hook factory session-end","timeout":30}]}
    ListItem hooks.Stop
    {"hooks":[{"type":"command","command":"cargo-agents hook factory stop","timeout":30}]}
    ListItem hooks.SubagentStop
    {"hooks":[{"type":"command","command":"cargo-agents hook factory subagent-stop","timeout":30}]}
    ListItem hooks.PreCompact
    {"hooks":[{"type":"command","command":"cargo-agents hook factory pre-compact","timeout":30}]}
    ListItem hooks.Notification
    {"hooks":[{"type":"command","command":"cargo-agents hook factory notification","timeout":30}]}
    "#);
}

/// The module asks or tells about every event that the descriptor lists, and about no other.
#[test]
fn opencode_gets_a_module_that_asks_for_its_events() {
    let module = shown("opencode", &Event::ALL);
    assert!(module.starts_with("WholeFile \n// Written by `cargo agents`"), "{module}");
    assert!(module.contains("const PROGRAM = \"cargo-agents\"\n"), "{module}");
    let hosts = built_in();
    let hooks = pick(&hosts, &["opencode"])[0].hooks.get().unwrap();
    for event in Event::ALL {
        let asks = ["ask", "tell"]
            .iter()
            .any(|it| module.contains(&format!("{it}(\"{}\"", event.kebab())));
        assert_eq!(asks, hooks.event(event).is_some(), "{event}");
    }
    for (_, name) in &hooks.events {
        assert!(module.contains(name.as_str()), "{name}");
    }
}

/// Whether a host runs a module, which builds its command lines itself.
fn hooks_module(host: &Host) -> bool {
    host.hooks.get().is_some_and(|hooks| hooks.shape == HookShape::OpenCode)
}

#[test]
fn hosts_without_hooks_get_nothing() {
    for name in ["amp", "zed"] {
        assert_eq!(shown(name, &Event::ALL), "");
    }
}

#[test]
fn events_that_nobody_asked_for_and_events_that_the_host_lacks_are_left_out() {
    assert_eq!(shown("claude", &[]), "");
    assert_eq!(shown("codex", &[Event::Notification]), "");
    assert_eq!(shown("copilot", &[]), "");
}

#[test]
fn every_command_names_its_host_and_its_event() {
    for host in built_in() {
        for registration in registrations(&host, &Event::ALL) {
            if hooks_module(&host) {
                continue;
            }
            let text = registration.value.to_string();
            let Some(hooks) = host.hooks.get() else { panic!("{} has none", host.id) };
            let events = match registration.event {
                Some(event) => vec![event],
                None if registration.owned == Owned::Scaffold => vec![],
                None => hooks.events.iter().map(|(event, _)| *event).collect(),
            };
            for event in events {
                assert!(text.contains(&format!("\"{}\"", command(&host.id, event))), "{text}");
                let kebab = format!("cargo-agents hook {} {}", host.id, event.kebab());
                assert_eq!(command(&host.id, event), kebab);
            }
        }
    }
}

#[test]
fn only_gemini_counts_milliseconds() {
    for host in built_in() {
        let Some(timeout) = host.hooks.get().and_then(|hooks| hooks.timeout) else { continue };
        let expected =
            if host.id.as_str() == "gemini" { TimeUnit::Milliseconds } else { TimeUnit::Seconds };
        assert_eq!(timeout.unit, expected, "{}", host.id);
        assert_eq!(timeout.duration().as_secs(), 30, "{}", host.id);
    }
}

#[test]
fn the_order_of_the_request_does_not_matter() {
    let mut backwards = Event::ALL;
    backwards.reverse();
    for host in built_in() {
        assert_eq!(registrations(&host, &backwards), registrations(&host, &Event::ALL));
    }
}
