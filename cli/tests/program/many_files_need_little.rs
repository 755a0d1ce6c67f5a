//! Many small files need few descriptors and little memory, and all of them are read.

use super::*;
use serde_json::Value;

const FOLDERS: usize = 40;
const FILES_PER_FOLDER: usize = 500;
const BUDGET: u64 = 30 << 20;

/// Files of words of their own and in common, among them empty ones and compressed ones that no name
/// gives away. Returns the words.
fn write_files(root: &Path) -> Vec<u8> {
    let mut words = Vec::new();
    for number in 0..FOLDERS * FILES_PER_FOLDER {
        let folder = root.join(format!("{:02}/deeper", number / FILES_PER_FOLDER));
        if number.is_multiple_of(FILES_PER_FOLDER) {
            fs::create_dir_all(&folder).unwrap();
        }
        let text = match number % 100 {
            7 => String::new(),
            _ => format!("file {} of many small ones {}\n", number % 1000, "word ".repeat(20)),
        };
        let bytes = match number % 100 {
            3 => {
                let to = Vec::new();
                let mut gzip = flate2::write::GzEncoder::new(to, flate2::Compression::fast());
                gzip.write_all(text.as_bytes()).unwrap();
                gzip.finish().unwrap()
            }
            _ => text.clone().into_bytes(),
        };
        fs::write(folder.join(format!("{number}")), bytes).unwrap();
        words.extend(text.into_bytes());
    }
    words
}

#[test]
fn with_64_descriptors_and_within_the_budget_all_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let (root, stats_json) = (folder.path().join("files"), folder.path().join("stats"));
    let words = write_files(&root);
    let words = words.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    for workers in ["1", "2", "12"] {
        // Every worker needs memory of its own.
        let budget = BUDGET + workers.parse::<u64>().unwrap() * (3 << 20);
        let mut limited = Command::new("sh");
        limited.args(["-c", "ulimit -n 64; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_tegula")]);
        limited.arg("wordcount").arg(&root).args(["-j", workers]);
        limited.args(["--memory", &budget.to_string(), "--stats-json"]).arg(&stats_json);
        let found = answer(limited.stdin(Stdio::null()).output().unwrap());
        assert!(found == plain_count(words.clone()), "{workers} workers");
        let stats: Value = serde_json::from_slice(&fs::read(&stats_json).unwrap()).unwrap();
        assert_eq!(stats["files"].as_u64().unwrap(), (FOLDERS * FILES_PER_FOLDER) as u64);
        assert_eq!(stats["compressed"][0]["files"].as_u64().unwrap(), 200);
        let peak = stats["memory_resident_peak"].as_u64().unwrap();
        assert!(peak <= budget, "{peak} of {budget} bytes, {workers} workers");
    }
}
