// Everything generated code needs besides primitives.
#pragma once

#include <hidp/abi.hpp>
#include <hidp/access.hpp>
#include <hidp/arith.hpp>
#include <hidp/cast.hpp>
#include <hidp/host.hpp>
#include <hidp/launch.hpp>
#include <hidp/math.hpp>
#include <hidp/ops.hpp>
#include <hidp/stream.hpp>
#include <hidp/trap.hpp>
#include <hidp/worker.hpp>
