//! Being asked to stop: Ctrl-C, a system that shuts down, a terminal that is closed.

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicBool, Ordering},
};

use signal_hook::{
    consts::{SIGINT, SIGTERM},
    flag,
};

static INTERRUPTED: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// Whether the user asked us to stop. Only known after [`listen_for_interrupts`], or after a child was started or a question asked.
#[must_use]
pub fn interrupted() -> bool {
    INTERRUPTED.get().is_some_and(|flag| flag.load(Ordering::Relaxed))
}

/// From now on Ctrl-C, and the end of the terminal, only set what [`interrupted`] tells, so that we can clean up; a second Ctrl-C ends
/// us at once.
pub fn listen_for_interrupts() {
    let asked = listen_for_ctrl_c();
    #[cfg(unix)]
    {
        static HANGUPS: std::sync::Once = std::sync::Once::new();
        // A second one says nothing: a shell and the system both tell that the terminal is gone.
        HANGUPS.call_once(|| {
            if !ignores_hangups() {
                let _ = flag::register(signal_hook::consts::SIGHUP, Arc::clone(asked));
            }
        });
    }
    #[cfg(not(unix))]
    let _ = asked;
}

/// The same without the end of the terminal, for what is short: a hook must not look up how it was started.
pub(crate) fn listen_for_ctrl_c() -> &'static Arc<AtomicBool> {
    INTERRUPTED.get_or_init(|| {
        let asked = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            // If this fails, Ctrl-C simply keeps its default meaning.
            let _ = flag::register_conditional_shutdown(signal, 130, Arc::clone(&asked));
            let _ = flag::register(signal, Arc::clone(&asked));
        }
        asked
    })
}

/// Whether we were started to outlive the terminal, as `nohup` does it. Where that cannot be known, it is taken for granted.
#[cfg(unix)]
fn ignores_hangups() -> bool {
    let status = fs_err::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    ignored.is_none_or(|mask| mask & (1 << (signal_hook::consts::SIGHUP - 1)) != 0)
}
