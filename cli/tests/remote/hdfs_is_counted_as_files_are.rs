//! The program before a namenode and a datanode.

use super::*;
use tegula_remote_servers::Hdfs;

#[test]
fn in_files_folders_and_patterns() {
    let hdfs = Hdfs::start();
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    // Several blocks of the file system.
    let lines = |words: &str, times| words.repeat(times).into_bytes();
    fs::create_dir(at("more")).unwrap();
    fs::write(at("one"), lines("to be or not to be\n", 150_000)).unwrap();
    fs::write(at("more/two"), lines("that is the question\n", 1000)).unwrap();
    fs::write(at("more/three.txt"), lines("be it so\n", 10)).unwrap();
    hdfs.put_local(folder.path(), "/texts");
    let root = format!("{}/texts", hdfs.root());
    for name in ["one", "more", "more/*.txt", "**/t*"] {
        for workers in ["1", "3"] {
            let count =
                |path: &str| well(program(&["wordcount", "-j", workers, path]).output().unwrap());
            let here = count(&at(name));
            assert!(count(&format!("{root}/{name}")) == here && !here.is_empty(), "{name}");
        }
    }
    let url = format!("{root}/none");
    let message = fault(program(&["wordcount", &url]).output().unwrap());
    assert!(message.starts_with(&format!("tegula: {url}: no such file or folder")), "{message}");
}
