//! `docs/hooks.md`.
