//! The choice of a context's device, or the reason why there is none.

use std::fmt;
use std::sync::Arc;

use super::driver::{Driver, Facts};
use super::error::NoDevice;

/// What a context is asked to run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    Auto,
    Cpu,
    /// That device and no other.
    Cuda(u32),
}

impl Asked {
    /// `cpu`, `auto`, `cuda` or `cuda:1`.
    pub(crate) fn read(text: &str) -> Option<Self> {
        match text {
            "auto" | "" => Some(Asked::Auto),
            "cpu" => Some(Asked::Cpu),
            "cuda" => Some(Asked::Cuda(0)),
            _ => text.strip_prefix("cuda:")?.parse().ok().map(Asked::Cuda),
        }
    }
}

/// The devices of a machine.
pub(crate) trait Platform: Send + Sync + fmt::Debug {
    /// The version of the driver as CUDA counts. Nothing else is asked before it.
    fn version(&self) -> Result<i32, NoDevice>;
    fn count(&self) -> Result<u32, NoDevice>;
    fn facts(&self, ordinal: u32) -> Result<Facts, NoDevice>;
    fn open(&self, ordinal: u32) -> Result<Box<dyn Driver>, NoDevice>;
}

/// What the program's device code was built for, one element an object file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Built {
    /// 90 for `sm_90`.
    pub(crate) architectures: Vec<u32>,
    /// Version of the toolkit as CUDA counts.
    pub(crate) toolkit: i32,
}

impl Built {
    /// Code runs on devices of its generation that are no older; the newest code also as PTX on all that came later.
    fn runs_on(&self, device: u32) -> bool {
        let newest = self.architectures.iter().max();
        newest.is_some_and(|newest| *newest <= device)
            || self.architectures.iter().any(|built| built / 10 == device / 10 && *built <= device)
    }
}

/// The device that can run all of the program's code, with the reason why it is that.
pub(crate) fn find(platform: &dyn Platform, program: &[Built], asked: u32) -> Result<Box<dyn Driver>, NoDevice> {
    check_driver(platform, program)?;
    let count = platform.count()?;
    if asked >= count {
        return Err(NoDevice::Missing { ordinal: asked, count });
    }
    let facts = platform.facts(asked)?;
    match program.iter().find(|built| !built.runs_on(facts.architecture)) {
        None => platform.open(asked),
        Some(built) => {
            let compiled: Vec<String> = built.architectures.iter().map(|number| format!("sm_{number}")).collect();
            let compiled: Arc<str> = compiled.join(", ").into();
            Err(NoDevice::Architecture { device: facts.to_string().into(), compiled })
        }
    }
}

/// The first device that can run all of the program's code; else what is wrong with the first one.
pub(crate) fn find_any(platform: &dyn Platform, program: &[Built]) -> Result<Box<dyn Driver>, NoDevice> {
    let first = match find(platform, program, 0) {
        Ok(driver) => return Ok(driver),
        Err(reason) => reason,
    };
    match &first {
        NoDevice::Architecture { .. } | NoDevice::Driver { .. } => {
            let others = 1..platform.count()?;
            others.filter_map(|ordinal| find(platform, program, ordinal).ok()).next().ok_or(first)
        }
        NoDevice::NotBuilt
        | NoDevice::NoCode
        | NoDevice::NoDriver
        | NoDevice::OldDriver { .. }
        | NoDevice::Missing { .. } => Err(first),
    }
}

/// The oldest driver whose interface this run time uses.
const OLDEST: i32 = 12000;

/// A driver runs code of all toolkits of its major version and of earlier ones.
fn check_driver(platform: &dyn Platform, program: &[Built]) -> Result<(), NoDevice> {
    let Some(newest) = program.iter().map(|built| built.toolkit / 1000 * 1000).max() else {
        return Err(NoDevice::NoCode);
    };
    let (version, needed) = (platform.version()?, newest.max(OLDEST));
    if version < needed { Err(NoDevice::OldDriver { version, needed }) } else { Ok(()) }
}

