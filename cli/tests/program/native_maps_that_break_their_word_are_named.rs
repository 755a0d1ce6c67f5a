//! A map in C that does not keep to `tegula.h` fails its job by name, as far as that can be seen; a library that is
//! none is refused before anything is read.

use super::*;

/// Maps that each break a promise of the header.
const MAPS: &str = r#"
#include "tegula.h"
#define MAP(name) int32_t name(tegula_split *split, tegula_pairs *pairs, void *state)

MAP(beyond) { (void)pairs; (void)state; split->done = split->len + 1; return 0; }
MAP(no_room) { (void)split; (void)pairs; (void)state; return 1; }
MAP(unknown) { (void)split; (void)pairs; (void)state; return 7; }
MAP(many) { (void)split; (void)state; pairs->pairs = pairs->pairs_most + 1; return 0; }
MAP(long_keys) {
    (void)state;
    tegula_emit_i64(pairs, split->data, 1, 1);
    pairs->key_len[0] = 2;
    return 0;
}
MAP(spare) {
    (void)state;
    tegula_emit_i64(pairs, split->data, 1, 1);
    pairs->key_bytes = 3;
    return 0;
}
MAP(refuses) { (void)pairs; (void)state; split->done = 2; return -5; }
"#;

/// Compiles a library in a folder.
pub(super) fn compile(folder: &Path, name: &str, source: &str) -> String {
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("../python/tegula/include");
    let (written, library) = (format!("{name}.c"), format!("lib{name}.so"));
    write(folder, &written, source);
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-o", &library, &written]).arg("-I").arg(include);
    let output = compiler.current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    library
}

fn run(folder: &Path, library: &str, map: &str) -> Output {
    let mut command = tegula();
    command.args(["run", library, "--map", map, "--combine", "sum", "in", "-o", "out"]);
    command.current_dir(folder).output().unwrap()
}

#[test]
fn each_broken_promise() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write(folder, "in", "a\nb\nc\n");
    let library = compile(folder, "maps", &format!("{MAPS}TEGULA_LIBRARY\n"));
    let before = names(folder);
    for (map, said) in [
        ("beyond", "says that byte 7 of 6 is done"),
        ("no_room", "asks for more room without a pair: a key may be too long"),
        ("unknown", "returned 7: 0, 1 or less than 0 is known"),
        ("many", "wrote 65537 pairs and 0 bytes of keys, more than fit"),
        ("long_keys", "wrote keys that are longer than their bytes"),
        ("spare", "wrote bytes that belong to no key"),
    ] {
        check_fault(&run(folder, &library, map), 1, &["in, byte 0: the native map", said]);
        assert_eq!(names(folder), before, "{map}");
    }
    check_fault(&run(folder, &library, "refuses"), 1, &["in, line 2, byte 2", "with code -5"]);
    check_fault(&run(folder, &library, "absent"), 2, &["libmaps.so exports no absent"]);
}

#[test]
fn libraries_that_are_none() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write(folder, "in", "a\n");
    write(folder, "text.so", "no library");
    let nameless = compile(folder, "nameless", MAPS);
    let later =
        format!("{MAPS}\nextern const uint32_t tegula_abi; const uint32_t tegula_abi = 9;\n");
    let later = compile(folder, "later", &later);
    for (library, said) in [
        ("absent.so", "absent.so"),
        ("text.so", "cannot be loaded"),
        (nameless.as_str(), "write TEGULA_LIBRARY once"),
        (later.as_str(), "is for version 9 of tegula.h, and this is version 1"),
    ] {
        check_fault(&run(folder, library, "spare"), 2, &[said]);
    }
}
