//! Tests of the module `topology::described`.

use std::path::Path;
use tegula_machine::error::Result;
use tegula_machine::topology::Topology;

fn read(text: &str) -> Result<Topology> {
    Topology::from_text(text, Path::new("m.txt"))
}

#[test]
fn eight_chips_of_six_cores() {
    let text = "# the paper's\n\ngroups 8, cores 6, l2 512K, cache 6M, memory 16G\n";
    let told = read(text).unwrap();
    let found = (told.processors.len(), told.cores(), told.groups.len(), told.nodes.len());
    assert_eq!(found, (48, 48, 8, 8));
    assert_eq!((told.l2_bytes(), told.groups[7].cache_bytes), (512 << 10, Some(6 << 20)));
    assert_eq!(told.groups[7].processors, [42, 43, 44, 45, 46, 47]);
    assert_eq!((told.groups[7].node, told.nodes[7].bytes), (7, 16 << 30));
    assert!(told.to_string().contains("group 7     node 7, cache 6 MiB, 6 cores"));
}

#[test]
fn unlike_groups_and_threads() {
    let told = read("cores 2, threads 2, node 3\ngroups 2, cores 1, node 3 # small").unwrap();
    let sizes: Vec<usize> = told.groups.iter().map(|group| group.processors.len()).collect();
    assert_eq!((sizes, told.nodes.len(), told.cores()), (vec![4, 1, 1], 1, 4));
    assert_eq!(told.processors[3].siblings, [2, 3]);
    assert_eq!(told.l2_bytes(), Topology::detect().l2_bytes());
}

#[test]
fn what_is_wrong_is_named_with_its_line() {
    for (text, words) in [
        ("", &["m.txt: ", "no groups"][..]),
        ("\ncores 2\nrooms 3", &["m.txt:3: ", "`rooms`", "groups, cores"]),
        ("groups 2", &["m.txt:1: ", "cores 12"]),
        ("cores 0", &["m.txt:1: ", "`cores` is `0`", "from 1"]),
        ("cores 2, cores 3", &["m.txt:1: ", "twice"]),
        ("cores 2, l2 big", &["m.txt:1: ", "`l2` is `big`", "512K"]),
        ("cores 2, cache 99999999T", &["m.txt:1: ", "`cache`"]),
        ("cores 4096\ncores 1", &["m.txt:2: ", "4096 processors"]),
        ("cores", &["m.txt:1: ", "`cores` is ``"]),
        ("groups 1000, cores 1\ngroups 25, cores 1", &["m.txt:2: ", "1024 groups"]),
    ] {
        let error = read(text).unwrap_err().to_string();
        assert!(words.iter().all(|word| error.contains(word)), "{error}");
    }
    let error = Topology::from_file(Path::new("/no/such/machine")).unwrap_err().to_string();
    assert!(error.contains("/no/such/machine"), "{error}");
}

#[test]
fn processors_are_divided_evenly_and_cores_stay_whole() {
    let told = read("groups 2, cores 3, threads 2, cache 1M").unwrap();
    let sizes = |count| -> Vec<usize> {
        let groups = told.divided(count).unwrap().groups;
        groups.iter().map(|group| group.processors.len()).collect()
    };
    assert_eq!((sizes(1), sizes(3), sizes(5)), (vec![12], vec![4; 3], vec![2, 2, 3, 2, 3]));
    assert_eq!(told.divided(6).unwrap().groups[4].processors, [8, 9]);
    let error = told.divided(13).unwrap_err().to_string();
    assert!(error.contains("13 groups of 12 processors"), "{error}");
}