/// What the program's device code says of itself.
pub(crate) fn program() -> Vec<Built> {
    let mut all = Vec::new();
    // SAFETY: what is in the list stays as it is as long as the program runs.
    let mut next = unsafe { hidp_sys::hidp2_device_code_first().as_ref() };
    while let Some(code) = next {
        let count = usize::try_from(code.count).unwrap_or(0);
        // SAFETY: the ABI says how many there are.
        let architectures = unsafe { std::slice::from_raw_parts(code.architectures, count) };
        let architectures = architectures.iter().filter_map(|number| u32::try_from(number / 10).ok()).collect();
        all.push(Built { architectures, toolkit: code.toolkit });
        // SAFETY: as above.
        next = unsafe { code.next.as_ref() };
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::simulated::World;

    /// A machine with these devices.
    #[derive(Debug)]
    struct Machine {
        version: Result<i32, NoDevice>,
        architectures: Vec<u32>,
    }

    impl Platform for Machine {
        fn version(&self) -> Result<i32, NoDevice> {
            self.version.clone()
        }
        fn count(&self) -> Result<u32, NoDevice> {
            assert!(self.version.is_ok(), "asked without a driver");
            Ok(self.architectures.len() as u32)
        }
        fn facts(&self, ordinal: u32) -> Result<Facts, NoDevice> {
            let architecture = self.architectures[ordinal as usize];
            let name = "Test".into();
            Ok(Facts { ordinal, name, architecture, multiprocessors: 2, threads_per_multiprocessor: 64 })
        }
        fn open(&self, ordinal: u32) -> Result<Box<dyn Driver>, NoDevice> {
            Ok(Box::new(World::default().driver(self.facts(ordinal)?)))
        }
    }

    fn machine(architectures: &[u32]) -> Machine {
        Machine { version: Ok(13000), architectures: architectures.into() }
    }
    fn built(architectures: &[u32]) -> Built {
        Built { architectures: architectures.into(), toolkit: 13000 }
    }
    fn text(found: Result<Box<dyn Driver>, NoDevice>) -> String {
        found.map_or_else(|reason| reason.to_string(), |driver| driver.facts().to_string())
    }

    #[test]
    fn a_device_must_run_all_code() {
        for (architectures, device, runs) in [
            (&[90][..], 90, true),
            (&[90], 100, true), // PTX
            (&[80], 86, true),
            (&[86], 80, false),
            (&[90], 89, false),
            (&[80, 100], 90, false), // PTX is for the newest alone
            (&[80, 90], 86, true),
            (&[], 90, false),
        ] {
            assert_eq!(built(architectures).runs_on(device), runs, "{architectures:?} on {device}");
        }
        let both = [built(&[80]), built(&[90])];
        assert_eq!(text(find(&machine(&[86]), &both, 0)), "cuda:0 (Test, sm_86) cannot run code for sm_90");
        assert_eq!(text(find(&machine(&[90]), &both, 0)), "cuda:0 (Test, sm_90)");
    }

    #[test]
    fn reasons_say_what_is_missing() {
        let program = [built(&[90])];
        assert!(text(find(&machine(&[90]), &[], 0)).contains("no code for devices"));
        let none = Machine { version: Err(NoDevice::NoDriver), architectures: vec![] };
        assert_eq!(text(find(&none, &program, 0)), "there is no driver: the library libcuda was not found");
        let old = Machine { version: Ok(12080), ..machine(&[90]) };
        assert_eq!(text(find(&old, &program, 0)), "the driver is for CUDA 12.8, needed is 13.0");
        let newer = Built { toolkit: 13010, ..built(&[90]) };
        assert_eq!(text(find(&machine(&[90]), &[newer], 0)), "cuda:0 (Test, sm_90)", "minor versions go together");
        assert_eq!(text(find(&machine(&[]), &program, 0)), "the driver knows no device");
        assert_eq!(text(find(&machine(&[90]), &program, 2)), "there is no device 2, only device 0");
        assert_eq!(text(find(&machine(&[90, 90]), &program, 2)), "there is no device 2, only devices 0 to 1");
    }

    #[test]
    fn the_first_device_that_fits_is_found() {
        let program = [built(&[90])];
        assert_eq!(text(find_any(&machine(&[75, 89, 90, 90]), &program)), "cuda:2 (Test, sm_90)");
        assert_eq!(text(find_any(&machine(&[75, 89]), &program)), "cuda:0 (Test, sm_75) cannot run code for sm_90");
    }

    #[test]
    fn wishes_are_read() {
        assert_eq!(Asked::read("cpu"), Some(Asked::Cpu));
        assert_eq!(Asked::read("auto"), Some(Asked::Auto));
        assert_eq!(Asked::read("cuda"), Some(Asked::Cuda(0)));
        assert_eq!(Asked::read("cuda:3"), Some(Asked::Cuda(3)));
        for wrong in ["gpu", "cuda:", "cuda:-1", "cuda:x", "1"] {
            assert_eq!(Asked::read(wrong), None, "{wrong}");
        }
    }
}
