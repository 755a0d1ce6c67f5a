//! Reads the kernel's tables under a root folder (`/`, or a generated tree in tests) into a [`Topology`]. A
//! missing or malformed file is not an error here: it makes a fact unknown.

use super::described::bytes;
use super::groups::groups;
use super::{Cache, Node, Processor, Topology, quota, ranges};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Returns the processors that the affinity mask of this thread allows, or `None` if the system does not
/// report it.
pub(super) fn affinity() -> Option<Vec<u32>> {
    let mask = rustix::thread::sched_getaffinity(None).ok()?;
    let numbers = 0..u32::try_from(rustix::thread::CpuSet::MAX_CPU).unwrap_or(u32::MAX);
    Some(numbers.filter(|&number| mask.is_set(number as usize)).collect())
}

/// Returns the topology that the tree of files under `root` describes, for processors in `affinity` (`None`: all).
pub fn of_files(root: &Path, affinity: Option<&[u32]>) -> Topology {
    let mut reader = Reader { root, unknown: BTreeSet::new() };
    let allowed = reader.allowed(affinity);
    let nodes = reader.nodes(&allowed);
    let processors: Vec<Processor> =
        allowed.iter().map(|&id| reader.processor(id, &allowed, &nodes)).collect();
    let caches = reader.caches(&allowed);
    if !allowed
        .iter()
        .all(|id| caches.iter().any(|cache| cache.level == 2 && cache.processors.contains(id)))
    {
        reader
            .unknown
            .insert("second-level cache of some processors (taken as 1 MiB where none is known)");
    }
    let groups = groups(&processors, &caches);
    if groups.iter().any(|group| group.cache_bytes.is_none()) {
        reader.unknown.insert("last-level cache (a group is a memory node)");
    }
    let unknown = reader.unknown.into_iter().collect();
    Topology { processors, caches, nodes, groups, quota: quota::quota(root), unknown }
}

struct Reader<'a> {
    root: &'a Path,
    unknown: BTreeSet<&'static str>,
}

