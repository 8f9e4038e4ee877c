// Makes recorded calls of generated code and compares what comes of them: `replay LIBRARY TABLE ANSWERS THREADS…`.
//
// For machines without Rust and the compiler. ANSWERS is a file that `answers/mod.rs` describes. A line of TABLE is `entry NAME`,
// `plan NAME SYMBOL` of the entry before, or `site KIND LINE COLUMN` of it, in the order of their numbers. Each call is made with every
// plan and each number of threads. Ends with 1, after a line for each call that went wrong.

#include <dlfcn.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include "hidp_abi.h"

namespace {

using Bytes = std::vector<unsigned char>;

[[noreturn]] void fail(const std::string &why) {
  std::fprintf(stderr, "%s\n", why.c_str());
  std::exit(2);
}

struct Leaf {
  uint64_t offset;
  unsigned char code;
  size_t size() const { return code == 0x80 ? 4 : code == 0x81 ? 8 : code; }
  bool is_float() const { return code >= 0x80; }
};

struct Argument {
  uint64_t size;
  std::vector<Leaf> leaves;
  Bytes before;
  bool is_known;
  Bytes after;
};

struct Call {
  std::string entry;
  bool exact;
  std::vector<int64_t> dims;
  std::vector<Argument> args;
  bool faults;
  std::vector<int64_t> place;  // kind, line, column
  std::vector<int64_t> values;
};

class Reader {
 public:
  explicit Reader(Bytes file) : file_(std::move(file)) {}

  std::vector<Call> calls() {
    const Bytes magic = take(8);
    if (std::memcmp(magic.data(), "hidpans2", 8) != 0) fail("no file of answers");
    std::vector<Call> calls(number());
    for (Call &call : calls) call = one();
    if (at_ != file_.size()) fail("a damaged file of answers");
    return calls;
  }

 private:
  Bytes take(uint64_t count) {
    if (count > file_.size() - at_) fail("a damaged file of answers");
    const auto first = file_.begin() + static_cast<std::ptrdiff_t>(at_);
    at_ += count;
    return Bytes(first, first + static_cast<std::ptrdiff_t>(count));
  }
  unsigned char byte() { return take(1)[0]; }
  uint64_t number() {
    const Bytes bytes = take(8);
    uint64_t value = 0;
    for (int i = 7; i >= 0; --i) value = value << 8 | bytes[static_cast<size_t>(i)];
    return value;
  }
  std::vector<int64_t> numbers() {
    std::vector<int64_t> numbers(number());
    for (int64_t &value : numbers) value = static_cast<int64_t>(number());
    return numbers;
  }
  Call one() {
    Call call{};
    const Bytes name = take(number());
    call.entry.assign(name.begin(), name.end());
    call.exact = byte() != 0;
    call.dims = numbers();
    call.args.resize(number());
    for (Argument &arg : call.args) arg = argument();
    call.faults = byte() != 0;
    if (call.faults) {
      call.place = numbers();
      call.values = numbers();
      if (call.place.size() != 3) fail("a damaged file of answers");
    }
    return call;
  }
  Argument argument() {
    Argument arg{};
    arg.size = number();
    arg.leaves.resize(number());
    for (Leaf &leaf : arg.leaves) {
      leaf.offset = number();
      leaf.code = byte();
    }
    if (byte() != 0) numbers();  // the shape
    numbers();                   // the value of a scalar
    arg.before = elements(arg);
    arg.is_known = byte() != 0;
    if (arg.is_known) arg.after = elements(arg);
    return arg;
  }
  Bytes elements(const Argument &arg) {
    const uint64_t count = number();
    Bytes elements(count * arg.size);
    for (const Leaf &leaf : arg.leaves) {
      const Bytes plane = this->plane(leaf.size());
      if (plane.size() != count * leaf.size()) fail("a damaged file of answers");
      for (uint64_t i = 0; i < count; ++i) {
        std::memcpy(&elements[i * arg.size + leaf.offset], &plane[i * leaf.size()], leaf.size());
      }
    }
    return elements;
  }
  Bytes plane(size_t size) {
    const unsigned char how = byte();
    Bytes plane;
    if (how == 0) {
      const Bytes bytes = take(number());
      const size_t count = bytes.size() / size;
      for (size_t i = 0; i < count; ++i) {
        for (size_t b = 0; b < size; ++b) plane.push_back(bytes[b * count + i]);
      }
    } else if (how == 1) {
      const Bytes different = take(number()), codes = take(number());
      for (const unsigned char code : codes) {
        if ((code + size_t{1}) * size > different.size()) fail("a damaged file of answers");
        plane.insert(plane.end(), &different[code * size], &different[code * size] + size);
      }
    } else {
      const uint64_t before = number();
      if (how != 2 || before >= planes_.size()) fail("a damaged file of answers");
      return planes_[before];
    }
    planes_.push_back(plane);
    return plane;
  }

