// One thread of the team: how it gets jobs, sleeps, and is waited for.
//
// The mailbox holds at most one invitation: the inviter puts it there (null to invitation), and withdraws it when the job is done
// (invitation to null) unless the helper has taken it (likewise). So a job waits only for those helpers that began it, and may be on its
// caller's stack.
//
// No helper sleeps through an invitation. The helper sets `asleep`, then reads the mailbox; the inviter fills the mailbox, then reads
// `asleep`. All four are sequentially consistent, so one of the two sees what the other wrote: either the helper does not sleep, or it is
// woken.
//
// No waiter sleeps through the end of a job. The helper clears `current`, increments `finished`, then reads `waiters`; a waiter increments
// `waiters`, reads `finished`, then reads `current`, and sleeps on the count that it read. If the helper saw no waiter, the waiter's read of
// `current` comes later and sees that the helper left. If it saw one, it wakes it; a waiter that read the old count and does not sleep yet
// finds the count changed when it tries to.
#pragma once

#include <atomic>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "job.hpp"
#include "spin.hpp"
#include "word.hpp"

namespace hidp_core {

struct alignas(128) Helper {
  std::atomic<Invitation> mailbox{0};
  // The job that it works on, or is about to accept.
  std::atomic<Invitation> current{0};
  Word asleep;  // 1 while it sleeps, or is about to
  Word finished;  // number of jobs it left
  std::atomic<uint32_t> waiters{0};
  // Whether there is a processor for it. Others sleep at once.
  bool spins = false;
  pthread_t thread{};

  bool is_idle() const {
    return current.load(std::memory_order_relaxed) == 0 && mailbox.load(std::memory_order_relaxed) == 0;
  }
  // Whether there was room in the mailbox.
  bool invite(Invitation invitation) {
    Invitation none = 0;
    return mailbox.compare_exchange_strong(none, invitation, std::memory_order_seq_cst);
  }
  bool sleeps() const { return asleep.load() != 0; }
  void wake() {
    if (asleep.exchange(0) != 0) asleep.wake();
  }
  // Whether the helper had not begun.
  bool take_back(Invitation invitation) {
    return mailbox.compare_exchange_strong(invitation, 0, std::memory_order_seq_cst);
  }
  // After `take_back` failed.
  void wait_until_left(Invitation invitation) {
    const auto left = [&] { return current.load(std::memory_order_acquire) != invitation; };
    if (Spin().until(left)) return;
    waiters.fetch_add(1, std::memory_order_seq_cst);
    for (;;) {
      const uint32_t count = finished.load();
      if (current.load(std::memory_order_seq_cst) != invitation) break;
      finished.wait(count);
    }
    waiters.fetch_sub(1, std::memory_order_seq_cst);
  }

  // The thread's loop, until it is told to stop.
  void run() {
    for (;;) {
      const Invitation invitation = mailbox.load(std::memory_order_acquire);
      if (invitation == kStop) return;
      if (invitation != 0) accept(invitation);
      else if (!spins || !Spin().until([this] { return mailbox.load(std::memory_order_relaxed) != 0; })) sleep();
    }
  }

 private:
  void accept(Invitation invitation) {
    // Before it is taken: an inviter that fails to take it back must see this.
    current.store(invitation, std::memory_order_seq_cst);
    HIDP_STEP();
    Invitation expected = invitation;
    if (mailbox.compare_exchange_strong(expected, 0, std::memory_order_seq_cst)) {
      HIDP_STEP();
      Job &job = job_of(invitation);
      job.wake_more();
      job.body(job.state, member_of(invitation));
    }
    // From here on the job may be gone.
    current.store(0, std::memory_order_seq_cst);
    finished.add(1);
    if (waiters.load(std::memory_order_seq_cst) != 0) finished.wake();
  }
  void sleep() {
    asleep.exchange(1);
    while (mailbox.load(std::memory_order_seq_cst) == 0 && asleep.load() != 0) asleep.wait(1);
    asleep.exchange(0);
  }
};

}  // namespace hidp_core
