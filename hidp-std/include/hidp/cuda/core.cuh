// Everything generated device units need besides primitives.
#pragma once

#include <hidp/abi.hpp>
#include <hidp/arith.hpp>
#include <hidp/cast.hpp>
#include <hidp/cuda/copies.cuh>
#include <hidp/cuda/differences.cuh>
#include <hidp/cuda/fault.cuh>
#include <hidp/cuda/group.cuh>
#include <hidp/cuda/host.cuh>
#include <hidp/cuda/joined.cuh>
#include <hidp/cuda/launch.cuh>
#include <hidp/cuda/reduce.cuh>
#include <hidp/cuda/target.cuh>
#include <hidp/cuda/worker.cuh>
#include <hidp/math.hpp>
#include <hidp/ops.hpp>
#include <hidp/trap.hpp>
