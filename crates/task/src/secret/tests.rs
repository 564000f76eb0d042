use secrecy::ExposeSecret as _;

use super::*;

fn bearer(allowed: &[&str], asks: Asks) -> Bearer {
    Bearer {
        task: TaskId::new(),
        path: TaskPath::root(),
        agent: "helper".to_owned(),
        allowed: allowed.iter().map(|it| (*it).to_owned()).collect(),
        longest: Some(Duration::from_secs(60)),
        asks,
        mask: Arc::default(),
    }
}

fn value(text: &str) -> SecretString {
    SecretString::from(text)
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(work)
}

const HOUR: Duration = Duration::from_secs(3600);

#[test]
fn approved_and_delivered_it_is_in_the_calls_that_name_it() {
    block_on(async {
        let desk = Desk::new(HOUR);
        let bearer = bearer(&["ci-token", "OTHER_KEY"], Asks::Somebody);
        let (task, mask) = (bearer.task, Arc::clone(&bearer.mask));
        let pocket = desk.pocket(bearer);
        let answering = async {
            let request = loop {
                match desk.next(None) {
                    Some(request) => break request,
                    None => tokio::task::yield_now().await,
                }
            };
            assert_eq!((request.task, request.secret_key.as_str()), (task, "ci-token"));
            assert_eq!(request.reason.as_deref(), Some("to look"));
            assert_eq!(desk.next(None), None, "seen once");
            let deliver = |key: &str| desk.deliver(task, key, value("hunter2-hunter2"));
            assert_eq!(deliver("ci-token"), Err(SecretError::NotApproved));
            desk.approve(task, "OTHER_KEY", HOUR).unwrap();
            assert_eq!(deliver("ci-token"), Err(SecretError::NotApproved), "another one is");
            assert_eq!(deliver("OTHER_KEY"), Err(SecretError::NotAsked));
            desk.approve(task, "ci-token", HOUR).unwrap();
            assert_eq!(desk.deliver(task, "ci-token", value("short")), Err(SecretError::TooShort));
            assert_eq!(
                mask.apply("hunter2-hunter2"),
                "hunter2-hunter2",
                "not before it is delivered"
            );
            deliver("ci-token").unwrap();
            assert_eq!(deliver("ci-token"), Err(SecretError::NotAsked), "once");
        };
        let (answer, ()) = tokio::join!(pocket.ask("ci-token", Some(" to look ")), answering);
        assert_eq!(answer.unwrap().variable(), "ci_token");
        assert!(mask.apply("hunter2-hunter2").starts_with("<SECRET:token:"));
        let given = pocket.for_call("curl -H \"$ci_token\"");
        assert_eq!(given.len(), 1);
        assert_eq!(
            (given[0].0.as_str(), given[0].1.expose_secret()),
            ("ci_token", "hunter2-hunter2")
        );
        for other in ["ls", "echo $ci_token_2", "xci_token"] {
            assert!(pocket.for_call(other).is_empty(), "{other}");
        }
    });
}

#[test]
fn nothing_waits_for_an_answer_that_cannot_come() {
    block_on(async {
        let asked = |desk: Desk, allowed: &[&str], asks, key: &'static str| {
            let pocket = desk.pocket(bearer(allowed, asks));
            async move { pocket.ask(key, None).await.unwrap_err() }
        };
        let desk = || Desk::new(HOUR);
        assert_eq!(asked(desk(), &["A"], Asks::Nobody, "A").await, Denied::Nobody, "background");
        assert_eq!(asked(Desk::unattended(), &["A"], Asks::Somebody, "A").await, Denied::Nobody);
        assert_eq!(asked(desk(), &["A"], Asks::Somebody, "B").await, Denied::NotListed);
        assert_eq!(asked(desk(), &["A"], Asks::Somebody, "a b").await, Denied::NotAName);
        let hasty = Desk::new(Duration::ZERO);
        assert_eq!(asked(hasty.clone(), &["A"], Asks::Somebody, "A").await, Denied::TooLate);
        assert!(hasty.waiting().is_empty(), "a request that is over is gone");
    });
}

