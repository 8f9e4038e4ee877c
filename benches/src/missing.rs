//! Which peers this machine does not have.

use crate::onednn::OneDnn;
use crate::openblas::OpenBlas;
use crate::parasail::Parasail;
use crate::peers;

/// A library with peers, or what makes one fast.
struct Library {
    is_there: fn() -> bool,
    name: &'static str,
    /// What happens without it, and where it comes from.
    otherwise: &'static str,
}

const LIBRARIES: [Library; 8] = [
    Library {
        is_there: peers::has_tbb,
        name: "TBB",
        otherwise: "the C++17 parallel algorithms are left out (Debian: libtbb-dev, before the build)",
    },
    Library {
        is_there: peers::has_vqsort,
        name: "Highway",
        otherwise: "vqsort is left out (Debian: libhwy-dev, before the build)",
    },
    Library {
        is_there: peers::has_sleef,
        name: "SLEEF",
        otherwise: "it is left out (Debian: libsleef-dev, before the build; vectors of AVX2 or AVX-512)",
    },
    Library {
        is_there: peers::has_mvec,
        name: "libmvec",
        otherwise: "a peer in C++ calls functions lane by lane (glibc for x86-64 or AArch64)",
    },
    Library {
        is_there: || Parasail::find("A", &[1]).is_some(),
        name: "parasail",
        otherwise: "it is left out (`cargo xtask bench recur` installs Python's package; Debian: libparasail8)",
    },
    Library {
        is_there: || OneDnn::find().is_some(),
        name: "oneDNN",
        otherwise: "it is left out (`cargo xtask bench codelets` installs Python's package; Debian: libdnnl3)",
    },
    Library {
        is_there: || OpenBlas::find().is_some(),
        name: "OpenBLAS",
        otherwise: "it is left out (Debian: libopenblas0)",
    },
    Library {
        is_there: || OpenBlas::mkl().is_some(),
        name: "MKL",
        otherwise: "it is left out (`pip install mkl`, and its folder in LD_LIBRARY_PATH)",
    },
];

/// A line for each library that was not found. Peers in Python say it themselves where their cases begin.
pub fn peers() -> Vec<String> {
    let missing = LIBRARIES.iter().filter(|library| !(library.is_there)());
    missing.map(|library| format!("{} was not found: {}.", library.name, library.otherwise)).collect()
}
