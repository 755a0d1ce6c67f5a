//! Every variant of the errors is named by a test of some crate, or some of its message is: three words of it that no other
//! variant has.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

const ERRORS: [&str; 2] = ["machine/src/error.rs", "machine/src/error/device.rs"];
/// The words of a message that a test looks for.
const WORDS: usize = 3;

/// Returns the words that a variant's message always has, without what is put into it.
fn message_of(attribute: &str) -> Vec<String> {
    let text = attribute.split('"').nth(1).unwrap_or_default().replace("\\\n", " ");
    let between = text.split('{').enumerate().map(|(at, piece)| match at {
        0 => piece,
        _ => piece.split_once('}').map_or("", |(_, rest)| rest),
    });
    between.map(|piece| piece.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

/// Returns the messages of all variants, by `Enum::Variant`.
fn variants(root: &Path) -> BTreeMap<String, Vec<String>> {
    let mut found = BTreeMap::new();
    for file in ERRORS {
        let text = fs::read_to_string(root.join(file)).unwrap();
        let (mut name, mut attribute) = ("", None);
        for line in text.lines() {
            if let Some(rest) = line.strip_prefix("pub enum ") {
                name = rest.trim_end_matches(" {");
            } else if line == "}" {
                name = "";
            } else if line.starts_with("    #[error(") {
                attribute = Some(line.to_owned());
            } else if let Some(attribute) = &mut attribute
                && (line.starts_with("        ") || line.starts_with("    )]"))
            {
                attribute.push('\n');
                attribute.push_str(line);
            } else if let Some(attribute) = attribute.take() {
                let end = |at: char| !at.is_alphanumeric();
                let variant = line.trim().split(end).next().unwrap();
                found.insert(format!("{name}::{variant}"), message_of(&attribute));
            }
        }
    }
    found
}

/// Adds the text of all tests below a folder.
fn add_tests(folder: &Path, is_tests: bool, into: &mut String) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            if !name.starts_with('.') && name != "target" && name != "node_modules" {
                add_tests(&path, is_tests || name == "tests", into);
            }
        } else if name.ends_with(".rs") && name != "every_error_is_raised.rs" {
            let text = fs::read_to_string(&path).unwrap();
            let from = if is_tests { Some(0) } else { text.find("#[cfg(test)]") };
            into.push_str(from.map_or("", |from| &text[from..]));
        }
    }
}

#[test]
fn or_named_by_a_test() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let variants = variants(root);
    assert!(variants.len() >= 60, "{} variants: {variants:?}", variants.len());
    let mut tests = String::new();
    add_tests(root, false, &mut tests);
    let windows = |pieces: &[String]| -> Vec<String> {
        let of_piece = |piece: &String| {
            let words: Vec<&str> = piece.split(' ').collect();
            words.windows(WORDS).map(|words| words.join(" ")).collect::<Vec<_>>()
        };
        pieces.iter().flat_map(of_piece).collect()
    };
    let is_of_others = |name: &String, window: &String| {
        let others = variants.iter().filter(|(other, _)| *other != name);
        others.into_iter().any(|(_, pieces)| pieces.iter().any(|piece| piece.contains(window)))
    };
    let is_raised = |name: &String, pieces: &[String]| {
        let mut windows = windows(pieces).into_iter();
        tests.contains(name)
            || windows.any(|window| tests.contains(&window) && !is_of_others(name, &window))
    };
    let lacking = variants.iter().filter(|(name, pieces)| !is_raised(name, pieces));
    let lacking: Vec<&String> = lacking.map(|(name, _)| name).collect();
    assert!(lacking.is_empty(), "no test raises {lacking:?}");
}
