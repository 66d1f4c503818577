//===- Timing.cpp - the work and the simulated time of sampled blocks ---------------------===//
#include "lib/PtxInterpreter/Timing.h"

#include "lib/PtxInterpreter/Bulk.h"
#include "lib/PtxInterpreter/Machine.h"

#include <algorithm>
#include <bit>
#include <string_view>

namespace tilewright::ptx {
namespace {

// Cycles from the begin of an instruction until its result exists.
constexpr double kArithmetic = 4.5, kSpecial = 18, kShuffle = 24, kShared = 30, kHit = 40, kAtomic = 700, kProduct = 33,
                 kAsyncProduct = 40, kMbarrier = 15, kFence = 500, kGlobal = 450, kBulk = 700;

constexpr uint32_t kWordsInFlight = 32;   ///< registers of a thread that wait for loads
constexpr double kBulkBytesPerCycle = 64; ///< bytes that a multiprocessor receives from the L2 cache per cycle

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

/// Returns the number after `letter` in a shape such as "m16n8k16", or 0.
double sideOf(std::string_view opcode, char letter) {
  size_t at = opcode.find(".m");
  while (at != std::string_view::npos && !(at + 2 < opcode.size() && std::isdigit(uint8_t(opcode[at + 2]))))
    at = opcode.find(".m", at + 1);
  if (at == std::string_view::npos)
    return 0;
  at = opcode.find(letter, at + 1);
  double value = 0;
  for (++at; at < opcode.size() && std::isdigit(uint8_t(opcode[at])); ++at)
    value = value * 10 + (opcode[at] - '0');
  return value;
}

/// Returns the multiply-adds that a quarter of a multiprocessor executes per cycle for dense operands.
double tensorRate(std::string_view opcode) {
  if (contains(opcode, ".f64"))
    return 32;
  if (contains(opcode, ".tf32"))
    return 256;
  if (contains(opcode, ".e4m3") || contains(opcode, ".e5m2") || contains(opcode, ".s8") || contains(opcode, ".u8"))
    return 1024;
  return contains(opcode, ".s4") || contains(opcode, ".u4") ? 1024 : 512;
}

} // namespace

Timing::Cost Timing::costOf(std::string_view opcode) {
  Cost cost;
  const std::string_view stem = opcode.substr(0, opcode.find('.'));
  const bool wide = contains(opcode, ".u64") || contains(opcode, ".s64") || contains(opcode, ".b64");
  const bool isDouble = contains(opcode, ".f64");
  auto set = [&](double slots, double latency) {
    cost.cycles[PipeIssue] = slots;
    cost.latency = latency;
  };
  if (stem == "mma") {
    const double work = sideOf(opcode, 'm') * sideOf(opcode, 'n') * sideOf(opcode, 'k');
    cost.cycles[PipeTensor] = work / tensorRate(opcode);
    cost.latency = kProduct;
  } else if (stem == "wgmma") {
    if (contains(opcode, "mma_async")) {
      cost.isAsyncProduct = true;
      cost.cycles[PipeTensor] = 16 * sideOf(opcode, 'n') * sideOf(opcode, 'k') / tensorRate(opcode);
    } else {
      cost.group = Group::Product;
      cost.commits = contains(opcode, "commit_group");
      cost.waits = contains(opcode, "wait_group");
    }
  } else if (stem == "mov" || stem == "cvta" || opcode.starts_with("ld.param") || opcode.starts_with("ld.const")) {
    set(0, 0); // ptxas removes moves, and reads parameters and constants as operands
  } else if (stem == "ld" || stem == "st" || stem == "ldmatrix" || stem == "stmatrix") {
    set(1, contains(opcode, ".shared") || stem == "ldmatrix" || stem == "stmatrix" ? kShared : kGlobal);
    cost.isLoad = stem == "ld" && cost.latency == kGlobal;
  } else if (stem == "atom" || stem == "red") {
    set(1, contains(opcode, ".shared") ? 2 * kShared : kAtomic);
  } else if (opcode.starts_with("cp.async.bulk") || opcode.starts_with("cp.reduce.async.bulk")) {
    cost.commits = contains(opcode, "commit_group");
    cost.waits = contains(opcode, "wait_group");
    cost.group = cost.commits || cost.waits ? Group::Store : Group::None;
  } else if (opcode.starts_with("cp.async")) {
    cost.commits = contains(opcode, "commit_group");
    cost.waits = contains(opcode, "wait_group") || contains(opcode, "wait_all");
    cost.isCopy = !cost.commits && !cost.waits && !contains(opcode, "mbarrier");
    cost.group = cost.commits || cost.waits ? Group::Copy : Group::None;
  } else if (stem == "bar" || stem == "barrier") {
    set(1, kBarrier);
    cost.branches = true;
  } else if (stem == "mbarrier") {
    set(contains(opcode, "_wait") ? 0 : 1, kMbarrier);
  } else if (opcode.starts_with("fence.proxy") || opcode.starts_with("fence.mbarrier")) {
    set(1, 10);
  } else if (stem == "membar" || stem == "fence") {
    set(1, contains(opcode, ".cta") ? 20 : kFence);
    cost.branches = true;
  } else if (stem == "bra" || stem == "brx" || stem == "call" || stem == "ret") {
    set(1, 0);
    cost.branches = true;
  } else if (stem == "shfl" || stem == "redux" || stem == "vote" || stem == "match") {
    set(1, kShuffle);
  } else if (stem == "div" || stem == "rem" || (stem == "sqrt" && !contains(opcode, ".approx")) ||
             (stem == "rcp" && !contains(opcode, ".approx"))) {
    // Subroutines of ptxas: one or two instructions of the special function unit and a correction.
    const double slots = contains(opcode, ".approx") ? 2 : isDouble ? 30 : wide ? 70 : contains(opcode, "f32") ? 9 : 20;
    set(slots, slots * kArithmetic);
    cost.cycles[PipeSpecial] = 8;
    (isDouble                  ? cost.cycles[PipeDouble]
     : contains(opcode, "f32") ? cost.cycles[PipeSingle]
                               : cost.cycles[PipeInteger]) = slots * 2;
  } else if (stem == "ex2" || stem == "lg2" || stem == "rcp" || stem == "rsqrt" || stem == "sqrt" || stem == "sin" ||
             stem == "cos" || stem == "tanh") {
    set(contains(opcode, ".ftz") || stem == "tanh" ? 1 : 3, kSpecial); // without .ftz: scales denormal numbers
    cost.cycles[PipeSpecial] = 8;
  } else if (stem == "cvt") {
    const bool isInteger = !contains(opcode, ".f") && !contains(opcode, ".bf") && !contains(opcode, ".e");
    set(1, isInteger ? kArithmetic : 8);
    if (isInteger)
      cost.cycles[PipeInteger] = 1;
    else if (isDouble || wide)
      cost.cycles[PipeSpecial] = 8;
    else
      cost.cycles[PipeInteger] = 2;
  } else if (isDouble && (stem == "fma" || stem == "add" || stem == "mul" || stem == "sub")) {
    set(1, 8);
    cost.cycles[PipeDouble] = 2;
  } else if (stem == "fma" || ((stem == "add" || stem == "mul" || stem == "sub") && contains(opcode, "f32")) ||
             contains(opcode, ".f16") || contains(opcode, ".bf16")) {
    cost.cycles[PipeSingle] = 1;
  } else if (stem == "mad" || stem == "mul") {
    set(wide && !contains(opcode, ".wide") ? 4 : 1, kArithmetic);
    cost.cycles[PipeSingle] = 2 * cost.cycles[PipeIssue]; // integer multiplications use the FMA pipe at half its rate
  } else {
    set(wide ? 2 : 1, kArithmetic * (wide ? 2 : 1));
    cost.cycles[PipeInteger] = 2 * cost.cycles[PipeIssue];
  }
  return cost;
}

Timing::Timing(const Code &code) : code(code) {
  costs.reserve(code.instrs.size());
  for (uint32_t pc = 0; pc < code.instrs.size(); ++pc) {
    Cost cost = costOf(code.statement(pc).opcode);
    // Shared memory delivers 128 bytes per cycle. To read 64 rows of 32 bytes of A takes at least 16 cycles. If A is in
    // registers, the instruction has four registers of A in the place of a descriptor.
    if (cost.isAsyncProduct && code.instrs[pc].sources < 8)
      cost.cycles[PipeTensor] = std::max(cost.cycles[PipeTensor], 16.0);
    costs.push_back(cost);
  }
  for (const CodeFunction &function : code.functions) {
    std::vector<uint32_t> rows(function.rowOf);
    std::sort(rows.begin(), rows.end());
    rows.push_back(function.rows);
    std::vector<uint8_t> &ofRow = words.emplace_back(function.rows, uint8_t(1));
    for (size_t i = 0; i + 1 < rows.size(); ++i)
      if (rows[i] < function.rows)
        ofRow[rows[i]] = uint8_t(rows[i + 1] - rows[i]);
  }
}

double Timing::endOf(const Warp &warp) { return std::max(warp.times.floor + warp.times.slots, warp.times.latest); }

void Timing::wait(Warp &warp, double cycle) {
  warp.times.floor = std::max(cycle, endOf(warp));
  warp.times.latest = warp.times.slots = 0;
}

void Timing::begin(Exec &e, const Instr &in) {
  WarpTimes &times = e.warp.times;
  const Cost &cost = costs[e.pc];
  times.ready.resize(e.warp.written.size());
  double start = times.floor + times.slots;
  auto needs = [&](uint32_t row) {
    if (row != kNoRow && !(row & kPool))
      start = std::max(start, times.ready[e.fragment->base + row]);
  };
  for (uint32_t i = in.results; i < uint32_t(in.results) + in.sources; ++i)
    needs(e.operand(in, i));
  if (in.guard != kNoRow)
    needs(in.guard);
  // The pipes of the quarter of the multiprocessor that runs the warp.
  std::array<double, kPipes> &free = e.block.pipesFree[e.warp.index % 4];
  for (size_t pipe = 0; pipe < kPipes; ++pipe)
    if (const double cycles = cost.cycles[pipe]; cycles > 0) {
      const double from = std::max(free[pipe], pipe == PipeTensor ? start : times.floor);
      start = std::max(start, from);
      free[pipe] = from + cycles;
    }
  if (cost.isLoad) { // ptxas has registers for a limited number of loads in flight
    for (; times.loadWords + in.results > kWordsInFlight && !times.loads.empty(); times.loads.pop_front()) {
      start = std::max(start, times.loads.front().first);
      times.loadWords -= times.loads.front().second;
    }
  }
  if (cost.branches || cost.waits || cost.commits)
    start = std::max(start, endOf(e.warp));
  current = start;
  hit = false;
  wavefronts = 0;
}

bool Timing::isUniform(const Exec &e, const Instr &in, uint32_t base) const {
  for (uint32_t i = 0; i < in.results; ++i) {
    const uint32_t row = code.operands[in.operands + i];
    if (row == kNoRow || row & kPool)
      continue;
    const uint32_t *values = e.warp.registers.data() + size_t(base + row) * kLanes;
    const uint32_t each = this->words[in.function][row];
    for (uint32_t word = each; word < each * kLanes; ++word)
      if (values[word] != values[word % each])
        return false;
  }
  return true;
}

void Timing::end(Exec &e, const Instr &in, uint32_t pc, uint32_t base) {
  const Cost &cost = costs[pc];
  WarpTimes &times = e.warp.times;
  for (size_t pipe = 0; pipe < kPipes; ++pipe)
    work.cycles[pipe] += cost.cycles[pipe];
  const bool uniform = cost.cycles[PipeInteger] > 0 && isUniform(e, in, base);
  if (uniform) {
    // ptxas computes values that are equal in all lanes in the uniform datapath. It often combines two instructions, or
    // computes only one half of a 64-bit value.
    std::array<double, kPipes> &free = e.block.pipesFree[e.warp.index % 4];
    for (const auto &[pipe, cycles] :
         {std::pair(PipeInteger, cost.cycles[PipeInteger]), std::pair(PipeIssue, cost.cycles[PipeIssue] / 2)}) {
      work.cycles[pipe] -= cycles;
      free[pipe] -= cycles;
    }
    times.slots -= cost.cycles[PipeIssue] / 2;
  }
  times.slots += cost.cycles[PipeIssue];
  times.latest = std::max(times.latest, current);
  double extra = 0; // cycles until the shared memory, which all warps of the block share, has served the access
  if (wavefronts > 0) {
    const double from = std::max(e.block.sharedFree, current);
    e.block.sharedFree = from + wavefronts;
    extra = from + wavefronts - 1 - current;
  }
  for (uint32_t i = 0; i < in.results; ++i)
    if (uint32_t row = code.operands[in.operands + i]; row != kNoRow && !(row & kPool))
      times.ready[base + row] = current + extra + (uniform ? kArithmetic : cost.isLoad && hit ? kHit : cost.latency);
  if (cost.isAsyncProduct)
    times.products = current + cost.cycles[PipeTensor] + kAsyncProduct;
  if (cost.isLoad) {
    times.loads.emplace_back(current + extra + (hit ? kHit : cost.latency), in.results);
    times.loadWords += in.results;
  }
  if (cost.isCopy)
    times.copies = std::max(times.copies, current + kGlobal);
  if (cost.group != Group::None) {
    double &pending = cost.group == Group::Copy      ? times.copies
                      : cost.group == Group::Product ? times.products
                                                     : times.stores;
    auto &groups = cost.group == Group::Copy      ? times.copyGroups
                   : cost.group == Group::Product ? times.productGroups
                                                  : times.storeGroups;
    if (cost.commits) {
      groups.push_back(pending);
      pending = 0;
    } else if (cost.waits) {
      const size_t allowed = in.sources ? e.row<uint32_t>(in, 0)[0] : 0;
      double ended = current;
      for (; groups.size() > allowed; groups.pop_front())
        ended = std::max(ended, groups.front());
      wait(e.warp, ended);
    }
  }
  if (cost.branches)
    wait(e.warp, current + (in.flags & FlagControl ? 0 : cost.latency));
}

void Timing::reachRange(uint32_t pc, bool write, uint64_t begin, uint64_t end, uint64_t sectors) {
  Range &range = ranges[{pc, write}];
  range.begin = std::min(range.begin, begin);
  range.end = std::max(range.end, end);
  range.sectors += sectors;
  (write ? written : read) += sectors;
}

void Timing::access(const Exec &e, std::span<const uint64_t> sectors, uint64_t begin, uint64_t end, uint64_t bytes,
                    bool write) {
  uint64_t lines = 0, fresh = 0, before = ~uint64_t(0);
  for (uint64_t sector : sectors) {
    lines += sector / 4 != before;
    before = sector / 4;
    fresh += write || seen.insert(sector << 16 | (e.block.serial & 0xffff)).second;
  }
  work.lines += double(lines);
  hit = !fresh;
  if (write) // sectors of which the instruction writes only a part
    partial += fresh - std::min(fresh, bytes / 32);
  reachRange(e.pc, write, begin, end, fresh);
}

double Timing::bulk(const Exec &e, const BulkCopy &copy) {
  const bool write = copy.direction != BulkCopy::Direction::Load;
  uint64_t bytes = 0, first = ~uint64_t(0), last = 0;
  forPieces(copy, [&](const BulkPiece &piece) {
    if (!piece.inside) {
      outside += piece.bytes;
      return;
    }
    bytes += piece.bytes;
    first = std::min(first, piece.global);
    last = std::max(last, piece.global + piece.bytes);
  });
  if (bytes)
    reachRange(e.pc, write, first, last, (bytes + 31) / 32);
  work.bulk += double(copy.bytes);
  Block &block = *copy.block;
  block.bulkFree = std::max(block.bulkFree, current) + double(copy.bytes) / kBulkBytesPerCycle;
  return block.bulkFree + kBulk;
}

void Timing::endBlock(const Block &block) {
  double path = 0;
  for (const Warp &warp : block.warps)
    path = std::max(path, endOf(warp));
  pathSum += path;
  pathMost = std::max(pathMost, path);
  ++blocks;
}

Profile Timing::result(uint64_t blocksOfGrid) const {
  Profile profile;
  profile.blocks = blocks;
  if (!blocks)
    return profile;
  const double each = 1.0 / double(blocks);
  profile.path = pathSum * each;
  profile.longestPath = pathMost;
  // The four quarters of a multiprocessor share the warps of a block.
  profile.issue = work.cycles[PipeIssue] * each / 4;
  profile.integer = work.cycles[PipeInteger] * each / 4;
  profile.single = work.cycles[PipeSingle] * each / 4;
  profile.doubles = work.cycles[PipeDouble] * each / 4;
  profile.special = work.cycles[PipeSpecial] * each / 4;
  profile.tensor = work.cycles[PipeTensor] * each / 4;
  profile.shared = work.shared * each;
  profile.lines = work.lines * each;
  profile.bulkBytes = work.bulk * each;
  profile.outsideBytes = double(outside) * each;
  profile.partialWrites = double(partial) * each;
  profile.bytesRead = double(read) * 32 * each;
  profile.bytesWritten = double(written) * 32 * each;
  // Instructions whose ranges overlap access the same tensor. The grid moves at most the bytes of the range between
  // memory and the L2 cache.
  const double scale = double(blocksOfGrid) * each;
  for (bool write : {false, true}) {
    std::vector<Range> sorted;
    for (const auto &[key, range] : ranges)
      if (key.second == write)
        sorted.push_back(range);
    std::sort(sorted.begin(), sorted.end(), [](const Range &a, const Range &b) { return a.begin < b.begin; });
    double total = 0;
    for (size_t i = 0; i < sorted.size();) {
      Range joined = sorted[i++];
      for (; i < sorted.size() && sorted[i].begin < joined.end; ++i) {
        joined.end = std::max(joined.end, sorted[i].end);
        joined.sectors += sorted[i].sectors;
      }
      total += std::min(double(joined.end - joined.begin), double(joined.sectors) * 32 * scale);
    }
    (write ? profile.distinctWritten : profile.distinctRead) = total;
  }
  return profile;
}

} // namespace tilewright::ptx
