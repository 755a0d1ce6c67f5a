//! A map in C, as a plan names it: by the addresses of its functions, and by its library if it is in one.

use crate::answer::Answered;
use crate::dynamic::{Columns, Dynamic, Kind, Pairs};
use crate::plan::{Run, item, unknown};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use tegula::{Cut, Output, Sum};
use tegula_apps::native::{Average, End, Extreme, NativeCombine, NativeMap, ValueType, identity};

/// A map in C.
pub(crate) struct Native {
    address: usize,
    open: Option<usize>,
    close: Option<usize>,
    value: ValueType,
    /// The bytes of the library, and the map's name in it, if a state knows the map by them.
    library: Option<(Vec<u8>, String)>,
}

impl Native {
    /// Takes the map's part of a plan apart.
    pub(crate) fn of(dict: &Bound<'_, PyDict>) -> PyResult<Native> {
        let value: String = item(dict, "value")?.extract()?;
        Ok(Native {
            address: item(dict, "address")?.extract()?,
            open: item(dict, "open")?.extract()?,
            close: item(dict, "close")?.extract()?,
            value: match value.as_str() {
                "i64" => ValueType::Int,
                "f64" => ValueType::Float,
                other => return Err(unknown("value", other)),
            },
            library: item(dict, "library")?.extract()?,
        })
    }

    /// Runs the map. `record_bytes` is the size of records, `None` of lines.
    pub(crate) fn run(
        self,
        run: Run<'_>,
        cut: Cut,
        kind: Kind,
        record_bytes: Option<usize>,
    ) -> tegula::Result<Box<dyn Answered>> {
        let value = self.value;
        let of = (run, cut, kind, record_bytes);
        match (kind, value) {
            (Kind::Count, _) => self.combined::<Sum<u64>>((), of),
            (Kind::Sum, ValueType::Float) => self.combined::<Sum<f64>>((), of),
            (Kind::Sum, _) => self.combined::<Sum<i64>>((), of),
            (Kind::Min, _) => self.combined::<Extreme>((End::Least, value), of),
            (Kind::Max, _) => self.combined::<Extreme>((End::Greatest, value), of),
            (Kind::Mean, _) => self.combined::<Average>(value, of),
        }
    }

    /// Runs with the combine that the command line has, so that a state is of both.
    fn combined<C: Columns + NativeCombine>(
        self,
        choice: C::Choice,
        (mut run, cut, kind, record_bytes): (Run<'_>, Cut, Kind, Option<usize>),
    ) -> tegula::Result<Box<dyn Answered>>
    where
        Output<Dynamic<C>>: Send + Sync,
    {
        let Native { address, open, close, library, .. } = self;
        // SAFETY: the facade says in its documentation that native maps are trusted code, and keeps the library or
        // the function alive for the run.
        let map =
            unsafe { NativeMap::new(address, open, close, C::value_type(choice), record_bytes) };
        let map = map.ok_or_else(|| tegula::Error::Option {
            option: "map_native",
            cause: "the function's address is null".to_owned(),
        })?;
        if let (Some(of_job), Some((bytes, name))) = (&mut run.identity, &library) {
            *of_job = identity::<C>(choice, bytes, name, &cut);
        }
        run.dynamic::<C>(Pairs::Native(map), cut, vec![kind])
    }
}
