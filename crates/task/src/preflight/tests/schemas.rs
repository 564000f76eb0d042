//! What results must look like.

use super::*;

fn schema(name: &str) -> Value {
    json!({ "type": "object", "title": name })
}

#[test]
fn that_of_the_call_then_of_the_definition_then_of_the_parent() {
    let definition =
        OutputSchema { language: SchemaLanguage::JsonSchema, schema: schema("definition") };
    let parent = OutputSchema::of(schema("parent"));
    for (call, own, above, from) in [
        (Some(schema("call")), true, true, Some(SchemaFrom::Call)),
        (Some(json!(schema("call").to_string())), true, true, Some(SchemaFrom::Call)),
        (None, true, true, Some(SchemaFrom::Definition)),
        (Some(Value::Null), true, true, Some(SchemaFrom::Definition)),
        (None, false, true, Some(SchemaFrom::Parent)),
        (None, false, false, None),
    ] {
        let mut world = World::new();
        world.agent("explore").output = own.then(|| definition.clone());
        world.caller.schema = above.then(|| parent.clone());
        let request = TaskRequest { schema: call, ..TaskRequest::new("explore", "x") };
        let agent = world.run(request).unwrap();
        assert_eq!(agent.schema.as_ref().map(|it| it.1), from);
        assert_eq!(agent.system.contains("JSON Schema"), from.is_some());
    }
}

#[test]
fn one_that_does_not_compile_is_refused_with_its_place() {
    let mut world = World::new();
    world.agent("explore").output = Some(OutputSchema::of(json!({ "$ref": "#/none" })));
    let refused = world.start("explore").unwrap_err();
    assert_eq!(refused.rule(), "schema");
    assert_eq!(refused.place().as_deref(), Some("`output` of the definition"));
}
