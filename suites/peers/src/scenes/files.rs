//! Other people's files: what becomes of what the user wrote.

use agents_testkit::scratch;
use camino::Utf8PathBuf;
use hosts_suite::tree::lost_line;
use serde_json::Value;

use crate::{
    ground::{Ground, hook_table},
    run::Run,
    scenes::{Scene, Seen, Stage},
};

pub(crate) const SCENES: &[Scene] = &[
    Scene {
        name: "stale-mcp",
        given: "a plugin with an MCP server goes away",
        wanted: "its server goes, the user's own stays",
        play: stale_mcp,
    },
    Scene {
        name: "same-server",
        given: "the user has an MCP server of the same name as a plugin's",
        wanted: "the user's stays as it is",
        play: same_server,
    },
    Scene {
        name: "disabled-server",
        given: "the user turns a plugin's MCP server off in the host's file (OpenCode)",
        wanted: "it stays off after the next sync",
        play: disabled_server,
    },
    Scene {
        name: "broken-json",
        given: "`.claude/settings.json` is broken off in the middle",
        wanted: "kept byte for byte, named to the user, and other hosts are served",
        play: |stage| {
            untouched(
                stage,
                &[".claude/settings.json"],
                "{ \"permissions\": { \"allow\": [\"Bash(ls)\"]\n",
            )
        },
    },
    Scene {
        name: "broken-toml",
        given: "Codex's `config.toml` has a line that is no TOML",
        wanted: "kept byte for byte, named to the user, and other hosts are served",
        play: |stage| {
            let files = [".codex/config.toml", "~/.codex/config.toml"];
            untouched(
                stage,
                &files,
                "model = \"o9\"\nthis is no toml\n[mcp_servers.mine]\ncommand = \"mine\"\n",
            )
        },
    },
    Scene {
        name: "odd-json",
        given: "`mcpServers` in `.mcp.json` is a list",
        wanted: "kept byte for byte, named to the user, and other hosts are served",
        play: |stage| untouched(stage, &[".mcp.json"], "{\n  \"mcpServers\": [\"mine\"]\n}\n"),
    },
    Scene {
        name: "odd-root",
        given: "`.claude/settings.json` is a list",
        wanted: "kept byte for byte, named to the user, and other hosts are served",
        play: |stage| untouched(stage, &[".claude/settings.json"], "[\"mine\"]\n"),
    },
    Scene {
        name: "comments",
        given: "`.claude/settings.json` has comments",
        wanted: "every line of it still stands",
        play: |stage| {
            let text = "{\n    // mine\n    \"zebra\": 1,\n    \"model\": \"opus\", /* for now */\n    \"apple\": [1,\n        2]\n}\n";
            lines_stand(stage, &[".claude/settings.json"], text)
        },
    },
    Scene {
        name: "format",
        given: "`.claude/settings.json` and `.mcp.json` are indented and ordered as the user likes it",
        wanted: "every line of them still stands, in its order",
        play: |stage| {
            let text = "{\n    \"zebra\": 1,\n    \"model\": \"opus\",\n    \"apple\": [1,\n        2]\n}\n";
            lines_stand(stage, &[".claude/settings.json", ".mcp.json"], text)
        },
    },
    Scene {
        name: "again",
        given: "`sync` is run a second time (six hosts)",
        wanted: "no byte of any file changes",
        play: again,
    },
    Scene {
        name: "uninstall",
        given: "everything is taken back, in files with entries of the user's own",
        wanted: "every file is as it was before the first `sync`",
        play: uninstall,
    },
    Scene {
        name: "own-config",
        given: "the program's own `config.toml` has a mistake, and `init --add-agent` is run",
        wanted: "every line of it still stands",
        play: |stage| {
            own_config(
                stage,
                "# mine\nhook-scope = \"project\"\nthis is no toml\n[[agent]]\nname = \"claude\"\n",
            )
        },
    },
    Scene {
        name: "own-comments",
        given: "the program's own `config.toml` has comments, and `init --add-agent` is run",
        wanted: "every line of it still stands",
        play: |stage| {
            own_config(
                stage,
                "# mine\nhook-scope = \"project\" # as agreed\nauto-update = \"off\"\n\n[defaults]\n# not here\nsymposium-recommendations = false\n",
            )
        },
    },
];

/// The name of the plugin's MCP server.
const SERVER: &str = "notes";

fn server() -> String {
    format!(
        "[[mcp_servers]]\nname = \"{SERVER}\"\ncommand = \"/bin/cat\"\nargs = [\"-\"]\nenv = []\n"
    )
}

/// A plugin with everything: a skill, a hook, an MCP server.
fn furnish(ground: &Ground, hosts: &[&str]) {
    let script = ground.script("quiet", "cat > /dev/null");
    let parts = "[[skills]]\nsource.path = \"skills\"\n\n".to_owned()
        + &hook_table("quiet", "PreToolUse", &script)
        + &server();
    let dir = ground.plugin("everything", &parts);
    let skill = "---\nname: queries\ndescription: how to write them\n---\nBind values.\n";
    scratch::write(&dir.join("skills/queries/SKILL.md"), skill);
    ground.configure(hosts, "");
}

