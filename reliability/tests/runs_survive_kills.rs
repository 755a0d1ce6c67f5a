//! Killed runs resume, and give the answer of an undisturbed run.

use std::process::Command;

#[test]
fn fifty_kills_change_nothing() {
    let output = Command::new(env!("CARGO_BIN_EXE_reliability"))
        .args(["kills", "--kills", "50", "--seed", "2026"])
        .output()
        .expect("it can be started");
    let said = String::from_utf8_lossy(&output.stdout);
    let why = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("every answer was"), "{said}{why}");
    println!("{said}");
}
