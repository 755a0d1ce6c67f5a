//! An invalid command line is refused with code 2, before anything is read or written.

use super::*;

#[test]
fn for_each_flag() {
    for arguments in [
        &[][..],
        &["nothing"],
        &["wordcount"],
        &["wordcount", ".", "--unknown"],
        &["wordcount", ".", "--words=syllables"],
        &["wordcount", ".", "--order=random"],
        &["wordcount", ".", "--format=xml"],
        &["wordcount", ".", "--progress=loud"],
        &["wordcount", ".", "--top=0"],
        &["wordcount", ".", "--top=-1"],
        &["wordcount", ".", "-j0"],
        &["wordcount", ".", "-jmany"],
        &["wordcount", ".", "--tile=0"],
        &["wordcount", ".", "--tile=1.5M"],
        &["wordcount", ".", "--tile=auto64k"],
        &["wordcount", ".", "--memory=lots"],
        &["wordcount", ".", "--memory=auto"],
        &["wordcount", ".", "--memory=99999999999G"],
        &["wordcount", ".", "-o"],
        &["wordcount", ".", "--state=s", "--job=j", "--save-every=0s"],
        &["wordcount", ".", "--state=s", "--job=j", "--save-every=5m"],
        &["run", "lib.so", "--map=m", "--combine=sum", "--records=fixed:0", "."],
        &["run", "lib.so", "--map=m", "--combine=sum", "--records=words", "."],
        &["stations"],
        &["stations", ".", "--top=1"],
        &["logstats", ".", "--key=colour"],
        &["grep", "a"],
        &["grep", "(", "."],
        &["grep", "a", ".", "--by=match", "--lines"],
        &["top", "0", "."],
        &["top", "1", ".", "--by=0"],
        &["top", "1", ".", "--sum=0"],
        &["top", "1", ".", "--json=a..b"],
        &["top", "1", ".", "--json=a", "--by=2"],
        &["top", "1", ".", "--json=a", "--separator=;"],
        &["wordcount", ".", "--json="],
        &["top", "1", ".", "--separator="],
        &["top", "1", ".", "--separator=\n"],
        &["top", "1", ".", "--separator=;;"],
        &["generate"],
        &["generate", "stations"],
        &["generate", "logins", "-1"],
        &["generate", "logins", "1", "--users=0"],
        &["generate", "logins", "1", "--users=1000000001"],
        &["generate", "logins", "1", "--users=18446744073709551615"],
        &["topology", "extra"],
    ] {
        let output = tegula().args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(output.stdout.is_empty() && !output.stderr.is_empty(), "{arguments:?}");
    }
}

#[test]
fn a_bad_size_is_explained() {
    let output = wordcount(&[".", "--tile=1.5M"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("binary units"));
}

#[test]
fn help_and_version_are_no_faults() {
    for arguments in
        [&["--help"][..], &["--version"], &["wordcount", "--help"], &["topology", "-h"]]
    {
        assert!(tegula().args(arguments).output().unwrap().status.success(), "{arguments:?}");
    }
    let help = text(tegula().arg("--help").output().unwrap());
    assert!(help.contains("Exit codes") && help.contains("130"));
}
