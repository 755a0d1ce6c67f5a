//! The properties of a job: those of `-D`, `-jobconf` and `-conf`, under the names that Hadoop has today.

use std::collections::BTreeMap;
use std::str::FromStr;
use tegula::{Error, Result};

/// Properties by name, with what is set last.
#[derive(Clone, Debug, Default)]
pub(crate) struct Conf(BTreeMap<String, String>);

/// Names of Hadoop 1, each with the present one.
const RENAMED: &[(&str, &str)] = &[
    ("fs.default.name", "fs.defaultFS"),
    ("io.sort.mb", "mapreduce.task.io.sort.mb"),
    ("map.output.key.field.separator", "mapreduce.map.output.key.field.separator"),
    ("mapred.compress.map.output", "mapreduce.map.output.compress"),
    ("mapred.input.dir", "mapreduce.input.fileinputformat.inputdir"),
    ("mapred.input.format.class", "mapreduce.job.inputformat.class"),
    ("mapred.job.id", "mapreduce.job.id"),
    ("mapred.job.name", "mapreduce.job.name"),
    ("mapred.line.input.format.linespermap", "mapreduce.input.lineinputformat.linespermap"),
    ("mapred.map.tasks", "mapreduce.job.maps"),
    ("mapred.max.split.size", "mapreduce.input.fileinputformat.split.maxsize"),
    ("mapred.min.split.size", "mapreduce.input.fileinputformat.split.minsize"),
    ("mapred.output.compress", "mapreduce.output.fileoutputformat.compress"),
    ("mapred.output.compression.codec", "mapreduce.output.fileoutputformat.compress.codec"),
    ("mapred.output.dir", "mapreduce.output.fileoutputformat.outputdir"),
    ("mapred.output.format.class", "mapreduce.job.outputformat.class"),
    ("mapred.output.key.comparator.class", "mapreduce.job.output.key.comparator.class"),
    ("mapred.partitioner.class", "mapreduce.job.partitioner.class"),
    ("mapred.reduce.tasks", "mapreduce.job.reduces"),
    ("mapred.task.id", "mapreduce.task.attempt.id"),
    ("mapred.task.is.map", "mapreduce.task.ismap"),
    ("mapred.task.partition", "mapreduce.task.partition"),
    ("mapred.task.timeout", "mapreduce.task.timeout"),
    ("mapred.text.key.comparator.options", "mapreduce.partition.keycomparator.options"),
    ("mapred.text.key.partitioner.options", "mapreduce.partition.keypartitioner.options"),
    ("mapred.textoutputformat.separator", "mapreduce.output.textoutputformat.separator"),
    ("mapred.tip.id", "mapreduce.task.id"),
    ("mapred.work.output.dir", "mapreduce.task.output.dir"),
    ("map.input.file", "mapreduce.map.input.file"),
    ("map.input.length", "mapreduce.map.input.length"),
    ("map.input.start", "mapreduce.map.input.start"),
    ("user.name", "mapreduce.job.user.name"),
];

impl Conf {
    /// Sets a property, under its present name.
    pub(crate) fn set(&mut self, name: &str, value: impl Into<String>) {
        self.0.insert(present(name).to_owned(), value.into());
    }

    /// Sets what `name=value` says.
    ///
    /// # Errors
    /// [`Error::Option`] if there is no `=`.
    pub(crate) fn define(&mut self, option: &'static str, text: &str) -> Result<()> {
        match text.split_once('=') {
            Some((name, value)) if !name.is_empty() => {
                self.set(name, value);
                Ok(())
            }
            _ => Err(refused(option, format!("{text}: write a property as name=value"))),
        }
    }

    /// Returns a property by its present name.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Returns a number, if the property is set.
    ///
    /// # Errors
    /// [`Error::Option`] if it is none.
    pub(crate) fn number<N: FromStr>(&self, name: &'static str) -> Result<Option<N>> {
        let read = |text: &str| {
            let number = text.trim().parse();
            number.map_err(|_| refused(name, format!("{text} is no number that it can be")))
        };
        self.get(name).map(read).transpose()
    }

    /// Returns a property that is `true` or `false`; as Hadoop does, the default for any other text.
    pub(crate) fn flag(&self, name: &str, default: bool) -> bool {
        match self.get(name).map(str::trim) {
            Some(text) if text.eq_ignore_ascii_case("true") => true,
            Some(text) if text.eq_ignore_ascii_case("false") => false,
            _ => default,
        }
    }

    /// Reads a file of Hadoop's settings: `<name>` and `<value>` of each `<property>`.
    pub(crate) fn read_xml(&mut self, xml: &str) {
        for property in xml.split("<property>").skip(1) {
            let property = property.split("</property>").next().unwrap_or_default();
            let inside = |tag: &str| {
                let (_, rest) = property.split_once(&format!("<{tag}>"))?;
                let (text, _) = rest.split_once(&format!("</{tag}>"))?;
                Some(unescaped(text.trim()))
            };
            if let (Some(name), Some(value)) = (inside("name"), inside("value")) {
                self.set(&name, value);
            }
        }
    }

    /// Returns all properties, each also under its old name if it has one: tasks look for either.
    pub(crate) fn under_all_names(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().flat_map(|(name, value)| {
            let old = RENAMED.iter().filter(move |(_, now)| now == name).map(|(old, _)| *old);
            std::iter::once(name.as_str()).chain(old).map(move |name| (name, value.as_str()))
        })
    }

    /// Returns all properties under their present names.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

/// Returns the error of an option's value.
pub(crate) fn refused(option: &'static str, cause: String) -> Error {
    Error::Option { option, cause }
}

fn present(name: &str) -> &str {
    RENAMED.iter().find(|(old, _)| *old == name).map_or(name, |(_, now)| now)
}

fn unescaped(text: &str) -> String {
    let text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"");
    text.replace("&apos;", "'").replace("&#9;", "\t").replace("&amp;", "&")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_names_mean_the_present_ones() {
        let mut conf = Conf::default();
        conf.set("mapred.reduce.tasks", "3");
        assert_eq!(conf.number::<usize>("mapreduce.job.reduces").unwrap(), Some(3));
        let names: Vec<&str> = conf.under_all_names().map(|(name, _)| name).collect();
        assert_eq!(names, ["mapreduce.job.reduces", "mapred.reduce.tasks"]);
    }

    #[test]
    fn settings_are_read_from_xml() {
        let mut conf = Conf::default();
        conf.read_xml(
            "<configuration><property><name>a.b</name>\n<value> x &amp; y </value></property></configuration>",
        );
        assert_eq!(conf.get("a.b"), Some("x & y"));
    }

    #[test]
    fn flags_are_read_in_any_case() {
        let mut conf = Conf::default();
        for (text, expected) in [
            ("true", [true; 2]),
            (" TRUE ", [true; 2]),
            ("False", [false; 2]),
            ("no", [false, true]),
        ] {
            conf.set("a", text);
            assert_eq!([false, true].map(|default| conf.flag("a", default)), expected, "{text}");
        }
    }
}
