// What a launch asks the team to do, and who is asked.
#pragma once

#include <atomic>
#include <stddef.h>
#include <stdint.h>

#include "hidp_abi.h"

namespace hidp_core {

// The address of a job, and in its low bits which member is invited. 0 is none.
using Invitation = uintptr_t;

constexpr size_t kMostMembers = 1024;
constexpr size_t kMostHelpers = kMostMembers - 1;
// The helper's thread shall end. No job has this address.
constexpr Invitation kStop = 1;

// On the stack of who calls. Its address leaves room for the number of a member.
struct alignas(kMostMembers) Job {
  Job(hidp_team_body does, void *with) : body(does), state(with) {}

  const hidp_team_body body;
  void *const state;
  // Helpers that were asleep when they were invited. Whoever begins wakes some more of them.
  std::atomic<uint32_t> woken{0};
  // How many they are; 0 until the list is complete.
  std::atomic<uint32_t> sleeping{0};
  uint16_t sleepers[kMostHelpers];

  Invitation invitation(size_t member) const { return reinterpret_cast<uintptr_t>(this) | member; }
  // Wakes as many as one should that has work to do.
  void wake_more();
};

inline Job &job_of(Invitation invitation) { return *reinterpret_cast<Job *>(invitation & ~(kMostMembers - 1)); }
inline int64_t member_of(Invitation invitation) { return static_cast<int64_t>(invitation & (kMostMembers - 1)); }

}  // namespace hidp_core
