//! The numbers of a matrix and their bytes.

/// The type of a matrix's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    /// IEEE 754 single precision.
    F32,
    /// IEEE 754 double precision; also the type of text.
    F64,
}

impl Element {
    /// Returns the size of a number in bytes.
    pub const fn bytes(self) -> usize {
        match self {
            Element::F32 => 4,
            Element::F64 => 8,
        }
    }

    /// Returns `f32` or `f64`.
    pub const fn name(self) -> &'static str {
        match self {
            Element::F32 => "f32",
            Element::F64 => "f64",
        }
    }
}

/// A number of a matrix: `f32` or `f64`.
pub trait Number: Copy + Send + Sync + 'static {
    /// Its type in a matrix.
    const ELEMENT: Element;

    /// Iterates the numbers in little-endian bytes.
    fn read(bytes: &[u8]) -> impl ExactSizeIterator<Item = Self> + Clone;
    /// Appends a number's little-endian bytes.
    fn write(self, out: &mut Vec<u8>);
    /// Returns the nearest double-precision number, which is the number itself.
    fn wide(self) -> f64;
}

macro_rules! number {
    ($float:ty, $element:expr) => {
        impl Number for $float {
            const ELEMENT: Element = $element;

            #[inline]
            fn read(bytes: &[u8]) -> impl ExactSizeIterator<Item = $float> + Clone {
                bytes.as_chunks().0.iter().map(|&bytes| <$float>::from_le_bytes(bytes))
            }

            #[inline]
            fn write(self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }

            #[inline]
            fn wide(self) -> f64 {
                self.into()
            }
        }
    };
}

number!(f32, Element::F32);
number!(f64, Element::F64);
