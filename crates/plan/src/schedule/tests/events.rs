//! Which events are taken, and when.

use super::*;

/// A plan that has not ended, with a node `a` in this state.
fn with_a(state: State) -> Drive {
    let a = with(node("a", &["first"]), |it| {
        it.retry = Retry { attempts: 1 + u32::from(state == State::Resting), ..Retry::default() };
        it.retry.backoff = Duration::from_secs(10);
        if state == State::Asking {
            it.on_failure = OnFailure::Ask;
        }
    });
    let mut plan = drive(vec![node("first", &[]), a, node("other", &[])]);
    let a = plan.index("a");
    plan.started();
    match state {
        State::Waiting => {}
        State::Skipped => plan.fails("first"),
        _ => plan.done("first"),
    }
    if !matches!(state, State::Waiting | State::Skipped | State::Ready) {
        plan.started();
    }
    match state {
        State::Waiting | State::Skipped | State::Ready | State::Running => {}
        State::Stopping => plan.tell(What::Cancelled { node: Some(a) }).unwrap(),
        State::Resting | State::Asking | State::Failed => plan.fails("a"),
        State::Completed => plan.done("a"),
        State::Cancelled => plan.end("a", Outcome::ended(Ending::Cancelled, "")),
    }
    assert_eq!(plan.it.state(a), state);
    plan
}

#[test]
fn an_event_is_taken_only_in_a_state_in_which_it_can_happen() {
    for (state, expected) in [
        (State::Waiting, &["cancelled"][..]),
        (State::Ready, &["started", "recalled", "cancelled"]),
        (State::Running, &["ended", "timed-out", "interrupted", "cancelled"]),
        (State::Stopping, &["ended", "abandoned", "interrupted"]),
        (State::Resting, &["rested", "cancelled"]),
        (State::Asking, &["cancelled", "answered", "answered"]),
        (State::Completed, &[]),
        (State::Failed, &[]),
        (State::Skipped, &[]),
        (State::Cancelled, &[]),
    ] {
        let plan = with_a(state);
        let node = plan.index("a");
        let number = plan.it.attempt(node).map_or(0, |it| it.number);
        let (attempt, next) = (Attempt { node, number }, Attempt { node, number: number + 1 });
        let outcome = Arc::new(Outcome::completed(json!(1)));
        let events = [
            What::Started { attempt: next, allowance: None },
            What::Ended { attempt, outcome: Arc::clone(&outcome) },
            What::Recalled { node, outcome: Arc::clone(&outcome) },
            What::TimedOut { attempt, deadline: Deadline::Run },
            What::Abandoned { attempt },
            What::Rested { node },
            What::Interrupted { attempt },
            What::Cancelled { node: Some(node) },
            What::Answered { node, answer: Answer::Retry },
            What::Answered { node, answer: Answer::Continue },
            // No other number than the next one starts, and only the last one can end.
            What::Started { attempt, allowance: None },
            What::Ended { attempt: next, outcome },
        ];
        let mut taken = Vec::new();
        for what in events {
            let (word, mut plan) = (what.word(), with_a(state));
            let before = plan.states();
            match plan.tell(what) {
                Ok(()) => taken.push(word),
                Err(_) => assert_eq!(plan.states(), before, "{word}"),
            }
        }
        assert_eq!(taken, expected, "{state:?}");
    }
}

#[test]
fn what_was_told_to_stop_has_stopped_when_its_process_is_gone() {
    let mut plan = with_a(State::Stopping);
    let attempt = plan.it.attempt(plan.index("a")).unwrap();
    plan.tell(What::Interrupted { attempt }).unwrap();
    assert_eq!(plan.started(), [""; 0]);
    assert_eq!(plan.states(), "first completed, a cancelled, other running");
    let mut plan = with_a(State::Running);
    plan.tell(What::TimedOut { attempt, deadline: Deadline::Run }).unwrap();
    plan.tell(What::Interrupted { attempt }).unwrap();
    assert_eq!(plan.started(), [""; 0]);
    let outcome = plan.it.outcome(attempt.node).unwrap();
    assert_eq!((outcome.ending, outcome.message.as_str()), (Ending::TimedOut, "it took too long"));
}
