#!/usr/bin/env bash
# Tests and benchmarks of HiDP for Rust on this machine's GPU. Needs Linux on x86-64 and an NVIDIA driver, nothing else.
#
# ./run.sh                  tests, then benchmarks and goals
# ./run.sh PART …           of these: PARTS below
# ./run.sh cases NAME …     some cases, 'prim_*' for several (or: checks NAME …, stdtests 'NAME' …, sanitize NAME …)
# ./run.sh cases left       those that were not good when it last ran, as the logs say (or: checks left, sanitize left)
#
# GPU=1 takes another GPU. SECONDS_A_PART=480 is the longest that a part may take. JOBS=4 is how many tests run side by side.
# Everything that is said, and more, goes to logs/ (or LOGS). SIMULATED=1 runs a bundle for the executor, which needs no GPU.
set -u
here=$(cd "$(dirname "$0")" && pwd)
gpu=${GPU:-0}
longest=${SECONDS_A_PART:-480}
jobs=${JOBS:-4}
tests="cases checks stdtests"
benches="limits streaming scan sort sort-pairs segmented spmv stencil sums gemm programs"
PARTS="device list $tests sanitize $(printf 'bench-%s ' $benches)goals"
failed=""
if [ -n "${SIMULATED:-}" ]; then
  place="--simulated $SIMULATED --largest ${LARGEST:-40}"
  bench_place=--simulated
else
  place="--gpu $gpu"
  bench_place="--gpu $gpu"
fi

# Libraries of the peers, where the machine has them: CUDA's own folders and Python packages.
packages=$(python3 -c 'import sys; print("\n".join(path for path in sys.path if path and " " not in path))' 2>/dev/null)
for folder in "${CUDA_HOME:-/usr/local/cuda}"/lib64 /usr/local/cuda*/lib64 \
  /usr/local/lib/python3*/*-packages/nvidia/*/lib /usr/lib/python3*/*-packages/nvidia/*/lib \
  "$HOME"/.local/lib/python3*/site-packages/nvidia/*/lib $(printf '%s/nvidia/*/lib ' $packages); do
  if [ -d "$folder" ]; then LD_LIBRARY_PATH="${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$folder"; fi
done
export LD_LIBRARY_PATH="${LD_LIBRARY_PATH:-}"

# A folder to unpack to and for logs: this one, or where it cannot be written to, one for temporary files.
choose_folders() {
  work=$here
  if ! (: >"$here/.writable") 2>/dev/null; then
    work=${TMPDIR:-/tmp}/hidp-gpu-bundle-$(id -u)-$(ls -lR "$here/bin" "$here/answers" | cksum | tr ' ' -)
    if ! mkdir -p "$work/bin" "$work/answers"; then
      echo "can write neither to $here nor to ${TMPDIR:-/tmp}: TMPDIR can name another folder"
      exit 4
    fi
    echo "$here cannot be written to: unpacking to $work"
  else
    rm -f "$here/.writable"
  fi
  logs=${LOGS:-$work/logs}
  if ! mkdir -p "$logs"; then
    echo "cannot make $logs: LOGS can name another folder"
    exit 4
  fi
  logs=$(cd "$logs" && pwd)
  bin=$work/bin
  answers=$work/answers
}

# Runs a part and keeps what it says: part NAME COMMAND ARG …
part() {
  local name=$1
  shift
  echo
  echo "== $name"
  timeout --kill-after=10 "$longest" "$@" 2>&1 | tee "$logs/$name.log"
  local status=${PIPESTATUS[0]}
  case $status in
    0) ;;
    124 | 137) echo "$name: not done after $longest s" | tee -a "$logs/$name.log"; failed="$failed $name" ;;
    *) echo "$name: exit status $status"; failed="$failed $name" ;;
  esac
}

decompress() {
  if command -v gzip >/dev/null; then
    gzip -dc "$1"
  elif command -v busybox >/dev/null; then
    busybox gzip -dc "$1"
  elif command -v python3 >/dev/null; then
    python3 -c 'import gzip, shutil, sys; shutil.copyfileobj(gzip.open(sys.argv[1]), sys.stdout.buffer)' "$1"
  else
    echo "there is no gzip, busybox or python3 to unpack with" >&2
    return 1
  fi
}

