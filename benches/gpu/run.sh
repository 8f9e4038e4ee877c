#!/usr/bin/env bash
# Tests and benchmarks of HiDP for Rust on this machine's GPU. Needs Linux on x86-64 and an NVIDIA driver, nothing else.
#
# ./run.sh                  tests, then benchmarks and goals
# ./run.sh PART …           of these: PARTS below
# ./run.sh cases NAME …     some cases (or: stdtests 'NAME' …)
#
# GPU=1 takes another GPU. SECONDS_A_PART=480 is the longest that a part may take. Everything that is said, and more, goes to logs/.
set -u
here=$(cd "$(dirname "$0")" && pwd)
logs=${LOGS:-$here/logs}
gpu=${GPU:-0}
longest=${SECONDS_A_PART:-480}
tests="cases stdtests"
benches="limits streaming scan sort sort-pairs segmented spmv stencil sums gemm programs"
PARTS="device $tests sanitize $(printf 'bench-%s ' $benches)goals"
failed=""

# Libraries of the peers, where the machine has them: CUDA's own folders and Python packages.
for folder in "${CUDA_HOME:-/usr/local/cuda}"/lib64 /usr/local/cuda*/lib64 \
  /usr/local/lib/python3*/*-packages/nvidia/*/lib /usr/lib/python3*/*-packages/nvidia/*/lib "$HOME"/.local/lib/python3*/site-packages/nvidia/*/lib; do
  if [ -d "$folder" ]; then LD_LIBRARY_PATH="${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$folder"; fi
done
export LD_LIBRARY_PATH="${LD_LIBRARY_PATH:-}"
export OMP_WAIT_POLICY=passive

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

# Programs and answers come compressed.
unpack() {
  local packed
  for packed in "$here"/bin/*.gz "$here"/answers/*.gz; do
    [ -e "$packed" ] || continue
    if ! gzip -dc "$packed" >"${packed%.gz}.part" || ! mv "${packed%.gz}.part" "${packed%.gz}"; then
      echo "cannot unpack $packed: is there gzip, and room on the disk?"
      exit 4
    fi
    rm "$packed"
  done
  chmod +x "$here"/bin/hidp-gpu*
}

driver() {
  local said
  if ! said=$("$here/bin/hidp-gpu" device --gpu "$gpu" 2>&1); then
    echo "There is no GPU that can run this: $said"
    echo "Needed are an NVIDIA GPU and its driver (libcuda.so.1), for CUDA $(cat "$here/CUDA_VERSION") or later."
    exit 3
  fi
  echo "$said" | tee "$logs/device.log"
  if command -v nvidia-smi >/dev/null; then
    nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.max.sm,clocks.max.mem --format=csv >>"$logs/device.log" 2>&1
  fi
}

cases() {
  part cases "$here/bin/hidp-gpu" cases --gpu "$gpu" --answers "$here/answers" --logs "$logs/cases" "$@"
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
    part "sanitize-$check" "$here/bin/hidp-gpu" cases --gpu "$gpu" --answers "$here/answers" --logs "$logs/sanitize-$check" \
      --largest 200 --under "$tool --tool $check --error-exitcode 9" "$@"
  done
}

bench() {
  if [ ! -x "$here/bin/hidp-gpu-bench" ]; then
    echo "bench-$1: LEFT OUT: this bundle was made without benchmarks"
    return
  fi
  part "bench-$1" "$here/bin/hidp-gpu-bench" "$1" --gpu "$gpu" --data "$here/data" --goals "$logs/goals-$1.txt"
}

goals() {
  echo
  echo "== goals"
  cat "$logs"/goals-*.txt 2>/dev/null | tee "$logs/goals.log"
  [ -s "$logs/goals.log" ] || echo "no benchmark has run"
}

run() {
  local name=$1
  shift
  case $name in
    device) ;;
    cases | sanitize) "$name" "$@" ;;
    stdtests) part stdtests "$here/bin/hidp-gpu" std --gpu "$gpu" "$@" ;;
    tests) run cases && run stdtests ;;
    bench) for one in $benches; do bench "$one"; done ;;
    bench-*) bench "${name#bench-}" ;;
    goals) goals ;;
    *)
      echo "There is no part $name; there are: $PARTS (and: tests, bench)"
      exit 2
      ;;
  esac
}

known() {
  case " $PARTS tests bench " in *" $1 "*) return 0 ;; *) return 1 ;; esac
}

if [ $# -gt 0 ] && ! known "$1"; then run "$1"; fi
mkdir -p "$logs"
unpack
driver
if [ $# -eq 0 ]; then
  set -- tests bench goals
fi
# After the name of one part come names of cases or tests, unless they are parts too.
if [ $# -gt 1 ] && { [ "$1" = cases ] || [ "$1" = stdtests ] || [ "$1" = sanitize ]; } && ! known "$2"; then
  run "$@"
else
  for name in "$@"; do run "$name"; done
fi
echo
if [ -n "$failed" ]; then
  echo "FAILED:$failed (see $logs)"
  exit 1
fi
echo "all parts are good (logs in $logs)"
