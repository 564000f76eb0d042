//! Links the program to a fixed address on Linux. One that can be loaded anywhere has thousands of addresses written into it at
//! every start, and hosts wait for that before every tool call.

#![allow(
    clippy::disallowed_methods,
    reason = "these variables are cargo's, and not read by the program"
)]
#![allow(clippy::print_stdout, reason = "this is how to speak to cargo")]

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let target = |part: &str| std::env::var(format!("CARGO_CFG_TARGET_{part}")).unwrap_or_default();
    if target("OS") == "linux" && target("ENV") == "gnu" {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}
