//! Each dialect, with all that it can say.

use super::*;

#[test]
fn claude() {
    let definition = good(
        Dialect::Claude,
        &with(
            "model: opus\neffort: xhigh\npermissionMode: acceptEdits\nmaxTurns: 12\nskills: [a, b]\nmcpServers:\n  - github\n  - mine: {command: x}\nhooks:\n  Stop: []\nmemory: local\nbackground: true\nisolation: worktree\ncolor: blue",
        ),
    );
    assert_eq!(definition.model[0].0, "opus");
    assert_eq!(definition.effort, Some(Effort::Xhigh));
    assert_eq!(definition.permission_mode, Some(PermissionMode::AcceptEdits));
    assert_eq!(definition.limits.turns, Some(12));
    assert_eq!(definition.skills.include, ["a", "b"]);
    let servers = [
        McpServerUse::Named("github".to_owned()),
        McpServerUse::Inline { name: "mine".to_owned(), entry: json!({ "command": "x" }) },
    ];
    assert_eq!(definition.mcp_servers, servers);
    assert_eq!(definition.hooks, Some(json!({ "Stop": [] })));
    assert_eq!(definition.memory, Some(MemoryScope::Local));
    assert_eq!(definition.waiting, Some(Waiting::Background));
    assert_eq!(definition.isolation, Some(Isolation::Worktree));
}

#[test]
fn zeph() {
    let definition = good(
        Dialect::Zeph,
        &with(
            "model: fast\npermissions:\n  secrets: [A, B]\n  max_turns: 8\n  background: true\n  timeout_secs: 90\n  ttl_secs: 60\n  permission_mode: dont_ask\n  max_history_messages: 0\n  worktree: true\nskills:\n  include: [ci-*]\n  exclude: [x]\nhooks:\n  PreToolUse:\n    - matcher: read\n      hooks:\n        - {type: command, command: ./x, timeout_secs: 5}\nmemory: user",
        ),
    );
    let limits = definition.limits;
    assert_eq!((limits.turns, limits.history), (Some(8), Some(0)));
    assert_eq!(limits.time, Some(Duration::from_secs(90)));
    assert_eq!(limits.grant, Some(Duration::from_secs(60)));
    assert_eq!(definition.secrets, ["A", "B"]);
    assert_eq!(definition.permission_mode, Some(PermissionMode::DontAsk));
    assert_eq!(definition.skills.exclude, ["x"]);
    assert_eq!(definition.hooks.unwrap()["PreToolUse"][0]["hooks"][0]["timeout"], json!(5));
    // Absent is absent; the configuration has the defaults.
    let plain = good(Dialect::Zeph, &with("permissions: {}"));
    assert_eq!((plain.limits, plain.permission_mode, plain.waiting), Default::default());
    for (lines, finding) in [
        ("grants: []", "4:9 `grants` is not a key of Zeph"),
        ("permissions:\n  turns: 1", "5:10 `permissions.turns` is not a key of Zeph"),
        (
            "permissions:\n  permission_mode: acceptEdits",
            "5:20 `acceptEdits` is not a permission mode of Zeph",
        ),
        ("memory: global", "4:9 `global` is not a memory scope that is known"),
    ] {
        warned(Dialect::Zeph, &with(lines), &[finding]);
    }
    refused(
        Dialect::Zeph,
        "---\nname: x\ndescription: \"a\\nb\"\n---\n",
        &["3:14 `description` holds control characters"],
    );
}

#[test]
fn oh_my_pi() {
    let definition = good(
        Dialect::OhMyPi,
        &with(
            "model: pi/smol, '@deep'\nthinking-level: high\nblocking: 'TRUE'\noutput:\n  properties:\n    a-b: {type: string}\nautoloadSkills: [a]",
        )
        .replace(", '@deep'", ", @deep"),
    );
    let models: Vec<&str> = definition.model.iter().map(|it| it.0.as_str()).collect();
    assert_eq!(models, ["pi/smol", "@deep"]);
    assert_eq!(definition.effort, Some(Effort::High));
    assert_eq!(definition.waiting, Some(Waiting::Blocking));
    let output = definition.output.unwrap();
    assert_eq!(output.language, SchemaLanguage::Typedef);
    // Names inside of a schema are its own.
    assert_eq!(output.schema, json!({ "properties": { "a-b": { "type": "string" } } }));
    let med = warned(
        Dialect::OhMyPi,
        &with("thinking: med"),
        &["4:11 `med` is not a level of effort of oh-my-pi"],
    );
    assert_eq!(med.effort, Some(Effort::Medium));
    assert_eq!(good(Dialect::OhMyPi, &with("thinking: inherit")).effort, None);
    let unknown = &["4:11 `turbo` is not a level of effort that is known"];
    assert_eq!(warned(Dialect::OhMyPi, &with("thinking: turbo"), unknown).effort, None);
    let text = with("output: '{\"type\": \"object\"}'");
    assert_eq!(good(Dialect::OhMyPi, &text).output.unwrap().schema, json!({ "type": "object" }));
}

#[test]
fn agentsdk() {
    let definition = good(
        Dialect::AgentSdk,
        "---\nname: ABC\ndescription: ' d '\ntools: Read, Bash\nmodel: sonnet\npermissionMode: plan\nskills: a, b\n---\n",
    );
    assert_eq!((definition.name.as_str(), definition.description.as_str()), ("abc", "d"));
    assert_eq!(definition.skills.include, ["a", "b"]);
    let ignored = &["4:17 `ignore` has no equal here and is taken for `default`"];
    let definition = warned(Dialect::AgentSdk, &with("permissionMode: ignore"), ignored);
    assert_eq!(definition.permission_mode, Some(PermissionMode::Default));
}

