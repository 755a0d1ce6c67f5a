//! Each flag of each command changes something that can be seen, or is refused by its name. What can be seen is an exit
//! code, an answer, a message, a file, or a figure of the statistics that is not about time.

use super::*;
use rustix::fs::{Advice, fadvise};
use serde_json::Value;
use std::fs::File;
use std::sync::Mutex;
use std::thread;
use tegula_cli::parts::commands;

/// These are tried by tests of their own: they wait for others, need a device, or have flags of Hadoop's.
const ELSEWHERE: &[&str] = &[
    "serve",
    "submit",
    "ps",
    "logs",
    "wait",
    "cancel",
    "again",
    "nodes up",
    "offload",
    "streaming",
    "hadoop",
    "devices",
];
/// Their effect cannot be seen: the sort is stable in any case, as the help says; and workers that wait for each other
/// take longer, where there is nothing that they combine.
const UNSEEN: &[&str] = &["sort --stable", "sort --pipeline", "teravalidate --pipeline"];
const STATE: &str = "--state=state --job=a";
const OVER_NODES: &str = "--nodes=local:2x1";
/// What is not the same in two runs says nothing of a flag. So a flag is tried again where nothing has changed.
const TURNS: usize = 3;
const SHOWN: &str = "--tile=32k --show=every=50%";

/// A command with what it needs to run, and ways to try its own flags.
struct Case {
    command: &'static str,
    words: &'static [&'static str],
    /// More words, unless a trial says all.
    usual: &'static str,
    /// Its files, by their names: the last words of a run, unless a name begins with a dot.
    files: Vec<(&'static str, Vec<u8>)>,
    /// The words of a run before it.
    before: &'static str,
    own: Vec<(&'static str, Trial)>,
}

/// A way to try a flag: words of a run with it, and those of the run that it is compared with.
#[derive(Clone)]
struct Trial {
    without: String,
    with: String,
    /// Whether these are all words of the run beside the command's own.
    is_whole: bool,
    input: Input,
}

/// What a command reads.
#[derive(Clone, Copy, PartialEq)]
enum Input {
    Usual,
    WithBad,
    Compressed,
    /// Not in the page cache.
    Cold,
    /// Changed after a first run, without another length or time.
    Changed,
}

/// Returns a trial of a flag, with words that both runs have.
fn trial(both: &str, flag: &str) -> Trial {
    pair(both, &format!("{both} {flag}"))
}

fn pair(without: &str, with: &str) -> Trial {
    let (without, with) = (without.to_owned(), with.to_owned());
    Trial { without, with, is_whole: false, input: Input::Usual }
}

fn whole(without: &str, with: &str) -> Trial {
    Trial { is_whole: true, ..pair(without, with) }
}

impl Trial {
    fn over(self, input: Input) -> Trial {
        Trial { input, ..self }
    }
}

/// Returns ways to try a flag that many commands have. One of them must show something.
fn shared(flag: &str) -> Vec<Trial> {
    let incremental = format!("{STATE} --incremental");
    match flag {
        "output" => vec![trial("", "--output=out")],
        "parts" => vec![
            trial(&format!("{OVER_NODES} --order=none"), "--parts=parts"),
            trial(OVER_NODES, "--parts=parts"),
        ],
        "top" => vec![trial("", "--top=1")],
        "show" => vec![trial("--tile=32k", "--show=every=50%")],
        "show-to" => vec![trial(SHOWN, "--show-to=shows")],
        "show-in-order" => vec![trial(&format!("{SHOWN} {incremental}"), "--show-in-order")],
        "show-top" => vec![trial(SHOWN, "--show-top=1")],
        "show-by" => vec![trial(SHOWN, "--show-by=value")],
        "workers" => vec![pair("-j1", "-j2")],
        "groups" => vec![trial("-j2", "--groups=2")],
        "tile" => vec![trial("", "--tile=32k")],
        "split" => vec![trial("", "--split=4k")],
        "pipeline" => vec![trial("", "--pipeline=off"), trial("--tile=32k", "--pipeline=off")],
        "memory" => vec![trial("", "--memory=1M")],
        "scratch" => vec![trial("", "--scratch=missing/folder")],
        "skip-bad" => vec![trial("", "--skip-bad").over(Input::WithBad)],
        "plain" => vec![trial("", "--plain").over(Input::Compressed)],
        "reads" => vec![trial("", "--reads=direct").over(Input::Cold)],
        "nodes" => vec![trial("--stats", OVER_NODES)],
        "gather" => vec![trial(OVER_NODES, "--gather=1")],
        "state" => vec![trial("", STATE)],
        "job" => vec![pair(STATE, "--state=state --job=b")],
        "save-every" => ["", "--tile=32k"]
            .map(|tile| trial(&format!("{STATE} {tile} --keep=partials"), "--save-every=1tiles"))
            .to_vec(),
        // On a busy machine the sizes found while a job runs, and with them its snapshots, differ from run to run.
        "keep" => ["--keep=nothing", "--keep=partials"]
            .iter()
            .flat_map(|keep| {
                [format!("{STATE} --tile=32k"), STATE.to_owned()].map(|both| trial(&both, keep))
            })
            .collect(),
        "incremental" => vec![trial(STATE, "--incremental")],
        "hash" => vec![trial(&incremental, "--hash=blake3")],
        "append-only" => ["", " --tile=32k"]
            .map(|tile| trial(&format!("{incremental}{tile}"), "--append-only"))
            .map(|trial| trial.over(Input::Changed))
            .to_vec(),
        "trust-mtime" => vec![trial(&incremental, "--trust-mtime").over(Input::Changed)],
        "progress" => vec![trial("", "--progress=json")],
        "timeline" => vec![trial("", "--timeline=t.json")],
        "events" => vec![trial("", "--events=e.jsonl")],
        // A job may end before it is told to; it never begins where nobody can tell it anything.
        "control" => vec![trial("", "--control=0"), trial("", "--control=99")],
        "watch" => vec![trial("", "--watch")],
        "stats" => vec![trial("", "--stats")],
        "stats-json" => vec![trial("", "--stats-json=s.json")],
        "device" => vec![trial("", "--device=none-of-this-name")],
        "format" => vec![trial("", "--format=jsonl"), trial("", "--format=npy")],
        "order" => vec![trial("", "--order=value")],
        _ => Vec::new(),
    }
}

/// Returns the flags without which a flag is not accepted. Where one of them is refused, it is, too.
fn needs(flag: &str) -> &'static [&'static str] {
    match flag {
        "job" | "save-every" | "keep" | "incremental" => &["--state"],
        "hash" | "append-only" | "trust-mtime" => &["--state", "--incremental"],
        "gather" | "parts" => &["--nodes"],
        _ => &[],
    }
}

