//! Where requests of sub-agents for secrets are answered.

use std::time::Duration;

use secrecy::SecretString;

use super::{SubAgentError, SubAgentManager};
use crate::{
    id::TaskId,
    secret::{SecretError, SecretRequest},
};

impl SubAgentManager {
    /// Agrees that a sub-agent gets a secret, for so long from now on.
    ///
    /// # Errors
    /// There is no such sub-agent, or its definition does not list the secret.
    pub fn approve_secret(
        &mut self,
        task_id: &str,
        secret_key: &str,
        ttl: Duration,
    ) -> Result<(), SubAgentError> {
        let approved = self.desk.approve(parse(task_id)?, secret_key, ttl);
        approved.map_err(|error| self.secret(task_id, error))
    }

    /// Gives a sub-agent that waits for it the value of a secret that was approved.
    ///
    /// # Errors
    /// There is no such sub-agent, it does not wait for this one, or it is not approved any more.
    pub fn deliver_secret(
        &mut self,
        task_id: &str,
        key: &str,
        value: SecretString,
    ) -> Result<(), SubAgentError> {
        let delivered = self.desk.deliver(parse(task_id)?, key, value);
        delivered.map_err(|error| self.secret(task_id, error))
    }

    /// Says no to the oldest request of a sub-agent.
    ///
    /// # Errors
    /// There is no such sub-agent, or it asks for nothing.
    pub fn deny_secret(&mut self, task_id: &str) -> Result<(), SubAgentError> {
        let denied = self.desk.deny_next(parse(task_id)?);
        denied.map_err(|error| self.secret(task_id, error))
    }

    fn secret(&self, task_id: &str, error: SecretError) -> SubAgentError {
        match error {
            SecretError::NoTask if self.runs.contains_key(task_id) => {
                SubAgentError::Other("the sub-agent has ended".to_owned())
            }
            SecretError::NoTask => SubAgentError::no_task(task_id),
            SecretError::NotAsked => SubAgentError::Other(error.to_string()),
            SecretError::NotListed | SecretError::NotApproved | SecretError::TooShort => {
                SubAgentError::Invalid(error.to_string())
            }
        }
    }

    /// The oldest request for a secret that nobody has seen yet, with the sub-agent that asks.
    pub fn try_recv_secret_request(&mut self) -> Option<(String, SecretRequest)> {
        self.desk.next(None).map(|it| (it.task.to_string(), it))
    }

    /// The same of one sub-agent.
    pub fn try_recv_secret_request_for(&mut self, task_id: &str) -> Option<SecretRequest> {
        self.desk.next(Some(TaskId::parse(task_id)?))
    }
}

fn parse(task_id: &str) -> Result<TaskId, SubAgentError> {
    TaskId::parse(task_id).ok_or_else(|| SubAgentError::no_task(task_id))
}
