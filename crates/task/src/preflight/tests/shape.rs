//! Requests and batches must have their form, and every task a name of its own.

use super::*;

#[test]
fn a_batch_passes_whole_or_not_at_all_and_everything_is_told() {
    let world = World::new();
    let tasks = vec![
        TaskRequest::new("explore", "a"),
        TaskRequest::new("nobody", "b"),
        TaskRequest { schema: Some(json!({ "type": 7 })), ..TaskRequest::new("review", "c") },
    ];
    let refused = world.batch(&Batch { context: None, tasks }).unwrap_err();
    let rules: Vec<_> = refused.items.iter().map(|(at, it)| (*at, it.rule())).collect();
    assert_eq!(rules, [(Some(1), "unknown"), (Some(2), "schema")]);
    assert!(refused.to_string().starts_with("assignment 2: Unknown agent \"nobody\"."));
}

#[test]
fn an_empty_batch_is_refused() {
    let refused = World::new().batch(&Batch::default()).unwrap_err();
    assert_eq!(refused.items, [(None, Refusal::EmptyBatch)]);
}

#[test]
fn missing_and_duplicate_names_are_told_together() {
    let named = |name: &str| TaskRequest {
        name: Some(name.to_owned()),
        ..TaskRequest::new("explore", "x")
    };
    let tasks = vec![named("One"), named(" "), named("two"), named("one"), named(&"x".repeat(49))];
    let refused = World::new().batch(&Batch { context: None, tasks }).unwrap_err();
    let told: Vec<String> = refused.items.iter().map(|it| it.1.to_string()).collect();
    assert_eq!(told.len(), 3);
    assert_eq!(told[2], "the name `One` is used 2 times");
    assert!(matches!(&refused.items[2].1, Refusal::SameName { at, .. } if *at == [0, 3]));
}

#[test]
fn names_in_the_tree_are_made_different() {
    let tasks = vec![TaskRequest::new("explore", "a"), TaskRequest::new("explore", "b")];
    let agents = World::new().batch(&Batch { context: None, tasks }).unwrap();
    let paths: Vec<String> = agents.iter().map(|it| it.path.to_string()).collect();
    assert_eq!(paths, ["explore", "explore-2"]);
}

#[test]
fn the_three_forms_of_a_request() {
    for (form, context, schema, refused) in [
        (Form::Default, true, true, None),
        (Form::SchemaFree, true, false, None),
        (Form::SchemaFree, true, true, Some("`schema` is not taken here: `schema-free` says so")),
        (Form::Independent, false, false, None),
        (
            Form::Independent,
            true,
            false,
            Some("`context` is not taken here: `independent` says so"),
        ),
        (
            Form::Independent,
            true,
            true,
            Some("`context` and `schema` are not taken here: `independent` says so"),
        ),
    ] {
        let mut world = World::new();
        world.settings.form = form;
        // What is said counts, even if it is nothing.
        let schema = schema.then_some(Value::Null);
        let batch = Batch {
            context: context.then(String::new),
            tasks: vec![TaskRequest { schema, ..TaskRequest::new("explore", "x") }],
        };
        let told = world.batch(&batch).err().map(|it| it.to_string());
        assert_eq!(told.as_deref(), refused, "{form:?}");
    }
}

#[test]
fn the_shared_context_goes_to_everybody() {
    let batch = Batch {
        context: Some("  the build is broken ".to_owned()),
        tasks: vec![TaskRequest::new("explore", " look \n")],
    };
    let agent = World::new().batch(&batch).unwrap().remove(0);
    assert!(
        agent.system.starts_with("You explore.\n\n# What you should know\nthe build is broken\n\n")
    );
    assert_eq!(agent.prompt, "look");
}
