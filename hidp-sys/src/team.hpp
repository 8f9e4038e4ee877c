// The threads of a process that help with launches.
//
// One team serves all contexts, so that a program with many contexts, or with calls from many threads, does not multiply its threads.
// Helpers are started for contexts and end with the last of them. A forked process has none of its parent's.
#pragma once

#include <atomic>
#include <stdint.h>

#include "hidp_abi.h"
#include "job.hpp"
#include "spin.hpp"

namespace hidp_core {

struct Helper;

class Team {
 public:
  constexpr Team() = default;

  // Starts helpers until there are `wanted`. Returns 0, or the system's error number: then none was started, and `wanted` is the number that
  // is possible. Not from several threads at once.
  int start(uint32_t &wanted, uint32_t processors);
  // Ends all helpers. Not during a call.
  void stop();
  // In a forked process, before anything else: it has no helpers.
  void forget();

  // Calls body(state, 0) here, and on helpers body(state, member) for members 1 to wanted - 1, if they come in time. Returns when all that
  // began are done. A brief launch does not wake sleeping helpers, unless launches follow each other closely.
  void run(int64_t wanted, bool brief, hidp_team_body body, void *state);
  void wake(uint16_t number);

 private:
  struct Invited;

  int start_one(uint32_t number, uint32_t processors);
  void stop_from(uint32_t first, uint32_t end);

  void invite(Job &job, uint32_t members, bool brief, Invited &invited);
  bool one_follows_another();
  void invite_one(Job &job, uint32_t number, Invited &invited);

  std::atomic<uint32_t> running_{0};
  // When a brief launch last met a sleeping helper.
  std::atomic<int64_t> met_sleeper_{-kSpinNanoseconds};
  // Those from `running_` on are null, or left from the process that this one was forked from.
  Helper *helper_[kMostHelpers] = {};
};

// On how many threads launches of the calling thread ran: the most of any since it was last asked.
void note_threads(uint32_t came);
uint32_t exchange_threads(uint32_t from);

// Never destroyed: helpers may sleep in it while the process ends.
extern Team team;

}  // namespace hidp_core
