//! The job of a map in a shared library, for each combine that its values may have.

use super::{Library, NativeMap, Value, ValueType};
use std::marker::PhantomData;
use tegula::{
    Combine, Cut, Emit, Identity, Job, Max, Mean, Min, Result, Resumable, Sees, Split, Sum,
};

/// A combine for the values of maps in C.
pub trait NativeCombine: Combine {
    /// The type of the values.
    const TYPE: ValueType;

    /// Returns a value of that type; `None` of any other.
    fn of(value: Value) -> Option<Self::Value>;

    /// Returns the combine's name.
    fn name() -> &'static str;
}

macro_rules! combines {
    ($($combine:ty, $type:ident, $pattern:pat => $value:expr, $name:literal;)*) => {$(
        impl NativeCombine for $combine {
            const TYPE: ValueType = ValueType::$type;

            fn of(value: Value) -> Option<Self::Value> {
                match value {
                    $pattern => Some($value),
                    _ => None,
                }
            }

            fn name() -> &'static str {
                $name
            }
        }
    )*};
}

combines! {
    Sum<u64>, Ignored, Value::Ignored => 1, "count";
    Sum<i64>, Int, Value::Int(int) => int, "sum i64";
    Sum<f64>, Float, Value::Float(float) => float, "sum f64";
    Min<i64>, Int, Value::Int(int) => int, "min i64";
    Min<f64>, Float, Value::Float(float) => float, "min f64";
    Max<i64>, Int, Value::Int(int) => int, "max i64";
    Max<f64>, Float, Value::Float(float) => float, "max f64";
    Mean<i64>, Int, Value::Int(int) => int, "mean i64";
    Mean<f64>, Float, Value::Float(float) => float, "mean f64";
}

/// Returns the identity of a library's map, whatever program loads it: the library's bytes change with its code.
pub fn identity<C: NativeCombine>(library: &[u8], map: &str) -> Identity {
    let identity = Identity::new("native", 1).with_bytes("library", library);
    identity.with("map", map).with("combine", C::name())
}

/// A job whose map is in a shared library.
#[derive(Debug)]
pub struct Native<C> {
    // Dropped before the library whose code it runs.
    map: NativeMap,
    library: Library,
    record_bytes: Option<u64>,
    combine: PhantomData<fn(C)>,
}

impl<C: NativeCombine> Native<C> {
    /// Creates the job of a library's map, over lines or records of `record_bytes` bytes.
    ///
    /// # Errors
    /// [`Error::Option`](tegula::Error::Option) if the library does not export the map.
    pub fn new(library: Library, record_bytes: Option<u64>) -> Result<Native<C>> {
        let size = record_bytes.map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
        let map = library.map(C::TYPE, size)?;
        Ok(Native { map, library, record_bytes, combine: PhantomData })
    }
}

impl<C: NativeCombine> Job for Native<C> {
    type Key = [u8];
    type Combine = C;

    fn cut(&self) -> Cut {
        self.record_bytes.map_or(Cut::Lines, Cut::Fixed)
    }

    fn state(&self) -> Option<&dyn Resumable> {
        Some(self)
    }

    fn map<'s>(&self, split: Split<'s>, emit: &mut impl Emit<'s, Self>) -> Result<()> {
        self.map.map(&split, |key, value| {
            if let Some(value) = C::of(value) {
                emit.emit_copied(key, value);
            }
            Ok(())
        })
    }
}

impl<C: NativeCombine> Resumable for Native<C> {
    fn identity(&self) -> Identity {
        identity::<C>(self.library.bytes(), self.library.symbol())
    }

    /// A map is told where its records are.
    fn sees(&self) -> Sees {
        Sees::Places
    }
}