#[test]
fn each_answer_meets_its_own_question() {
    block_on(async {
        let desk = Desk::new(HOUR);
        let (one, other) = (bearer(&["A"], Asks::Somebody), bearer(&["A"], Asks::Somebody));
        let (first, second) = (one.task, other.task);
        let (one, other) = (desk.pocket(one), desk.pocket(other));
        let answering = async {
            while desk.waiting().len() < 2 {
                tokio::task::yield_now().await;
            }
            assert_eq!(desk.next(Some(second)).unwrap().task, second, "a sibling's is not taken");
            assert_eq!(desk.next(None).unwrap().task, first, "the oldest one first");
            desk.deny_next(first).unwrap();
            assert_eq!(desk.deny_next(first), Err(SecretError::NotAsked));
            desk.approve(second, "A", HOUR).unwrap();
            desk.deliver(second, "A", value("a long value")).unwrap();
        };
        let (denied, given, ()) = tokio::join!(one.ask("A", None), other.ask("A", None), answering);
        assert_eq!((denied.unwrap_err(), given.is_ok()), (Denied::Refused, true));
    });
}

#[test]
fn approvals_end_and_are_never_longer_than_the_definition_says() {
    block_on(async {
        let desk = Desk::new(HOUR);
        let mut short = bearer(&["A"], Asks::Somebody);
        short.longest = Some(Duration::ZERO);
        let task = short.task;
        let pocket = desk.pocket(short);
        desk.approve(task, "A", HOUR).unwrap();
        let late = async {
            while desk.waiting().is_empty() {
                tokio::task::yield_now().await;
            }
            assert_eq!(
                desk.deliver(task, "A", value("a long value")),
                Err(SecretError::NotApproved)
            );
            desk.deny_next(task).unwrap();
        };
        let (answer, ()) = tokio::join!(pocket.ask("A", None), late);
        assert!(answer.is_err());
        assert_eq!(desk.approve(task, "B", HOUR), Err(SecretError::NotListed));
        assert_eq!(desk.approve(TaskId::new(), "A", HOUR), Err(SecretError::NoTask));
        pocket.take(&SecretKey::new("A").unwrap(), value("a long value"), Until(Instant::now()));
        assert!(pocket.for_call("$A").is_empty(), "what is over is gone before the call");
        drop(pocket);
        assert_eq!(desk.approve(task, "A", HOUR), Err(SecretError::NoTask), "the task is over");
    });
}

#[test]
fn an_approval_is_over_when_its_end_is_there() {
    let now = Instant::now();
    assert!(Until(now + Duration::from_nanos(1)).is_after(now));
    assert!(!Until(now).is_after(now));
    assert!(!Until(now).is_after(now + HOUR));
}

/// Asks, and answers once there is a question.
async fn answered<T>(
    pocket: &Pocket,
    desk: &Desk,
    key: &str,
    answer: impl FnOnce(&SecretRequest) -> T,
) -> (Result<SecretKey, Denied>, T) {
    let answering = async {
        loop {
            match desk.waiting().iter().find(|it| it.task == pocket.task) {
                Some(request) => break answer(request),
                None => tokio::task::yield_now().await,
            }
        }
    };
    tokio::join!(pocket.ask(key, None), answering)
}

#[test]
fn several_approvals_hold_at_once_and_for_as_long_as_one_likes() {
    block_on(async {
        let desk = Desk::new(HOUR);
        let mut bearer = bearer(&["A", "B"], Asks::Somebody);
        bearer.longest = None;
        let task = bearer.task;
        let pocket = desk.pocket(bearer);
        desk.approve(task, "A", HOUR).unwrap();
        desk.approve(task, "B", Duration::MAX).unwrap();
        for key in ["A", "B"] {
            let deliver = |_: &SecretRequest| desk.deliver(task, key, value("a long value"));
            let (given, delivered) = answered(&pocket, &desk, key, deliver).await;
            assert!(given.is_ok() && delivered.is_ok(), "{key}: {given:?} {delivered:?}");
        }
        assert_eq!(pocket.for_call("$A $B").len(), 2);
    });
}

