//! Imports between the engine's modules point one way, from the run down to the errors. The compiler holds
//! that between crates; this holds it inside them. Reads `crate::` paths as text, tests included.
//! `docs/modules.md` is the drawing that follows; `MODULES=write cargo test -p tegula --test
//! imports_point_one_way` writes it anew.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

/// All modules by crate, lowest first. A module may import those that come before it in this list.
const LAYERS: &[(&str, &[&str])] = &[
    (
        "machine",
        &[
            "error",
            "encoding",
            "sync",
            "cancel",
            "failure",
            "process",
            "relocation",
            "control_group",
            "memory",
            "progress",
            "timeline",
            "topology",
            "schedule",
            "sizing",
            "storage",
        ],
    ),
    ("input", &["tokenize", "unit", "input", "origin", "bad", "plan", "split", "codec", "ingest"]),
    ("device", &["device"]),
    ("pairs", &["combine", "aggregate", "key", "identity", "slots", "partial"]),
    (
        "core",
        &[
            "job",
            "container",
            "facts",
            "reuse",
            "coverage",
            "stats",
            "map",
            "state",
            "options",
            "core",
            "context",
            "heads",
            "reduce",
            "merge",
            "output",
            "show",
            "room",
            "run",
            "saved",
            "held",
            "sort",
            "tasks",
            "compiled",
            "holding",
            "job_run",
            "engine",
        ],
    ),
];

/// Modules that each module imports.
type Imports = BTreeMap<String, BTreeSet<String>>;

#[test]
fn a_module_imports_only_modules_below_it() {
    let order: Vec<&str> = LAYERS.iter().flat_map(|(_, modules)| modules.iter().copied()).collect();
    let imports = imports_of_all();
    for module in &order {
        assert!(imports.contains_key(*module), "there is no module {module}");
    }
    for module in imports.keys() {
        assert!(order.contains(&module.as_str()), "in which crate is {module}?");
    }
    let mut upward = Vec::new();
    for (rank, module) in order.iter().enumerate() {
        let below = &order[..rank];
        let above = imports[*module].iter().filter(|import| !below.contains(&import.as_str()));
        upward.extend(above.map(|import| format!("{module} imports {import}")));
    }
    assert!(upward.is_empty(), "upward: {}", upward.join(", "));
}

#[test]
fn the_drawing_shows_the_modules_as_they_are() {
    let path = root().join("../docs/modules.md");
    let drawn = drawing(&imports_of_all());
    if std::env::var("MODULES").is_ok_and(|mode| mode == "write") {
        fs::write(&path, &drawn).unwrap();
    }
    let kept = fs::read_to_string(&path).unwrap();
    assert!(kept == drawn, "docs/modules.md is out of date: run this test with MODULES=write");
}

#[test]
fn imports_are_found_in_whatever_form_they_are_written() {
    let text =
        "use crate::{a::X, b};\nuse crate::c::{self, d::E}; // crate::f\nlet g = crate::g::h();";
    assert_eq!(imports_in(text), ["a", "b", "c", "g"].map(str::to_owned).into());
    assert!(imports_in("\"//\"; mycrate::a::b()").is_empty());
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn imports_of_all() -> Imports {
    let listed: BTreeSet<&str> = LAYERS.iter().flat_map(|(_, all)| all.iter().copied()).collect();
    let mut imports = Imports::new();
    for (layer, modules) in LAYERS {
        let source = root().join("..").join(layer).join("src");
        for file in files_below(&source) {
            let inside = file.strip_prefix(&source).unwrap();
            let first = inside.components().next().unwrap().as_os_str().to_str().unwrap();
            // A crate of one module has its files at its root.
            let module = match modules {
                [only] => only,
                _ => first.trim_end_matches(".rs"),
            };
            if module != "lib" {
                let found = imports_in(&fs::read_to_string(&file).unwrap());
                let known = imports.entry(module.to_owned()).or_default();
                let is_other = |import: &String| match modules {
                    [_] => below(layer).contains(&import.as_str()),
                    _ => import != module && listed.contains(import.as_str()),
                };
                known.extend(found.into_iter().filter(is_other));
            }
        }
    }
    imports
}

/// Returns the modules of the crates before one.
fn below(crate_: &str) -> Vec<&'static str> {
    let crates = LAYERS.iter().take_while(|(layer, _)| *layer != crate_);
    crates.flat_map(|(_, modules)| modules.iter().copied()).collect()
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files = entries.flat_map(|path| match path.is_dir() {
        true => files_below(&path),
        false => vec![path],
    });
    files.filter(|path| path.extension().is_some_and(|ending| ending == "rs")).collect()
}