fn lines(make: impl Fn(u32) -> String) -> Vec<u8> {
    let numbers = (0..12_000_u32).map(|at| at.wrapping_mul(0x9e37_79b9) >> 12);
    numbers.map(make).collect::<String>().into_bytes()
}

/// Returns a library with a map of lines by their first bytes, with their lengths.
fn library() -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let code = r#"
        #include <string.h>
        #include "tegula.h"
        TEGULA_LIBRARY
        int32_t first(tegula_split *split, tegula_pairs *pairs, void *state) {
            size_t at = split->done;
            while (at < split->len) {
                const uint8_t *newline = memchr(split->data + at, '\n', split->len - at);
                size_t end = newline ? (size_t)(newline - split->data) : split->len;
                int is_bad = split->data[at] == '{';
                if (is_bad) { split->done = at; return -1; }
                if (!tegula_emit_i64(pairs, split->data + at, 2, (int64_t)(end - at))) { split->done = at; return 1; }
                at = end + 1;
            }
            return 0;
        }
        int32_t second(tegula_split *split, tegula_pairs *pairs, void *state) { return 0; }
    "#;
    let (source, library) = (write(folder.path(), "map.c", code), folder.path().join("map.so"));
    let include = concat!(env!("CARGO_MANIFEST_DIR"), "/../python/tegula/include");
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-I", include, "-o"]).arg(&library).arg(source);
    assert!(compiler.status().unwrap().success());
    fs::read(library).unwrap()
}