#[test]
fn a_task_that_is_over_takes_only_its_own_along() {
    block_on(async {
        let desk = Desk::new(HOUR);
        let [one, other] = [(); 2].map(|()| bearer(&["A", "B"], Asks::Somebody));
        let [gone, stays] = [one.task, other.task];
        let [one, other] = [one, other].map(|it| desk.pocket(it));
        desk.approve(gone, "A", HOUR).unwrap();
        desk.approve(stays, "A", HOUR).unwrap();
        let asking = {
            let (one, other) = (Arc::clone(&one), Arc::clone(&other));
            async move { tokio::join!(one.ask("A", None), other.ask("A", None)) }
        };
        let ending = async {
            while desk.waiting().len() < 2 {
                tokio::task::yield_now().await;
            }
            desk.forget(gone);
            let left: Vec<TaskId> = desk.waiting().iter().map(|it| it.task).collect();
            assert_eq!(left, [stays]);
            let deliver = |task| desk.deliver(task, "A", value("a long value"));
            assert_eq!(deliver(gone), Err(SecretError::NoTask));
            assert_eq!(deliver(stays), Ok(()));
            // Should it come back, what was agreed to before is not.
            desk.expect(gone, &["A".to_owned()], None, Arc::default());
            assert_eq!(deliver(gone), Err(SecretError::NotApproved));
        };
        let ((denied, given), ()) = tokio::join!(asking, ending);
        assert_eq!((denied.unwrap_err(), given.is_ok()), (Denied::Nobody, true));
    });
}

#[test]
fn a_request_that_nobody_waits_for_is_gone_and_no_other_is() {
    block_on(async {
        let desk = Desk::new(HOUR);
        let pocket = desk.pocket(bearer(&["A", "B"], Asks::Somebody));
        let given_up = tokio::time::timeout(Duration::ZERO, pocket.ask("A", None)).await;
        assert!(given_up.is_err() && desk.waiting().is_empty());
        // The second one is refused while the first one waits.
        let answering = async {
            while desk.waiting().len() < 2 {
                tokio::task::yield_now().await;
            }
            let [first, second] = desk.waiting().try_into().unwrap();
            assert_ne!(first.id.to_string(), second.id.to_string());
            desk.deny(second.id).unwrap();
            assert_eq!(desk.deny(second.id), Err(SecretError::NotAsked));
            tokio::task::yield_now().await;
            assert_eq!(desk.waiting(), std::slice::from_ref(&first));
            desk.deny(first.id).unwrap();
        };
        let (one, other, ()) =
            tokio::join!(pocket.ask("A", None), pocket.ask("B", None), answering);
        assert_eq!((one.unwrap_err(), other.unwrap_err()), (Denied::Refused, Denied::Refused));
    });
}

#[test]
fn an_agent_is_told_what_it_may_ask_for() {
    let pocket = Desk::new(HOUR).pocket(bearer(&["A", "not a name", "B"], Asks::Somebody));
    let tool = RequestSecret::new(pocket);
    let said = agents_tool::Tool::description(&tool);
    assert!(said.ends_with("You may ask for `A`, `B`."), "{said}");
}

#[test]
fn what_is_too_short_cannot_be_hidden() {
    assert!(can_be_hidden(&value("12345678")));
    assert!(!can_be_hidden(&value("1234567")));
}

#[test]
fn names_and_values_are_not_shown_by_debugging() {
    let desk = Desk::new(HOUR);
    let pocket = desk.pocket(bearer(&["DB_PASSWORD"], Asks::Somebody));
    let request = SecretRequest {
        id: RequestId(1),
        task: TaskId::new(),
        path: TaskPath::root(),
        agent: "helper".to_owned(),
        secret_key: "DB_PASSWORD".to_owned(),
        reason: None,
        longest: None,
    };
    assert_eq!(format!("{desk:?}"), "Desk { waiting: 0, approved: 0, .. }");
    let task = |id: TaskId| format!("task: {id:?}, .. }}");
    assert_eq!(format!("{pocket:?}"), format!("Pocket {{ {}", task(pocket.task)));
    let shown = format!("SecretRequest {{ id: RequestId(1), {}", task(request.task));
    assert_eq!(format!("{request:?}"), shown);
}

#[test]
fn a_message_that_asks() {
    let key = |text: &str| asked_in(text).map(|it| it.as_str().to_owned());
    assert_eq!(key(" [REQUEST_SECRET: ci-token] please").as_deref(), Some("ci-token"));
    for text in [
        "I need [REQUEST_SECRET: a]",
        "[REQUEST_SECRET: ]",
        "[REQUEST_SECRET: a b]",
        "[REQUEST_SECRET: a",
    ] {
        assert_eq!(key(text), None, "{text}");
    }
}
