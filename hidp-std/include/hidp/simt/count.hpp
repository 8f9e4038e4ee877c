// What the warps of kernels ask for: the requests, sectors and turns of banks that a GPU would make of the lanes' accesses.
//
// Lanes that come to the same access together make one request. Costs follow from addresses alone: a sector of 32 bytes counts once
// for a request, however many lanes want something of it; shared memory has 32 banks of words, each of which gives one word a turn.
// What a compiler for GPUs merges, moves or spills is not in it.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <hidp/simt/linkage.hpp>
#include <hidp/simt/place.hpp>

HIDP_EXECUTOR_BEGIN

constexpr uint32_t kSector = 32, kBanks = 32, kBankBytes = 4;

// Stands for no access: a lane that waits at the beginning of an iteration.
constexpr uint32_t kIterates = ~uint32_t{0};

// What lanes ask for at a place.
struct Wish {
  Place place;
  // Place in the program: lanes that are at a lower one go on first.
  uint64_t order;
  // HIDP_COUNTED_LOAD and its like, or kIterates.
  uint32_t what;
  bool shared;
  uint32_t bytes;
  uintptr_t address;
  const char *memory;

  // Whether both are parts of one request.
  bool joins(const Wish &other) const {
    return order == other.order && what == other.what && shared == other.shared && bytes == other.bytes && place.line == other.place.line &&
           place.site == other.place.site;
  }
};

// A lane of a request: its number in the warp, and where its bytes begin.
struct Asking {
  uint32_t lane;
  uintptr_t address;
};

using Sectors = std::unordered_set<uintptr_t>;

// Calls note(sector) for each sector of these bytes.
template <class Note>
void each_sector(uintptr_t address, uint32_t bytes, Note note) {
  for (uintptr_t sector = address / kSector; sector <= (address + std::max(bytes, 1u) - 1) / kSector; ++sector) note(sector);
}

// Turns that banks need for a request, and those that would do without conflicts. Of what is wider than a bank's word as many
// lanes as fill all banks come at a time.
struct Turns {
  uint32_t needed = 0, least = 0;

  Turns(const std::vector<Asking> &lanes, uint32_t bytes) {
    const uint32_t words = (std::max(bytes, 1u) + kBankBytes - 1) / kBankBytes;
    uint32_t at_a_time = kBanks;
    for (uint32_t room = 1; room < words && at_a_time > 1; room *= 2) at_a_time /= 2;
    for (size_t begin = 0, end; begin < lanes.size(); begin = end) {
      std::unordered_set<uintptr_t> seen;
      uint32_t of_bank[kBanks] = {}, most = 0;
      const uint32_t part = lanes[begin].lane / at_a_time;
      for (end = begin; end < lanes.size() && lanes[end].lane / at_a_time == part; ++end) {
        for (uint32_t word = 0; word < words; ++word) {
          const uintptr_t found = lanes[end].address / kBankBytes + word;
          if (seen.insert(found).second) most = std::max(most, ++of_bank[found % kBanks]);
        }
      }
      needed += most;
      // More words than banks need several turns whatever their places.
      least += (words + kBanks - 1) / kBanks;
    }
  }
};

// What is asked for at one place of a kernel.
struct Site {
  hidp_site_counts counts = {};
  std::string memory;
  // Of the launch that runs.
  Sectors of_launch;
  std::unordered_map<uintptr_t, uint64_t> updates;
};

struct KernelSite {
  uint32_t site;
  std::string file;
  int line;
  uint32_t what, bytes;
  bool shared;

  bool operator<(const KernelSite &other) const {
    return std::tie(site, file, line, what, bytes, shared) < std::tie(other.site, other.file, other.line, other.what, other.bytes, other.shared);
  }
};

struct Kernel {
  hidp_kernel_counts counts = {};
  std::string name;
  std::map<KernelSite, Site> sites;
  Sectors of_launch;
};

// Sectors that a block has asked for until now: of each place, and of all together.
struct BlockSectors {
  std::unordered_map<Site *, Sectors> of_sites;
  Sectors all;
};

// The counts of all kernels that ran since the last call began.
class Counts {
 public:
  void forget() {
    kernels_.clear();
    kernel_ = nullptr;
    next_.clear();
  }
  // The launch after this, and after those that were announced, is of the kernel of this name.
  void announce(const std::string &name) { next_.push_back(name); }

  void begin_launch(uint32_t blocks, uint32_t threads) {
    kernel_ = find(next_.empty() ? "" : next_.front());
    if (!next_.empty()) next_.pop_front();
    kernel_->counts.launches += 1;
    kernel_->counts.blocks += blocks;
    kernel_->counts.threads += uint64_t{blocks} * threads;
  }
  void end_launch() {
    for (auto &[key, site] : kernel_->sites) {
      site.counts.launch_sectors += site.of_launch.size();
      site.of_launch.clear();
      site.counts.updated += site.updates.size();
      for (const auto &[address, times] : site.updates) site.counts.most_updates = std::max(site.counts.most_updates, times);
      site.updates.clear();
    }
    kernel_->counts.launch_sectors += kernel_->of_launch.size();
    kernel_->of_launch.clear();
  }
  void end_block(BlockSectors &seen) {
    for (const auto &[site, sectors] : seen.of_sites) site->counts.block_sectors += sectors.size();
    kernel_->counts.block_sectors += seen.all.size();
    seen = {};
  }

