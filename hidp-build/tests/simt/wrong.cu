// Kernels in which something is wrong, for the executor to find. Each entry gets two arrays of 64 `int32_t` of which the first is
// written. Behind what is wrong stands a comment, `~` and the kind of report: whatever the order of the lanes, it must be there.
// With `~?` it must be there or at another such place of the entry, with `~~` anywhere. Nothing else may be found.

#include <hidp/cuda/target.cuh>

using hidp::Any;
using hidp::In;
using hidp::Out;

namespace {

constexpr int kThreads = 64;

struct Pair {
  int32_t first, second;
};

// Runs a kernel over the two arrays of the call.
int32_t run(hidp_call *call, void (*kernel)(In<int32_t>, Out<int32_t>), uint32_t blocks = 1) {
  return hidp::start(kernel, blocks, 1, 1, kThreads, nullptr, hidp::place_at<int32_t>(call->params[0]), hidp::place_at<int32_t>(call->params[1]));
}
#define ENTRY(name) HIDP_ENTRY HIDP_SYMBOL(hidp2_##name)(hidp_call * call)

// --- bounds

HIDP_GLOBAL(kThreads) reads_past_the_end(In<int32_t> x, Out<int32_t> y) {
  const uint32_t i = hidp::thread_rank();
  hidp::store(y + i, hidp::load(x + (i + 1)));  //~ out of bounds
}
ENTRY(reads_past_the_end) { return run(call, reads_past_the_end); }

HIDP_GLOBAL(kThreads) writes_before_the_start(In<int32_t> x, Out<int32_t> y) {
  const int64_t i = hidp::thread_rank();
  hidp::at(y, i - 1) = hidp::at(x, i);  //~ out of bounds
}
ENTRY(writes_before_the_start) { return run(call, writes_before_the_start); }

HIDP_GLOBAL(kThreads) half_an_element(In<int32_t> x, Out<int32_t> y) {
  if (hidp::thread_rank() != 0) return;
  const Any<Pair> pairs = hidp::place_at<Pair>(hidp::address_of(y + 63));
  hidp::store(HIDP_FIELD(pairs, .first), hidp::load(x));
  hidp::store(HIDP_FIELD(pairs, .second), 1);  //~ out of bounds
}
ENTRY(half_an_element) { return run(call, half_an_element); }

HIDP_GLOBAL(kThreads) past_a_shared_array(In<int32_t>, Out<int32_t>) {
  HIDP_SHARED(int32_t, part, kThreads - 1);
  hidp::store(part + hidp::thread_rank(), 1);  //~ out of bounds
}
ENTRY(past_a_shared_array) { return run(call, past_a_shared_array); }

HIDP_GLOBAL(kThreads) everything_inside(In<int32_t> x, Out<int32_t> y) {
  const int64_t i = hidp::thread_rank();
  hidp::at(y, i) = hidp::at(x + 1, i - 1);
}
ENTRY(everything_inside) { return run(call, everything_inside); }

HIDP_GLOBAL(kThreads) between_two_fours(In<int32_t> x, Out<int32_t> y) {
  if (hidp::thread_rank() != 0) return;
  int32_t own[4];
  hidp::load_several<4>(own, x + 4);
  hidp::store_several<2>(y + 3, own);  //~ misaligned
}
ENTRY(between_two_fours) { return run(call, between_two_fours); }

// --- memory of the wrong kind

HIDP_GLOBAL(kThreads) copies(In<int32_t> x, Out<int32_t> y) {
  const uint32_t i = hidp::thread_rank();
  hidp::store(y + i, hidp::load(x + i));  //~ use after free
}
ENTRY(freed) {
  const hidp_device &device = *call->device;
  void *const block = device.take(device.state, kThreads * sizeof(int32_t));
  const Any<int32_t> place = hidp::place_at<int32_t>(block);
  hidp::set_zero(device.stream, place, kThreads);
  device.give(device.state, block);
  return hidp::start(copies, 1, 1, 1, kThreads, nullptr, hidp::place_at<int32_t>(call->params[0]), place);
}
ENTRY(of_the_host) {
  int32_t here[kThreads] = {};
  return hidp::start(copies, 1, 1, 1, kThreads, nullptr, hidp::place_at<int32_t>(call->params[0]), hidp::place_at<int32_t>(here));  //~ host address
}
ENTRY(touched_by_the_host) {
  return hidp::load(hidp::place_at<int32_t>(call->params[0]));  //~ host access
}
ENTRY(given_back_twice) {
  const hidp_device &device = *call->device;
  void *const block = device.take(device.state, 4);
  device.give(device.state, block);
  device.give(device.state, block);  //~~ wrong free
  return HIDP_OK;
}

// --- not written

HIDP_GLOBAL(kThreads) reads_what_nobody_wrote(In<int32_t>, Out<int32_t> y) {
  hidp::load(y + hidp::thread_rank());  //~ uninitialised
}
ENTRY(reads_what_nobody_wrote) { return run(call, reads_what_nobody_wrote); }

HIDP_GLOBAL(kThreads) reads_what_nobody_shared(In<int32_t>, Out<int32_t> y) {
  HIDP_SHARED(int32_t, part, kThreads);
  const uint32_t i = hidp::thread_rank();
  if (i != 5) hidp::store(part + i, 1);
  hidp::block_barrier(kThreads);
  hidp::store(y + i, hidp::load(part + i));  //~ uninitialised
}
ENTRY(reads_what_nobody_shared) { return run(call, reads_what_nobody_shared); }

HIDP_GLOBAL(kThreads) adds_to_what_nobody_wrote(In<int32_t>, Out<int32_t> y) {
  hidp::atomic_add(y, 1);  //~ uninitialised
}
ENTRY(adds_to_what_nobody_wrote) { return run(call, adds_to_what_nobody_wrote); }

ENTRY(fetches_what_nobody_wrote) {
  int32_t value = 0;
  return hidp::copy_to_host(call->device->stream, &value, hidp::place_at<int32_t>(call->params[1]), 1);  //~ uninitialised
}

HIDP_GLOBAL(kThreads) reads_the_written_field(In<int32_t>, Out<int32_t> y) {
  if (hidp::thread_rank() != 0) return;
  const Any<Pair> pair = hidp::place_at<Pair>(hidp::address_of(y));
  hidp::store(HIDP_FIELD(pair, .second), 1);
  hidp::store(y + 2, hidp::load(HIDP_FIELD(pair, .second)));
}
ENTRY(reads_the_written_field) { return run(call, reads_the_written_field); }

// --- races

HIDP_GLOBAL(kThreads) no_barrier_before_neighbour(In<int32_t> x, Out<int32_t> y) {
  HIDP_SHARED(int32_t, part, kThreads);
  const uint32_t i = hidp::thread_rank();
  hidp::store(part + i, hidp::load(x + i));  //~? data race
  hidp::warp_barrier(~0u);
  hidp::store(y + i, hidp::load(part + (i ^ 32)));  //~? data race //~? uninitialised
}
ENTRY(no_barrier_before_neighbour) { return run(call, no_barrier_before_neighbour); }

HIDP_GLOBAL(kThreads) barrier_before_neighbour(In<int32_t> x, Out<int32_t> y) {
  HIDP_SHARED(int32_t, part, kThreads);
  const uint32_t i = hidp::thread_rank();
  hidp::store(part + i, hidp::load(x + i));
  hidp::warp_barrier(~0u);
  hidp::store(y + i, hidp::load(part + (i ^ 31)));
  hidp::block_barrier(kThreads);
  hidp::store(y + i, hidp::load(part + (63 - i)));
}
ENTRY(barrier_before_neighbour) { return run(call, barrier_before_neighbour); }

// The four lanes of a group wait for one another, but not for the next group.
HIDP_GLOBAL(kThreads) barrier_of_too_few(In<int32_t> x, Out<int32_t> y) {
  const uint32_t i = hidp::thread_rank();
  hidp::store(y + i, hidp::load(x + i));  //~? data race
  hidp::warp_barrier(0xfu << (i % 32 / 4 * 4));
  hidp::store(y + (i ^ 4), 1);  //~? data race
}
ENTRY(barrier_of_too_few) { return run(call, barrier_of_too_few); }

HIDP_GLOBAL(kThreads) barrier_of_enough(In<int32_t> x, Out<int32_t> y) {
  const uint32_t i = hidp::thread_rank();
  hidp::store(y + i, hidp::load(x + i));
  hidp::warp_barrier(0xffu << (i % 32 / 8 * 8));
  hidp::store(y + (i ^ 4), 1);
}
ENTRY(barrier_of_enough) { return run(call, barrier_of_enough); }

// A shuffle makes lanes wait, but what they wrote need not be seen.
HIDP_GLOBAL(kThreads) shuffle_for_a_barrier(In<int32_t> x, Out<int32_t> y) {
  const uint32_t i = hidp::thread_rank();
  hidp::store(y + i, hidp::load(x + i));
  hidp::shuffle(~0u, i, 0);
  hidp::load(y + (i ^ 1));  //~ data race
}
ENTRY(shuffle_for_a_barrier) { return run(call, shuffle_for_a_barrier); }

HIDP_GLOBAL(kThreads) all_write_one(In<int32_t>, Out<int32_t> y) {
  hidp::store(y, 7);  //~ data race
}
ENTRY(all_write_one) { return run(call, all_write_one); }

HIDP_GLOBAL(kThreads) blocks_write_one(In<int32_t>, Out<int32_t> y) {
  if (hidp::thread_rank() == 0) hidp::store(y, 7);  //~ data race
}
ENTRY(blocks_write_one) { return run(call, blocks_write_one, 2); }

// No barrier is of two blocks.
HIDP_GLOBAL(kThreads) blocks_read_and_write(In<int32_t> x, Out<int32_t> y) {
  const uint32_t i = hidp::thread_rank();
  if (hidp::block_rank(0) == 0) hidp::store(y + i, hidp::load(x + i));  //~? data race
  hidp::block_barrier(kThreads);
  if (hidp::block_rank(0) == 1) hidp::load(y + i);  //~? data race //~? uninitialised
}
ENTRY(blocks_read_and_write) { return run(call, blocks_read_and_write, 2); }

HIDP_GLOBAL(kThreads) half_of_them_relaxed(In<int32_t>, Out<int32_t> y) {
  const uint32_t i = hidp::thread_rank();
  if (i % 2 == 0) hidp::store_relaxed(y, 1);  //~? data race
  else hidp::store(y, 2);  //~? data race
}
ENTRY(half_of_them_relaxed) { return run(call, half_of_them_relaxed); }

HIDP_GLOBAL(kThreads) reads_what_others_add_to(In<int32_t>, Out<int32_t> y) {
  const uint32_t i = hidp::thread_rank();
  if (i == 0) hidp::store(y, 0);
  hidp::block_barrier(kThreads);
  hidp::atomic_add(y, 1);  //~? data race
  hidp::load(y);  //~? data race
}
ENTRY(reads_what_others_add_to) { return run(call, reads_what_others_add_to); }

HIDP_GLOBAL(kThreads) everybody_relaxed(In<int32_t>, Out<int32_t> y) {
  const int32_t i = static_cast<int32_t>(hidp::thread_rank());
  if (i == 0) hidp::store(y, 0);
  hidp::block_barrier(kThreads);
  hidp::store_relaxed(y + 1, i);
  hidp::load_relaxed(y + 1);
  hidp::atomic_max(y, i);
  hidp::block_barrier(kThreads);
  if (i < 62) hidp::store(y + (2 + i), hidp::load(y));
}
ENTRY(everybody_relaxed) { return run(call, everybody_relaxed); }

HIDP_GLOBAL(kThreads) bytes_beside_one_another(In<int32_t>, Out<int32_t> y) {
  const Any<uint8_t> bytes = hidp::place_at<uint8_t>(hidp::address_of(y));
  const uint32_t i = hidp::thread_rank();
  hidp::store(bytes + i, static_cast<uint8_t>(i));
}
HIDP_GLOBAL(kThreads) words_of_bytes(In<int32_t>, Out<int32_t> y) {
  const uint32_t i = hidp::thread_rank();
  if (i < 16) hidp::store(y + 16 + i, hidp::load(y + i));
}
ENTRY(launch_after_launch) {
  const int32_t first = run(call, bytes_beside_one_another);
  return first != HIDP_OK ? first : run(call, words_of_bytes);
}

HIDP_GLOBAL(kThreads) a_byte_of_a_word(In<int32_t>, Out<int32_t> y) {
  const Any<uint8_t> bytes = hidp::place_at<uint8_t>(hidp::address_of(y));
  const uint32_t i = hidp::thread_rank();
  if (i == 0) hidp::store(y, 5);  //~? data race
  if (i == 40) hidp::store(bytes + 3, static_cast<uint8_t>(i));  //~? data race
}
ENTRY(a_byte_of_a_word) { return run(call, a_byte_of_a_word); }

// --- read only

// Its own lane, and with barriers: machines may have kept a copy all the same.
HIDP_GLOBAL(kThreads) writes_what_it_reads_only(In<int32_t> x, Out<int32_t> y) {
  const uint32_t i = hidp::thread_rank();
  const int32_t before = hidp::load(x + i);  //~? not read only
  hidp::block_barrier(kThreads);
  hidp::store(y + i, before + 1);  //~? not read only
  hidp::block_barrier(kThreads);
  hidp::load(y + 63 - i);
}
ENTRY(writes_what_it_reads_only) {
  const Any<int32_t> x = hidp::place_at<int32_t>(call->params[0]);
  return hidp::start(writes_what_it_reads_only, 1, 1, 1, kThreads, nullptr, x, x);
}

HIDP_GLOBAL(kThreads) writes_what_it_reads(Any<const int32_t> x, Any<int32_t> y) {
  const uint32_t i = hidp::thread_rank();
  const int32_t before = hidp::load(x + i);
  hidp::block_barrier(kThreads);
  hidp::store(y + (63 - i), before + 1);
}
ENTRY(writes_what_it_reads) {
  const Any<int32_t> x = hidp::place_at<int32_t>(call->params[0]);
  return hidp::start(writes_what_it_reads, 1, 1, 1, kThreads, nullptr, x, x);
}

// --- lanes that do not come

HIDP_GLOBAL(kThreads) half_at_a_barrier(In<int32_t> x, Out<int32_t>) {
  if (hidp::load(x + hidp::thread_rank()) % 2 == 0) hidp::block_barrier(kThreads);  //~ divergence
}
ENTRY(half_at_a_barrier) { return run(call, half_at_a_barrier); }

HIDP_GLOBAL(kThreads) one_left_before(In<int32_t> x, Out<int32_t>) {
  if (hidp::load(x + hidp::thread_rank()) == 17) return;
  hidp::warp_barrier(~0u);  //~ divergence
}
ENTRY(one_left_before) { return run(call, one_left_before); }

HIDP_GLOBAL(kThreads) at_different_barriers(In<int32_t> x, Out<int32_t>) {
  if (hidp::load(x + hidp::thread_rank()) < 20) {
    hidp::block_barrier(kThreads);  //~? divergence
  } else {
    hidp::block_barrier(kThreads);  //~? divergence
  }
}
ENTRY(at_different_barriers) { return run(call, at_different_barriers); }

HIDP_GLOBAL(kThreads) barrier_and_vote(In<int32_t> x, Out<int32_t>) {
  if (hidp::load(x + hidp::thread_rank()) % 4 == 0) {
    hidp::warp_barrier(~0u);  //~? divergence
  } else {
    hidp::warp_any(~0u, true);  //~? divergence
  }
}
ENTRY(barrier_and_vote) { return run(call, barrier_and_vote); }

HIDP_GLOBAL(kThreads) masks_that_overlap(In<int32_t>, Out<int32_t>) {
  hidp::warp_barrier(hidp::thread_rank() % 32 < 8 ? 0xffu : ~0u);  //~ divergence
}
ENTRY(masks_that_overlap) { return run(call, masks_that_overlap); }

HIDP_GLOBAL(kThreads) other_number_of_threads(In<int32_t>, Out<int32_t>) {
  hidp::block_barrier(2 * kThreads);  //~ divergence
}
ENTRY(other_number_of_threads) { return run(call, other_number_of_threads); }

HIDP_GLOBAL(kThreads) groups_at_their_own_pace(In<int32_t> x, Out<int32_t> y) {
  const uint32_t i = hidp::thread_rank();
  const uint32_t mask = 0xfu << (i % 32 / 4 * 4);
  int32_t sum = 0;
  for (uint32_t turn = 0; turn < i / 4; ++turn) {
    sum += hidp::shuffle(mask, hidp::load(x + i), i % 32 ^ 1);
    hidp::warp_barrier(mask);
    if (hidp::warp_any(mask, sum > 100)) break;
  }
  hidp::store(y + i, sum);
}
ENTRY(groups_at_their_own_pace) { return run(call, groups_at_their_own_pace); }

// Eight lanes, at their own pace, and then the warp.
HIDP_GLOBAL(kThreads) groups_of_groups(In<int32_t> x, Out<int32_t> y) {
  const uint32_t i = hidp::thread_rank();
  const uint32_t mask = 0xffu << (i % 32 / 8 * 8);
  int32_t sum = hidp::load(x + i);
  for (uint32_t turn = 0; turn <= i / 8; ++turn) sum += hidp::shuffle(mask, sum, i % 32 ^ 1);
  sum = hidp::shuffle(~0u, sum, i % 32 ^ 8);
  hidp::store(y + i, sum);
}
ENTRY(groups_of_groups) { return run(call, groups_of_groups); }

// --- shuffles

HIDP_GLOBAL(kThreads) from_a_lane_outside(In<int32_t>, Out<int32_t>) {
  const uint32_t i = hidp::thread_rank() % 32;
  hidp::shuffle(0xfu << (i / 4 * 4), i, (i + 4) % 32);  //~ inactive lane
}
ENTRY(from_a_lane_outside) { return run(call, from_a_lane_outside); }

HIDP_GLOBAL(kThreads) in_somebody_elses_mask(In<int32_t>, Out<int32_t>) {
  const uint32_t i = hidp::thread_rank() % 32;
  hidp::shuffle(0xfu << ((i + 4) % 32 / 4 * 4), i, i);  //~ inactive lane
}
ENTRY(in_somebody_elses_mask) { return run(call, in_somebody_elses_mask); }

HIDP_GLOBAL(kThreads) turns_round(In<int32_t> x, Out<int32_t> y) {
  const uint32_t i = hidp::thread_rank();
  const Pair pair = {hidp::load(x + i), 3};
  hidp::store(y + i, hidp::shuffle(~0u, pair, 31 - i % 32).first);
}
ENTRY(turns_round) { return run(call, turns_round); }

// --- barriers over the grid

struct Arrays {
  Any<int32_t> x, y;
};

int32_t run_together(hidp_call *call, void (*kernel)(const Arrays)) {
  const Arrays arrays = {hidp::place_at<int32_t>(call->params[0]), hidp::place_at<int32_t>(call->params[1])};
  return hidp::start_together(kernel, 3, kThreads, nullptr, arrays);
}

// Written by one block, then read by another; then written by a third.
HIDP_GLOBAL(kThreads) one_block_after_the_other(HIDP_PARAMETER(Arrays) arrays) {
  const uint32_t i = hidp::thread_rank();
  for (uint32_t turn = 0; turn < 3; ++turn) {
    if (hidp::block_rank(0) == turn) hidp::store(arrays.y + i, turn == 0 ? 1 : hidp::load(arrays.y + i) + 1);
    if (turn == 2) return;
    hidp::grid_barrier(Any<uint32_t>{}, 0, kThreads);
    hidp::load(arrays.y + i);
    hidp::grid_barrier(Any<uint32_t>{}, 0, kThreads);
  }
}
ENTRY(one_block_after_the_other) { return run_together(call, one_block_after_the_other); }

HIDP_GLOBAL(kThreads) too_early(HIDP_PARAMETER(Arrays) arrays) {
  const uint32_t i = hidp::thread_rank();
  if (hidp::block_rank(0) == 0) hidp::store(arrays.y + i, hidp::load(arrays.x + i));
  hidp::grid_barrier(Any<uint32_t>{}, 0, kThreads);
  if (hidp::block_rank(0) == 1) hidp::store(arrays.y + i, 5);  //~? data race
  if (hidp::block_rank(0) == 2) hidp::load(arrays.y + i);  //~? data race
}
ENTRY(too_early) { return run_together(call, too_early); }

HIDP_GLOBAL(kThreads) a_block_leaves(HIDP_PARAMETER(Arrays)) {
  if (hidp::block_rank(0) == 1) return;
  hidp::grid_barrier(Any<uint32_t>{}, 0, kThreads);  //~ divergence
}
ENTRY(a_block_leaves) { return run_together(call, a_block_leaves); }

HIDP_GLOBAL(kThreads) not_all_blocks_run(In<int32_t>, Out<int32_t>) {
  hidp::grid_barrier(Any<uint32_t>{}, 0, kThreads);  //~ divergence
}
ENTRY(not_all_blocks_run) { return run(call, not_all_blocks_run, 2); }

// --- others

HIDP_GLOBAL(kThreads) waits_for_nobody(In<int32_t>, Out<int32_t> y) {
  hidp::store_relaxed(y, 0);
  while (hidp::load_relaxed(y) == 0) {  //~ endless
  }
}
ENTRY(waits_for_nobody) { return run(call, waits_for_nobody); }

HIDP_GLOBAL(kThreads) waits_for_another_block(In<int32_t>, Out<int32_t> y) {
  if (hidp::thread_rank() != 0) return;
  if (hidp::block_rank(0) == 0) hidp::store_relaxed(y, 1);
  while (hidp::load_relaxed(y) == 0) {
  }
}
ENTRY(waits_for_another_block) {
  hidp::set_zero(call->device->stream, hidp::place_at<int32_t>(call->params[1]), 1);
  return run(call, waits_for_another_block, 2);
}

HIDP_GLOBAL(kThreads) shares_too_much(In<int32_t>, Out<int32_t>) {
  HIDP_SHARED(int32_t, most, 12 << 10);
  HIDP_SHARED(int32_t, more, 1);  //~ shared memory
  if (hidp::thread_rank() == 0) hidp::store(most, 1), hidp::store(more, 1);
}
ENTRY(shares_too_much) { return run(call, shares_too_much); }

}  // namespace

// Not among those above: see the tests.
HIDP_GLOBAL(kThreads) from_another_file(In<int32_t>, Out<int32_t> y) {
#line 7 "rows.hdp"
  hidp::store(y, 1);
}
HIDP_ENTRY HIDP_SYMBOL(hidp2_from_another_file)(hidp_call *call) { return run(call, from_another_file); }
