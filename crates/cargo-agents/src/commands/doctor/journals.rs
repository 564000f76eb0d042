//! Journals of runs that cannot be read. Whether every event of the others is in its place, `plan check-journal` tells: that takes as long as they
//! are.

use agents_system::finding::{Finding, Place};

use super::checks::{JOURNAL_BROKEN, Problem};
use crate::{commands::plan, failure::Failure, settings::Settings};

pub(super) fn check(settings: &Settings) -> Vec<Problem> {
    let journals = plan::journals(settings);
    let runs = match journals.list() {
        Ok(runs) => runs,
        Err(error) => {
            let finding = Failure::from(error).into_finding("runs of plans");
            return vec![JOURNAL_BROKEN.problem(finding)];
        }
    };
    let broken = runs.into_iter().filter_map(Result::err).map(|(id, error)| {
        let place = Place::file(journals.home(&id));
        let finding = Failure::from(error).into_finding(&format!("run `{id}`"));
        JOURNAL_BROKEN.problem(Finding { place: Some(place), ..finding })
    });
    broken.collect()
}
