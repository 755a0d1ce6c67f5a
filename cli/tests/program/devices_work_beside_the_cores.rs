//! `--device` changes no answer, and `tegula devices` lists usable devices and the reasons of unusable ones.

use super::*;
use rustix::process::{Pid, Signal, kill_process};

/// Returns a picture of `pixels` pixels in one row.
fn picture(folder: &Path, pixels: usize) -> PathBuf {
    let path = folder.join("picture.ppm");
    let mut bytes = format!("P6\n{pixels} 1\n255\n").into_bytes();
    bytes.extend((0..3 * pixels).map(|at| (at * at / 7) as u8));
    fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn the_answer_is_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let path = picture(folder.path(), 3_000_001);
    let histogram = |device: &str| {
        text(tegula().arg("histogram").arg(&path).args(["--device", device]).output().unwrap())
    };
    let expected = histogram("cpu");
    assert_eq!(expected, histogram("emulated"));
    assert_eq!(expected, histogram("auto"));
    let line = |device: &str| {
        let arguments = ["linreg", "--points", "bytes", "--device", device];
        text(tegula().args(arguments).arg(&path).output().unwrap())
    };
    // The header and the picture have an even number of bytes together.
    assert_eq!(line("cpu"), line("emulated"));
}

#[test]
fn words_are_counted_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("text.txt");
    let line = |row: u32| format!("Row {} of {} rows\n", row.wrapping_mul(row) % 10_009, row % 97);
    fs::write(&path, (0..100_000).map(line).collect::<String>()).unwrap();
    let count = |device: &str, words: &str| {
        let arguments = ["wordcount", "--words", words, "--device", device];
        text(tegula().args(arguments).arg(&path).output().unwrap())
    };
    for words in ["whitespace", "alpha"] {
        assert_eq!(count("cpu", words), count("emulated", words), "{words}");
    }
}

/// Also for several jobs, the first of which reads the points and has no kernel.
#[test]
fn points_are_grouped_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("points.txt");
    let point = |row: u32| format!("{} {}\n", row.wrapping_mul(row) % 1009, row % 97);
    fs::write(&path, (0..100_000).map(point).collect::<String>()).unwrap();
    let kmeans = |device: &str| {
        let arguments = ["kmeans", "-k", "4", "--rounds", "9", "--device", device, "--stats"];
        let output = tegula().args(arguments).arg(&path).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        (output.stdout, String::from_utf8(output.stderr).unwrap())
    };
    let (groups, said) = kmeans("emulated");
    assert_eq!(groups, kmeans("cpu").0);
    assert!(said.contains("device 0    emulated (emulated): "), "{said}");
    assert!(!said.contains("not used throughout"), "{said}");
}

#[test]
fn figures_name_the_device() {
    let folder = tempfile::tempdir().unwrap();
    let path = picture(folder.path(), 3_000_000);
    let figures = folder.path().join("figures.json");
    let mut command = tegula();
    command.arg("histogram").arg(&path).args(["--device", "EMULATED", "--stats", "--stats-json"]);
    let output = command.arg(&figures).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.lines().any(|line| line.starts_with("device 0    emulated (emulated): ")),
        "{said}"
    );
    let figures: serde_json::Value = serde_json::from_slice(&fs::read(&figures).unwrap()).unwrap();
    assert_eq!(figures["devices"][0]["name"], "emulated");
    assert!(figures["devices"][0]["fault"].is_null());
}

/// A requested device that cannot be used is reported, and the job continues.
#[test]
fn a_device_that_cannot_be_used_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("points.txt");
    fs::write(&path, "1 2\n3 4\n").unwrap();
    let output = tegula().args(["linreg", "--device", "emulated"]).arg(&path).output().unwrap();
    assert!(output.status.success() && !output.stdout.is_empty());
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(
        said,
        "tegula: emulated was not used throughout: the job has no kernel for devices\n"
    );
}

#[test]
fn a_device_that_is_not_there_is_wrong_usage() {
    let folder = tempfile::tempdir().unwrap();
    let path = picture(folder.path(), 10);
    let run = |device| {
        let mut command = tegula();
        // No OpenCL driver is found there.
        command.env("OCL_ICD_VENDORS", folder.path().join("none"));
        command.arg("histogram").arg(&path).args(["--device", device]).output().unwrap()
    };
    check_fault(&run("no such device"), 2, &["--device", "no such device", "tegula devices"]);
    check_fault(&run("gpu"), 2, &["--device", "gpu"]);
}