#[test]
fn codex() {
    let text = "name = \"x\"\ndescription = \"d\"\ndeveloper_instructions = \"\"\"\nBody\n\"\"\"\nmodel = \"gpt-5.5\"\nmodel_reasoning_effort = \"minimal\"\nsandbox_mode = \"read-only\"\nnickname_candidates = [\"y\"]\n[mcp_servers.s]\nurl = \"u\"\nhttp_headers = { a = \"b\" }\n";
    let definition = good(Dialect::Codex, text);
    assert_eq!(definition.prompt, "Body");
    assert_eq!(definition.effort, Some(Effort::Minimal));
    assert_eq!(definition.permission_mode, Some(PermissionMode::Plan));
    let entry = json!({ "type": "http", "url": "u", "headers": { "a": "b" } });
    assert_eq!(definition.mcp_servers, [McpServerUse::Inline { name: "s".to_owned(), entry }]);
    for (sandbox, approval, mode) in [
        ("workspace-write", "on-request", Some(PermissionMode::AcceptEdits)),
        ("workspace-write", "never", Some(PermissionMode::DontAsk)),
        ("danger-full-access", "never", Some(PermissionMode::BypassPermissions)),
        ("danger-full-access", "on-request", None),
    ] {
        let text = format!(
            "name = \"x\"\ndescription = \"d\"\ndeveloper_instructions = \"b\"\nsandbox_mode = \"{sandbox}\"\napproval_policy = \"{approval}\"\n"
        );
        let (definition, findings) = read(Dialect::Codex, &text);
        assert_eq!(definition.unwrap().permission_mode, mode, "{sandbox} {approval}");
        assert_eq!(findings.is_empty(), mode.is_some());
    }
    let (definition, findings) = read(Dialect::Codex, "name = \"x\"\nname = \"y\"\n");
    assert_eq!((definition, findings.len()), (None, 1));
}

#[test]
fn gemini_cursor_qwen_and_factory() {
    let gemini = good(
        Dialect::Gemini,
        &with("kind: local\nmax_turns: 5\ntimeout_mins: 2\ntemperature: 0.1"),
    );
    assert_eq!(gemini.limits.time, Some(Duration::from_secs(120)));
    assert_eq!(gemini.extra["temperature"], json!(0.1));
    let cursor = good(Dialect::Cursor, &with("model: fast\nreadonly: true\nis_background: true"));
    assert_eq!(cursor.permission_mode, Some(PermissionMode::Plan));
    assert_eq!(cursor.waiting, Some(Waiting::Background));
    assert_eq!(good(Dialect::Cursor, &with("readonly: false")).permission_mode, None);
    for (word, mode) in [
        ("auto-edit", PermissionMode::AcceptEdits),
        ("yolo", PermissionMode::BypassPermissions),
        ("plan", PermissionMode::Plan),
    ] {
        let qwen = good(Dialect::Qwen, &with(&format!("approvalMode: {word}")));
        assert_eq!(qwen.permission_mode, Some(mode));
    }
    let qwen = good(
        Dialect::Qwen,
        &with("permissionMode: acceptEdits\ndisallowedTools: [run_shell_command]"),
    );
    assert_eq!(tools(&qwen), "all - bash");
    let factory = good(Dialect::Factory, &with("reasoningEffort: none\nmcpServers: [a]"));
    assert_eq!(factory.effort, Some(Effort::Off));
    let long = format!("---\nname: x\ndescription: {}\n---\n", "d".repeat(501));
    warned(Dialect::Factory, &long, &["3:14 the description has 501 characters and exceeds 500"]);
}

#[test]
fn kiro() {
    let text = "{\n  \"description\": \"d\",\n  \"prompt\": \"file://./p.md\",\n  \"tools\": [\"read\", \"@git\"],\n  \"allowedTools\": [\"read\"],\n  \"mcpServers\": { \"git\": { \"command\": \"x\" } }\n}\n";
    let definition = warned(
        Dialect::Kiro,
        text,
        &["3:13 the prompt is in another file, which was not read: `file://./p.md`"],
    );
    assert_eq!(definition.name.as_str(), "x");
    assert_eq!(tools(&definition), "read mcp__git__*");
    assert_eq!(definition.extra["allowedTools"], json!(["read"]));
    warned(Dialect::Kiro, "{}", &["- `description` is missing"]);
    assert_eq!(read(Dialect::Kiro, "[]").0, None);
    assert_eq!(read(Dialect::Kiro, "{").0, None);
}

#[test]
fn ours_says_everything() {
    let definition = good(
        Dialect::Ours,
        &with(
            "tools:\n  allow: [read, Bash]\n  deny: [write]\nspawns: [explore]\nmodel: [opus, gpt-5.5]\neffort: off\npermission-mode: dont-ask\nwaiting: blocking\nisolation: none\nlimits:\n  turns: 3\n  time: 10m\n  tokens: 1000\n  cost: 1.5\n  history: 20\n  grant: 90\nsecrets: [A]\npriority: 2\nmutex: m\nmemory: project",
        ),
    );
    assert_eq!(tools(&definition), "read bash task - write");
    assert_eq!(definition.effort, Some(Effort::Off));
    assert_eq!(definition.limits.time, Some(Duration::from_secs(600)));
    assert_eq!(definition.limits.grant, Some(Duration::from_secs(90)));
    assert_eq!((definition.limits.tokens, definition.limits.cost), (Some(1000), Some(1.5)));
    assert_eq!((definition.choice.priority, definition.choice.mutex.as_deref()), (2, Some("m")));
    for lines in
        ["limits:\n  time: soon", "limits:\n  turns: -1", "limits:\n  cost: .nan", "output: 5"]
    {
        assert_eq!(read(Dialect::Ours, &with(lines)).0, None, "{lines}");
    }
}
