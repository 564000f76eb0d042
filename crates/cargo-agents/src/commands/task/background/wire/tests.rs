//! Whatever is said arrives as it was meant, and whatever else arrives is told from it.
//!
//! Strategies are boxed: all of them within each other would be larger than a stack.

use std::ffi::OsString;

use agents_model::{ToolInput, Usage, cost::MicroDollars};
use agents_task::{
    Outcome,
    event::ToolState,
    limits::Limit,
    outcome::{Ending, Failure as Why, Output, Report as Left, Validity},
};
use proptest::{prelude::*, sample::select};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use tokio::io::BufReader;

use super::{super::lines, *};

/// What comes out at the other end of the line.
fn heard<T: DeserializeOwned>(line: &[u8]) -> Result<T, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let read = runtime.block_on(lines::read(&mut BufReader::new(line), lines::LONG));
    read.map_err(|it| it.to_string())?.ok_or_else(|| "nothing".to_owned())
}

/// What is said is heard, and would be said again with the same words.
fn arrives<T: Serialize + DeserializeOwned>(said: &T) -> Result<T, TestCaseError> {
    let line = lines::line(said).unwrap();
    prop_assert_eq!(line.iter().filter(|it| **it == b'\n').count(), 1, "it is one line");
    let heard: T = heard(&line).map_err(TestCaseError::fail)?;
    prop_assert_eq!(lines::line(&heard).unwrap(), line);
    Ok(heard)
}

fn text() -> BoxedStrategy<String> {
    prop_oneof![".{0,12}", "[\u{0}-\u{20}\"\\\\\u{2028}é🦀]{0,8}", Just("says".to_owned())].boxed()
}

fn id() -> BoxedStrategy<TaskId> {
    any::<u128>().prop_map(|it| TaskId::parse(&format!("{it:032x}")).unwrap()).boxed()
}

fn path() -> BoxedStrategy<TaskPath> {
    let names = prop::collection::vec(text(), 0..4);
    names.prop_map(|it| serde_json::from_value(json!(it)).unwrap()).boxed()
}

/// What a model may give to a tool: anything that is read of it, however deep.
fn value() -> BoxedStrategy<Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    let wide = leaf.prop_recursive(4, 24, 6, |inner| {
        let members = prop::collection::vec((text(), inner.clone()), 0..6);
        prop_oneof![
            prop::collection::vec(inner, 0..6).prop_map(Value::from),
            members.prop_map(|it| Value::Object(Map::from_iter(it))),
        ]
    });
    (wide, 0..130_usize, any::<bool>())
        .prop_map(|(value, levels, listed)| {
            let around = |it, _| if listed { json!([it]) } else { json!({ "event": it }) };
            let given = (0..levels).fold(value, around).to_string();
            match ToolInput::parse(given) {
                ToolInput::Json(value) => value,
                ToolInput::Raw(text) => Value::String(text),
            }
        })
        .boxed()
}

fn usage() -> BoxedStrategy<Usage> {
    any::<[u64; 5]>()
        .prop_map(|[input, output, cache_read, cache_write, reasoning]| Usage {
            input,
            output,
            cache_read,
            cache_write,
            reasoning,
        })
        .boxed()
}

fn ending() -> BoxedStrategy<Ending> {
    let why = prop_oneof![
        (text(), prop::option::of(text()), prop::option::of(select(Code::ALL)))
            .prop_map(|(message, hint, code)| Why::Model { message, hint, code }),
        Just(Why::ModelRefused),
        text().prop_map(|reason| Why::GaveUp { reason }),
        (text(), prop::option::of(text()))
            .prop_map(|(message, hint)| Why::NotStarted { message, hint }),
        prop::collection::vec(text(), 0..3).prop_map(|claims| Why::FalseEvidence { claims }),
    ];
    prop_oneof![
        Just(Ending::Completed),
        Just(Ending::Cancelled),
        Just(Ending::OutOfLimits { limit: Limit::FirstToken }),
        why.prop_map(|why| Ending::Failed { why }),
        (text(), text()).prop_map(|(rule, message)| Ending::Refused { rule, message }),
    ]
    .boxed()
}

