//! A shared library with a map: it is loaded, and says for which version of `tegula.h` it was compiled.

use super::{NativeMap, ValueType};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use tegula::{Error, Result};

/// The version of `tegula.h`.
pub const ABI: u32 = 1;

/// A loaded library, and the name of a map in it.
#[derive(Debug)]
pub struct Library {
    loaded: libloading::Library,
    path: PathBuf,
    symbol: String,
    bytes: Vec<u8>,
}

impl Library {
    /// Loads a library, whose initialisers run.
    ///
    /// # Errors
    /// [`Error::Option`] if it cannot be loaded, or does not say that it was compiled for this version of the header.
    pub fn load(path: &Path, symbol: &str) -> Result<Library> {
        let fault = |cause: String| {
            let cause = format!("{}: {cause}", path.display());
            Error::Option { option: "the library", cause }
        };
        let bytes = fs::read(path).map_err(|cause| fault(cause.to_string()))?;
        // A name without a slash would be looked for in the system's folders.
        let named: OsString = match path.is_absolute() || path.components().count() > 1 {
            true => path.into(),
            false => Path::new(".").join(path).into(),
        };
        // SAFETY: its initialisers are trusted as its maps are, which the header's users are told.
        let loaded = unsafe { libloading::Library::new(named) }
            .map_err(|cause| fault(format!("cannot be loaded: {cause}")))?;
        // SAFETY: the header declares the symbol as a constant of this type.
        let version = unsafe { loaded.get::<*const u32>(b"tegula_abi\0") }.map(|version| {
            // SAFETY: as above; the library stays loaded.
            unsafe { **version }
        });
        match version {
            Ok(ABI) => Ok(Library { loaded, path: path.into(), symbol: symbol.to_owned(), bytes }),
            Ok(version) => Err(fault(format!(
                "is for version {version} of tegula.h, and this is version {ABI}; compile it anew"
            ))),
            Err(_) => Err(fault(
                "does not say for which tegula.h it was compiled; write TEGULA_LIBRARY once in it"
                    .to_owned(),
            )),
        }
    }

    /// Returns the library's map, which must not outlive it. `record_bytes` is the size of records, `None` of lines.
    ///
    /// # Errors
    /// [`Error::Option`] if the library does not export it.
    pub(super) fn map(&self, value: ValueType, record_bytes: Option<usize>) -> Result<NativeMap> {
        let address = |name: String| {
            // SAFETY: only the symbol's address is taken, which is not looked behind.
            let found = unsafe { self.loaded.get::<*const ()>(format!("{name}\0").as_bytes()) };
            // SAFETY: the address is used as long as the library is loaded.
            let raw = found.ok().and_then(|symbol| unsafe { symbol.try_as_raw_ptr() });
            raw.map(<*mut std::ffi::c_void>::expose_provenance)
        };
        let symbol = &self.symbol;
        let map = address(symbol.clone()).unwrap_or(0);
        let (open, close) = (address(format!("{symbol}_open")), address(format!("{symbol}_close")));
        // SAFETY: the library was compiled for this version of the header, which gives functions of these names these
        // types; the caller keeps the library.
        let map = unsafe { NativeMap::new(map, open, close, value, record_bytes) };
        map.ok_or_else(|| {
            let cause = format!(
                "{} exports no {symbol}; check the name, and C++'s extern \"C\"",
                self.path.display()
            );
            Error::Option { option: "map", cause }
        })
    }

    /// Returns the name of the map.
    pub(super) fn symbol(&self) -> &str {
        &self.symbol
    }

    /// Returns the bytes of the library's file, which say what the map is.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}
