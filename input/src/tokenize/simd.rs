//! SIMD levels: the machine's instructions that the tokenizer uses, detected once at run time. A level that
//! the machine lacks is never used, whatever a caller requests.

use std::sync::OnceLock;

/// A set of instructions that the tokenizer supports, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Simd {
    /// x86-64 with AVX-512 F, BW, VL, VBMI and VBMI2 (Ice Lake, Zen 4 and later).
    Avx512,
    /// x86-64 with AVX2 (Haswell, Zen and later).
    Avx2,
    /// Any machine: plain 64-bit integers.
    Portable,
}

impl Simd {
    const ALL: [Self; 3] = [Self::Avx512, Self::Avx2, Self::Portable];

    /// Returns the best level of this machine, or the one that the environment variable `TEGULA_SIMD` names
    /// (`avx512`, `avx2` or `portable`), if the machine has it. Detected once per process.
    #[must_use]
    pub fn detect() -> Self {
        static DETECTED: OnceLock<Simd> = OnceLock::new();
        *DETECTED.get_or_init(|| {
            let wanted = std::env::var("TEGULA_SIMD").unwrap_or_default();
            let mut levels = Self::available().into_iter();
            let best = levels.next().unwrap_or(Self::Portable);
            levels.find(|level| level.name() == wanted).unwrap_or(best)
        })
    }

    /// Returns all levels that this machine has, best first; the last is [`Simd::Portable`].
    #[must_use]
    pub fn available() -> Vec<Self> {
        Self::ALL.into_iter().filter(|level| level.is_available()).collect()
    }

    /// Returns `avx512`, `avx2` or `portable`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Avx512 => "avx512",
            Self::Avx2 => "avx2",
            Self::Portable => "portable",
        }
    }

    /// Returns this level, or [`Simd::Portable`] if the machine lacks it.
    pub(super) fn or_portable(self) -> Self {
        if self.is_available() { self } else { Self::Portable }
    }

    /// Returns whether this machine has the level. The features tested here are those that the functions of
    /// the level's file are compiled with.
    #[cfg(target_arch = "x86_64")]
    fn is_available(self) -> bool {
        match self {
            Self::Avx512 => {
                is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512vl")
                    && is_x86_feature_detected!("avx512vbmi")
                    && is_x86_feature_detected!("avx512vbmi2")
                    && is_x86_feature_detected!("bmi1")
                    && is_x86_feature_detected!("bmi2")
                    && is_x86_feature_detected!("popcnt")
                    && is_x86_feature_detected!("lzcnt")
            }
            Self::Avx2 => {
                is_x86_feature_detected!("avx2")
                    && is_x86_feature_detected!("bmi1")
                    && is_x86_feature_detected!("bmi2")
                    && is_x86_feature_detected!("popcnt")
                    && is_x86_feature_detected!("lzcnt")
            }
            Self::Portable => true,
        }
    }

    /// Returns whether this machine has the level.
    #[cfg(not(target_arch = "x86_64"))]
    fn is_available(self) -> bool {
        self == Self::Portable
    }
}
