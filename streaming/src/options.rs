//! The command line: Hadoop's options with a single dash, and the engine's with two.

use crate::command::quoted;
use crate::conf::{Conf, refused};
use std::fs;
use tegula::{Error, InputError, Result};

/// What the command line says, word by word.
#[derive(Clone, Debug, Default)]
pub struct CommandLine {
    pub(crate) inputs: Vec<String>,
    pub(crate) output: Option<String>,
    pub(crate) mapper: Option<String>,
    pub(crate) combiner: Option<String>,
    pub(crate) reducer: Option<String>,
    pub(crate) partitioner: Option<String>,
    pub(crate) input_format: Option<String>,
    pub(crate) output_format: Option<String>,
    /// Options that only Java can obey, with their values.
    pub(crate) of_java: Vec<(&'static str, String)>,
    pub(crate) files: Vec<String>,
    pub(crate) archives: Vec<String>,
    pub(crate) environment: Vec<(String, String)>,
    pub(crate) conf: Conf,
    /// Files of properties, over which those of `conf` go.
    conf_files: Vec<String>,
    pub(crate) is_lazy: bool,
    pub(crate) is_verbose: bool,
    /// All words, for a message that repeats them.
    pub(crate) words: Vec<String>,
    engine: Vec<String>,
    wants_help: bool,
}

/// What an option does with the words after it.
#[derive(Clone, Copy)]
enum Kind {
    Input,
    Output,
    Mapper,
    Combiner,
    Reducer,
    Reduces,
    Partitioner,
    InputFormat,
    OutputFormat,
    /// A value that names Java classes.
    OfJava,
    /// `-io`, whose value `text` is the usual one.
    Io,
    File,
    Files,
    Archives,
    Archive,
    Environment,
    Define,
    ConfFile,
    Lazy,
    Verbose,
    Help,
    /// Has a value that says where a cluster is, or what to do after a failure there.
    OfCluster,
    /// Has no value, and no meaning here.
    Nothing,
    Background,
}

const OPTIONS: &[(&str, Kind, &str)] = &[
    (
        "input",
        Kind::Input,
        "<path>...  Files, folders and patterns to read; may be given more than once.",
    ),
    ("output", Kind::Output, "<folder>  The folder of the answer, which must not exist."),
    ("mapper", Kind::Mapper, "<command>  The command that maps lines."),
    ("combiner", Kind::Combiner, "<command>  The command that combines a map task's sorted lines."),
    ("reducer", Kind::Reducer, "<command>|NONE  The command that reduces sorted lines."),
    ("numReduceTasks", Kind::Reduces, "<n>  The number of reducers, and of part files; 0 as NONE."),
    (
        "partitioner",
        Kind::Partitioner,
        "<name>  HashPartitioner (default) or KeyFieldBasedPartitioner.",
    ),
    ("files", Kind::Files, "<path[#link],...>  Files and folders that tasks find in their folder."),
    (
        "archives",
        Kind::Archives,
        "<path[#link],...>  Archives that tasks find unpacked in their folder.",
    ),
    ("cmdenv", Kind::Environment, "<name=value>  A variable in the environment of tasks."),
    ("D", Kind::Define, "<name=value>  A property of the job."),
    ("conf", Kind::ConfFile, "<file>  Properties in the form of Hadoop's XML."),
    ("lazyOutput", Kind::Lazy, " No part files for reducers that print nothing."),
    (
        "inputformat",
        Kind::InputFormat,
        "TextInputFormat|NLineInputFormat  What the lines of a map task are.",
    ),
    ("outputformat", Kind::OutputFormat, "TextOutputFormat  What part files are."),
    ("io", Kind::Io, "text  How commands read and write."),
    (
        "verbose",
        Kind::Verbose,
        " Also print the properties of the job, all counters, and what commands say.",
    ),
    ("help", Kind::Help, " Print this help."),
    ("info", Kind::Help, ""),
    ("file", Kind::File, ""),
    ("cacheFile", Kind::File, ""),
    ("cacheArchive", Kind::Archive, ""),
    ("jobconf", Kind::Define, ""),
    ("additionalconfspec", Kind::ConfFile, ""),
    ("inputreader", Kind::OfJava, ""),
    ("libjars", Kind::OfJava, ""),
    ("dfs", Kind::OfCluster, ""),
    ("fs", Kind::OfCluster, ""),
    ("jt", Kind::OfCluster, ""),
    ("mapdebug", Kind::OfCluster, ""),
    ("reducedebug", Kind::OfCluster, ""),
    ("debug", Kind::Nothing, ""),
    ("background", Kind::Background, ""),
];

/// Returns the list of options for the help.
pub fn help() -> String {
    let mut text = String::from(
        "Run a Hadoop Streaming job: commands map and reduce lines.\n\n\
         Usage: tegula streaming -input <path> -output <folder> -mapper <command> [-reducer <command>] [options]\n\n\
         Options of Hadoop:\n",
    );
    for (name, _, about) in OPTIONS.iter().filter(|(_, _, about)| !about.is_empty()) {
        let (value, about) = about.split_once("  ").unwrap_or(("", about.trim()));
        let option = format!("-{name} {value}");
        text.push_str(&format!("  {option:<34} {about}\n"));
    }
    text
}

impl CommandLine {
    /// Reads the words after `tegula streaming`. `takes_value` says of an option with two dashes, by its name, whether
    /// a value follows it; `None` if there is no such option.
    ///
    /// # Errors
    /// [`Error::Option`] for what is no option or lacks its value, and those of a `-conf` file.
    pub fn parse(
        words: &[String],
        takes_value: &dyn Fn(&str) -> Option<bool>,
    ) -> Result<CommandLine> {
        let mut line = CommandLine { words: words.to_vec(), ..CommandLine::default() };
        let mut rest = words;
        while let [word, after @ ..] = rest {
            rest = after;
            if let Some(name) = word.strip_prefix("--") {
                rest = line.add_engine_flag(word, name, rest, takes_value)?;
            } else if let Some(name) = word.strip_prefix('-').filter(|name| !name.is_empty()) {
                rest = line.add_option(name, rest)?;
            } else {
                let cause = format!("{word} belongs to no option; quote a command with blanks");
                return Err(refused("streaming", cause));
            }
        }
        line.read_conf_files()?;
        Ok(line)
    }

