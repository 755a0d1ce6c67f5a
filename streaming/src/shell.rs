//! The commands of `hadoop fs` over a folder: those that programs call to bring files and to fetch answers. Their output
//! and exit codes are those that such programs read.

use crate::hdfs::Hdfs;
use crate::input::GZIP;
use flate2::bufread::{MultiGzDecoder, ZlibDecoder};
use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;
use tegula::Input;

/// A refusal, as `hadoop fs` says it.
struct Refusal(String);

type Done<T = ()> = Result<T, Refusal>;

impl From<io::Error> for Refusal {
    fn from(cause: io::Error) -> Refusal {
        Refusal(cause.to_string())
    }
}

impl Hdfs {
    /// Carries out `fs` with these words, and returns the exit code. `out` gets what it prints.
    pub fn shell(&self, words: &[String], out: &mut dyn Write) -> u8 {
        let Some((command, rest)) = words.split_first() else {
            let _ = writeln!(io::stderr(), "{USAGE}");
            return 255;
        };
        let is_option = |word: &&String| word.starts_with('-') && word.len() > 1;
        let options: Vec<&str> = rest.iter().take_while(is_option).map(String::as_str).collect();
        let paths = &rest[options.len()..];
        let done = match command.as_str() {
            "-ls" => self.list(paths, options.contains(&"-R"), out),
            "-lsr" => self.list(paths, true, out),
            "-mkdir" => self.make(paths, options.contains(&"-p")),
            "-put" | "-copyFromLocal" => self.put(paths, options.contains(&"-f")),
            "-get" | "-copyToLocal" => self.get(paths, options.contains(&"-f")),
            "-cat" => self.print(paths, &mut |path| copy_all(File::open(path)?, out)),
            "-text" => self.print(paths, &mut |path| print_text(path, out)),
            "-rm" | "-rmr" => {
                let recursive =
                    *command == "-rmr" || options.iter().any(|it| matches!(*it, "-r" | "-R"));
                self.remove(paths, recursive, options.contains(&"-f"))
            }
            "-du" => self.sizes(paths, options.contains(&"-s"), out),
            "-touchz" => self.touch(paths),
            "-mv" => self.rename(paths),
            "-test" => return u8::from(!self.test(&options, paths)),
            _ => Err(Refusal(format!("{command}: Unknown command; {USAGE}"))),
        };
        match done.and_then(|()| Ok(out.flush()?)) {
            Ok(()) => 0,
            Err(Refusal(message)) => {
                let name = command.trim_start_matches('-');
                let _ = writeln!(io::stderr(), "{name}: {message}");
                1
            }
        }
    }

    /// Returns the paths that a word names: those that a pattern matches.
    fn named(&self, word: &str) -> Done<Vec<PathBuf>> {
        let path = self.local(word);
        if fs::symlink_metadata(&path).is_ok() {
            return Ok(vec![path]);
        }
        let missing = || Refusal(format!("`{word}': No such file or directory"));
        if !word.contains(['*', '?', '[', '{']) {
            return Err(missing());
        }
        let mut found = Vec::new();
        for pattern in crate::input::without_braces(&path.to_string_lossy()) {
            found.extend(matches(&pattern));
        }
        if found.is_empty() { Err(missing()) } else { Ok(found) }
    }

    fn list(&self, words: &[String], is_deep: bool, out: &mut dyn Write) -> Done {
        let here = [".".to_owned()];
        for word in if words.is_empty() { &here[..] } else { words } {
            for path in self.named(word)? {
                if !path.is_dir() {
                    self.list_one(&path, word, out)?;
                    continue;
                }
                let entries = entries(&path)?;
                if !is_deep && !entries.is_empty() {
                    writeln!(out, "Found {} items", entries.len())?;
                }
                for entry in entries {
                    self.list_below(&entry, word, is_deep, out)?;
                }
            }
        }
        Ok(())
    }

    fn list_below(&self, path: &Path, asked: &str, is_deep: bool, out: &mut dyn Write) -> Done {
        self.list_one(path, asked, out)?;
        if is_deep && path.is_dir() {
            for entry in entries(path)? {
                self.list_below(&entry, asked, true, out)?;
            }
        }
        Ok(())
    }

    /// Prints `-rw-r--r--   1 user group       3276 2010-01-13 14:00 /path`.
    fn list_one(&self, path: &Path, asked: &str, out: &mut dyn Write) -> Done {
        let found = fs::metadata(path)?;
        let (kind, copies) = if found.is_dir() { ('d', "-") } else { ('-', "1") };
        let bytes = if found.is_dir() { 0 } else { found.len() };
        let (mode, time) = (permissions(&found), time_of(&found));
        let name = self.shown(path, asked);
        let user = &self.user_name();
        writeln!(out, "{kind}{mode} {copies:>3} {user} {user} {bytes:>10} {time} {name}")?;
        Ok(())
    }