/// The path of a file that is named from the workspace, or from the home with `~/`.
fn place(ground: &Ground, name: &str) -> Utf8PathBuf {
    match name.strip_prefix("~/") {
        Some(rest) => ground.home().join(rest),
        None => ground.workspace().join(name),
    }
}

fn stale_mcp(stage: &Stage<'_>) -> anyhow::Result<Seen> {
    let ground = stage.ground()?;
    let mine = "{\n  \"mcpServers\": {\n    \"mine\": { \"command\": \"mine\" }\n  }\n}\n";
    scratch::write(&place(&ground, ".mcp.json"), mine);
    furnish(&ground, &["claude", "codex"]);
    ground.must(&["sync"])?;
    let names = || -> anyhow::Result<Vec<String>> {
        let files = ground.tree()?.into_iter().filter(|(path, bytes)| {
            let is_config = path.as_str().ends_with(".json") || path.as_str().ends_with(".toml");
            is_config && String::from_utf8_lossy(bytes).contains(SERVER)
        });
        Ok(files.map(|(path, _)| ground.short(&path)).collect())
    };
    anyhow::ensure!(names()?.len() >= 2, "it is not registered: {:?}", names()?);
    let gone = ground.plugin("everything", "");
    fs_err::remove_dir_all(gone)?;
    ground.must(&["sync"])?;
    let mut wrong: Vec<String> =
        names()?.iter().map(|name| format!("**still in `{name}`**")).collect();
    if !fs_err::read_to_string(place(&ground, ".mcp.json"))?.contains("mine") {
        wrong.push("**the user's own is gone**".to_owned());
    }
    Ok(Seen::unless(&wrong, "gone; the user's stays"))
}

fn same_server(stage: &Stage<'_>) -> anyhow::Result<Seen> {
    let ground = stage.ground()?;
    let mine = format!(
        "{{\n  \"mcpServers\": {{\n    \"{SERVER}\": {{ \"command\": \"mine\" }}\n  }}\n}}\n"
    );
    let file = scratch::write(&place(&ground, ".mcp.json"), mine);
    furnish(&ground, &["claude"]);
    ground.run(&["sync"])?;
    let now: Value = serde_json::from_str(&fs_err::read_to_string(file)?)?;
    let kept = now["mcpServers"][SERVER]["command"] == "mine";
    Ok(Seen::new(kept, if kept { "stays" } else { "**is replaced**" }))
}

fn disabled_server(stage: &Stage<'_>) -> anyhow::Result<Seen> {
    let ground = stage.ground()?;
    furnish(&ground, &["opencode"]);
    ground.must(&["sync"])?;
    let file = place(&ground, "opencode.json");
    let text = fs_err::read_to_string(&file)?;
    let mut config: Value = serde_json::from_str(&text)?;
    anyhow::ensure!(config["mcp"][SERVER].is_object(), "it is not registered: {text}");
    config["mcp"][SERVER]["enabled"] = false.into();
    fs_err::write(&file, serde_json::to_string_pretty(&config)?)?;
    ground.run(&["sync"])?;
    let now: Value = serde_json::from_str(&fs_err::read_to_string(&file)?)?;
    let off = now["mcp"][SERVER]["enabled"] == false;
    Ok(Seen::new(off, if off { "stays off" } else { "**is on again**" }))
}

/// Files that cannot be understood.
fn untouched(stage: &Stage<'_>, files: &[&str], text: &str) -> anyhow::Result<Seen> {
    let ground = stage.ground()?;
    for name in files {
        scratch::write(&place(&ground, name), text);
    }
    // Kiro comes last: what goes wrong before it must not be its loss.
    furnish(&ground, &["claude", "codex", "kiro"]);
    let run = ground.run(&["sync"])?;
    let mut wrong = Vec::new();
    for name in files {
        if fs_err::read_to_string(place(&ground, name))? != text {
            wrong.push(format!("**`{name}` is overwritten**"));
        }
    }
    let named = files.iter().any(|name| run.said().contains(name.trim_start_matches("~/")));
    if run.crashed() {
        wrong.push(format!("**{}**", run.ending()));
    } else if !named {
        wrong.push(format!("**it is not named** ({})", run.ending()));
    }
    if !place(&ground, ".kiro/skills/queries/SKILL.md").exists() {
        wrong.push("**other hosts are not served**".to_owned());
    }
    Ok(Seen::unless(&wrong, "kept, named, others served"))
}

