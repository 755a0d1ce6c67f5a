//! The page: files that the program holds. They are the same for everyone and need no token; all that they show comes
//! through the interface of `http.rs`.

/// Files by name.
const FILES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/page.rs"));

/// What a browser may load: nothing from elsewhere, and no scripts in the page's text.
pub(crate) const POLICY: &str =
    "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Returns a file and its type; `""` is the page itself.
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