    fn make(&self, words: &[String], with_parents: bool) -> Done {
        for word in words {
            let path = self.local(word);
            if path.exists() && !with_parents {
                return Err(Refusal(format!("`{word}': File exists")));
            }
            fs::create_dir_all(path)?;
        }
        Ok(())
    }

    fn put(&self, words: &[String], replaces: bool) -> Done {
        let Some((to, from)) = words.split_last() else { return Err(Refusal(USAGE.to_owned())) };
        may_take(&self.local(to), from.len(), to)?;
        for source in from {
            let target = inside(&self.local(to), Path::new(source));
            if is_there(&target) && !replaces {
                return Err(Refusal(format!("`{to}': File exists")));
            }
            if let Some(parent) = target.parent() {
                fs::create_dir_all(parent)?;
            }
            copy(Path::new(source), &target)
                .map_err(|cause| Refusal(format!("`{source}': {cause}")))?;
        }
        Ok(())
    }

    fn get(&self, words: &[String], replaces: bool) -> Done {
        let Some((to, from)) = words.split_last() else { return Err(Refusal(USAGE.to_owned())) };
        let found: Vec<Vec<PathBuf>> =
            from.iter().map(|word| self.named(word)).collect::<Done<_>>()?;
        let found = found.concat();
        may_take(Path::new(to), found.len(), to)?;
        for path in found {
            let target = inside(Path::new(to), &path);
            if is_there(&target) && !replaces {
                return Err(Refusal(format!("`{}': File exists", target.display())));
            }
            copy(&path, &target)
                .map_err(|cause| Refusal(format!("`{}': {cause}", path.display())))?;
        }
        Ok(())
    }

    fn print(&self, words: &[String], show: &mut dyn FnMut(&Path) -> Done) -> Done {
        for word in words {
            for path in self.named(word)? {
                let shown = show(&path);
                shown.map_err(|Refusal(cause)| Refusal(format!("`{word}': {cause}")))?;
            }
        }
        Ok(())
    }

    fn remove(&self, words: &[String], is_deep: bool, is_forced: bool) -> Done {
        for word in words {
            let paths = match self.named(word) {
                Err(_) if is_forced => continue,
                paths => paths?,
            };
            for path in paths {
                match (path.is_dir(), is_deep) {
                    (true, false) => return Err(Refusal(format!("`{word}': Is a directory"))),
                    (true, true) => fs::remove_dir_all(path)?,
                    (false, _) => fs::remove_file(path)?,
                }
            }
        }
        Ok(())
    }

    fn sizes(&self, words: &[String], is_sum: bool, out: &mut dyn Write) -> Done {
        for word in words {
            for path in self.named(word)? {
                let shown = if path.is_dir() && !is_sum { entries(&path)? } else { vec![path] };
                for path in shown {
                    let bytes = bytes_below(&path)?;
                    writeln!(out, "{bytes}  {bytes}  {}", self.shown(&path, word))?;
                }
            }
        }
        Ok(())
    }

    fn touch(&self, words: &[String]) -> Done {
        for word in words {
            let path = self.local(word);
            if path.metadata().is_ok_and(|found| found.len() > 0) {
                return Err(Refusal(format!("`{word}': Not a zero-length file")));
            }
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent)?;
            }
            File::create(path)?;
        }
        Ok(())
    }

    fn rename(&self, words: &[String]) -> Done {
        let [from, to] = words else { return Err(Refusal(USAGE.to_owned())) };
        let found = self.named(from)?;
        may_take(&self.local(to), found.len(), to)?;
        for path in found {
            let target = inside(&self.local(to), &path);
            if is_there(&target) {
                return Err(Refusal(format!("`{}': File exists", self.shown(&target, to))));
            }
            fs::rename(&path, target)?;
        }
        Ok(())
    }

    /// Returns whether a path is what the options ask for.
    fn test(&self, options: &[&str], words: &[String]) -> bool {
        let found = words.first().and_then(|word| self.named(word).ok()?.into_iter().next());
        let Some(found) = found.and_then(|path| fs::metadata(path).ok()) else { return false };
        options.iter().all(|option| match *option {
            "-d" => found.is_dir(),
            "-f" => found.is_file(),
            "-z" => found.len() == 0,
            "-s" => found.len() > 0,
            _ => true,
        })
    }
}

const USAGE: &str = "fs knows -ls [-R], -mkdir [-p], -put [-f], -get [-f], -cat, -text, -rm [-R] [-f], -du [-s], -touchz, -mv and \
                     -test -e|-d|-f|-s|-z";

/// Forms that `-text` of Hadoop unpacks and this one does not, by their first bytes.
const PACKED: &[(&[u8], &str)] = &[
    (b"BZh", "compressed by bzip2"),
    (&[0x28, 0xb5, 0x2f, 0xfd], "compressed by Zstandard"),
    (&[0x04, 0x22, 0x4d, 0x18], "compressed by LZ4"),
    (b"SEQ", "a sequence file"),
    (b"Obj\x01", "an Avro file"),
];