  // A request of these lanes, in increasing order, of a warp that has so many.
  void request(const Wish &wish, const std::vector<Asking> &lanes, uint32_t of_warp, BlockSectors &block) {
    Site &site = at(wish);
    hidp_site_counts &counts = site.counts;
    const Turns turns(lanes, wish.bytes);
    Sectors sectors;
    std::unordered_map<uintptr_t, uint32_t> places;
    uint32_t clashes = 0;
    for (const Asking &lane : lanes) {
      clashes = std::max(clashes, ++places[lane.address]);
      if (!wish.shared) each_sector(lane.address, wish.bytes, [&](uintptr_t sector) { sectors.insert(sector); });
      if (wish.what == HIDP_COUNTED_UPDATE) site.updates[lane.address] += 1;
    }
    const uint64_t fewest = std::max<uint64_t>(1, (places.size() * wish.bytes + kSector - 1) / kSector);
    add(counts, static_cast<uint32_t>(lanes.size()), of_warp, wish.shared ? turns.needed : static_cast<uint32_t>(sectors.size()),
        wish.shared ? turns.least : fewest);
    if (wish.what == HIDP_COUNTED_UPDATE) counts.clashes += clashes;
    for (const uintptr_t sector : sectors) {
      site.of_launch.insert(sector);
      kernel_->of_launch.insert(sector);
      block.of_sites[&site].insert(sector);
      block.all.insert(sector);
    }
  }
  // Lanes that have come together to exchange so many bytes each, or none.
  void meeting(const Place &place, uint32_t site, uint32_t what, uint32_t lanes, uint32_t of_all, size_t bytes) {
    const Wish wish = {{place.file, place.line, site}, 0, what, false, static_cast<uint32_t>(bytes), 0, ""};
    const uint64_t words = std::max<uint64_t>(1, (bytes + kBankBytes - 1) / kBankBytes);
    add(at(wish).counts, lanes, of_all, words, words);
  }

  // Valid until the next call. In the order of names and places.
  const std::vector<hidp_kernel_counts> &told() {
    told_.clear();
    told_sites_.clear();
    told_sites_.resize(kernels_.size());
    size_t number = 0;
    for (auto &[name, kernel] : kernels_) {
      for (auto &[key, site] : kernel.sites) {
        hidp_site_counts &row = told_sites_[number].emplace_back(site.counts);
        row.file = key.file.c_str();
        row.memory = site.memory.c_str();
      }
      hidp_kernel_counts &row = told_.emplace_back(kernel.counts);
      row.name = name.c_str();
      row.sites = told_sites_[number].data();
      row.site_count = told_sites_[number++].size();
    }
    return told_;
  }

 private:
  Kernel *find(const std::string &name) { return &kernels_[name]; }

  Site &at(const Wish &wish) {
    const KernelSite key = {wish.place.site, wish.place.file, wish.place.line, wish.what, wish.bytes, wish.shared};
    const auto [found, is_new] = kernel_->sites.try_emplace(key);
    if (is_new) {
      hidp_site_counts &counts = found->second.counts;
      counts.line = wish.place.line;
      counts.site = wish.place.site;
      counts.what = wish.what;
      counts.shared = wish.shared;
      counts.bytes = wish.bytes;
      found->second.memory = wish.memory;
    }
    return found->second;
  }

  static void add(hidp_site_counts &counts, uint32_t lanes, uint32_t of_all, uint64_t cost, uint64_t least) {
    counts.requests += 1;
    counts.lanes += lanes;
    counts.idle += of_all - lanes;
    counts.cost += cost;
    counts.least += least;
    if (lanes < counts.widest.lanes) return;
    if (lanes > counts.widest.lanes) counts.widest = {lanes, 0, cost, 0};
    counts.widest.requests += 1;
    counts.widest.lowest = std::min(counts.widest.lowest, cost);
    counts.widest.highest = std::max(counts.widest.highest, cost);
  }

  std::map<std::string, Kernel> kernels_;
  Kernel *kernel_ = nullptr;
  std::deque<std::string> next_;
  std::vector<hidp_kernel_counts> told_;
  std::vector<std::vector<hidp_site_counts>> told_sites_;
};

// The name of a kernel out of what a compiler calls a function that has it as the argument `Kernel` of its template.
inline std::string kernel_name(const char *function) {
  std::string name = function;
  const size_t begin = name.find("Kernel = ");
  name = begin == std::string::npos ? name : name.substr(begin + 9);
  if (!name.empty() && name.back() == ']') name.pop_back();
  for (const char *part : {"{anonymous}::", "(anonymous namespace)::", "hidp::simt::", "hidp::cuda::"})
    for (size_t at; (at = name.find(part)) != std::string::npos;) name.erase(at, std::char_traits<char>::length(part));
  while (!name.empty() && (name.front() == '&' || name.front() == '(' || name.front() == ' ')) name.erase(0, 1);
  while (!name.empty() && name.back() == ')') name.pop_back();
  return name;
}

HIDP_EXECUTOR_END
