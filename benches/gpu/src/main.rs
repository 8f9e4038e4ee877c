//! Runs tests on a GPU; see `USAGE`.

use std::process::ExitCode;

use hidp_gpu::options::Options;
use hidp_gpu::{cases, checks, device, list};

const USAGE: &str = "\
hidp-gpu device           says which device there is, or why none can be used
hidp-gpu cases [CASE …]   the cases, each in a process of its own; prim_* are several
hidp-gpu case CASE        one case in this process
hidp-gpu checks [CHECK …] tests of the primitives, each in a process of its own
hidp-gpu check CHECK SEED one of them in this process
hidp-gpu std [TEST …]     tests of the run time
hidp-gpu list             what the cases call, and what is left out

  --gpu N | --simulated SEED    where (--gpu 0)
  --answers FOLDER              what the interpreter said of each case
  --logs FOLDER                 where the whole output goes
  --under 'PROGRAM ARG …'       starts each case under this program
  --largest N                   leaves out calls with larger dimensions
  --limit SECONDS               for each case (120)
  --until SECONDS               starts no case later than this
  --jobs N                      cases at a time (1)
  --left                        only what was not good before, as the logs say
";

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let command = args.next().unwrap_or_default();
    let result = Options::read(args).and_then(|options| match command.as_str() {
        "device" => say_device(&options),
        "cases" => cases::run_all(&options),
        "case" => cases::one(&options),
        "checks" => checks::run(&options),
        "check" => checks::one(&options),
        "list" => list::run(&options),
        "std" => Ok(device::run(options.place, &options.names) == 0),
        _ => Err(USAGE.into()),
    });
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::from(2)
        }
    }
}

fn say_device(options: &Options) -> Result<bool, String> {
    let cx = options.place.context().map_err(|error| error.to_string())?;
    println!("{}", cx.device());
    Ok(true)
}