    /// Puts the properties of files below those of the command line, wherever these are in it.
    fn read_conf_files(&mut self) -> Result<()> {
        let mut conf = Conf::default();
        for path in &self.conf_files {
            let xml = fs::read_to_string(path).map_err(|cause| InputError::from_io(path, cause))?;
            conf.read_xml(&xml).map_err(|cause| InputError::Refused {
                path: path.into(),
                cause: format!("it is no XML of properties: {cause}"),
                advice: "correct it".to_owned(),
            })?;
        }
        conf.set_all(std::mem::take(&mut self.conf));
        self.conf = conf;
        Ok(())
    }

    /// Returns the options for the engine, with two dashes, and their values.
    pub fn engine_flags(&self) -> &[String] {
        &self.engine
    }

    /// Returns whether help is wanted.
    pub fn wants_help(&self) -> bool {
        self.wants_help
    }

    /// Returns whether more is to be told than usual.
    pub fn is_verbose(&self) -> bool {
        self.is_verbose
    }

    /// Returns the properties of the job, a line each.
    pub fn properties(&self) -> String {
        self.conf.iter().map(|(name, value)| format!("{name}={value}\n")).collect()
    }

    /// Returns the folder of the answer.
    pub fn output(&self) -> Option<&str> {
        self.output.as_deref()
    }

    /// Gives each path another name: for paths that are URLs of a file system of the caller's.
    pub fn rename_paths(&mut self, rename: impl Fn(&str) -> String) {
        let lists = self.files.iter_mut().chain(&mut self.archives).chain(&mut self.inputs);
        for path in lists.chain(&mut self.output) {
            *path = rename(path);
        }
    }

