//! Links the program so that it starts fast on Linux, which hosts wait for before every tool call.
//!
//! - To a fixed address: a program that can be loaded anywhere has thousands of addresses written into it at every start.
//! - With the part of the compiler's library that unwinds in it, where there is a static one: the shared one would have to be found,
//!   mapped and bound at every start.

#![allow(
    clippy::disallowed_methods,
    reason = "these variables are cargo's, and not read by the program"
)]
#![allow(clippy::print_stdout, reason = "this is how to speak to cargo")]

use std::{path::Path, process::Command};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=RUSTC_LINKER");
    let target = |part: &str| std::env::var(format!("CARGO_CFG_TARGET_{part}")).unwrap_or_default();
    if target("OS") == "linux" && target("ENV") == "gnu" {
        println!("cargo::rustc-link-arg-bins=-no-pie");
        if has_static("libgcc_eh.a") && !target("FEATURE").contains("crt-static") {
            println!("cargo::rustc-link-lib=dylib=gcc_eh");
        }
    }
}

/// Whether the compiler that links knows such a library. Linkers that are no compilers do not answer, and then it is not used.
fn has_static(library: &str) -> bool {
    let linker = std::env::var("RUSTC_LINKER").unwrap_or_else(|_| "cc".to_owned());
    let asked = Command::new(linker).arg(format!("-print-file-name={library}")).output();
    asked.is_ok_and(|it| {
        // What it does not know it repeats.
        let path = String::from_utf8_lossy(&it.stdout).trim().to_owned();
        it.status.success() && path != library && Path::new(&path).exists()
    })
}
