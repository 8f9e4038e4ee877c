//! What this machine's processor is, and what a context's device.

use std::sync::OnceLock;

use crate::device::Facts;

/// A processor or device as records name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Device {
    /// The model: `AMD EPYC 9B45`, `NVIDIA H200`.
    pub(crate) name: String,
    /// Vendor and family: `AuthenticAMD family 26`; `sm_90`.
    pub(crate) architecture: String,
    /// `AuthenticAMD`.
    pub(crate) vendor: String,
}

/// How closely a record's device resembles this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Likeness {
    Vendor,
    Architecture,
    Device,
}

impl Device {
    /// This machine's.
    pub(crate) fn this() -> &'static Device {
        static THIS: OnceLock<Device> = OnceLock::new();
        THIS.get_or_init(detect)
    }

    /// A context's device.
    pub(crate) fn of(facts: &Facts) -> Device {
        // Whatever is measured on a simulated device holds for no other.
        let vendor = if &*facts.name == SIMULATED { SIMULATED } else { "NVIDIA" };
        let architecture = format!("sm_{}", facts.architecture);
        Device { name: plain(&facts.name), architecture, vendor: vendor.into() }
    }

    /// `None` for a foreign device.
    pub(crate) fn likeness(&self, name: &str, architecture: &str, vendor: &str) -> Option<Likeness> {
        if vendor != self.vendor {
            None
        } else if architecture != self.architecture {
            Some(Likeness::Vendor)
        } else if name != self.name {
            Some(Likeness::Architecture)
        } else {
            Some(Likeness::Device)
        }
    }
}

/// The name of simulated devices.
const SIMULATED: &str = "simulated";

/// Records are text in double quotes, without escapes.
fn plain(name: &str) -> String {
    name.replace(['"', '\\', '#'], " ").split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(target_arch = "x86_64")]
fn detect() -> Device {
    use std::arch::x86_64::CpuidResult;

    let bytes = |registers: &[u32]| -> String {
        let bytes: Vec<u8> = registers.iter().flat_map(|register| register.to_le_bytes()).collect();
        let text: String = String::from_utf8_lossy(&bytes).chars().filter(|c| (' '..='~').contains(c)).collect();
        plain(&text)
    };
    let CpuidResult { ebx, ecx, edx, .. } = cpuid(0);
    let vendor = bytes(&[ebx, edx, ecx]);
    let signature = cpuid(1).eax;
    let (base, extended) = ((signature >> 8) & 15, (signature >> 20) & 255);
    let family = if base == 15 { base + extended } else { base };
    let brand = if cpuid(0x8000_0000).eax >= 0x8000_0004 {
        let parts = (0x8000_0002..=0x8000_0004).map(cpuid);
        bytes(&parts.flat_map(|part| [part.eax, part.ebx, part.ecx, part.edx]).collect::<Vec<_>>())
    } else {
        String::new()
    };
    Device { name: brand, architecture: format!("{vendor} family {family}"), vendor }
}

#[cfg(target_arch = "x86_64")]
fn cpuid(leaf: u32) -> std::arch::x86_64::CpuidResult {
    // SAFETY: every 64-bit processor has the instruction. (Newer versions of Rust know.)
    #[allow(unused_unsafe)]
    unsafe {
        std::arch::x86_64::__cpuid(leaf)
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn detect() -> Device {
    let arch = std::env::consts::ARCH.to_owned();
    Device { name: format!("{arch} {}", std::env::consts::OS), architecture: arch.clone(), vendor: arch }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_resemble_one_another_more_or_less() {
        let this = Device::this();
        let Device { name, architecture, vendor } = this;
        assert!(!vendor.is_empty() && architecture.contains(vendor.as_str()), "{this:?}");
        assert_eq!(this.likeness(name, architecture, vendor), Some(Likeness::Device));
        assert_eq!(this.likeness("other", architecture, vendor), Some(Likeness::Architecture));
        assert_eq!(this.likeness("other", "other", vendor), Some(Likeness::Vendor));
        assert_eq!(this.likeness(name, architecture, "other"), None);
        assert!(Likeness::Device > Likeness::Architecture && Likeness::Architecture > Likeness::Vendor);
    }
}
