//! Formats the output of `tegula topology`: one fact per line, with the names in one column.

use super::{Topology, ranges};
use std::fmt;

impl fmt::Display for Topology {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ids: Vec<u32> = self.processors.iter().map(|processor| processor.id).collect();
        line(f, "processors", &format!("{} ({})", ids.len(), ranges::show(&ids)))?;
        line(f, "cores", &self.cores().to_string())?;
        let quota =
            self.quota.map_or("no limit".to_owned(), |quota| format!("{quota:.2} processors"));
        line(f, "quota", &quota)?;
        self.show_caches(f)?;
        for node in &self.nodes {
            let memory =
                if node.bytes == 0 { "memory unknown".to_owned() } else { size(node.bytes) };
            line(
                f,
                &format!("node {}", node.id),
                &format!("{memory}, {}", processors(&node.processors)),
            )?;
        }
        for (number, group) in self.groups.iter().enumerate() {
            let cache = group
                .cache_bytes
                .map_or("cache unknown".to_owned(), |bytes| format!("cache {}", size(bytes)));
            let cores = if group.cores == 1 {
                "1 core".to_owned()
            } else {
                format!("{} cores", group.cores)
            };
            let text =
                format!("node {}, {cache}, {cores}, {}", group.node, processors(&group.processors));
            line(f, &format!("group {number}"), &text)?;
        }
        self.unknown.iter().try_for_each(|fact| line(f, "unknown", fact))
    }
}

impl Topology {
    /// Caches that look alike (level, size, line, number of sharers) share a line.
    fn show_caches(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let alike = |a: &super::Cache, b: &super::Cache| {
            (a.level, a.bytes, a.line_bytes, a.processors.len())
                == (b.level, b.bytes, b.line_bytes, b.processors.len())
        };
        for run in self.caches.chunk_by(alike) {
            let (cache, count) = (&run[0], run.len());
            let sharers = match cache.processors.len() {
                1 => "1 processor".to_owned(),
                sharers => format!("{sharers} processors"),
            };
            let text = format!(
                "{count} x {}, for {sharers} each, line {} bytes",
                size(cache.bytes),
                cache.line_bytes
            );
            line(f, &format!("cache L{}", cache.level), &text)?;
        }
        Ok(())
    }
}

fn line(f: &mut fmt::Formatter<'_>, name: &str, text: &str) -> fmt::Result {
    writeln!(f, "{name:<12}{text}")
}

fn processors(ids: &[u32]) -> String {
    if ids.is_empty() {
        "no processors".to_owned()
    } else {
        format!("processors {}", ranges::show(ids))
    }
}

/// Formats bytes in the largest binary unit that they reach, with one decimal unless it is 0.
fn size(bytes: u64) -> String {
    let units = [("GiB", 1u64 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    let Some((name, unit)) = units.into_iter().find(|(_, unit)| bytes >= *unit) else {
        return format!("{bytes} bytes");
    };
    let text = format!("{:.1}", bytes as f64 / unit as f64);
    format!("{} {name}", text.strip_suffix(".0").unwrap_or(&text))
}
