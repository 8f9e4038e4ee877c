//! The tuner as a program.

use std::process::ExitCode;
use std::time::Duration;

use super::Tuner;
use crate::Isa;
use crate::device::Asked;

const USAGE: &str = "\
measures the versions of entries and writes tuning records

  [ENTRY]          only entries whose name contains this
  --seconds N      how long all may take, for all sizes (without it: as long as 48 sizes an entry take)
  --device NAME    what to tune for: `cpu`, the number of a GPU, or `auto` for one and when to leave calls to the CPU (cpu)
  --threads N      threads to tune for (all)
  --isa NAME       instruction set to tune for (the best)
  --file PATH      records (src/kernels/hidp-tune.toml)
  --report PATH    report (hidp-tune.html)
  --table PATH     table of all points in Markdown
  --inputs         only registered inputs, where there are any
  --fresh          do not go on where an interrupted run stopped (its points are kept beside the report)
";

impl Tuner {
    /// Tunes as the command line says.
    #[must_use]
    pub fn main(self) -> ExitCode {
        self.main_with(&std::env::args().skip(1).collect::<Vec<_>>())
    }

    /// Tunes as these arguments say.
    #[must_use]
    pub fn main_with(self, args: &[String]) -> ExitCode {
        if args.iter().any(|arg| arg == "--help" || arg == "-h") {
            print!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        match self.with_args(args).and_then(|tuner| tuner.run()) {
            Ok(_) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("error: {error}");
                ExitCode::FAILURE
            }
        }
    }

    fn with_args(mut self, args: &[String]) -> Result<Self, String> {
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let mut value = || args.next().cloned().ok_or_else(|| format!("`{arg}` needs a value"));
            let number = |text: String| text.parse::<u32>().map_err(|_| format!("`{text}` is no number"));
            match arg.as_str() {
                "--seconds" => self.budget = Some(Duration::from_secs(number(value()?)?.into())),
                "--device" => {
                    let name = value()?;
                    let number = name.parse().ok().map(Asked::Cuda);
                    self.device =
                        number.or_else(|| Asked::read(&name)).ok_or_else(|| format!("`{name}` is no device"))?;
                }
                "--threads" => self.threads = Some(number(value()?)?),
                "--isa" => {
                    let name = value()?;
                    self.isa = Some(Isa::from_name(&name).ok_or_else(|| format!("`{name}` is no instruction set"))?);
                }
                "--file" => self.file = value()?.into(),
                "--report" => self.report = value()?.into(),
                "--table" => self.table = Some(value()?.into()),
                "--inputs" => self.sweeps = false,
                "--fresh" => self.fresh = true,
                flag if flag.starts_with('-') => return Err(format!("there is no option `{flag}`\n\n{USAGE}")),
                name => self.only.push(name.into()),
            }
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rt::Entries;

    #[test]
    fn arguments_are_read() {
        // SAFETY: there are none.
        let tuner = || Tuner::new(unsafe { Entries::new(&[]) });
        let read = |text: &str| tuner().with_args(&text.split(' ').map(str::to_owned).collect::<Vec<_>>());
        let tuner = read("gemm --seconds 7 --threads 2 --isa v3 --file a --report b --fresh").ok().unwrap();
        assert_eq!(
            (&tuner.only[..], tuner.budget, tuner.threads),
            (&["gemm".to_owned()][..], Some(Duration::from_secs(7)), Some(2))
        );
        assert_eq!(read("gemm").ok().unwrap().budget, None);
        assert_eq!((tuner.isa, tuner.fresh, tuner.file.to_str()), (Some(Isa::V3), true, Some("a")));
        let device = |text: &str| read(text).unwrap().device;
        assert_eq!(device("gemm"), Asked::Cpu);
        let devices = ["cpu", "auto", "1", "cuda:2"].map(|name| device(&format!("--device {name}")));
        assert_eq!(devices, [Asked::Cpu, Asked::Auto, Asked::Cuda(1), Asked::Cuda(2)]);
        for (text, error) in [
            ("--device gpu", "`gpu` is no device"),
            ("--seconds", "`--seconds` needs a value"),
            ("--seconds x", "`x` is no number"),
            ("--isa avx", "`avx` is no instruction set"),
        ] {
            assert_eq!(read(text).err().unwrap(), error);
        }
        assert!(read("--what").is_err());
        assert!(read("gemm").unwrap().run().unwrap_err().starts_with("no entry"));
    }
}