impl Reader<'_> {
    fn cpu(&self, id: u32) -> PathBuf {
        self.root.join(format!("sys/devices/system/cpu/cpu{id}"))
    }

    /// Returns the processors that are allowed and online. If the mask contradicts the tree (of another
    /// machine), the tree wins.
    fn allowed(&mut self, affinity: Option<&[u32]>) -> Vec<u32> {
        let online =
            list(self.root.join("sys/devices/system/cpu/online")).filter(|ids| !ids.is_empty());
        match (online, affinity.filter(|ids| !ids.is_empty())) {
            (Some(online), None) => online,
            (None, Some(mask)) => mask.to_vec(),
            (Some(online), Some(mask)) => {
                let both: Vec<u32> =
                    online.iter().copied().filter(|id| mask.contains(id)).collect();
                if both.is_empty() { online } else { both }
            }
            (None, None) => {
                self.unknown.insert("processors (counted by the standard library)");
                let count = std::thread::available_parallelism().map_or(1, usize::from);
                (0..u32::try_from(count).unwrap_or(1)).collect()
            }
        }
    }

    fn processor(&mut self, id: u32, allowed: &[u32], nodes: &[Node]) -> Processor {
        let topology = self.cpu(id).join("topology");
        // Before Linux 5.3 the name is `thread_siblings_list`.
        let core = list(topology.join("core_cpus_list"))
            .or_else(|| list(topology.join("thread_siblings_list")));
        let core = core.filter(|siblings| siblings.contains(&id)).unwrap_or_else(|| {
            self.unknown.insert("cores (each processor is taken as one)");
            vec![id]
        });
        let node = nodes.iter().find(|node| node.processors.contains(&id));
        Processor {
            id,
            // Virtual machines and some boards report -1 or nothing: one package.
            package: number(topology.join("physical_package_id")).unwrap_or(0),
            core: core.first().copied().unwrap_or(id),
            siblings: core.into_iter().filter(|sibling| allowed.contains(sibling)).collect(),
            node: node.or(nodes.first()).map_or(0, |node| node.id),
        }
    }

    fn nodes(&mut self, allowed: &[u32]) -> Vec<Node> {
        let folder = self.root.join("sys/devices/system/node");
        let mut nodes: Vec<Node> = Vec::new();
        for id in list(folder.join("online")).unwrap_or_default() {
            let Some(mut processors) = list(folder.join(format!("node{id}/cpulist"))) else {
                continue;
            };
            processors.retain(|processor| allowed.contains(processor));
            let bytes = self.memory(&folder.join(format!("node{id}/meminfo")));
            let distances = text(folder.join(format!("node{id}/distance"))).unwrap_or_default();
            let distances =
                distances.split_whitespace().map_while(|number| number.parse().ok()).collect();
            nodes.push(Node { id, bytes, processors, distances });
        }
        if nodes.iter().all(|node| node.processors.is_empty()) {
            self.unknown.insert("memory nodes (taken as one)");
            let bytes = self.memory(&self.root.join("proc/meminfo"));
            let distances = Vec::new();
            return vec![Node { id: 0, bytes, processors: allowed.to_vec(), distances }];
        }
        let orphans =
            allowed.iter().filter(|id| !nodes.iter().any(|node| node.processors.contains(id)));
        let orphans: Vec<u32> = orphans.copied().collect();
        if !orphans.is_empty() {
            self.unknown.insert("memory node of some processors (taken as the first)");
            nodes[0].processors.extend(orphans);
            nodes[0].processors.sort_unstable();
        }
        nodes
    }

    fn memory(&mut self, meminfo: &Path) -> u64 {
        let text = fs::read_to_string(meminfo).unwrap_or_default();
        let total =
            text.lines().find_map(|line| line.split_once("MemTotal:")).map(|(_, amount)| amount);
        let kib = total
            .and_then(|amount| amount.trim().trim_end_matches("kB").trim().parse::<u64>().ok());
        kib.and_then(|kib| kib.checked_mul(1024)).unwrap_or_else(|| {
            self.unknown.insert("memory of some nodes (shown as 0)");
            0
        })
    }

    /// Returns the distinct data caches of all allowed processors.
    fn caches(&mut self, allowed: &[u32]) -> Vec<Cache> {
        let mut found: BTreeMap<(u8, u32), Cache> = BTreeMap::new();
        for &id in allowed {
            // A processor has a few caches, numbered without gaps.
            for index in 0..16 {
                let folder = self.cpu(id).join(format!("cache/index{index}"));
                if !folder.is_dir() {
                    break;
                }
                if let Some(cache) = self.cache(&folder, id, allowed) {
                    found.entry((cache.level, cache.processors[0])).or_insert(cache);
                }
            }
        }
        found.into_values().collect()
    }

    fn cache(&mut self, folder: &Path, id: u32, allowed: &[u32]) -> Option<Cache> {
        if text(folder.join("type")).as_deref() == Some("Instruction") {
            return None;
        }
        let level = number(folder.join("level"));
        let bytes =
            text(folder.join("size")).and_then(|size| bytes(&size)).filter(|&bytes| bytes > 0);
        let (Some(level), Some(bytes)) = (level, bytes) else {
            self.unknown.insert("size or level of some caches (left out)");
            return None;
        };
        let line_bytes = number(folder.join("coherency_line_size")).filter(|&bytes| bytes > 0);
        let mut processors = list(folder.join("shared_cpu_list")).unwrap_or_default();
        processors.retain(|processor| allowed.contains(processor));
        if !processors.contains(&id) {
            self.unknown.insert("sharing of some caches (taken as private)");
            processors = vec![id];
        }
        Some(Cache { level, bytes, line_bytes: line_bytes.unwrap_or(64), processors })
    }
}

fn text(path: PathBuf) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

fn number<N: FromStr>(path: PathBuf) -> Option<N> {
    text(path)?.parse().ok()
}

fn list(path: PathBuf) -> Option<Vec<u32>> {
    ranges::parse(&text(path)?)
}
