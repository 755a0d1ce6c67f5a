//! `tegula generate` writes the requested number of lines, the same ones for the same seed, completely or not
//! at all.

use super::*;

fn generate(arguments: &[&str]) -> String {
    text(tegula().arg("generate").args(arguments).output().unwrap())
}

#[test]
fn for_each_kind() {
    for kind in ["stations", "logins"] {
        let said = generate(&[kind, "20000"]);
        assert_eq!(said.lines().count(), 20000);
        assert_eq!(generate(&[kind, "20000", "--seed=1"]), said);
        assert_ne!(generate(&[kind, "20000", "--seed=2"]), said);
        assert_eq!(generate(&[kind, "0"]), "");
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("lines");
        assert_eq!(generate(&[kind, "20000", "-o", file.to_str().unwrap()]), "");
        assert!(fs::read_to_string(&file).unwrap() == said);
        // The matching command reads the generated file.
        let command = if kind == "stations" { "stations" } else { "logstats" };
        answer(tegula().arg(command).arg(&file).output().unwrap());
    }
}

#[test]
fn progress_is_shown_as_of_other_commands() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("made");
    for (command, bytes) in
        [(&["teragen", "1000"][..], Some(100_000)), (&["generate", "logins", "1000"], None)]
    {
        let show = |form: &str| {
            let output =
                tegula().args(command).args(["--progress", form, "-o"]).arg(&file).output();
            String::from_utf8(output.unwrap().stderr).unwrap()
        };
        let bytes = bytes.unwrap_or_else(|| {
            show("off");
            fs::metadata(&file).unwrap().len()
        });
        let json = show("json");
        let last: serde_json::Value = serde_json::from_str(json.lines().last().unwrap()).unwrap();
        let (done, planned) = (&last["bytes_done"], &last["bytes_planned"]);
        assert_eq!(
            (&last["stage"], done, planned),
            (&"output".into(), &bytes.into(), &bytes.into())
        );
        assert!(show("plain").contains(" of "), "{command:?}");
        assert_eq!((show("off"), show("auto")), (String::new(), String::new()));
    }
}

#[test]
fn lists_of_stations_are_read_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    let list = write(folder.path(), "list", "# two\nHot;99.9\nCold;-99.9\n");
    let said = generate(&["stations", "100", "--list", list.to_str().unwrap()]);
    assert!(said.contains("Hot;99.9\n") && said.contains("Cold;-99.9\n"));
    let bad = write(folder.path(), "bad", "Hot\n");
    let run = |list: &Path| {
        tegula().args(["generate", "stations", "1", "--list"]).arg(list).output().unwrap()
    };
    check_fault(&run(&bad), 2, &[bad.to_str().unwrap(), "line 1"]);
    check_fault(&run(&folder.path().join("missing")), 1, &["missing", "no such file"]);
}
