//! The job of a map in a shared library, for each combine that its values may have.

use super::{Average, Library, NativeMap, Value, ValueType};
use crate::extreme::{End, Extreme, Form, word};
use tegula::{Combine, Cut, Emit, Identity, Job, Result, Resumable, Sees, Split, Sum};

/// A combine for the values of maps in C.
pub trait NativeCombine: Combine {
    /// What is chosen when the program runs.
    type Choice: Copy + std::fmt::Debug + Send + Sync;

    /// Returns the type of the values.
    fn value_type(choice: Self::Choice) -> ValueType;

    /// Returns a value of that type; `None` of any other.
    fn of(choice: Self::Choice, value: Value) -> Option<Self::Value>;

    /// Returns the combine's name. Those of other byte forms have other names.
    fn name(choice: Self::Choice) -> &'static str;
}

macro_rules! sums {
    ($($combine:ty, $type:ident, $pattern:pat => $value:expr, $name:literal;)*) => {$(
        impl NativeCombine for $combine {
            type Choice = ();

            fn value_type((): ()) -> ValueType {
                ValueType::$type
            }

            #[inline]
            fn of((): (), value: Value) -> Option<Self::Value> {
                match value {
                    $pattern => Some($value),
                    _ => None,
                }
            }

            fn name((): ()) -> &'static str {
                $name
            }
        }
    )*};
}

sums! {
    Sum<u64>, Ignored, Value::Ignored => 1, "count";
    Sum<i64>, Int, Value::Int(int) => int, "sum i64";
    Sum<f64>, Float, Value::Float(float) => float, "sum f64";
}

/// The end, and the type of values.
impl NativeCombine for Extreme {
    type Choice = (End, ValueType);

    fn value_type((_, value): Self::Choice) -> ValueType {
        value
    }

    fn of((end, _): Self::Choice, value: Value) -> Option<Extreme> {
        match value {
            Value::Ignored => None,
            Value::Int(int) => Some(Extreme::of_int(end, int)),
            Value::Float(float) => Some(Extreme::of_float(end, float)),
        }
    }

    fn name(choice: Self::Choice) -> &'static str {
        match choice {
            (End::Least, ValueType::Float) => "least f64",
            (End::Least, _) => "least i64",
            (End::Greatest, ValueType::Float) => "greatest f64",
            (End::Greatest, _) => "greatest i64",
        }
    }
}

impl Extreme {
    /// Returns the value.
    #[must_use]
    pub fn value(self) -> Value {
        match self.form() {
            Form::Word => Value::Ignored,
            Form::Int => Value::Int(word::int(self.word())),
            Form::Float => Value::Float(word::float(self.word())),
        }
    }
}

impl NativeCombine for Average {
    type Choice = ValueType;

    fn value_type(choice: ValueType) -> ValueType {
        choice
    }

    fn of(_: ValueType, value: Value) -> Option<Value> {
        (value != Value::Ignored).then_some(value)
    }

    fn name(choice: ValueType) -> &'static str {
        if choice == ValueType::Float { "mean f64" } else { "average i64" }
    }
}

/// Returns the identity of a library's map over records of a cut, whatever program loads it: the library's bytes change
/// with its code.
pub fn identity<C: NativeCombine>(
    choice: C::Choice,
    library: &[u8],
    map: &str,
    cut: &Cut,
) -> Identity {
    let identity = Identity::new("native", 1).with_bytes("library", library);
    let identity = identity.with("map", map).with("combine", C::name(choice));
    match cut {
        // Not named, as in states of earlier versions.
        Cut::Lines => identity,
        // The address of a function is another one in each process.
        Cut::Framed(_) => identity.with("records", "Framed"),
        Cut::Between(_) => identity.with("records", "Between"),
        _ => identity.with("records", format!("{cut:?}")),
    }
}

/// A job whose map is in a shared library.
#[derive(Debug)]
pub struct Native<C: NativeCombine> {
    // Dropped before the library whose code it runs.
    map: NativeMap,
    library: Library,
    record_bytes: Option<u64>,
    choice: C::Choice,
}

impl<C: NativeCombine> Native<C> {
    /// Creates the job of a library's map, over lines or records of `record_bytes` bytes.
    ///
    /// # Errors
    /// [`Error::Option`](tegula::Error::Option) if the library does not export the map.
    pub fn new(
        library: Library,
        choice: C::Choice,
        record_bytes: Option<u64>,
    ) -> Result<Native<C>> {
        let size = record_bytes.map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
        let map = library.map(C::value_type(choice), size)?;
        Ok(Native { map, library, record_bytes, choice })
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
            if let Some(value) = C::of(self.choice, value) {
                emit.emit_copied(key, value);
            }
            Ok(())
        })
    }
}

impl<C: NativeCombine> Resumable for Native<C> {
    fn identity(&self) -> Identity {
        identity::<C>(self.choice, self.library.bytes(), self.library.symbol(), &self.cut())
    }

    /// A map is told where its records are.
    fn sees(&self) -> Sees {
        Sees::Places
    }
}
