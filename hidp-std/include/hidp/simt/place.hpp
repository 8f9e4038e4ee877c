// Where in the program something is done: generated code says it by `#line`, so it is a line of a `.hdp` file.
#pragma once

#include <stdint.h>

#include <cstring>
#include <string>
#include <vector>

#include <hidp/simt/linkage.hpp>

HIDP_EXECUTOR_BEGIN

struct Place {
  const char *file;
  int line;
  // The number that generated code gives it, in the order of its text; 0 is none.
  uint32_t site;

  // As an argument it is the place of the call.
  static constexpr Place here(uint32_t site = 0, const char *file = __builtin_FILE(), int line = __builtin_LINE()) { return {file, line, site}; }
};

inline std::string text(const Place &place) {
  const char *name = std::strrchr(place.file, '/');
  return std::string(name == nullptr ? place.file : name + 1) + ":" + std::to_string(place.line);
}

// Whether it is in a header of the run time.
inline bool in_run_time(const char *file) {
  const char *end = std::strrchr(file, '.');
  return end != nullptr && (std::strcmp(end, ".cuh") == 0 || std::strcmp(end, ".hpp") == 0);
}

// Numbers for places, so that a record of an access is small.
class Places {
 public:
  // No place has this number.
  static constexpr uint32_t kNone = ~uint32_t{0};

  uint32_t number(const Place &place) {
    if (place.file != last_) find(place.file);
    return last_number_ << kLineBits | (static_cast<uint32_t>(place.line) & kMostLines);
  }
  // Whether the place numbered last is in a header of the run time.
  bool last_in_run_time() const { return last_in_run_time_; }
  Place at(uint32_t number) const { return {files_[number >> kLineBits], static_cast<int>(number & kMostLines), 0}; }

 private:
  static constexpr int kLineBits = 20;
  static constexpr uint32_t kMostLines = (uint32_t{1} << kLineBits) - 1;

  void find(const char *file) {
    last_ = file;
    last_in_run_time_ = in_run_time(file);
    for (last_number_ = 0; last_number_ < files_.size(); ++last_number_)
      if (files_[last_number_] == file || std::strcmp(files_[last_number_], file) == 0) return;
    files_.push_back(file);
  }

  std::vector<const char *> files_;
  const char *last_ = nullptr;
  bool last_in_run_time_ = false;
  uint32_t last_number_ = 0;
};

HIDP_EXECUTOR_END
