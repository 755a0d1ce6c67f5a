//! The page: files that the program holds, compressed by gzip. They are the same for everyone and need no token; all that they show comes
//! through the interface of `http.rs`.

use flate2::read::GzDecoder;
use std::io::Read;

/// Files by name.
const FILES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/page.rs"));

/// What a browser may load: nothing from elsewhere, and no scripts in the page's text.
pub(crate) const POLICY: &str =
    "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Returns the content of a file, for a browser that does not read gzip.
pub(crate) fn content(file: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut content = Vec::new();
    GzDecoder::new(file).read_to_end(&mut content)?;
    Ok(content)
}

/// Returns a compressed file and its type; `""` is the page itself.
pub(crate) fn file(name: &str) -> Option<(&'static [u8], &'static str)> {
    let name = if name.is_empty() { "index.html" } else { name };
    let (_, bytes) = FILES.iter().find(|(file, _)| *file == name)?;
    let kind = match name.rsplit_once('.').map(|(_, kind)| kind) {
        Some("css") => "text/css; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("svg") => "image/svg+xml",
        _ => "text/html; charset=utf-8",
    };
    Some((bytes, kind))
}