    /// Returns the error of a job that only the Hadoop engine can run.
    pub(crate) fn of_hadoop_engine(&self, option: &str, value: &str) -> Error {
        let words: Vec<String> = self.words.iter().map(|word| quoted(word)).collect();
        let cause = format!(
            "{option} {value}: this needs Java, so the Hadoop engine runs it: hadoop/bin/tegula-hadoop jar \
             hadoop-streaming.jar {}",
            words.join(" ")
        );
        refused("streaming", cause)
    }

    fn add_engine_flag<'w>(
        &mut self,
        word: &str,
        name: &str,
        rest: &'w [String],
        takes_value: &dyn Fn(&str) -> Option<bool>,
    ) -> Result<&'w [String]> {
        if name == "help" {
            self.wants_help = true;
            return Ok(rest);
        }
        let plain = name.split_once('=').map_or(name, |(name, _)| name);
        let Some(has_value) = takes_value(plain) else {
            return Err(refused("streaming", format!("{word}: there is no such option")));
        };
        self.engine.push(word.to_owned());
        if !has_value || name.contains('=') {
            return Ok(rest);
        }
        let (value, rest) = rest.split_first().ok_or_else(|| without_value(word))?;
        self.engine.push(value.clone());
        Ok(rest)
    }

    fn add_option<'w>(&mut self, name: &str, rest: &'w [String]) -> Result<&'w [String]> {
        // `-Dname=value`, as Hadoop reads it, too.
        if let Some(property) = name.strip_prefix('D').filter(|property| property.contains('=')) {
            self.conf.define("-D", property)?;
            return Ok(rest);
        }
        let found = OPTIONS.iter().find(|(known, _, _)| *known == name);
        let Some(&(known, option, _)) = found else { return Err(unknown(name)) };
        match option {
            Kind::Help => self.wants_help = true,
            Kind::Lazy => self.is_lazy = true,
            Kind::Verbose => self.is_verbose = true,
            Kind::Nothing => {}
            Kind::Background => {
                let cause = "-background: this command is the job; let the shell run it in the background, with &";
                return Err(refused("streaming", cause.to_owned()));
            }
            _ => {
                let is_list = matches!(option, Kind::Input | Kind::File | Kind::Archive);
                let is_value = |word: &&String| !word.starts_with('-') || word.len() == 1;
                let most = if is_list { usize::MAX } else { 1 };
                let mut count = rest.iter().take(most).take_while(is_value).count();
                if count == 0 && !is_list && !rest.is_empty() {
                    // A command or property may begin with a dash.
                    count = 1;
                }
                let (values, rest) = rest.split_at(count);
                if values.is_empty() {
                    return Err(without_value(&format!("-{name}")));
                }
                for value in values {
                    self.add_value(known, option, value)?;
                }
                return Ok(rest);
            }
        }
        Ok(rest)
    }

    fn add_value(&mut self, name: &'static str, option: Kind, value: &str) -> Result<()> {
        let listed = |list: &mut Vec<String>| {
            list.extend(value.split(',').filter(|path| !path.is_empty()).map(str::to_owned));
        };
        match option {
            Kind::Input => self.inputs.extend(outside_braces(value)),
            Kind::Output => self.output = Some(value.to_owned()),
            Kind::Mapper => self.mapper = Some(value.to_owned()),
            Kind::Combiner => self.combiner = Some(value.to_owned()),
            Kind::Reducer => self.reducer = Some(value.to_owned()),
            Kind::Reduces => self.conf.set("mapreduce.job.reduces", value),
            Kind::Partitioner => self.partitioner = Some(value.to_owned()),
            Kind::InputFormat => self.input_format = Some(value.to_owned()),
            Kind::OutputFormat => self.output_format = Some(value.to_owned()),
            Kind::OfJava => self.of_java.push((name, value.to_owned())),
            Kind::Io if value == "text" => {}
            Kind::Io => self.of_java.push((name, value.to_owned())),
            Kind::File => self.files.push(value.to_owned()),
            Kind::Archive => self.archives.push(value.to_owned()),
            Kind::Files => listed(&mut self.files),
            Kind::Archives => listed(&mut self.archives),
            Kind::Environment => match value.split_once('=') {
                Some((name, value)) => self.environment.push((name.to_owned(), value.to_owned())),
                None => {
                    let cause = format!("{value}: write a variable as name=value");
                    return Err(refused("-cmdenv", cause));
                }
            },
            Kind::Define => self.conf.define("-D", value)?,
            Kind::ConfFile => self.conf_files.push(value.to_owned()),
            _ => {}
        }
        Ok(())
    }
}

