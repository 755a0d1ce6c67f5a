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

#[test]
fn of_machines_that_are_described() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("machine.txt");
    fs::write(&file, "# two sockets\ngroups 2, cores 12, cache 36M, l2 1M\n").unwrap();
    let said = text(tegula().arg("topology").arg("--groups").arg(&file).output().unwrap());
    assert!(
        said.contains("group 1     node 1, cache 36 MiB, 12 cores, processors 12-23"),
        "{said}"
    );
    let said = text(tegula().args(["topology", "--groups", "1"]).output().unwrap());
    assert!(said.contains("group 0") && !said.contains("group 1"), "{said}");
    fs::write(&file, "groups 2, cores 12\ngroups two, cores 12\n").unwrap();
    let output = tegula().arg("topology").arg("--groups").arg(&file).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("machine.txt:2: `groups` is `two`"), "{said}");
    assert!(!output.status.success());
}

#[test]
fn groups_change_nothing_but_the_figures() {
    let folder = tempfile::tempdir().unwrap();
    let (file, input) = (folder.path().join("machine.txt"), folder.path().join("input.txt"));
    fs::write(&file, "groups 3, cores 1\n").unwrap();
    fs::write(&input, "to be or not to be ".repeat(20_000)).unwrap();
    let run = |groups: &OsStr| {
        let mut command = tegula();
        command.arg("wordcount").arg(&input).args(["--stats", "--workers", "3", "--tile", "64k"]);
        let output = command.arg("--groups").arg(groups).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        (output.stdout, String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let ((one, _), (three, said)) = (run("1".as_ref()), run(file.as_os_str()));
    assert_eq!(one, three);
    assert!(said.contains("group 2     1 workers, ") && said.contains("idle "), "{said}");
}
