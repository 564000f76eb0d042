use insta::assert_snapshot;

use super::*;

fn told(file: &str, text: &str) -> String {
    let (_, findings) = PlanFile::parse(file.into(), text);
    let lines = findings.iter().map(|it| {
        let more = it.label.iter().chain(&it.hint).map(|it| format!(" ({it})")).collect::<String>();
        format!("{}: {}{more}", it.place.as_ref().unwrap(), it.message)
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn three_formats_say_the_same() {
    let toml = "plan = 'p'\non-failure = 'ask'\n[[tasks]]\nid = 'a'\nagent = 'x'\nprompt = 'go'\nlimits = { time = '90s', cost = 0.5 }\nfor-each = { in = [1, 'b'] }\n";
    let yaml = "plan: p\non-failure: ask\ntasks:\n- id: a\n  agent: x\n  prompt: go\n  limits: { time: 90s, cost: 0.5 }\n  for-each: { in: [1, b] }\n";
    let json = r#"{"plan": "p", "on-failure": "ask", "tasks": [{"id": "a", "agent": "x", "prompt": "go",
        "limits": {"time": "90s", "cost": 0.5}, "for-each": {"in": [1, "b"]}}]}"#;
    let read = |file: &str, text: &str| {
        let (plan, findings) = PlanFile::parse(file.into(), text);
        assert_eq!(findings, []);
        plan.unwrap().plan
    };
    let plan = read("p.toml", toml);
    assert_eq!(plan.tasks[0].limits.time, Some(Time(std::time::Duration::from_secs(90))));
    assert_eq!(plan, read("p.yaml", yaml));
    assert_eq!(plan, read("p.json", json));
}

#[test]
fn everything_that_cannot_be_read_is_told_with_its_place() {
    let yaml = "plan: p\nbudget:\n  cost: -1\n  turn: 3\ntasks:\n- id: a\n  retry: { attempts: many }\n  limits:\n    time: soon\n    idle: 5\n  on-failure: explode\n- agent: b\n- id: c\n  race: {}\n";
    assert_snapshot!(told("p.yaml", yaml), @"
    p.yaml:3:9: -1 is no amount of money
    p.yaml:4:3: unknown key `turn` (did you mean `turns`?)
    p.yaml:7:22: invalid type: string \"many\", expected u32
    p.yaml:9:11: `soon` is no time, such as `500ms`, `90s`, `10m` or `2h`
    p.yaml:10:11: invalid type: integer `5`, expected a string
    p.yaml:11:15: unknown variant `explode`, expected one of `abort`, `skip-dependents`, `continue`, `ask`
    p.yaml:12:3: `id` is missing
    p.yaml:14:9: `contenders` is missing
    ");
}

#[test]
fn what_is_no_plan_at_all_is_told() {
    assert_snapshot!(told("p.txt", ""), @"p.txt: `p.txt` is not a plan (the name of a plan ends in `.toml`, `.yaml`, `.yml` or `.json`)");
    assert!(told("p.toml", "plan = ").starts_with("p.toml:1:"));
    assert_snapshot!(told("p.json", "{}"), @"p.json:1:1: `plan` is missing");
    assert_snapshot!(told("p.toml", "plan = 'p'\ntasks = 3\n"), @"p.toml:2:1: `tasks` must be a list");
}