impl Case {
    fn of(command: &'static str, words: &'static [&'static str]) -> Case {
        Case { command, words, usual: "", files: Vec::new(), before: "", own: Vec::new() }
    }

    fn usual(self, usual: &'static str) -> Case {
        Case { usual, ..self }
    }

    fn file(mut self, name: &'static str, bytes: impl Into<Vec<u8>>) -> Case {
        self.files.push((name, bytes.into()));
        self
    }

    fn after(self, before: &'static str) -> Case {
        Case { before, ..self }
    }

    fn flag(mut self, flag: &'static str, trial: Trial) -> Case {
        self.own.push((flag, trial));
        self
    }
}

/// Jobs over text.
fn over_text() -> Vec<Case> {
    let text = || lines(|at| format!("w{} a W{}\n", at % 7, at % 5000));
    vec![
        Case::of("index", &[])
            .file("text", text())
            .file(".list", "w3")
            .flag("words", trial("", "--words=alpha"))
            .flag("word", trial("", "--word=w3"))
            .flag("words-from", trial("", "--words-from=.list")),
        Case::of("wordcount", &[])
            .file("text", text())
            .flag("words", trial("", "--words=alpha"))
            .flag("json", trial("", "--json=a"))
            .flag("skip-bad", trial("--json=a", "--skip-bad").over(Input::WithBad)),
        Case::of("stations", &[])
            .file("lines", lines(|at| format!("s{};{}.{}\n", at % 7, at % 77, at % 10))),
        Case::of("logstats", &[])
            .file("log", lines(|at| format!("u{} login {}\n", at % 70, at % 10_000)))
            .flag("key", trial("", "--key=host")),
        Case::of("grep", &["w[0-6]|a"])
            .file("text", text())
            .flag("by", trial("", "--by=match"))
            .flag("lines", trial("", "--lines"))
            .flag("ignore-case", trial("", "--ignore-case"))
            .flag("fixed", trial("", "--fixed"))
            .flag("top", trial("--by=match", "--top=1"))
            .flag("order", trial("--by=match", "--order=value"))
            .flag("show-top", trial(&format!("--by=match {SHOWN}"), "--show-top=1")),
        Case::of("top", &["3"])
            .file("fields", lines(|at| format!("v{}\t{}\n", at % 7, at % 11)))
            .flag("by", trial("", "--by=2"))
            .flag("json", trial("", "--json=a"))
            .flag("sum", trial("", "--sum=2"))
            .flag("separator", trial("", "--separator=v"))
            .flag("skip-bad", trial("--sum=2", "--skip-bad").over(Input::WithBad)),
        Case::of("run", &[".map.so"])
            .usual("--map=first --combine=sum")
            .file("text", text())
            .file(".map.so", library())
            .flag("map", whole("--map=first --combine=sum", "--map=second --combine=sum"))
            .flag("combine", whole("--map=first --combine=sum", "--map=first --combine=max"))
            .flag("value", trial("", "--value=f64"))
            .flag("records", trial("", "--records=fixed:7")),
        Case::of("stringmatch", &["--key=w2", "--key=w5"])
            .file("text", lines(|at| format!("w{}\n", at % 7)))
            .file(".keys", "w3\n")
            .flag("key", trial("", "--key=w1"))
            .flag("keys", trial("", "--keys=.keys"))
            .flag("places", trial("", "--places")),
    ]
}

/// Jobs over numbers.
fn over_numbers() -> Vec<Case> {
    let points = || lines(|at| format!("{}.5 {}\n", at % 997, at % 10_007));
    let matrix = || lines(|at| format!("{} {}\n", at % 97, at % 89));
    let pixels = (0..1_200_000_u32).map(|at| (at % 251) as u8);
    let picture: Vec<u8> = b"P6\n1000 400\n255\n".iter().copied().chain(pixels).collect();
    vec![
        Case::of("histogram", &[])
            .file("picture.ppm", picture)
            .flag("svg", trial("", "--svg=out.svg")),
        Case::of("linreg", &[])
            .file("points", points())
            .flag("points", trial("", "--points=bytes")),
        Case::of("kmeans", &[])
            .usual("-k2 --rounds=2")
            .file("points", points())
            .flag("means", whole("-k2 --rounds=2", "-k3 --rounds=2"))
            .flag("rounds", whole("-k2 --rounds=2", "-k2 --rounds=1"))
            .flag("seed", trial("", "--seed=7"))
            .flag("start", trial("", "--start=spread"))
            .flag("show", trial("", "--show=every=round"))
            .flag("show-to", trial("--show=every=round", "--show-to=shows")),
        Case::of("matmul", &[]).file("a", matrix()).file("b", "1 2\n3 5\n"),
        Case::of("pca", &[])
            .file("rows", matrix())
            .flag("components", trial("", "--components=1"))
            .flag("covariance", trial("", "--covariance")),
    ]
}

/// The other commands.
fn others() -> Vec<Case> {
    let text = || lines(|at| format!("w{} a W{}\n", at % 7, at % 5000));
    let records = (0..12_000_u32).flat_map(|at| [&at.to_be_bytes()[..], &[b'7'; 96]].concat());
    let records: Vec<u8> = records.collect();
    vec![
        Case::of("sort", &[])
            .file("text", text())
            .flag("records", trial("", "--records=fixed:1"))
            .flag("key", trial("", "--key=1..2"))
            .flag("reverse", trial("", "--reverse"))
            .flag("unique", trial("", "--unique")),
        Case::of("teravalidate", &[]).file("records", records),
        Case::of("teragen", &["9"]).flag("ascii", trial("", "--ascii")),
        Case::of("generate stations", &["9"])
            .file(".list", "nowhere;7.5\n")
            .flag("list", trial("", "--list=.list"))
            .flag("seed", trial("", "--seed=2")),
        Case::of("generate logins", &["9"])
            .flag("users", trial("", "--users=1"))
            .flag("seed", trial("", "--seed=2")),
        Case::of("show", &[])
            .usual("--state=state")
            .file(".text", text())
            .after("wordcount .text --state=state --job=a --keep=partials")
            .flag("state", whole("--state=state", "--state=none"))
            .flag("job", trial("", "--job=none"))
            .flag("order", trial("", "--order=key"))
            .flag("workers", pair("-j1", "-j2 --memory=1")),
        Case::of("state show", &["state"])
            .file(".text", text())
            .after("wordcount .text --state=state --job=a")
            .flag("job", trial("", "--job=none")),
        Case::of("state verify", &["state"])
            .file(".text", text())
            .after("wordcount .text --state=state --job=a")
            .flag("job", trial("", "--job=none")),
        Case::of("state rm", &["state"])
            .file(".text", text())
            .after("wordcount .text --state=state --job=a")
            .flag("job", trial("", "--job=none")),
        Case::of("state ls", &["state"]).after("wordcount . --state=state --job=a"),
        Case::of("topology", &[]).flag("groups", trial("", "--groups=2")),
    ]
}

/// What can be seen of a run, by names.
type Seen = BTreeMap<String, Vec<u8>>;

impl Case {
    /// Runs the command with the words of a trial in a folder of its own, with those `flags` of it that tests need.
    fn run(&self, words: &str, trial: &Trial, flags: &[&str]) -> Seen {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let at = folder.path();
        self.files.iter().for_each(|(name, bytes)| drop(write(at, name, bytes)));
        let names = self.files.iter().map(|(name, _)| *name);
        let inputs: Vec<&str> = names.filter(|name| !name.starts_with('.')).collect();
        if let Some(first) = inputs.first() {
            prepare(&at.join(first), trial.input);
        }
        write(at, ".orders", "{\"cancel\":true}\n");
        let run = |words: &[&str]| {
            let orders = File::open(at.join(".orders")).unwrap();
            tegula().args(words).current_dir(at).stdin(orders).output().unwrap()
        };
        if !self.before.is_empty() {
            answer(run(&self.before.split(' ').collect::<Vec<_>>()));
        }
        let usual = if trial.is_whole { "" } else { self.usual };
        let mut all: Vec<&str> =
            self.command.split(' ').chain(self.words.iter().copied()).collect();
        all.extend(usual.split_whitespace().chain(words.split_whitespace()));
        for (flag, word) in [("--stats-json", "--stats-json=.stats"), ("-j", "-j1")] {
            if flags.contains(&flag) && !all.iter().any(|word| word.starts_with(flag)) {
                all.push(word);
            }
        }
        all.extend(&inputs);
        let mut output = run(&all);
        if let (Some(first), Input::Changed) = (inputs.first(), trial.input) {
            overwrite(&at.join(first));
            output = run(&all);
        }
        let said = String::from_utf8_lossy(&output.stderr);
        let said: String = said.chars().filter(|one| !one.is_ascii_digit()).collect();
        let mut seen = Seen::from([
            ("code".to_owned(), format!("{:?}", output.status.code()).into_bytes()),
            ("answer".to_owned(), output.stdout),
            ("said".to_owned(), said.into_bytes()),
        ]);
        see_files(at, "", &mut seen);
        if let Some(stats) = seen.remove("/.stats") {
            see_figures("stats", &serde_json::from_slice(&stats).unwrap(), &mut seen);
        }
        seen
    }