  Bytes file_;
  size_t at_ = 0;
  std::vector<Bytes> planes_;
};

struct Entry {
  std::vector<std::pair<std::string, hidp_entry>> plans;
  // Values of what is chosen per call. It gets a call's value as one more dimension.
  std::vector<std::vector<int64_t>> settings;
  std::vector<std::vector<int64_t>> sites;
};

std::map<std::string, Entry> table(const char *path, void *library) {
  std::ifstream file(path);
  std::map<std::string, Entry> entries;
  Entry *entry = nullptr;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string word, name, symbol;
    words >> word;
    if (word == "entry" && words >> name) {
      entry = &entries[name];
    } else if (entry && word == "plan" && words >> name >> symbol) {
      void *const found = dlsym(library, symbol.c_str());
      if (!found) fail("there is no symbol " + symbol);
      entry->plans.emplace_back(name, reinterpret_cast<hidp_entry>(found));
    } else if (entry && word == "setting") {
      const std::vector<int64_t> values(std::istream_iterator<int64_t>(words), {});
      if (values.empty()) fail("a damaged table: " + line);
      entry->settings.push_back(values);
    } else if (std::vector<int64_t> site(3); entry && word == "site" && words >> site[0] >> site[1] >> site[2]) {
      entry->sites.push_back(site);
    } else {
      fail("a damaged table: " + line);
    }
  }
  return entries;
}

// An argument's memory between guards.
constexpr size_t GUARD = 128;
constexpr unsigned char PATTERN = 0xA5;

class Block {
 public:
  explicit Block(const Bytes &before) : bytes_(before.size()), readable_(before.size() < 64 ? 64 : before.size()) {
    const size_t all = (readable_ + 2 * GUARD + 63) / 64 * 64;
    memory_ = static_cast<unsigned char *>(std::aligned_alloc(64, all));
    if (!memory_) fail("no memory");
    std::memset(memory_, PATTERN, all);
    std::memset(memory_ + GUARD, 0, readable_);
    if (bytes_) std::memcpy(memory_ + GUARD, before.data(), bytes_);
  }
  Block(Block &&other) noexcept : memory_(other.memory_), bytes_(other.bytes_), readable_(other.readable_) { other.memory_ = nullptr; }
  Block(const Block &) = delete;
  Block &operator=(const Block &) = delete;
  ~Block() { std::free(memory_); }
  unsigned char *address() const { return memory_ + GUARD; }
  bool is_intact() const {
    for (size_t i = 0; i < GUARD; ++i) {
      if (memory_[i] != PATTERN || memory_[GUARD + readable_ + i] != PATTERN) return false;
    }
    for (size_t i = bytes_; i < readable_; ++i) {
      if (address()[i] != 0) return false;
    }
    return true;
  }

 private:
  unsigned char *memory_;
  size_t bytes_, readable_;
};

double float_at(const Leaf &leaf, const unsigned char *bytes) {
  if (leaf.code == 0x80) {
    float value;
    std::memcpy(&value, bytes, 4);
    return value;
  }
  double value;
  std::memcpy(&value, bytes, 8);
  return value;
}

