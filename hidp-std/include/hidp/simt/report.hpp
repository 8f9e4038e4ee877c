// What is wrong with the kernels that ran, as text for who wrote them.
#pragma once

#include <stddef.h>

#include <string>
#include <vector>

#include <hidp/simt/linkage.hpp>
#include <hidp/simt/place.hpp>

HIDP_EXECUTOR_BEGIN

// Thrown through host functions where going on makes no sense. What happened stands in the reports.
struct Stopped {};

class Reports {
 public:
  static constexpr size_t kMost = 10;

  // One of each kind for each place. Whether there is room for more.
  bool add(const char *kind, const Place &place, const std::string &what) {
    const std::string head = text(place) + ": " + kind + ": ";
    for (const std::string &known : all_)
      if (known.compare(0, head.size(), head) == 0) return all_.size() < kMost;
    all_.push_back(head + what);
    return all_.size() < kMost;
  }
  const std::vector<std::string> &all() const { return all_; }
  void forget() { all_.clear(); }

 private:
  std::vector<std::string> all_;
};

HIDP_EXECUTOR_END
