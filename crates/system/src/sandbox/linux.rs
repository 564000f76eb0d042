//! Landlock.

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, CompatLevel, Compatible as _, Ruleset, RulesetAttr as _,
    RulesetCreatedAttr as _, RulesetError, RulesetStatus, Scope, path_beneath_rules,
};

use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};

use super::{Availability, Lack, Network, Rights, SandboxError, network};

/// What must be confined, or nothing runs.
const FILES: ABI = ABI::V1;
/// The newest whose rules we know the meaning of; an older kernel enforces those that it has.
const NEWEST: ABI = ABI::V6;

pub(super) fn available() -> Availability {
    let files = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(FILES))
        .and_then(Ruleset::create);
    match files {
        Ok(_) => Availability::Available,
        Err(_) => Availability::Unavailable(Lack::Kernel),
    }
}

pub(super) fn restrict(rights: &Rights) -> Result<(), SandboxError> {
    if let Availability::Unavailable(lack) = available() {
        return Err(SandboxError::Unavailable(lack));
    }
    let status = rules(rights).map_err(|error| SandboxError::Refused(Box::new(error)))?;
    if status.ruleset == RulesetStatus::NotEnforced || !status.no_new_privs {
        return Err(SandboxError::NotInForce);
    }
    // Who may do more than others may read the memory and the environment of any process, rules or not.
    let none = CapabilitySet::empty();
    let none = CapabilitySets { effective: none, permitted: none, inheritable: none };
    set_capabilities(None, none).map_err(|errno| SandboxError::Refused(Box::new(errno)))?;
    match rights.network {
        Network::Allowed => Ok(()),
        // Landlock knows TCP only, and older ones not even that.
        Network::Denied => network::cut(),
    }
}

fn rules(rights: &Rights) -> Result<landlock::RestrictionStatus, RulesetError> {
    let ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(FILES))?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(NEWEST))?
        .scope(Scope::Signal)?;
    let ruleset = match rights.network {
        Network::Allowed => ruleset,
        Network::Denied => {
            ruleset.handle_access(AccessNet::from_all(NEWEST))?.scope(Scope::AbstractUnixSocket)?
        }
    };
    ruleset
        .create()?
        .add_rules(path_beneath_rules(&rights.read, AccessFs::from_read(NEWEST)))?
        .add_rules(path_beneath_rules(&rights.write, AccessFs::from_all(NEWEST)))?
        .restrict_self()
}