    /// Returns why a flag is taken to do something; `None` if it does nothing.
    fn effect(&self, flag: &str, trial: &Trial, flags: &[&str]) -> Option<String> {
        let with = self.run(&trial.with, trial, flags);
        let said = String::from_utf8_lossy(&with["said"]).into_owned();
        if with["code"] == b"Some(2)" {
            let mut names = needs(flag).iter().map(|name| (*name).to_owned());
            let is_named = |name: &str| said.split([' ', ':', '(']).any(|word| word == name);
            let is_refused = is_named(&format!("--{flag}")) || names.any(|name| is_named(&name));
            return is_refused.then_some(said);
        }
        let [one, other] = [(); 2].map(|()| self.run(&trial.without, trial, flags));
        let is_steady = |name: &&String| one.get(*name) == other.get(*name);
        let mut all = one.keys().chain(with.keys()).filter(is_steady);
        let changed = all.find(|name| one.get(*name) != with.get(*name))?;
        (one["code"] != b"Some(2)").then(|| changed.clone())
    }
}

/// Makes a file what a trial needs.
fn prepare(path: &Path, input: Input) {
    let bytes = fs::read(path).unwrap();
    match input {
        Input::Usual => {}
        Input::WithBad => fs::write(path, [&bytes[..], b"{ no such\tthing\n"].concat()).unwrap(),
        Input::Compressed => {
            let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            packed.write_all(&bytes).unwrap();
            fs::write(path, packed.finish().unwrap()).unwrap();
        }
        Input::Cold => {
            // Small files are not read past the page cache.
            fs::write(path, bytes.repeat((1 << 20) / bytes.len() + 1)).unwrap();
            let file = File::open(path).unwrap();
            file.sync_all().unwrap();
            fadvise(&file, 0, None, Advice::DontNeed).unwrap();
        }
        // What is at the ends is read in any case, and a time so near to that of the run is not trusted.
        Input::Changed => {
            fs::write(path, bytes.repeat((1 << 20) / bytes.len() + 1)).unwrap();
            let hour_ago = SystemTime::now() - Duration::from_secs(3600);
            File::options().write(true).open(path).unwrap().set_modified(hour_ago).unwrap();
        }
    }
}

/// Writes other bytes into the middle of a file that keeps its length and its time.
fn overwrite(path: &Path) {
    let (mut bytes, of) = (fs::read(path).unwrap(), fs::metadata(path).unwrap());
    let half = bytes.len() / 2;
    // Digits become others, so that lines stay what they are.
    let changed = bytes[half..].iter_mut().take(1000);
    changed.filter(|byte| byte.is_ascii_digit()).for_each(|digit| *digit ^= 1);
    let mut file = File::options().write(true).open(path).unwrap();
    file.write_all(&bytes).unwrap();
    file.set_modified(of.modified().unwrap()).unwrap();
}

fn see_files(root: &Path, folder: &str, seen: &mut Seen) {
    for name in names(&root.join(folder.trim_start_matches('/'))) {
        let name = format!("{folder}/{name}");
        let path = root.join(&name[1..]);
        match path.is_dir() {
            true => see_files(root, &name, seen),
            false => drop(seen.insert(name, fs::read(path).unwrap())),
        }
    }
}

/// Adds the figures of statistics that are not about time or what follows from it.
fn see_figures(name: &str, value: &Value, seen: &mut Seen) {
    if name.ends_with("_s") || name.ends_with("_peak") {
        return;
    }
    match value {
        Value::Object(fields) => fields
            .iter()
            .for_each(|(field, value)| see_figures(&format!("{name}.{field}"), value, seen)),
        Value::Array(all) => all
            .iter()
            .enumerate()
            .for_each(|(at, value)| see_figures(&format!("{name}.{at}"), value, seen)),
        figure => drop(seen.insert(name.to_owned(), figure.to_string().into_bytes())),
    }
}

/// Returns the names of all commands that are not groups of others.
fn leaves(of: &clap::Command, name: &str, into: &mut Vec<String>) {
    for command in of.get_subcommands().filter(|command| command.get_name() != "help") {
        let name = format!("{name} {}", command.get_name()).trim().to_owned();
        match command.has_subcommands() {
            true => leaves(command, &name, into),
            false => into.push(name),
        }
    }
}

#[test]
fn or_is_refused_by_its_name() {
    let mut root = commands();
    root.build();
    let cases = over_text().into_iter().chain(over_numbers()).chain(others());
    let cases: Vec<Case> = cases.collect();
    let mut all = Vec::new();
    leaves(&root, "", &mut all);
    let is_tried = |name: &str| cases.iter().any(|case| case.command == name);
    all.retain(|name| !ELSEWHERE.contains(&&name[..]) && !is_tried(name));
    assert!(all.is_empty(), "nobody tries {all:?}");
    let mut tries = Vec::new();
    for case in &cases {
        let find = |of: &clap::Command, name| of.find_subcommand(name).unwrap().clone();
        let command = case.command.split(' ').fold(root.clone(), |of, name| find(&of, name));
        let seen = command.get_arguments().filter(|flag| !flag.is_hide_set());
        let names: Vec<String> =
            seen.filter_map(|flag| flag.get_long()).map(str::to_owned).collect();
        let known = [("stats-json", "--stats-json"), ("workers", "-j")];
        let known = known.iter().filter(|(name, _)| names.iter().any(|of| of == name));
        let known: Vec<&str> = known.map(|(_, flag)| *flag).collect();
        let tried = names.into_iter().filter(|name| {
            name != "help" && !UNSEEN.contains(&&format!("{} --{name}", case.command)[..])
        });
        tries.extend(tried.map(|name| (case, name, known.clone())));
    }
    let (tries, idle) = (Mutex::new(tries), Mutex::new(Vec::new()));
    let work = || {
        while let Some((case, flag, mut known)) = { tries.lock().unwrap().pop() } {
            known.retain(|known| *known != format!("--{flag}"));
            let own = case.own.iter().filter(|(name, _)| *name == flag);
            let trials = own.map(|(_, trial)| trial.clone()).chain(shared(&flag));
            let trials: Vec<Trial> = trials.collect();
            let mut turns = trials.iter().cycle().take(TURNS * trials.len());
            match turns.find_map(|trial| case.effect(&flag, trial, &known)) {
                Some(why) => println!("{} --{flag}: {}", case.command, why.trim()),
                None => idle.lock().unwrap().push(format!("{} --{flag}", case.command)),
            }
        }
    };
    thread::scope(|scope| {
        scope.spawn(work);
        work();
    });
    let mut idle = idle.into_inner().unwrap();
    idle.sort();
    assert!(idle.is_empty(), "these do nothing: {idle:?}");
}
