//! Peers that are Python packages: a process of `peers/packages.py` each, in the environment that `cargo xtask bench` makes below `target`
//! for cases that have such peers. A run is one line to it and one back, some 20 microseconds.

use std::cell::RefCell;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::rc::Rc;

use crate::Contender;

/// A process that knows one peer.
struct Peer {
    name: &'static str,
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

impl Peer {
    fn ask(&mut self, line: &str) -> String {
        let mut answer = String::new();
        let asked = writeln!(self.to, "{line}").and_then(|()| self.from.read_line(&mut answer));
        match asked {
            Ok(read) if read > 0 => answer.trim_end().to_owned(),
            Ok(_) => "missing: the process ended".to_owned(),
            Err(error) => format!("missing: {error}"),
        }
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Where `cargo xtask bench` puts Python's packages.
pub fn environment() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/peers")
}

/// What a peer works on: files of numbers, as they lie in memory.
pub type Files<'a> = &'a [(&'a str, Vec<u8>)];

/// The bytes of numbers.
pub fn bytes<T: Copy, const SIZE: usize>(numbers: &[T], of: impl Fn(T) -> [u8; SIZE]) -> Vec<u8> {
    numbers.iter().flat_map(|number| of(*number)).collect()
}

/// A peer and its result, or nothing and a line that says why.
pub fn contender(shown: &'static str, peer: &'static str, files: Files<'_>) -> Option<(Contender, String)> {
    match begun(peer, files) {
        Ok((process, result)) => {
            let process = Rc::new(RefCell::new(process));
            let run = move || {
                let mut process = process.borrow_mut();
                let line = format!("run {}", process.name);
                let answer = process.ask(&line);
                assert_eq!(answer, "done", "{}", process.name);
            };
            Some((Contender::new(shown, run), result))
        }
        Err(why) => {
            println!(
                "{shown} is left out: {why} (`cargo xtask bench` installs what it can for `recur` and `codelets`).\n"
            );
            None
        }
    }
}

fn begun(name: &'static str, files: Files<'_>) -> Result<(Peer, String), String> {
    let folder = environment().join("data").join(name);
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    for (file, content) in files {
        std::fs::write(folder.join(file), content).map_err(|error| error.to_string())?;
    }
    let python = environment().join("bin/python");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/packages.py");
    let mut command = Command::new(&python);
    command.arg(script).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(|error| format!("{}: {error}", python.display()))?;
    let (Some(to), Some(from)) = (child.stdin.take(), child.stdout.take()) else {
        return Err("a process without pipes".to_owned());
    };
    let mut peer = Peer { name, child, to, from: BufReader::new(from) };
    let answer = peer.ask(&format!("load {name} {}", folder.display()));
    let result = answer.strip_prefix("result ").map(str::to_owned).ok_or(answer)?;
    Ok((peer, result))
}
