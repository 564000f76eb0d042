//! A task's hold on its account.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use agents_model::{Usage, cost::MicroDollars};

use super::{Account, Allowance, Limit, Limits, Notice, Spent, Tree};

/// A task's hold on its account. Gone, the account is closed.
#[derive(Debug)]
pub struct Budget {
    tree: Arc<Mutex<Tree>>,
    account: Account,
    start: std::time::Instant,
}

impl Budget {
    /// The budget of the first task of a new tree, from now on.
    #[must_use]
    pub fn new(limits: &Limits) -> Self {
        let tree = Tree::new(limits);
        let account = tree.root();
        Self { tree: Arc::new(Mutex::new(tree)), account, start: std::time::Instant::now() }
    }

    fn with<T>(&self, change: impl FnOnce(&mut Tree, Account, Duration) -> T) -> T {
        let mut tree = self.tree.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut tree, self.account, self.start.elapsed())
    }

    /// That of a child: see [`Tree::reserve`].
    ///
    /// # Errors
    /// What ran out.
    pub fn reserve(&self, wanted: &Limits) -> Result<Self, Limit> {
        let account = self.with(|tree, account, now| tree.reserve(account, wanted, now))?;
        Ok(Self { tree: Arc::clone(&self.tree), account, start: self.start })
    }

    /// Those of children that start together: see [`Tree::reserve_all`].
    ///
    /// # Errors
    /// What ran out.
    pub fn reserve_all(&self, wanted: &[Limits]) -> Result<Vec<Self>, Limit> {
        let accounts = self.with(|tree, account, now| tree.reserve_all(account, wanted, now))?;
        let own = |account| Self { tree: Arc::clone(&self.tree), account, start: self.start };
        Ok(accounts.into_iter().map(own).collect())
    }

    /// See [`Tree::left`].
    #[must_use]
    pub fn left(&self) -> Limits {
        self.with(|tree, account, _| tree.left(account))
    }

    /// See [`Tree::admit`].
    ///
    /// # Errors
    /// What ran out.
    pub fn admit(&self) -> Result<Allowance, Limit> {
        self.with(Tree::admit)
    }

    /// See [`Tree::charge`]. Thoughts are part of the answer.
    pub fn charge(&self, usage: &Usage, cost: MicroDollars) {
        let parts = [usage.input, usage.output, usage.cache_read, usage.cache_write];
        let tokens = parts.into_iter().fold(0, u64::saturating_add);
        self.with(|tree, account, _| tree.charge(account, tokens, cost));
    }

    /// See [`Tree::notices`].
    #[must_use]
    pub fn notices(&self) -> Vec<Notice> {
        self.with(Tree::notices)
    }

    /// See [`Tree::spent`].
    #[must_use]
    pub fn spent(&self) -> Spent {
        self.with(|tree, account, _| tree.spent(account))
    }

    /// When the task must have ended.
    #[must_use]
    pub fn end(&self) -> Option<std::time::Instant> {
        let end = self.with(|tree, account, _| tree.end(account))?;
        self.start.checked_add(end)
    }
}

impl Drop for Budget {
    fn drop(&mut self) {
        self.with(|tree, account, _| tree.close(account));
    }
}
