//! Topologies that are given instead of read: a machine described in a few lines of text, and this machine
//! with its processors divided into any number of groups.

use super::{Cache, Group, Node, Processor, Topology};
use crate::error::{Error, Result};
use std::path::Path;

/// The most processors that can be described.
const PROCESSORS_MOST: usize = 4096;
/// The most groups, because each group stores its way to all others.
const GROUPS_MOST: usize = 1024;
const LINE_BYTES: u64 = 64;

/// One line of a description: groups that are alike.
#[derive(Default)]
struct Alike {
    groups: Option<u64>,
    cores: Option<u64>,
    threads: Option<u64>,
    l2: Option<u64>,
    cache: Option<u64>,
    memory: Option<u64>,
    node: Option<u64>,
}

impl Topology {
    /// Reads the description of a machine from a file; `docs/groups.md` has its form.
    ///
    /// # Errors
    /// Returns [`Error::Option`] with file, line and cause.
    pub fn from_file(path: &Path) -> Result<Topology> {
        match std::fs::read_to_string(path) {
            Ok(text) => Topology::from_text(&text, path),
            Err(cause) => Err(refused(format!("{}: {cause}", path.display()))),
        }
    }

    /// Returns the machine that a text describes. `name` is the name of the text in errors. A second-level
    /// cache that the text omits is that of this machine.
    ///
    /// # Errors
    /// Returns [`Error::Option`] with line and cause.
    pub fn from_text(text: &str, name: &Path) -> Result<Topology> {
        let this_l2_bytes = Topology::detect().l2_bytes();
        let (processors, caches, nodes, groups) = Default::default();
        let (quota, unknown) = (None, Vec::new());
        let mut topology = Topology { processors, caches, nodes, groups, quota, unknown };
        for (number, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default().trim();
            if !line.is_empty() {
                let added = alike(line).and_then(|alike| topology.add(&alike, this_l2_bytes));
                added.map_err(|cause| {
                    refused(format!("{}:{}: {cause}", name.display(), number + 1))
                })?;
            }
        }
        if topology.groups.is_empty() {
            let cause = "no groups; write for example `groups 2, cores 12`";
            return Err(refused(format!("{}: {cause}", name.display())));
        }
        topology.caches.sort_by_key(|cache| (cache.level, cache.processors[0]));
        Ok(topology)
    }

    /// Returns this topology with its processors divided into `count` groups, equal in size to within one.
    /// Groups that were near each other, and threads of one core, stay together.
    ///
    /// # Errors
    /// Returns [`Error::Option`] if there are fewer processors than groups.
    pub fn divided(&self, count: usize) -> Result<Topology> {
        let of_group = |group: &Group| {
            let of_group = |id: &u32| self.processors.iter().find(|one| one.id == *id);
            let mut processors: Vec<&Processor> =
                group.processors.iter().filter_map(of_group).collect();
            processors.sort_by_key(|one| (one.core, one.id));
            processors.into_iter().map(|one| (one, group.cache_bytes)).collect::<Vec<_>>()
        };
        let all: Vec<_> = self.groups.iter().flat_map(of_group).collect();
        if !(1..=all.len()).contains(&count) {
            let most = all.len();
            let cause = format!("{count} groups of {most} processors; give 1 to {most}");
            return Err(refused(cause));
        }
        let group = |number: usize| {
            let members = &all[number * all.len() / count..(number + 1) * all.len() / count];
            let mut processors: Vec<u32> = members.iter().map(|(one, _)| one.id).collect();
            processors.sort_unstable();
            let cores = members.chunk_by(|a, b| a.0.core == b.0.core).count();
            let (first, cache_bytes) = members[0];
            Group { node: first.node, processors, cores, cache_bytes }
        };
        Ok(Topology { groups: (0..count).map(group).collect(), ..self.clone() })
    }

