//! `tegula topology` shows the machine and the sizes a run starts from.

use super::*;

#[test]
fn with_each_fact_on_a_line() {
    let said = text(tegula().arg("topology").output().unwrap());
    for name in [
        "processors  ",
        "cores       ",
        "quota       ",
        "node ",
        "group 0     ",
        "tile        32",
        "split       ",
    ] {
        assert!(said.lines().any(|line| line.starts_with(name)), "{name:?} in:\n{said}");
    }
}