fn copy_all(mut file: impl Read, out: &mut dyn Write) -> Done {
    io::copy(&mut file, out)?;
    Ok(())
}

/// Prints a file as text: unpacked, if it is compressed.
fn print_text(path: &Path, out: &mut dyn Write) -> Done {
    let mut file = BufReader::new(File::open(path)?);
    if path.extension().is_some_and(|kind| kind == "deflate") {
        return copy_all(ZlibDecoder::new(file), out);
    }
    let begin = file.fill_buf()?;
    if begin.starts_with(GZIP) {
        return copy_all(MultiGzDecoder::new(file), out);
    }
    match PACKED.iter().find(|(first, _)| begin.starts_with(first)) {
        Some((_, what)) => Err(Refusal(format!(
            "it is {what}, and -text unpacks gzip and deflate alone; -get brings it as it is"
        ))),
        None => copy_all(file, out),
    }
}

fn matches(pattern: &str) -> Vec<PathBuf> {
    // The files below a folder that matches stand for it.
    let depth = Path::new(pattern).components().count();
    let Ok(input) = Input::patterns([OsString::from(pattern)]) else { return Vec::new() };
    let mut found: Vec<PathBuf> =
        input.listing().map(|file| file.name().components().take(depth).collect()).collect();
    found.dedup();
    found
}

fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    entries.sort();
    Ok(entries)
}

/// Returns the target of a copy: of that name in a folder, else the path itself.
fn inside(to: &Path, source: &Path) -> PathBuf {
    match source.file_name() {
        Some(name) if to.is_dir() => to.join(name),
        _ => to.to_path_buf(),
    }
}

/// Refuses a place that is no folder for several files.
fn may_take(to: &Path, files: usize, shown: &str) -> Done {
    match files > 1 && !to.is_dir() {
        true if is_there(to) => Err(Refusal(format!("`{shown}': Is not a directory"))),
        true => Err(Refusal(format!("`{shown}': No such file or directory"))),
        false => Ok(()),
    }
}

/// Also a link that leads nowhere is there.
fn is_there(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    check_apart(from, to)?;
    if !from.is_dir() {
        return fs::copy(from, to).map(|_| ());
    }
    fs::create_dir_all(to)?;
    entries(from)?.iter().try_for_each(|entry| copy(entry, &inside(to, entry)))
}

/// Refuses a copy that would write into what it reads: a file would be emptied before it is read, and a folder would
/// get its own copy without end.
fn check_apart(from: &Path, to: &Path) -> io::Result<()> {
    let refused = |what| Err(io::Error::other(format!("`{}' is {what}", to.display())));
    let source = fs::metadata(from)?;
    let identity = |found: &Metadata| (found.dev(), found.ino());
    if fs::metadata(to).is_ok_and(|target| identity(&target) == identity(&source)) {
        return refused("the same file");
    }
    if source.is_dir() && nearest_folder(to)?.starts_with(fs::canonicalize(from)?) {
        return refused("within it");
    }
    Ok(())
}

/// Returns the real path of a file or, if it is not there, of the nearest folder above it that is.
fn nearest_folder(path: &Path) -> io::Result<PathBuf> {
    let path = std::path::absolute(path)?;
    let found = path.ancestors().find_map(|above| fs::canonicalize(above).ok());
    found.ok_or_else(|| io::ErrorKind::NotFound.into())
}

fn bytes_below(path: &Path) -> io::Result<u64> {
    if !path.is_dir() {
        return Ok(fs::metadata(path)?.len());
    }
    entries(path)?.iter().map(|entry| bytes_below(entry)).sum()
}

fn permissions(found: &Metadata) -> String {
    let mode = found.permissions().mode();
    let letters =
        [0o400, 0o200, 0o100, 0o40, 0o20, 0o10, 4, 2, 1].into_iter().zip("rwxrwxrwx".chars());
    letters.map(|(bit, letter)| if mode & bit == 0 { '-' } else { letter }).collect()
}

/// Returns when a file was changed, in universal time: `2010-01-13 14:00`.
fn time_of(found: &Metadata) -> String {
    let since = found.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let seconds = since.unwrap_or_default().as_secs();
    let (year, month, day) = date(seconds / 86_400);
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02}", seconds / 3600 % 24, seconds / 60 % 60)
}

/// Returns year, month and day of a number of days since 1970 (Howard Hinnant, `civil_from_days`).
pub(crate) fn date(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (year + era * 400 + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_have_dates() {
        for (days, expected) in
            [(0, (1970, 1, 1)), (11_016, (2000, 2, 29)), (20_781, (2026, 11, 24))]
        {
            assert_eq!(date(days), expected);
        }
    }
}
