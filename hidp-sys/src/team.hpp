// The threads of a process that help with launches.
//
// One team serves all contexts, so that a program which has many, or calls from many threads, does not have as many threads as both
// together ask for. Helpers are started for contexts and end with the last of them. A forked process has none of its parent's.
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

  // Sees to it that there are `wanted` helpers. 0, or the number of the system's error: then none was started, and `wanted` is as many as
  // there could be. Not from several threads at once.
  int start(uint32_t &wanted, uint32_t processors);
  // Ends them all. Not while anybody calls.
  void stop();
  // In a forked process, before anything else: its helpers are not there.
  void forget();

  // body(state, 0) here, and on helpers body(state, member) for members 1 to wanted - 1, for those who come in time. Returns when all that
  // began are done. A brief launch leaves those alone who sleep, unless launches follow each other closely.
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
  // When a brief launch last met somebody who sleeps.
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
