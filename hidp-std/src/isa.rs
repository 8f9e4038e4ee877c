//! Instruction set levels.

use std::fmt;

/// An instruction set level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Isa {
    /// Whatever the target always has.
    Base,
    /// x86-64-v2: up to SSE4.2.
    V2,
    /// x86-64-v3: up to AVX2 and FMA.
    V3,
    /// x86-64-v4: AVX-512 F, BW, CD, DQ, VL.
    V4,
}

impl Isa {
    /// Every level, least demanding first.
    pub const ALL: [Isa; 4] = [Isa::Base, Isa::V2, Isa::V3, Isa::V4];

    /// The level called `name`: `base`, `v2`, `v3` or `v4`.
    pub fn from_name(name: &str) -> Option<Isa> {
        Isa::ALL.into_iter().find(|isa| isa.name() == name)
    }

    /// `base`, `v2`, `v3` or `v4`.
    pub const fn name(self) -> &'static str {
        match self {
            Isa::Base => "base",
            Isa::V2 => "v2",
            Isa::V3 => "v3",
            Isa::V4 => "v4",
        }
    }

    /// The most demanding level that this machine has.
    #[cfg(target_arch = "x86_64")]
    pub fn detect() -> Isa {
        macro_rules! all {
            ($($feature:tt)*) => { true $(&& is_x86_feature_detected!($feature))* };
        }
        // LAHF in 64-bit mode, the remaining feature of v2, is on every machine with SSE4.2.
        if !all!("cmpxchg16b" "popcnt" "sse3" "ssse3" "sse4.1" "sse4.2") {
            Isa::Base
        } else if !all!("avx" "avx2" "bmi1" "bmi2" "f16c" "fma" "lzcnt" "movbe" "xsave") {
            Isa::V2
        } else if !all!("avx512f" "avx512bw" "avx512cd" "avx512dq" "avx512vl") {
            Isa::V3
        } else {
            Isa::V4
        }
    }

    /// The most demanding level that this machine has.
    #[cfg(not(target_arch = "x86_64"))]
    pub fn detect() -> Isa {
        Isa::Base
    }
}

impl fmt::Display for Isa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for isa in Isa::ALL {
            assert_eq!(Isa::from_name(isa.name()), Some(isa));
        }
        assert_eq!(Isa::from_name("v5"), None);
    }

    #[test]
    fn levels_are_ordered() {
        assert!(Isa::ALL.is_sorted());
    }
}