    /// Adds the groups of a line. Each has its own memory node, unless the line names one.
    fn add(&mut self, alike: &Alike, this_l2_bytes: u64) -> Result<(), String> {
        let cores = alike.cores.ok_or("it does not say how many cores a group has: `cores 12`")?;
        let (groups, threads) = (alike.groups.unwrap_or(1), alike.threads.unwrap_or(1));
        let all = groups.checked_mul(cores).and_then(|all| all.checked_mul(threads));
        let all = all.and_then(|all| all.checked_add(self.processors.len() as u64));
        if all.is_none_or(|all| all > PROCESSORS_MOST as u64) {
            return Err(format!("more than {PROCESSORS_MOST} processors; describe fewer"));
        }
        if self.groups.len() as u64 + groups > GROUPS_MOST as u64 {
            return Err(format!("more than {GROUPS_MOST} groups; describe fewer"));
        }
        for _ in 0..groups {
            let unused = self.nodes.iter().map(|node| node.id + 1).max().unwrap_or(0);
            let node = alike.node.map_or(unused, |node| node as u32);
            self.add_group(node, cores as u32, threads as u32, alike, this_l2_bytes);
        }
        Ok(())
    }

    fn add_group(&mut self, node: u32, cores: u32, threads: u32, alike: &Alike, l2_bytes: u64) {
        let first = self.processors.len() as u32;
        let package = self.groups.len() as u32;
        for core in (0..cores).map(|core| first + core * threads) {
            let siblings: Vec<u32> = (core..core + threads).collect();
            let bytes = alike.l2.unwrap_or(l2_bytes);
            let processors = siblings.clone();
            self.caches.push(Cache { level: 2, bytes, line_bytes: LINE_BYTES, processors });
            for id in siblings.iter().copied() {
                let siblings = siblings.clone();
                self.processors.push(Processor { id, package, core, siblings, node });
            }
        }
        let processors: Vec<u32> = (first..first + cores * threads).collect();
        if let Some(bytes) = alike.cache {
            let processors = processors.clone();
            self.caches.push(Cache { level: 3, bytes, line_bytes: LINE_BYTES, processors });
        }
        match self.nodes.iter_mut().find(|known| known.id == node) {
            Some(known) => known.processors.extend(&processors),
            None => {
                let (bytes, distances) = (alike.memory.unwrap_or(0), Vec::new());
                let processors = processors.clone();
                self.nodes.push(Node { id: node, bytes, processors, distances });
            }
        }
        let (cores, cache_bytes) = (cores as usize, alike.cache);
        self.groups.push(Group { node, processors, cores, cache_bytes });
    }
}

fn refused(cause: String) -> Error {
    Error::Option { option: "groups", cause }
}

/// Parses a line: names and their numbers, separated by commas.
fn alike(line: &str) -> Result<Alike, String> {
    const NAMES: &str = "groups, cores, threads, l2, cache, memory, node";
    let mut alike = Alike::default();
    for part in line.split(',').map(str::trim) {
        let (name, number) = part.split_once(char::is_whitespace).unwrap_or((part, ""));
        let (place, is_size, least) = match name {
            "groups" => (&mut alike.groups, false, 1),
            "cores" => (&mut alike.cores, false, 1),
            "threads" => (&mut alike.threads, false, 1),
            "l2" => (&mut alike.l2, true, 1),
            "cache" => (&mut alike.cache, true, 1),
            "memory" => (&mut alike.memory, true, 1),
            "node" => (&mut alike.node, false, 0),
            _ => return Err(format!("`{name}` is none of {NAMES}")),
        };
        let number = number.trim();
        let value = if is_size { bytes(number) } else { number.parse().ok() };
        // No machine has more of anything except bytes, and node numbers must fit their type.
        let most = if is_size { u64::MAX } else { PROCESSORS_MOST as u64 };
        let value = value.filter(|value| (least..=most).contains(value)).ok_or_else(|| {
            let right = if is_size {
                "bytes or binary units: 512K, 36M, 128G".to_owned()
            } else {
                format!("a whole number from {least} to {PROCESSORS_MOST}")
            };
            format!("`{name}` is `{number}`; write {right}")
        })?;
        if place.replace(value).is_some() {
            return Err(format!("`{name}` is given twice"));
        }
    }
    Ok(alike)
}

/// Parses `512K`, `36MiB`, `128G` or plain bytes; the kernel's files have the first form.
pub(super) fn bytes(text: &str) -> Option<u64> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let shift = match unit.to_ascii_lowercase().trim_end_matches("ib") {
        "" | "b" => 0,
        "k" => 10,
        "m" => 20,
        "g" => 30,
        "t" => 40,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(1 << shift)
}
