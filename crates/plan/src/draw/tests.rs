use insta::assert_snapshot;

use super::*;
use crate::{
    event::{Millis, What},
    graph::{Join, Need, NodeId},
    reference::Template,
};

fn graph() -> Graph {
    let node = |id: &str| Node::agent(id, "task", Template::plain(""));
    let mut join = Node::of(
        NodeId::new("b"),
        Work::Join(Join::First { of: vec![NodeId::new("b/1"), NodeId::new("b/2")] }),
    );
    join.needs = ["b/1", "b/2"].map(|it| Need::ended(NodeId::new(it))).into();
    let nodes = vec![
        node("a<"),
        node("b/1").needs(["a<"]),
        node("b/2").needs(["a<"]),
        join,
        node("end").needs(["b", "a<"]),
    ];
    Graph::new("demo", nodes).unwrap()
}

#[test]
fn as_mermaid() {
    let graph = graph();
    assert_snapshot!(mermaid(&graph), @r#"
    flowchart TD
        n0["a&lt;<br/>task"]
        n1["b/1<br/>task"]
        n2["b/2<br/>task"]
        n3(["b<br/>race"])
        n4["end<br/>task"]
        n0 --> n1
        n0 --> n2
        n0 --> n4
        n1 -.-> n3
        n2 -.-> n3
        n3 --> n4
    "#);
}

#[test]
fn with_states() {
    let mut run = Scheduler::new(graph());
    run.advance(Millis(1), &mut Vec::new());
    assert_snapshot!(text(&run), @"
    demo
    ├─ a<    task, running
    ├─ b     race, waiting
    │  ├─ 1  task, waiting, after a<
    │  └─ 2  task, waiting, after a<
    └─ end   task, waiting, after b, a<
    ");
    run.accept(What::Cancelled { node: None }.at(Millis(2))).unwrap();
    assert!(mermaid(&run).contains("n1[\"b/1<br/>task\"]:::cancelled\n"));
    assert!(svg(&run).contains("fill=\"#dcd3e8\""));
}

#[test]
fn as_svg() {
    let picture = svg(&graph());
    assert_eq!(picture, svg(&graph()), "it is always the same");
    let rects: Vec<&str> = picture.lines().filter(|it| it.starts_with("<rect")).collect();
    assert_snapshot!(rects.join("\n"), @r##"
    <rect x="64" y="24" width="56" height="44" rx="4" fill="#ffffff" stroke="#333"/>
    <rect x="24" y="124" width="56" height="44" rx="4" fill="#ffffff" stroke="#333"/>
    <rect x="104" y="124" width="56" height="44" rx="4" fill="#ffffff" stroke="#333"/>
    <rect x="64" y="224" width="56" height="44" rx="22" fill="#ffffff" stroke="#333"/>
    <rect x="64" y="324" width="56" height="44" rx="4" fill="#ffffff" stroke="#333"/>
    "##);
    assert!(picture.contains(">a&lt;</text>") && picture.ends_with("</svg>\n"));
    assert_eq!(picture.matches("stroke-dasharray").count(), 2);
}
