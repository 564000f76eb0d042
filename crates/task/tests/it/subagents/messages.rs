//! What sub-agents write to each other.

use std::sync::Arc;

use agents_task::{
    peers::PeerLimits,
    subagents::{PlanTaskId, TaskEvent},
};
use tokio::sync::mpsc;

use super::{Office, playing};
use crate::block_on;

/// Waits for a message, and says whether one came.
const WAITS: &str = "[[replies]]\ncalls = [{ name = \"check_messages\", input = { wait_ms = 30000 } }]\n\
    [[replies]]\nwhen = { result = \"good morning\" }\ntext = \"heard\"\n[[replies]]\ntext = \"nothing came\"\n";

/// Writes to somebody, and says whether it was sent.
fn writes(to: &str) -> String {
    format!(
        "[[replies]]\ncalls = [{{ name = \"send_peer_message\", input = {{ target = \"{to}\", body = \"good morning\" }} }}]\n\
         [[replies]]\nwhen = {{ result = \"sent to\" }}\ntext = \"sent\"\n[[replies]]\ntext = \"not sent\"\n"
    )
}

#[test]
fn sub_agents_of_a_session_write_to_each_other_and_those_of_a_plan_among_themselves() {
    block_on(async {
        let mut office = Office::new(8);
        // Nobody does unless it is said.
        let id = office.spawn(&writes("worker")).unwrap();
        assert_eq!(office.manager.collect(&id).await.unwrap(), "not sent");
        office.manager.set_peer_messaging_config(Some(PeerLimits::default()));
        let (one, _hears) = mpsc::channel(8);
        let (other, _hears_too) = mpsc::channel(8);
        let (tools, config) = (office.tools(), office.config.clone());
        let planned = |office: &mut Office, text: &str, plan: &mpsc::Sender<TaskEvent>| {
            let (task, tools) = (PlanTaskId("t".to_owned()), Arc::clone(&tools));
            let model = playing(text);
            let events = plan.clone();
            let started = office
                .manager
                .spawn_for_task("worker", "x", model, tools, None, &config, task, events);
            started.unwrap()
        };
        let of_session = office.spawn(WAITS).unwrap();
        let of_plan = planned(&mut office, WAITS, &one);
        // Others do not even know them.
        let stranger = planned(&mut office, &writes(&of_session), &one);
        assert_eq!(office.manager.collect(&stranger).await.unwrap(), "not sent");
        for stranger in [
            planned(&mut office, &writes(&of_plan), &other),
            office.spawn(&writes(&of_plan)).unwrap(),
        ] {
            assert_eq!(office.manager.collect(&stranger).await.unwrap(), "not sent");
        }
        let colleague = office.spawn(&writes(&of_session)).unwrap();
        assert_eq!(office.manager.collect(&colleague).await.unwrap(), "sent");
        let colleague = planned(&mut office, &writes(&of_plan), &one);
        assert_eq!(office.manager.collect(&colleague).await.unwrap(), "sent");
        for id in [of_session, of_plan] {
            assert_eq!(office.manager.collect(&id).await.unwrap(), "heard");
        }
    });
}