fn outcome() -> BoxedStrategy<Outcome> {
    let report = (text(), prop::option::of(value()), any::<u64>(), usage()).prop_map(
        |(text, value, turns, usage)| {
            let output = value.map(|value| Output { value, validity: Validity::Unchecked });
            Left { text, output, turns, usage, ..Left::default() }
        },
    );
    (id(), path(), ending(), report)
        .prop_map(|(id, path, ending, report)| Outcome { id, path, ending, report })
        .boxed()
}

fn event() -> BoxedStrategy<Event> {
    let what = prop_oneof![
        (text(), text(), prop::option::of(text())).prop_map(|(agent, model, chosen)| {
            What::Started { agent, model, chosen, resumed_from: None }
        }),
        any::<u64>().prop_map(|number| What::Turn { number }),
        text().prop_map(|text| What::Text { text }),
        (text(), text(), value()).prop_map(|(call, tool, input)| What::ToolStarted {
            call,
            tool,
            input
        }),
        (text(), text()).prop_map(|(call, tool)| What::ToolEnded {
            call,
            tool,
            state: ToolState::Failed
        }),
        (usage(), prop::option::of(any::<u64>()))
            .prop_map(|(usage, cost)| What::Spent { usage, cost: cost.map(MicroDollars) }),
        text().prop_map(|message| What::Notice { limit: Limit::Cost, message }),
        outcome().prop_map(|outcome| What::Ended { outcome: Box::new(outcome) }),
    ];
    (id(), path(), what).prop_map(|(task, path, what)| Event { task, path, what }).boxed()
}

fn began() -> BoxedStrategy<Began> {
    let task = (id(), path(), text()).prop_map(|(id, path, told)| Task { id, path, told });
    (prop::collection::vec(task, 0..3), prop::collection::vec(text(), 0..3))
        .prop_map(|(tasks, findings)| Began { tasks, findings })
        .boxed()
}

fn trouble() -> BoxedStrategy<Trouble> {
    let words = (text(), text(), prop::option::of(text()), prop::option::of(text()));
    (words, prop::option::of(select(Code::ALL)), any::<bool>())
        .prop_map(|((kind, message, hint, details), code, leaves)| Trouble {
            kind,
            message,
            hint,
            details,
            code,
            leaves,
        })
        .boxed()
}

fn asked() -> BoxedStrategy<Asked> {
    let means = [text(), text(), text()];
    (text(), id(), path(), text(), means)
        .prop_map(|(ask, task, path, question, means)| Asked { ask, task, path, question, means })
        .boxed()
}

fn reply() -> BoxedStrategy<Reply> {
    select(&[Reply::Once, Reply::Task, Reply::Tree, Reply::No][..]).boxed()
}

fn say() -> BoxedStrategy<Say> {
    let known = (id(), path()).prop_map(|(id, path)| Known { id, path, state: Life::Over });
    let status = (any::<u32>(), text(), prop::collection::vec(any::<u32>(), 0..3));
    prop_oneof![
        began().prop_map(Say::Began),
        prop::collection::vec(known, 0..3).prop_map(|tasks| Say::Tasks { tasks }),
        any::<u64>().prop_map(|events| Say::LeftOut { events }),
        event().prop_map(Say::Event),
        text().prop_map(|text| Say::Note { text }),
        asked().prop_map(Say::Asked),
        prop::option::of(text()).prop_map(|why| Say::Over { why }),
        prop::collection::vec(asked(), 0..3).prop_map(|asks| Say::Asks { asks }),
        status.prop_map(|(process, program, workers)| Say::Status(Status {
            process,
            program,
            workers
        })),
        Just(How::Hard).prop_map(|how| Say::Done { how }),
        trouble().prop_map(Say::Trouble),
    ]
    .boxed()
}

fn report() -> BoxedStrategy<Report> {
    prop_oneof![
        began().prop_map(Report::Began),
        trouble().prop_map(Report::Trouble),
        event().prop_map(Report::Event),
        text().prop_map(|text| Report::Note { text }),
        (any::<u64>(), asked()).prop_map(|(number, Asked { task, path, question, means, .. })| {
            Report::Asks { number, task, path, question, means }
        }),
        any::<u64>().prop_map(|number| Report::Settled { number, taken: Taken::No }),
    ]
    .boxed()
}