# Programs and answers come compressed. What is unpacked stays; what is newer in the bundle is unpacked again.
unpack() {
  local packed to
  for packed in "$here"/bin/*.gz "$here"/answers/*.gz; do
    [ -e "$packed" ] || continue
    to=$work/${packed#"$here"/}
    to=${to%.gz}
    if [ -e "$to" ] && [ ! "$packed" -nt "$to" ]; then continue; fi
    if ! decompress "$packed" >"$to.part" || ! mv "$to.part" "$to"; then
      echo "cannot unpack $packed to $to: is there room on the disk?"
      exit 4
    fi
  done
  # Libraries lie beside the programs.
  if [ "$work" != "$here" ] && [ ! -e "$bin/lib" ] && [ -d "$here/bin/lib" ]; then cp -R "$here/bin/lib" "$bin/lib"; fi
  chmod +x "$bin"/hidp-gpu*
}

driver() {
  local said
  if ! said=$("$bin/hidp-gpu" device $place 2>&1); then
    echo "There is no GPU that can run this: $said"
    echo "Needed are an NVIDIA GPU and its driver (libcuda.so.1), for CUDA $(cat "$here/CUDA_VERSION") or later."
    exit 3
  fi
  echo "$said" | tee "$logs/device.log"
  if command -v nvidia-smi >/dev/null; then
    nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.max.sm,clocks.max.mem --format=csv >>"$logs/device.log" 2>&1
  fi
}

# Each test of a part is a process of its own. None begins in the last minute of the part.
of_processes() {
  local name=$1 command=$2
  shift 2
  if [ "${1:-}" = left ]; then
    shift
    set -- --left "$@"
  fi
  part "$name" "$bin/hidp-gpu" "$command" $place --answers "$answers" --logs "$logs/$name" --jobs "$jobs" \
    --until $((longest > 120 ? longest - 60 : longest)) "$@"
}

sanitize() {
  local tool
  tool=$(command -v compute-sanitizer || ls "${CUDA_HOME:-/usr/local/cuda}"/bin/compute-sanitizer 2>/dev/null)
  if [ -z "$tool" ]; then
    echo
    echo "== sanitize"
    echo "LEFT OUT: there is no compute-sanitizer, neither in PATH nor in CUDA_HOME" | tee "$logs/sanitize.log"
    return
  fi
  local check
  for check in memcheck racecheck initcheck synccheck; do
    of_processes "sanitize-$check" cases "$@" --largest 200 --under "$tool --tool $check --error-exitcode 9"
  done
}

bench() {
  if [ ! -e "$bin/hidp-gpu-bench" ]; then
    echo "bench-$1: LEFT OUT: this bundle was made without benchmarks"
    return
  fi
  rm -f "$logs/goals-$1.txt"
  part "bench-$1" "$bin/hidp-gpu-bench" "$1" $bench_place --data "$here/data" --goals "$logs/goals-$1.txt"
}

# Those of each benchmark as it ran last, whether in this call or before.
goals() {
  local one
  echo
  echo "== goals"
  for one in $benches; do
    if [ -e "$logs/goals-$one.txt" ]; then
      cat "$logs/goals-$one.txt"
    else
      echo "not measured all of bench-$one: it has not run to its end"
    fi
  done | tee "$logs/goals.log"
  echo "$(grep -c '^reached' "$logs/goals.log") reached, $(grep -c '^not reached' "$logs/goals.log") not reached," \
    "$(grep -c '^not measured' "$logs/goals.log") not measured, $(grep -c '^FAILED' "$logs/goals.log") failed"
}

run() {
  local name=$1
  shift
  case $name in
    device) ;;
    list) part list "$bin/hidp-gpu" list --answers "$answers" ;;
    cases | checks) of_processes "$name" "$name" "$@" ;;
    sanitize) sanitize "$@" ;;
    stdtests) part stdtests "$bin/hidp-gpu" std $place "$@" ;;
    tests) for one in $tests; do run "$one"; done ;;
    bench) for one in $benches; do bench "$one"; done ;;
    bench-*) bench "${name#bench-}" ;;
    goals) goals ;;
  esac
}

known() {
  case " $PARTS tests bench " in *" $1 "*) return 0 ;; *) return 1 ;; esac
}

# After the name of one part of tests come names of tests, unless they are parts too.
takes_names() {
  case $1 in cases | checks | stdtests | sanitize) [ $# -gt 1 ] && ! known "$2" ;; *) return 1 ;; esac
}

if [ $# -eq 0 ]; then set -- tests bench goals; fi
if takes_names "$@"; then is_one=1; else is_one=; fi
for name in "$@"; do
  if ! known "$name"; then
    echo "There is no part $name; there are: $PARTS (and: tests, bench)"
    exit 2
  fi
  [ -z "$is_one" ] || break
done
choose_folders
unpack
[ "$*" = list ] || driver
if [ -n "$is_one" ]; then run "$@"; else for name in "$@"; do run "$name"; done; fi
echo
if [ -n "$failed" ]; then
  echo "FAILED:$failed (see $logs)"
  exit 1
fi
echo "all parts are good (logs in $logs)"
