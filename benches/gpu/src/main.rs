//! Runs tests on a GPU; see `USAGE`.

use std::fs;
use std::process::ExitCode;

use hidp_gpu::answers;
use hidp_gpu::options::Options;
use hidp_gpu::{cases, children, device};

const USAGE: &str = "\
hidp-gpu device           says which device there is, or why none can be used
hidp-gpu cases [CASE …]   the cases, each in a process of its own
hidp-gpu case CASE        one case in this process
hidp-gpu std [TEST …]     tests of the run time

  --gpu N | --simulated SEED    where (--gpu 0)
  --answers FOLDER              what the interpreter said of each case
  --logs FOLDER                 where the whole output goes
  --under 'PROGRAM ARG …'       starts each case under this program
  --largest N                   leaves out calls with larger dimensions
  --limit SECONDS               for each case (120)
";

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let command = args.next().unwrap_or_default();
    let result = Options::read(args).and_then(|options| match command.as_str() {
        "device" => say_device(&options),
        "cases" => children::run_cases(&options).map(|failed| failed == 0),
        "case" => one_case(&options),
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

/// Prints what was wrong, and how it went.
fn one_case(options: &Options) -> Result<bool, String> {
    let [case] = &options.names[..] else { return Err("which case?".into()) };
    let path = options.answers.join(format!("{case}.answers"));
    let file = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let calls = answers::read(&file).map_err(|why| format!("{}: {why}", path.display()))?;
    let cx = options.place.context().map_err(|error| error.to_string())?;
    println!("{}", cx.device());
    let tally = cases::run(&calls, &cx, options.largest);
    tally.failures.iter().for_each(|failure| println!("wrong: {failure}"));
    if tally.left_out > 0 {
        println!(
            "{} calls are left out: their entries have no version for devices, or no safe wrapper",
            tally.left_out
        );
    }
    println!("result: {tally}");
    Ok(tally.is_good())
}
