//! The properties of a job: those of `-D`, `-jobconf` and `-conf`, under the names that Hadoop has today.

use roxmltree::{Document, Node, ParsingOptions};
use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;
use tegula::{Error, Result};

/// Properties by name, with what is set last.
#[derive(Clone, Debug, Default)]
pub(crate) struct Conf {
    values: BTreeMap<String, String>,
    /// Those that no later file may change.
    finals: BTreeSet<String>,
}

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
        self.values.insert(present(name).to_owned(), value.into());
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
        self.values.get(name).map(String::as_str)
    }

    /// Returns a property that names a class. As for Hadoop, blanks around it mean nothing.
    pub(crate) fn class(&self, name: &str) -> Option<&str> {
        self.get(name).map(str::trim)
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

    /// Reads a file of Hadoop's settings: `name`, `value` and `final` of each `property`, which are elements or attributes.
    /// As for Hadoop, an element without text is none.
    ///
    /// # Errors
    /// What is wrong with the XML.
    pub(crate) fn read_xml(&mut self, xml: &str) -> std::result::Result<(), roxmltree::Error> {
        let options = ParsingOptions { allow_dtd: true, ..ParsingOptions::default() };
        let document = Document::parse_with_options(xml, options)?;
        for property in document.descendants().filter(|node| node.has_tag_name("property")) {
            let inside = |tag: &str| {
                let elements = property.children().filter(|node| node.has_tag_name(tag));
                let text = elements.map(text_of).rfind(|text| !text.is_empty());
                text.or_else(|| property.attribute(tag).map(str::to_owned))
            };
            let Some(name) = inside("name") else { continue };
            let name = present(name.trim());
            let Some(value) = inside("value").filter(|_| !self.finals.contains(name)) else {
                continue;
            };
            self.set(name, value);
            if inside("final").as_deref() == Some("true") {
                self.finals.insert(name.to_owned());
            }
        }
        Ok(())
    }

    /// Sets all that another has.
    pub(crate) fn set_all(&mut self, others: Conf) {
        self.values.extend(others.values);
    }

    /// Returns all properties, each also under its old name if it has one: tasks look for either.
    pub(crate) fn under_all_names(&self) -> impl Iterator<Item = (&str, &str)> {
        self.values.iter().flat_map(|(name, value)| {
            let old = RENAMED.iter().filter(move |(_, now)| now == name).map(|(old, _)| *old);
            std::iter::once(name.as_str()).chain(old).map(move |name| (name, value.as_str()))
        })
    }

    /// Returns all properties under their present names.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.values.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

/// Returns the error of an option's value.
pub(crate) fn refused(option: &'static str, cause: String) -> Error {
    Error::Option { option, cause }
}

fn present(name: &str) -> &str {
    RENAMED.iter().find(|(old, _)| *old == name).map_or(name, |(_, now)| now)
}

fn text_of(element: Node<'_, '_>) -> String {
    element.descendants().filter(Node::is_text).filter_map(|node| node.text()).collect()
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

    /// What `Configuration` of Hadoop 3.5.0 makes of them.
    #[test]
    fn settings_are_read_from_xml() {
        let property = |inside: &str| {
            let mut conf = Conf::default();
            let root = format!("<configuration>{inside}</configuration>");
            conf.read_xml(&format!(
                "<?xml version=\"1.0\"?><!DOCTYPE c [<!ENTITY e \"ent\">]>{root}"
            ))
            .unwrap();
            conf.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(",")
        };
        let cases = [
            ("<property><name> a.b </name>\n<value> x &amp; y </value></property>", "a.b= x & y "),
            ("<property><name>a</name><value>&#58;&#x41;&e;\t</value></property>", "a=:Aent\t"),
            (
                "<property><name>a</name><value><![CDATA[a<b]]>c<!-- no -->d</value></property>",
                "a=a<bcd",
            ),
            ("<!-- <property><name>a</name><value>b</value></property> -->", ""),
            (
                "<property><name>a</name><value></value></property><property><name>b</name></property>",
                "",
            ),
            ("<property name=\"a\" value=\"b\"/>", "a=b"),
            ("<property><name>a</name><value>1</value><value>2</value></property>", "a=2"),
            (
                "<property><name>a</name><value>1</value><final>true</final></property>\
                 <property><name>a</name><value>2</value></property>",
                "a=1",
            ),
            (
                "<property><name>mapred.reduce.tasks</name><value>4</value></property>",
                "mapreduce.job.reduces=4",
            ),
        ];
        for (inside, expected) in cases {
            assert_eq!(property(inside), expected, "{inside}");
        }
        assert!(Conf::default().read_xml("<configuration><property></configuration>").is_err());
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
