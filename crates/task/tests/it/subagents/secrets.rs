//! Secrets that a sub-agent asks for.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use agents_agent::{
    definition::{PermissionMode, Waiting},
    tools::ToolPattern,
};
use agents_model::Part;
use agents_task::{
    event::Event,
    secret::SecretRequest,
    subagents::{SubAgentError, SubAgentManager},
};
use secrecy::SecretString;

use super::{LONG, Office};
use crate::block_on;

async fn request(manager: &mut SubAgentManager) -> (String, SecretRequest) {
    loop {
        match manager.try_recv_secret_request() {
            Some(request) => return request,
            None => tokio::time::sleep(Duration::from_millis(2)).await,
        }
    }
}

#[test]
fn a_secret_is_in_the_call_that_names_it_and_in_no_byte_elsewhere() {
    block_on(async {
        let keys: Vec<String> = (0..50).map(|it| format!("TOKEN_{it}")).collect();
        let value = |at: usize| format!("planted-value-number-{at:03}");
        let mut office = Office::changed(1, |it| {
            it.secrets.clone_from(&keys);
            it.permission_mode = Some(PermissionMode::BypassPermissions);
        });
        office.config.allow_bypass_permissions = true;
        let events: Arc<Mutex<String>> = Arc::default();
        let log = Arc::clone(&events);
        office.manager.set_sink(Arc::new(move |event: &Event| {
            log.lock().unwrap().push_str(&serde_json::to_string(event).unwrap());
        }));
        let asks: Vec<String> = keys
            .iter()
            .map(|key| format!("{{ name = \"request_secret\", input = {{ key = \"{key}\", reason = \"to test\" }} }}"))
            .collect();
        let echo: Vec<String> = keys.iter().map(|key| format!("${key}")).collect();
        let lines = echo.join(" ");
        let play = format!(
            "[[replies]]\ncalls = [{}]\n\
             [[replies]]\ncalls = [{{ name = \"bash\", input = {{ command = \"env | grep -c ^TOKEN_ || true\" }} }}, \
             {{ name = \"bash\", input = {{ command = \"env | grep -c ^TOKEN_; echo {lines}\" }} }}]\n\
             [[replies]]\ntext = \"done\"\n",
            asks.join(", ")
        );
        let id = office.spawn(&play).unwrap();
        for _ in 0..50 {
            let (task, asked) = request(&mut office.manager).await;
            assert_eq!((task.as_str(), asked.reason.as_deref()), (id.as_str(), Some("to test")));
            let at: usize = asked.secret_key.trim_start_matches("TOKEN_").parse().unwrap();
            let key = asked.secret_key.as_str();
            let early = office.manager.deliver_secret(&task, key, SecretString::from(value(at)));
            assert!(matches!(early, Err(SubAgentError::Invalid(_))), "{early:?}");
            office.manager.approve_secret(&task, key, LONG).unwrap();
            office.manager.deliver_secret(&task, key, SecretString::from(value(at))).unwrap();
        }
        assert_eq!(office.manager.collect(&id).await.unwrap(), "done");
        office.settled().await;
        let loaded = office.store().load(office.store().find_by_prefix(&id).unwrap()).unwrap();
        let results: Vec<String> = loaded
            .messages()
            .flat_map(|it| it.parts.clone())
            .filter_map(|part| match part {
                Part::ToolResult(result) if result.name == "bash" => Some(result.content),
                _ => None,
            })
            .collect();
        assert!(results[0].contains("\n0\n"), "a call that names none gets none: {}", results[0]);
        assert!(results[1].contains("\n50\n"), "{}", results[1]);
        assert_eq!(results[1].matches("<SECRET:token:").count(), 50, "{}", results[1]);
        let mut files = vec![office.scratch.path("tasks"), office.scratch.path("root")];
        let mut bytes = events.lock().unwrap().clone();
        while let Some(path) = files.pop() {
            if path.is_dir() {
                files.extend(path.read_dir_utf8().unwrap().map(|it| it.unwrap().into_path()));
            } else {
                bytes.push_str(&String::from_utf8_lossy(&fs_err::read(path).unwrap()));
            }
        }
        assert!(!bytes.contains("planted-value"), "a value was written or told");
    });
}

#[test]
fn requests_are_denied_where_nobody_can_agree() {
    block_on(async {
        let asks = "[[replies]]\ntext = \"[REQUEST_SECRET: A]\"\n\
                    [[replies]]\nwhen = { text = \"[secret:A] request denied\" }\ntext = \"as I thought\"\n";
        let mut office = Office::changed(4, |it| {
            it.secrets = vec!["A".to_owned()];
            it.waiting = Some(Waiting::Background);
        });
        let id = office.spawn(asks).unwrap();
        assert_eq!(office.manager.collect(&id).await.unwrap(), "as I thought");
        assert!(office.manager.try_recv_secret_request().is_none(), "nothing reaches the parent");
        // Listed, and refused.
        office.manager.definitions_mut()[0].waiting = None;
        let id = office.spawn(asks).unwrap();
        let (task, _) = request(&mut office.manager).await;
        assert!(matches!(
            office.manager.approve_secret(&task, "B", LONG),
            Err(SubAgentError::Invalid(_))
        ));
        office.manager.deny_secret(&task).unwrap();
        assert!(matches!(office.manager.deny_secret(&task), Err(SubAgentError::Other(_))));
        assert_eq!(office.manager.collect(&id).await.unwrap(), "as I thought");
        // Nobody answers.
        office.manager.set_secret_patience(Duration::from_millis(10));
        let id = office.spawn(asks).unwrap();
        assert_eq!(office.manager.collect(&id).await.unwrap(), "as I thought");
    });
}

#[test]
fn who_may_ask_for_secrets_has_the_tool_for_it() {
    block_on(async {
        let asks = "[[replies]]\nwhen = { tool = \"request_secret\" }\ntimes = 1\ncalls = [{ name = \"request_secret\", input = { key = \"B\" } }]\n\
                    [[replies]]\nwhen = { result = \"[secret:B] request denied: its definition does not list it\" }\ntext = \"as I thought\"\n";
        let mut office = Office::changed(1, |it| {
            it.secrets = vec!["A".to_owned()];
            it.tools.allow = Some(vec![ToolPattern::new("read")]);
        });
        let id = office.spawn(asks).unwrap();
        assert_eq!(office.manager.collect(&id).await.unwrap(), "as I thought");
    });
}

#[test]
fn a_request_for_a_secret_does_not_outlive_its_task() {
    block_on(async {
        let mut office = Office::changed(1, |it| it.secrets = vec!["A".to_owned()]);
        let id = office.spawn("[[replies]]\ntext = \"[REQUEST_SECRET: A]\"\n").unwrap();
        let (task, _) = request(&mut office.manager).await;
        office.manager.cancel(&id).unwrap();
        office.settled().await;
        let late = office.manager.approve_secret(&task, "A", LONG);
        assert!(matches!(late, Err(SubAgentError::Other(_))), "{late:?}");
    });
}