/// Files with lines of the user's.
fn lines_stand(stage: &Stage<'_>, files: &[&str], text: &str) -> anyhow::Result<Seen> {
    let ground = stage.ground()?;
    for name in files {
        scratch::write(&place(&ground, name), text);
    }
    furnish(&ground, &["claude"]);
    let run = ground.run(&["sync"])?;
    let mut wrong = Vec::new();
    let mut edited = 0;
    for name in files {
        let now = fs_err::read_to_string(place(&ground, name))?;
        edited += usize::from(now != text);
        if let Some(line) = lost_line(text, &now) {
            wrong.push(format!("**`{}` is lost or moved in `{name}`**", line.trim()));
        }
    }
    let kept = if edited == 0 { "they stand; nothing is registered" } else { "they stand" };
    let seen = Seen::unless(&wrong, kept);
    Ok(if run.crashed() { Seen::new(false, format!("**{}**", run.ending())) } else { seen })
}

fn again(stage: &Stage<'_>) -> anyhow::Result<Seen> {
    let ground = stage.ground()?;
    scratch::write(
        &ground.home().join(".config/goose/config.yaml"),
        "extensions:\n  mine:\n    enabled: true\n    type: stdio\n    name: mine\n    cmd: mine\n    args: []\nGOOSE_MODEL: x\n",
    );
    furnish(&ground, &["claude", "codex", "copilot", "kiro", "opencode", "goose"]);
    ground.must(&["sync"])?;
    let first = ground.tree()?;
    ground.must(&["sync"])?;
    let second = ground.tree()?;
    let changed = second.iter().filter(|(path, bytes)| first.get(*path) != Some(*bytes));
    let mut wrong: Vec<String> =
        changed.map(|(path, _)| format!("**`{}` changes**", ground.short(path))).collect();
    let gone = first.keys().filter(|path| !second.contains_key(*path));
    wrong.extend(gone.map(|path| format!("**`{}` goes**", ground.short(path))));
    Ok(Seen::unless(&wrong, "none changes"))
}

fn uninstall(stage: &Stage<'_>) -> anyhow::Result<Seen> {
    let ground = stage.ground()?;
    let hosts = ["claude", "codex", "kiro"];
    let own = [
        (
            ".claude/settings.json",
            "{\n  \"model\": \"opus\",\n  \"hooks\": {\n    \"PreToolUse\": [\n      { \"matcher\": \"Bash\", \"hooks\": [{ \"type\": \"command\", \"command\": \"mine\" }] }\n    ]\n  }\n}\n",
        ),
        (".mcp.json", "{\n  \"mcpServers\": {\n    \"mine\": { \"command\": \"mine\" }\n  }\n}\n"),
        (
            ".codex/config.toml",
            "# mine\nmodel = \"o9\"\n\n[mcp_servers.mine]\ncommand = \"mine\"\n",
        ),
        (
            "~/.codex/config.toml",
            "# mine\nmodel = \"o9\"\n\n[mcp_servers.mine]\ncommand = \"mine\"\n",
        ),
        (".claude/skills/mine/SKILL.md", "---\nname: mine\ndescription: mine\n---\n"),
    ];
    for (name, text) in own {
        scratch::write(&place(&ground, name), text);
    }
    furnish(&ground, &hosts);
    let before = ground.tree()?;
    ground.must(&["sync"])?;
    for line in ground.who.uninstall(&hosts) {
        let words: Vec<&str> = line.iter().map(String::as_str).collect();
        ground.must(&words)?;
    }
    let after = ground.tree()?;
    let mut wrong = Vec::new();
    for (name, text) in own {
        let path = place(&ground, name);
        match after.get(&path) {
            None => wrong.push(format!("**`{name}` is gone**")),
            Some(bytes) if lost_line(text, &String::from_utf8_lossy(bytes)).is_some() => {
                wrong.push(format!("**`{name}` lost or moved lines of the user's**"));
            }
            Some(bytes) if bytes != text.as_bytes() => {
                wrong.push(format!("**`{name}` is not as before**"));
            }
            Some(_) => {}
        }
    }
    // What was agreed to is the workspace's, like `Cargo.lock`.
    let ours = |path: &&Utf8PathBuf| !before.contains_key(*path) && !path.ends_with("agents.lock");
    let left: Vec<String> = after.keys().filter(ours).map(|path| ground.short(path)).collect();
    if !left.is_empty() {
        let example = left.first().map(String::as_str).unwrap_or_default();
        wrong.push(format!("**{} files are left**, e.g. `{example}`", left.len()));
    }
    Ok(Seen::unless(&wrong, "all as before"))
}

fn own_config(stage: &Stage<'_>, text: &str) -> anyhow::Result<Seen> {
    let ground = stage.ground()?;
    scratch::write(&ground.config(), text);
    let run: Run = ground.run(&["init", "--add-agent", "codex"])?;
    let now = fs_err::read_to_string(ground.config())?;
    Ok(match lost_line(text, &now) {
        None if now == text => Seen::new(true, format!("kept as it is ({})", run.ending())),
        None => Seen::new(true, "they stand"),
        Some(line) => Seen::new(false, format!("**`{line}` is lost or moved** ({})", run.ending())),
    })
}