fn control() -> BoxedStrategy<Control> {
    let work = (prop::collection::vec(text(), 0..4), prop::option::of(text()), any::<[u32; 2]>());
    prop_oneof![
        work.prop_map(|(argv, input, [mask, protocol])| {
            Control::Work { argv, input, mask, protocol }
        }),
        id().prop_map(|task| Control::Cancel { task }),
        (any::<u64>(), reply()).prop_map(|(number, reply)| Control::Answer { number, reply }),
    ]
    .boxed()
}

/// A text of the system, also one that is none.
fn word() -> BoxedStrategy<OsString> {
    use std::os::unix::ffi::OsStringExt as _;
    let bytes = prop::collection::vec(any::<u8>(), 0..12).prop_map(OsString::from_vec);
    prop_oneof![text().prop_map(OsString::from), bytes].boxed()
}

/// JSON in which something is another thing than it was.
fn bent(line: &[u8], at: prop::sample::Index, with: Value) -> Vec<u8> {
    fn places(value: &mut Value) -> Vec<&mut Value> {
        match value {
            Value::Object(members) => members.values_mut().collect(),
            Value::Array(items) => items.iter_mut().collect(),
            _ => Vec::new(),
        }
    }
    let mut value: Value = serde_json::from_slice(line).unwrap();
    let mut places = places(&mut value);
    if !places.is_empty() {
        let at = at.index(places.len());
        *places[at] = with;
    }
    lines::line(&value).unwrap()
}

proptest! {
    #[test]
    fn whatever_the_supervisor_says_arrives(say in say()) {
        if let (Say::Event(said), Say::Event(heard)) = (&say, arrives(&say)?) {
            prop_assert_eq!(said, &heard);
        }
    }

    #[test]
    fn whatever_tasks_report_arrives(report in report()) {
        if let (Report::Event(said), Report::Event(heard)) = (&report, arrives(&report)?) {
            prop_assert_eq!(said, &heard);
        }
    }

    #[test]
    fn whatever_a_process_is_told_arrives(control in control()) {
        arrives(&control)?;
    }

    #[test]
    fn an_environment_arrives_as_it_is(env in prop::collection::vec((word(), word()), 0..4), argv in prop::collection::vec(text(), 0..3)) {
        let words = env.iter().cloned().map(|(name, value)| (name.into(), value.into()));
        let (cwd, mask) = ("/somewhere".into(), 0o022);
        let order = Order { argv, input: None, cwd, mask, env: words.collect() };
        let heard = arrives(&Request::Run(Box::new(order)))?;
        let Request::Run(order) = heard else { return Err(TestCaseError::fail("another request")) };
        let words = order.env.into_iter().map(|(name, value)| (name.into(), value.into()));
        prop_assert_eq!(words.collect::<Vec<(OsString, OsString)>>(), env);
    }

    #[test]
    fn an_answer_arrives(ask in text(), reply in reply(), task in id()) {
        arrives(&Request::Answer { ask, reply })?;
        arrives(&Request::Wait { task })?;
        arrives(&Request::Stop { running: Running::Keep })?;
    }

    /// What is not understood is refused without its words, and what is understood is said as it was.
    #[test]
    fn what_is_bent_is_refused_or_means_something(report in report(), at in any::<prop::sample::Index>(), with in value()) {
        fn looked_at<T: Serialize + DeserializeOwned>(line: &[u8]) -> Result<(), TestCaseError> {
            match heard::<T>(line) {
                Ok(understood) => arrives(&understood).map(drop),
                Err(why) => {
                    prop_assert!(why.starts_with("not understood: ") && why.len() < 80, "{}", why);
                    Ok(())
                }
            }
        }
        let line = bent(&lines::line(&report).unwrap(), at, with);
        looked_at::<Report>(&line)?;
        looked_at::<Say>(&line)?;
        looked_at::<Control>(&line)?;
        looked_at::<Request>(&line)?;
        looked_at::<Hello>(&line)?;
    }
}