/// Returns the first names of paths that begin with `crate::`, comments left out.
fn imports_in(text: &str) -> BTreeSet<String> {
    let code: Vec<&str> = text.lines().map(|line| line.split("//").next().unwrap_or("")).collect();
    let code = code.join("\n");
    let mut names = BTreeSet::new();
    for (at, found) in code.match_indices("crate::") {
        let is_part = code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let rest = &code[at + found.len()..];
        match rest.strip_prefix('{') {
            _ if is_part => {}
            Some(group) => names.extend(names_in_group(group)),
            None => names.extend([name_at(rest)]),
        }
    }
    names
}

/// Returns the first names of the paths in a group, up to its closing brace.
fn names_in_group(group: &str) -> Vec<String> {
    let (mut depth, mut names, mut begins) = (0_i32, Vec::new(), true);
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => begins = true,
            c if begins && !c.is_whitespace() => {
                names.push(name_at(&group[at..]));
                begins = false;
            }
            _ => {}
        }
    }
    names
}

fn name_at(text: &str) -> String {
    text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

/// Returns the crates in mermaid. An arrow points at a module that another imports; arrows that follow from
/// longer ways are left out.
fn drawing(imports: &Imports) -> String {
    let mut out = String::from(
        "# Modules of the engine by crate and dependency\n\n\
         Written by `engine/tests/imports_point_one_way.rs`, which fails on an upward import. An arrow\n\
         points at a module that another one imports; imports that follow from longer ways are left out.\n\n\
         ```mermaid\nflowchart TD\n",
    );
    let listed: BTreeSet<&str> = LAYERS.iter().flat_map(|(_, all)| all.iter().copied()).collect();
    for (layer, modules) in LAYERS.iter().rev() {
        writeln!(out, "  subgraph {layer}").unwrap();
        modules.iter().rev().for_each(|module| writeln!(out, "    {module}").unwrap());
        out.push_str("  end\n");
    }
    for module in &listed {
        let direct = &imports[*module];
        let further: BTreeSet<&str> =
            direct.iter().flat_map(|import| reach(import, imports, &listed)).collect();
        for import in direct.iter().filter(|import| listed.contains(import.as_str())) {
            if !further.contains(import.as_str()) {
                writeln!(out, "  {module} --> {import}").unwrap();
            }
        }
    }
    let above = imports.keys().filter(|module| !listed.contains(module.as_str()));
    let above: Vec<&str> = above.map(String::as_str).collect();
    out.push_str("```\n");
    if !above.is_empty() {
        write!(out, "\nAbove these, in no order yet: {}.\n", above.join(", ")).unwrap();
    }
    out
}

/// Returns the listed modules that a module imports, and those that these import.
fn reach<'i>(module: &str, imports: &'i Imports, listed: &BTreeSet<&str>) -> BTreeSet<&'i str> {
    let mut reached = BTreeSet::new();
    let mut left = vec![module];
    while let Some(next) = left.pop() {
        for import in imports.get(next).into_iter().flatten() {
            if listed.contains(import.as_str()) && reached.insert(import.as_str()) {
                left.push(import);
            }
        }
    }
    reached
}
