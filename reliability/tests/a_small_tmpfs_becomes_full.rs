//! A real file system that becomes full: state and answer are on a tmpfs of some sizes, which only this
//! test sees. A run must fail with the path and the cause and leave no file that is half written; with more room it must
//! give the answer of an undisturbed one. It needs the right to mount.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// Mounts a tmpfs of a size in KiB, and runs a job twice: as it is, and with more room. Tells the first one's exit code
/// and what it left there.
const TWICE: &str = r#"
    size=$1 disk=$2 said=$3; shift 3
    mount -t tmpfs -o size="$size"k,mode=700 tmpfs "$disk" || exit 99
    mkdir "$disk/state" 2>"$said" && TMPDIR="$disk" "$@" 2>"$said"
    echo "code $?"
    ls -A "$disk" "$disk/state"
    mount -o remount,size=64m "$disk" || exit 99
    mkdir -p "$disk/state" && TMPDIR="$disk" "$@" && cat "$disk/answer" >"$said.answer" || exit 98
    echo "used $(du -sk "$disk" | cut -f1)"
"#;
/// Large enough for each run.
const ROOM_KIB: u64 = 32 << 10;
const SIZES: u64 = 20;

fn twice(folder: &Path, job: &str, kib: u64) -> Output {
    let (disk, said) = (folder.join("disk"), folder.join("said"));
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "private", "sh", "-c", TWICE, "twice"]);
    command.arg(kib.to_string()).arg(&disk).arg(&said);
    command.arg(env!("CARGO_BIN_EXE_reliability")).args(["child", "--job", job, "--input"]);
    command.arg(folder.join("input")).arg("--output").arg(disk.join("answer"));
    command.arg("--state").arg(disk.join("state"));
    command.args(["--tile", "65536", "--every-tiles", "1"]);
    command.output().unwrap_or_else(|cause| panic!("unshare: {cause}"))
}

#[test]
fn and_has_room_again() {
    let may_mount = Command::new("unshare").args(["--mount", "true"]).output();
    if !may_mount.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: mounting a file system in a private namespace is not allowed here");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::create_dir(path("disk")).unwrap();
    let word =
        |number: u64| format!("word-{} ", number.wrapping_mul(0x9e37_79b9_7f4a_7c15) % 50_000);
    fs::write(path("input"), (0..60_000).map(word).collect::<String>()).unwrap();
    for job in ["words", "sorted"] {
        let undisturbed = twice(folder.path(), job, ROOM_KIB);
        let told = String::from_utf8_lossy(&undisturbed.stdout).into_owned();
        assert!(undisturbed.status.success() && told.contains("code 0\n"), "{undisturbed:?}");
        let expected = fs::read(path("said.answer")).unwrap();
        let used = told.lines().find_map(|line| line.strip_prefix("used ")?.parse::<u64>().ok());
        let used = used.unwrap_or_else(|| panic!("{told}"));
        let mut failed = 0;
        for number in 0..SIZES {
            // A size of 0 would be no limit.
            let kib = 4 + used * number / (SIZES - 1);
            let output = twice(folder.path(), job, kib);
            let told = String::from_utf8_lossy(&output.stdout);
            let said = fs::read_to_string(path("said")).unwrap();
            assert!(output.status.success(), "{job} on {kib} KiB: {said}: {output:?}");
            if !told.contains("code 0\n") {
                failed += 1;
                let disk = path("disk").display().to_string();
                assert!(
                    said.contains(&disk) && said.contains("No space left"),
                    "{job} on {kib} KiB: {said}"
                );
                assert!(
                    !told.contains("answer") && !told.contains(".answer"),
                    "{job} on {kib} KiB: {told}"
                );
            }
            assert_eq!(fs::read(path("said.answer")).unwrap(), expected, "{job} on {kib} KiB");
        }
        assert!(
            failed >= SIZES / 2,
            "{job}: only {failed} of {SIZES} sizes up to {used} KiB were full"
        );
        println!("{job}: {failed} of {SIZES} sizes up to {used} KiB were full");
    }
}
