//! `tegula offload`: faults of a spec, a kernel or the machine are reported so that they can be mended. Where
//! a device compiles kernels, the answer is right and a compiler's messages are shown.

use super::*;
use rustix::process::{Pid, Signal, kill_process};
use std::io::Read;

const LEVELS: &str = "KERNEL void levels(OFFLOAD) {
  for (u64 i = GID; i < bytes; i += GSIZE)
    COMBINE(UNIT[i], STEP);
}
";
const SPEC: &str = "records.split = 'fixed'\nrecords.bytes = 1\npartial.values = 256\n\
                    output.skip_empty = true\ndefines.STEP = 3\n";

/// Returns a folder with a kernel, its spec and an input, and the command over them.
fn offload(kernel: &str, spec: &str, device: &str) -> (tempfile::TempDir, Command) {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "levels.c", kernel);
    write(folder.path(), "levels.toml", spec);
    write(folder.path(), "input", "abracadabra".repeat(10_000));
    let mut run = tegula();
    run.args(["offload", "levels.c", "--spec", "levels.toml", "--device", device, "input"]);
    run.current_dir(folder.path()).env("POCL_CACHE_DIR", folder.path().join("cache"));
    (folder, run)
}

#[test]
fn the_answer_is_as_the_spec_says() {
    let Some(device) = compiling() else { return };
    let (_folder, mut run) = offload(LEVELS, SPEC, &device);
    let expected = "97\t150000\n98\t60000\n99\t30000\n100\t30000\n114\t60000\n";
    assert_eq!(text(run.output().unwrap()), expected);
    let spec = SPEC.replace("true", "true\noutput.order = 'value'\noutput.scale = 4");
    let (folder, mut run) = offload(LEVELS, &spec, &device);
    let run =
        run.args(["--format", "jsonl", "-o", "out", "--timeline", "run.json", "--workers", "1"]);
    assert_eq!(text(run.output().unwrap()), "");
    let out = fs::read_to_string(folder.path().join("out")).unwrap();
    let (first, last) = (out.lines().next().unwrap(), out.lines().last().unwrap());
    assert_eq!(first, "{\"index\":97,\"value\":37500}");
    assert_eq!(last, "{\"index\":100,\"value\":7500}");
    let timeline = fs::read_to_string(folder.path().join("run.json")).unwrap();
    assert!(timeline.contains("device-0 copies") && timeline.contains("\"copy_out\""));
}

/// Keys that are bytes, in the order of either, and floats.
#[test]
fn tables_and_floats_are_as_the_spec_says() {
    let Some(device) = compiling() else { return };
    let kernel = of_the_page("c", "/* names.c");
    let spec = "entry = 'names'\npartial = { keys = 'bytes', longest_key = 7, combine = 'max' }\n";
    let answer = |format: &str, more: &str, input: &[u8]| {
        let (folder, mut run) = offload(&kernel, &format!("{spec}{more}"), &device);
        fs::write(folder.path().join("input"), input).unwrap();
        run.args(["--format", format]).output().unwrap()
    };
    let input = b"bees;a\nants;c\n\xff;b\nbees;d\n";
    let expected = text(answer("jsonl", "output.order = 'value'\n", input));
    let lines = ["{\"key\":\"bees\",\"value\":100}", "{\"key\":\"ants\",\"value\":99}"];
    let [first, second] = lines;
    assert_eq!(expected, format!("{first}\n{second}\n{{\"key_hex\":\"ff\",\"value\":98}}\n"));
    assert_eq!(text(answer("tsv", "", &input[..14])), "ants\t99\nbees\t97\n");
    let parts = ["levels.c", "more than 7 bytes", "longest_key"];
    check_fault(&answer("tsv", "", b"eight by;a\n"), 1, &parts);

    let kernel = "KERNEL void levels(OFFLOAD) {
  for (u64 i = GID; i < bytes; i += GSIZE) COMBINE(0, (f32)UNIT[i] * 0.5f);
}
";
    let spec = "partial = { values = 2, type = 'f32', combine = 'min' }\n";
    let (_folder, mut run) = offload(kernel, spec, &device);
    assert_eq!(text(run.output().unwrap()), "0\t48.5\n");
}