// As `answers::compare`: another order of sums may change floats by little.
std::string difference(const Argument &arg, const unsigned char *found, bool exact) {
  const uint64_t count = arg.after.size() / arg.size;
  double scale = exact ? 0.0 : 1.0;
  for (uint64_t i = 0; i < count && !exact; ++i) {
    for (const Leaf &leaf : arg.leaves) {
      if (!leaf.is_float()) continue;
      const double value = std::fabs(float_at(leaf, &arg.after[i * arg.size + leaf.offset]));
      if (std::isfinite(value) && value > scale) scale = value;
    }
  }
  for (uint64_t i = 0; i < count; ++i) {
    for (const Leaf &leaf : arg.leaves) {
      const unsigned char *const expected = &arg.after[i * arg.size + leaf.offset];
      const unsigned char *const there = found + i * arg.size + leaf.offset;
      if (std::memcmp(expected, there, leaf.size()) == 0) continue;
      if (leaf.is_float()) {
        const double a = float_at(leaf, expected), b = float_at(leaf, there);
        const double epsilon = leaf.code == 0x80 ? 1e-5 : 1e-12;
        if (std::isnan(a) && std::isnan(b)) continue;
        if (scale > 0.0 && (a == b || std::fabs(a - b) <= scale * epsilon)) continue;
        return "element " + std::to_string(i) + " is " + std::to_string(b) + ", but must be " + std::to_string(a);
      }
      return "element " + std::to_string(i) + " is another";
    }
  }
  return {};
}

// What went wrong with a call; nothing if all is well.
std::string made(const Call &call, const Entry &entry, hidp_entry function, hidp_context *context) {
  std::vector<Block> blocks;
  std::vector<void *> params;
  for (const Argument &arg : call.args) {
    blocks.emplace_back(arg.before);
    params.push_back(blocks.back().address());
  }
  hidp_call made{};
  made.context = context;
  made.params = params.data();
  // Other values for other sizes.
  const uint64_t number = std::accumulate(call.dims.begin(), call.dims.end(), uint64_t{0});
  std::vector<int64_t> dims = call.dims;
  for (const std::vector<int64_t> &values : entry.settings) dims.push_back(values[number % values.size()]);
  made.dims = dims.data();
  const int32_t result = function(&made);
  for (const Block &block : blocks) {
    if (!block.is_intact()) return "wrote outside an argument";
  }
  if (call.faults) {
    if (result != HIDP_FAULT) return "no fault";
    if (made.fault.site >= entry.sites.size() || entry.sites[made.fault.site] != call.place) return "a fault elsewhere";
    const std::vector<int64_t> values(made.fault.values, made.fault.values + made.fault.count);
    return values == call.values ? "" : "other values of the fault";
  }
  if (result != HIDP_OK) return "ended with " + std::to_string(result);
  for (size_t i = 0; i < call.args.size(); ++i) {
    if (!call.args[i].is_known) continue;
    const std::string why = difference(call.args[i], blocks[i].address(), call.exact);
    if (!why.empty()) return "argument " + std::to_string(i) + ": " + why;
  }
  return {};
}

}  // namespace

int main(int count, char **words) {
  if (count < 5) fail("replay LIBRARY TABLE ANSWERS THREADS…");
  void *const library = dlopen(words[1], RTLD_NOW | RTLD_GLOBAL);
  if (!library) fail(dlerror());
  std::map<std::string, Entry> entries = table(words[2], library);
  std::ifstream file(words[3], std::ios::binary);
  const std::vector<Call> calls = Reader(Bytes(std::istreambuf_iterator<char>(file), {})).calls();
  size_t all = 0, wrong = 0;
  for (int word = 4; word < count; ++word) {
    const int threads = std::atoi(words[word]);
    if (threads < 1) fail("how many threads?");
    hidp_context *const context = hidp2_context_new(static_cast<uint32_t>(threads));
    uint32_t available = 0;
    if (!context || hidp2_context_start(context, &available) != 0) fail("no context with so many threads");
    for (size_t number = 0; number < calls.size(); ++number) {
      const auto entry = entries.find(calls[number].entry);
      if (entry == entries.end()) fail("the table has no entry " + calls[number].entry);
      if (entry->second.plans.empty()) fail("no plan of " + calls[number].entry);
      for (const auto &[plan, function] : entry->second.plans) {
        const std::string why = made(calls[number], entry->second, function, context);
        ++all;
        if (why.empty()) continue;
        ++wrong;
        std::printf("%s, plan %s, call %zu, %d threads: %s\n", calls[number].entry.c_str(), plan.c_str(), number, threads, why.c_str());
      }
    }
    hidp2_context_free(context);
  }
  std::printf("%zu calls, %zu wrong\n", all, wrong);
  return wrong == 0 && all > 0 ? 0 : 1;
}