/// Returns the paths of a list, which commas separate outside of braces.
fn outside_braces(list: &str) -> Vec<String> {
    let (mut paths, mut path, mut depth) = (Vec::new(), String::new(), 0_usize);
    for letter in list.chars() {
        match letter {
            ',' if depth == 0 => paths.push(std::mem::take(&mut path)),
            _ => {
                match letter {
                    '{' => depth += 1,
                    '}' => depth = depth.saturating_sub(1),
                    _ => {}
                }
                path.push(letter);
            }
        }
    }
    paths.push(path);
    paths.retain(|path| !path.is_empty());
    paths
}

fn without_value(option: &str) -> Error {
    refused("streaming", format!("{option} lacks its value"))
}

fn unknown(name: &str) -> Error {
    let nearest = OPTIONS.iter().map(|(known, _, _)| (distance(known, name), known)).min();
    let cause = match nearest {
        Some((changes, known)) if changes <= 1 + name.len() / 3 => {
            format!("-{name}: there is no such option; did you mean -{known}?")
        }
        _ => format!("-{name}: there is no such option; -help lists them"),
    };
    refused("streaming", cause)
}

/// Returns the number of letters to change, insert or remove (Levenshtein), without regard to case.
fn distance(a: &str, b: &str) -> usize {
    let (a, b) = (a.to_ascii_lowercase(), b.to_ascii_lowercase());
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (line, left) in a.bytes().enumerate() {
        let mut before = row[0];
        row[0] = line + 1;
        for (column, right) in b.bytes().enumerate() {
            let changed = before + usize::from(left != right);
            before = row[column + 1];
            row[column + 1] = changed.min(before + 1).min(row[column] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<CommandLine> {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        CommandLine::parse(&words, &|name| match name {
            "state" => Some(true),
            "incremental" => Some(false),
            _ => None,
        })
    }

    #[test]
    fn options_are_read_as_hadoop_reads_them() {
        let line = parse(
            "-D mapred.reduce.tasks=2 -Da.b=c -input a b,c -input {d,e} -output out -mapper m -reducer -r \
             -files x,y#z -file one two -cmdenv A=B=C --state dir --incremental -verbose",
        )
        .unwrap();
        assert_eq!(line.inputs, ["a", "b", "c", "{d,e}"]);
        assert_eq!(line.conf.get("mapreduce.job.reduces"), Some("2"));
        assert_eq!(line.conf.get("a.b"), Some("c"));
        assert_eq!(line.reducer.as_deref(), Some("-r"));
        assert_eq!(line.files, ["x", "y#z", "one", "two"]);
        assert_eq!(line.environment, [("A".to_owned(), "B=C".to_owned())]);
        assert_eq!(line.engine_flags(), ["--state", "dir", "--incremental"]);
        assert!(line.is_verbose);
    }

    #[test]
    fn wrong_options_are_named() {
        let cases = [
            ("-maper cat", "did you mean -mapper?"),
            ("-numreducetasks 3", "did you mean -numReduceTasks?"),
            ("-zzzzzzzz", "-help lists them"),
            ("-mapper", "-mapper lacks its value"),
            ("--sate x", "--sate: there is no such option"),
            ("-D nothing", "name=value"),
            ("-cmdenv nothing", "name=value"),
            ("in -output out", "in belongs to no option"),
            ("-background", "with &"),
            ("-conf /no/such/file", "/no/such/file"),
        ];
        for (line, expected) in cases {
            let error = parse(line).unwrap_err().to_string();
            assert!(error.contains(expected), "{line}: {error}");
        }
    }
}