#[test]
fn what_is_there_is_listed_and_why_not_what_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let listed =
        text(tegula().arg("devices").env("POCL_CACHE_DIR", folder.path()).output().unwrap());
    let emulated = listed.lines().find(|line| line.starts_with("emulated\temulated\t"));
    assert!(emulated.is_some_and(|line| line.contains("copies ")), "{listed}");
    let listed = text(tegula().arg("devices").env("OCL_ICD_VENDORS", "/nothing").output().unwrap());
    let opencl = listed.lines().find(|line| line.starts_with("not usable\topencl: "));
    let why = if cfg!(feature = "opencl") { "install" } else { "--features opencl" };
    assert!(opencl.is_some_and(|line| line.contains(why)), "{listed}");
}

/// Saved work of devices is not repeated, with or without devices, and the answer is the same.
#[test]
fn runs_that_are_killed_go_on_with_and_without_devices() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let words: String = (0..1_500_000).map(|i| format!("word{} {}\n", i % 1000, i % 61)).collect();
    fs::write(path("text"), &words).unwrap();
    let count = |device: &str, more: &[&str]| {
        let mut command = tegula();
        command.args(["wordcount", "--device", device, "-o"]).arg(path("out")).args(more);
        command.arg("--stats-json").arg(path("stats")).arg(path("text"));
        command.env("POCL_CACHE_DIR", path("cache"));
        command
    };
    assert!(count("cpu", &[]).status().unwrap().success());
    let expected = fs::read(path("out")).unwrap();
    let stats = || -> serde_json::Value {
        serde_json::from_slice(&fs::read(path("stats")).unwrap()).unwrap()
    };
    let devices = ["emulated".to_owned()].into_iter().chain(compiling());
    for (number, device) in devices.enumerate() {
        let state = path(&format!("state{number}"));
        let saved = ["--tile", "64k", "--save-every", "1tiles", "--job", "words", "--state"];
        let saved = [&saved[..], &[state.to_str().unwrap()]].concat();
        // Killed while it has the device, as soon as something was saved, unless it is done before that.
        let mut child = count(&device, &saved).spawn().unwrap();
        let is_saved = || {
            let Ok(entries) = fs::read_dir(state.join("words")) else { return false };
            let names = entries.map(|entry| entry.unwrap().file_name());
            names.into_iter().any(|name| name.to_string_lossy().starts_with("snapshot-"))
        };
        wait_until("something is saved", || is_saved() || child.try_wait().unwrap().is_some());
        let _ = kill_process(Pid::from_child(&child), Signal::KILL);
        child.wait().unwrap();
        for device in ["cpu", &device] {
            let _ = fs::remove_file(path("out"));
            assert!(count(device, &saved).status().unwrap().success());
            assert!(fs::read(path("out")).unwrap() == expected, "{device}");
            assert_eq!(stats()["bytes"], words.len());
        }
        // By the first that went on, it was done.
        assert_eq!(stats()["restored_bytes"], words.len());
        assert_eq!(stats()["devices"][0]["bytes"], 0);
        // And all of it with the device, undisturbed.
        let fresh = path(&format!("fresh{number}"));
        let saved = ["--tile", "256k", "--save-every", "2tiles", "--job", "words", "--state"];
        let saved = [&saved[..], &[fresh.to_str().unwrap()]].concat();
        assert!(count(&device, &saved).status().unwrap().success());
        assert!(fs::read(path("out")).unwrap() == expected, "{device}");
        assert!(stats()["devices"][0]["fault"].is_null(), "{}", stats());
    }
}

/// Where tiles are found again, the cores are alone, and why is said.
#[test]
fn tiles_that_are_found_again_are_the_cores_own() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("text.txt");
    fs::write(&path, "some words\n".repeat(1000)).unwrap();
    let mut command = tegula();
    command.args(["wordcount", "--device", "emulated", "--incremental", "--job", "words"]);
    let output = command.arg("--state").arg(folder.path().join("state")).arg(&path).output();
    let said = String::from_utf8(output.unwrap().stderr).unwrap();
    let why = "tiles that are found again are mapped by the cores alone";
    assert_eq!(said, format!("tegula: emulated was not used throughout: {why}\n"));
}