/// Returns the example in the documentation that is of a language and begins so.
fn of_the_page(language: &str, begin: &str) -> String {
    let page = include_str!("../../../docs/offload.md");
    let fence = format!("```{language}\n");
    let mut examples = page.split(&fence).skip(1).filter_map(|rest| rest.split("```").next());
    examples.find(|example| example.starts_with(begin)).unwrap().to_owned()
}

/// Also of files whose last line has no newline.
#[test]
fn the_examples_of_the_documentation_answer_as_they_say() {
    let Some(device) = compiling() else { return };
    let spec = |name: &str, entry: &str| {
        format!("entry = '{entry}'\n{}", of_the_page("toml", &format!("# {name}.toml")))
    };
    let (folder, mut run) =
        offload(&of_the_page("c", "/* names.c"), &spec("names", "names"), &device);
    write(folder.path(), "input", "bees;a\nants;c\nbees;d");
    write(folder.path(), "more", "wasps;b");
    let expected = "ants\t99\nbees\t100\nwasps\t98\n";
    assert_eq!(text(run.arg("more").output().unwrap()), expected);
    let (folder, mut run) =
        offload(&of_the_page("c", "/* levels.c"), &spec("levels", "levels"), &device);
    write(folder.path(), "input", "abca");
    assert_eq!(text(run.output().unwrap()), "97\t2\n98\t1\n99\t1\n");
}

