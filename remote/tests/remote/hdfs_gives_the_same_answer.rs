//! The same of HDFS: answers, trees, lost connections, changes and refusals, on one cluster, for it
//! takes a while to start.

use crate::common::{SOON, count, fault, listing, text};
use std::fs;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Instant;
use tegula::Input;
use tegula_remote::Settings;
use tegula_remote_servers::{Hdfs, Proxy};

const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

fn settings() -> Settings {
    Settings::new().with("TEGULA_REMOTE_TRIES", "4")
}

#[test]
fn hdfs_is_read_as_a_local_tree_is() {
    let hdfs = Hdfs::start();
    let text = text(5 << 20);
    hdfs.put("/texts/one", &text);
    let expected = count(Input::bytes(text.clone()), 1).unwrap();
    // First, for connections to the datanode are kept and used again, however it was reached.
    cut_connections_are_tried_again(&hdfs, &text, &expected);
    for workers in [1, 2, 5] {
        let input = settings().input(&format!("{}/texts/one", hdfs.root())).unwrap();
        assert!(count(input, workers).unwrap() == expected, "{workers} workers");
    }
    trees_are_the_same(&hdfs);
    refusals_are_named(&hdfs);
    changes_are_named(&hdfs, &text);
}

/// More files in a folder than one answer of the namenode lists.
fn trees_are_the_same(hdfs: &Hdfs) {
    let local = tempfile::tempdir().unwrap();
    for name in ["a.txt", "a/x", "a/y/z", ".hidden", "b [1]*.txt"] {
        let path = local.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, name).unwrap();
    }
    fs::create_dir(local.path().join("many")).unwrap();
    for number in 0..25 {
        fs::write(local.path().join(format!("many/{number:02}")), "x").unwrap();
    }
    hdfs.put_local(local.path(), "/tree");
    let root = format!("{}/tree", hdfs.root());
    for given in ["", "/", "/a", "/a.txt", "/a*", "/*/", "/**/z", "/b [1]*.txt", "/many/2?"] {
        let found = settings().input(&format!("{root}{given}")).unwrap();
        let local_root = local.path().to_str().unwrap();
        let expected = Input::patterns([format!("{local_root}{given}")]).unwrap();
        let expected = listing(&expected).into_iter();
        let expected: Vec<_> =
            expected.map(|(name, bytes)| (name.replace(local_root, &root), bytes)).collect();
        assert_eq!(listing(&found), expected, "{given}");
    }
}

fn cut_connections_are_tried_again(hdfs: &Hdfs, text: &[u8], expected: &str) {
    // The datanode is known by a name at which only the proxy listens, at the same port.
    let datanode = SocketAddr::new(LOOPBACK, hdfs.datanode_port());
    let host = Hdfs::DATANODE_HOST.parse().unwrap();
    let blocks = Proxy::start((host, hdfs.datanode_port()), datanode);
    let namenode = SocketAddr::new(LOOPBACK, hdfs.namenode_port());
    let names = Proxy::start((LOOPBACK, 0), namenode);
    names.cut_next(2, 10);
    let by_name = tempfile::tempdir().unwrap();
    fs::write(
        by_name.path().join("hdfs-site.xml"),
        "<configuration><property><name>dfs.client.use.datanode.hostname</name>\
         <value>true</value></property></configuration>",
    )
    .unwrap();
    let settings = settings().with("HADOOP_CONF_DIR", by_name.path().to_str().unwrap());
    let url = format!("hdfs://{}/texts/one", names.address());
    let input = settings.input(&url).unwrap();
    assert_eq!(listing(&input), [(url.clone(), text.len() as u64)]);
    assert_eq!(names.cut(), 2);
    blocks.cut_next(3, 300_000);
    assert!(count(input, 2).unwrap() == expected);
    assert_eq!(blocks.cut(), 3);

    let input = settings.input(&url).unwrap();
    blocks.cut_next(1_000_000, 2000);
    let began = Instant::now();
    let message = fault(count(input, 2));
    assert!(began.elapsed() < SOON);
    assert!(message.starts_with(&format!("{url}: byte ")), "{message}");
    assert!(message.contains("no answer after ") && message.len() < 300, "{message}");
    blocks.cut_next(0, 0);
}

fn refusals_are_named(hdfs: &Hdfs) {
    hdfs.put("/secret/one", b"x");
    hdfs.deny("/secret");
    let other = settings().with("HADOOP_USER_NAME", "other");
    for (settings, path, said) in [
        (&settings(), "/none", "no such file or folder"),
        (&settings(), "/none/*", "matches no file"),
        (&settings(), "/texts/one/*", "matches no file"),
        (&other, "/secret/one", "AccessControlException"),
        (&other, "/secret/", "check HADOOP_USER_NAME"),
    ] {
        let url = format!("{}{path}", hdfs.root());
        let message = fault(settings.input(&url));
        assert!(message.starts_with(&url) && message.contains(said), "{message}");
    }
    let message = fault(settings().input("hdfs:///no/host"));
    assert!(message.contains("HADOOP_CONF_DIR"), "{message}");
}

fn changes_are_named(hdfs: &Hdfs, text: &[u8]) {
    let url = format!("{}/texts/one", hdfs.root());
    let input = settings().input(&url).unwrap();
    hdfs.put("/texts/one", text);
    let message = fault(count(input, 2));
    assert!(message.starts_with(&url) && message.contains("changed after"), "{message}");
    let input = settings().input(&url).unwrap();
    hdfs.delete("/texts/one");
    let message = fault(count(input, 2));
    assert!(message.starts_with(&url) && message.contains("vanished"), "{message}");
}
