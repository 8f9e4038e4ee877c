// What runs device code: a GPU under nvcc, or the executor of hidp/simt, which any C++ compiler builds. Everything else in
// hidp/cuda, every primitive, and what the compiler prints use only the names listed here, so the same text runs on both.
//
// Attributes. HIDP_GLOBAL(threads) starts the head of a kernel of blocks of so many threads, HIDP_GLOBAL_AT_ONCE(threads,
// blocks) of one whose registers are to be enough for so many blocks of a multiprocessor; HIDP_DEVICE that of a function
// that threads call, HIDP_DEVICE_COLD that of one that is rarely called.
//
// HIDP_PARAMETER(type) is the type of a kernel's parameter that stays where it is, however it is indexed.
//
// HIDP_UNROLL_BY(n) before a loop has it written out n times.
//
// Where something happened. HIDP_WHERE at the end of a parameter list, without a comma before it, and HIDP_HERE likewise at the
// end of an argument list carry the caller's line along, for the executor's reports; under nvcc both are empty. What is marked
// with an asterisk takes it.
// HIDP_SITE(n) in place of it, at the end of an argument list and without a comma, also gives the place a number: where the executor
// counts requests, lanes that are at a lower one go on first. HIDP_ITERATION(begin, end), at the beginning of a loop's body, has lanes
// wait there for those that are still before `end` in the last iteration. Both say nothing to nvcc.
// * here(x)                           x; whatever the run time's headers do next, they do for the caller; on the host too
//
// Memory. Places are addresses of one element in device or shared memory; `place + n` is the place n elements on.
//   In<T>      elements that nobody writes while the kernel runs          Out<T>  elements that no other parameter reaches
//   Any<T>     elements; converts to Out<T> and In<T>. T may be const. Any<T>{} is no place
//   HIDP_SHARED(T, name, count)       an array of the block, not initialised; `name` is the place of its first element
//   HIDP_FIELD(place, path)           the place of a field: HIDP_FIELD(p + i, .best.v); on the host too
// * load(place), store(place, v)      plain accesses
// * load_several<n>(own, place)       n neighbours by one access to what the lane has for itself, from a multiple of their bytes
// * store_several<n>(place, own)      the other way round
//   is_aligned<n>(place)              whether it is at a multiple of n bytes
// * at(p, i)                          element i, as a reference or what acts like one
// * load_relaxed, store_relaxed       a scalar that others may access at the same time
// * load_shared, store_shared         any type, in units that hold whole fields
// * atomic_add, mul, min, max, and, or, xor (place, v)                    4 or 8 bytes; indivisible, relaxed
// * fetch_add(place, v)               4 or 8 bytes, integers; what was there before
// * exchange(place, v), compare_exchange(place, old, v)                   4 or 8 bytes; what was there before
//   fence()                           accesses before it are seen before those after it by all threads of the device
//   place_as<T>(place)                a place of a type that is T by another name; on the host too
//
// Lanes. A block is one row of threads; 32 of them from a multiple of 32 on are a warp. Grids have three dimensions, 0 is x.
//   thread_rank()                     in its block                        block_rank(d), block_count(d)   in the grid
// * block_barrier(threads)            all threads of the block come here; memory is seen by all of the block
// * block_any(threads, bool)          the same, and whether any of them says so
// * grid_barrier(arrived, goal, threads)    the same for all threads of a grid that was started together: `arrived` counts its blocks,
//                                     and is `goal` when all have come
// * warp_barrier(mask)                the same for lanes of a warp; the mask is the same in all of them
// * warp_any(mask, bool)              likewise
// * warp_ballot(mask, bool)           the lanes of the warp that say so, lane 0 in the lowest bit
// * shuffle(mask, v, lane)            what lane `lane` of the warp, one of the mask, has as v; any type
//
// Host. Errors are numbers, 0 is none.
//   place_at<T>(address)            Any<T> of an address from the run time  address_of(place)  back again
//   copy_to_host(stream, to, place, n)    waits for nothing                 set_zero(stream, place, n)    n elements each
//   wait(stream)
//   announce<kernel>()              the next start is of this kernel: its name, where requests are counted
//   blocks_at_a_time(kernel, threads, &blocks)     of one multiprocessor
//   start(kernel, x, y, z, threads, stream, args…) a grid of x by y by z blocks
//   blocks_together(kernel, threads, &blocks)      of one multiprocessor, where all blocks of a grid can run together; else 0
//   start_together(kernel, blocks, threads, stream, arg)   such a grid; it may call grid_barrier
#pragma once

#if defined(HIDP_SIMT)
#include <hidp/simt/target.hpp>
#else
#include <hidp/cuda/machine.cuh>
#include <hidp/cuda/memory.cuh>
#include <hidp/cuda/runtime.cuh>
#endif