/// The answer is written from where the engine has it: the process does not grow on the way to its first line.
#[test]
fn an_answer_takes_no_memory_beside_the_engines() {
    let Some(device) = compiling() else { return };
    let spec = "entry = 'names'\npartial = { keys = 'bytes', longest_key = 40, combine = 'max' }\n";
    let (folder, mut run) = offload(&of_the_page("c", "/* names.c"), spec, &device);
    let key = |i: u64| format!("{:032x}", i.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let mut lines: Vec<String> = (0..300_000).map(|i| format!("{};a\n", key(i))).collect();
    write(folder.path(), "input", lines.concat());
    run.args(["--split", "64k", "--stats-json", "stats"]).stdout(Stdio::piped());
    let mut child = run.spawn().unwrap();
    let (mut out, mut answer) = (child.stdout.take().unwrap(), vec![0]);
    out.read_exact(&mut answer).unwrap();
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let peak_kb: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    out.read_to_end(&mut answer).unwrap();
    assert!(child.wait().unwrap().success());
    lines.sort();
    let expected: String = lines.iter().map(|line| line.replace(";a", "\t97")).collect();
    assert!(answer == expected.as_bytes());
    let stats = fs::read(folder.path().join("stats")).unwrap();
    let stats: serde_json::Value = serde_json::from_slice(&stats).unwrap();
    let of_the_run = stats["memory_resident_peak"].as_u64().unwrap();
    assert!(peak_kb << 10 < of_the_run + (16 << 20), "{peak_kb} kB, {of_the_run} bytes");
}

/// The compiler names the line of the file that the person wrote, and no file remains.
#[test]
fn a_kernel_that_does_not_compile_is_shown_with_its_line() {
    let Some(device) = compiling() else { return };
    let kernel = LEVELS.replace("STEP", "STRIDE");
    let (folder, mut run) = offload(&kernel, SPEC, &device);
    let output = run.args(["-o", "out"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("levels.c does not compile for ") && said.contains("STRIDE"), "{said}");
    assert!(said.contains("levels.c:3") || said.contains("levels.c(3)"), "{said}");
    assert!(!folder.path().join("out").exists());
    let (_folder, mut run) = offload(LEVELS, &format!("entry = 'other'\n{SPEC}"), &device);
    let output = run.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("no kernel of the name other"), "{said}");
}

#[test]
fn a_kernel_that_leaves_its_partial_fails_the_job() {
    let Some(device) = compiling() else { return };
    let (_folder, mut run) = offload(LEVELS, &SPEC.replace("256", "100"), &device);
    let parts = ["levels.c: combined 30000 times", "beyond the last, 99"];
    check_fault(&run.output().unwrap(), 1, &parts);
}

#[test]
fn what_cannot_be_meant_is_one_line() {
    let spec = SPEC.replace("values", "size");
    let (_folder, mut run) = offload(LEVELS, &spec, "emulated");
    check_fault(&run.output().unwrap(), 2, &["levels.toml, line 3", "`size`", "`values`"]);
    let (folder, mut run) = offload(LEVELS, SPEC, "emulated");
    fs::remove_file(folder.path().join("levels.c")).unwrap();
    check_fault(&run.output().unwrap(), 1, &["levels.c: no such file"]);
    let (folder, mut run) = offload(LEVELS, SPEC, "emulated");
    fs::write(folder.path().join("levels.c"), b"\xff").unwrap();
    check_fault(&run.output().unwrap(), 1, &["levels.c", "byte 0 is not UTF-8"]);
    let (folder, mut run) = offload(LEVELS, SPEC, "emulated");
    fs::remove_file(folder.path().join("input")).unwrap();
    check_fault(&run.output().unwrap(), 1, &["input: no such file"]);
    // The emulated device runs Rust, and no driver is found there.
    let (_folder, mut run) = offload(LEVELS, SPEC, "emulated");
    check_fault(&run.output().unwrap(), 1, &["only devices", "levels.c has no twin in Rust"]);
    let (folder, mut run) = offload(LEVELS, SPEC, "auto");
    run.env("OCL_ICD_VENDORS", folder.path().join("none"));
    let output = run.output().unwrap();
    // A machine with NVIDIA's driver has a device all the same.
    if !output.status.success() {
        check_fault(&output, 2, &["--device", "no GPU", "tegula devices"]);
    }
}

/// Saved work of the device is not repeated.
#[test]
fn a_run_that_is_killed_goes_on() {
    let Some(device) = compiling() else { return };
    let (folder, mut plain) = offload(LEVELS, SPEC, &device);
    write(folder.path(), "input", "abracadabra".repeat(2_000_000));
    let expected = text(plain.output().unwrap());
    let saved = || {
        let mut run = tegula();
        run.args(["offload", "levels.c", "--spec", "levels.toml", "--device", &device, "input"]);
        run.current_dir(folder.path()).env("POCL_CACHE_DIR", folder.path().join("cache"));
        run.args(["--state", "state", "--job", "levels", "--save-every", "1tiles"]);
        run.args(["--tile", "256k", "--stats-json", "stats", "-o", "out"]);
        run
    };
    let restored = || {
        let stats = fs::read(folder.path().join("stats")).unwrap();
        let stats: serde_json::Value = serde_json::from_slice(&stats).unwrap();
        (stats["restored_bytes"].as_u64().unwrap(), stats["bytes"].as_u64().unwrap())
    };
    let mut child = saved().spawn().unwrap();
    let manifest = folder.path().join("state/levels.1/manifest");
    // Its first has no snapshots yet.
    let is_saved = || fs::metadata(&manifest).is_ok_and(|manifest| manifest.len() > 1000);
    wait_until("something is saved", || is_saved() || child.try_wait().unwrap().is_some());
    let _ = kill_process(Pid::from_child(&child), Signal::KILL);
    child.wait().unwrap();
    for is_first in [true, false] {
        assert!(saved().status().unwrap().success());
        assert_eq!(fs::read_to_string(folder.path().join("out")).unwrap(), expected);
        let (restored, bytes) = restored();
        assert!(restored > 0 && (is_first || restored == bytes), "{restored} of {bytes}");
    }
    write(folder.path(), "levels.toml", SPEC.replace('3', "4"));
    check_fault(&saved().output().unwrap(), 1, &["another job", "kernel was"]);
}
