//===- Timing.h - the work and the simulated time of sampled blocks -----------------------===//
//
// With Launch::sampledClusters, the interpreter runs some blocks of the grid and records, for an estimate of the time
// of the grid on a GPU:
//
//   - the work of each unit of a multiprocessor: issue slots, arithmetic pipes, tensor cores, shared memory, loads
//   - the sectors that the blocks exchange with the L2 cache, and the addresses that they reach
//   - the time of a block that runs alone on a multiprocessor (Profile::path). Every register, barrier, mbarrier and
//     group of copies or products has the cycle at which its value exists. An instruction begins when its sources exist
//     and its pipe is free, but not before the last branch or barrier of its warp. In a basic block, the order of the
//     instructions does not matter, because ptxas reorders them. The warp that is behind all others runs next
//     (runInTime()), so that the warps use the pipes in the order of time.
//
// tools/dev/gpu_timing.py computes the time of the grid from these measures.
//
// The latencies and the rates are approximately those of NVIDIA's Hopper GPUs: the CUDA C++ Programming Guide,
// "Throughput of Native Arithmetic Instructions", and published microbenchmarks (Luo et al., "Benchmarking and
// Dissecting the Nvidia Hopper GPU Architecture via Microbenchmarking", 2024).
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_PTXINTERPRETER_TIMING_H
#define TILEWRIGHT_LIB_PTXINTERPRETER_TIMING_H

#include "lib/PtxInterpreter/Code.h"
#include "tilewright/PtxChecker.h"

#include <array>
#include <deque>
#include <map>
#include <span>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace tilewright::ptx {

struct Block;
struct BulkCopy;
struct Warp;

/// The pipes of a quarter of a multiprocessor. PipeIssue is the scheduler, PipeInteger the integer and logic unit,
/// PipeSingle the unit of f32, f16 and bf16.
enum Pipe : uint8_t { PipeIssue, PipeInteger, PipeSingle, PipeDouble, PipeSpecial, PipeTensor };
inline constexpr size_t kPipes = 6;

/// The cycles at which the values of a warp exist.
struct WarpTimes {
  std::vector<double> ready;                     ///< for each row of registers
  double floor = 0;                              ///< the earliest cycle of an instruction of the current basic block
  double latest = 0;                             ///< the begin of the last instruction of the basic block
  double slots = 0;                              ///< issue slots of the basic block
  std::deque<std::pair<double, uint32_t>> loads; ///< ends and words of loads in flight, the oldest first
  uint32_t loadWords = 0;
  double copies = 0, products = 0, stores = 0;               ///< ends of operations that are not in a group
  std::deque<double> copyGroups, productGroups, storeGroups; ///< ends of the groups, the oldest first
};

class Timing {
public:
  /// Cycles between the last arrival at a barrier and the instructions after it.
  static constexpr double kBarrier = 25, kClusterBarrier = 200;

  explicit Timing(const Code &code);

  /// Are called before and after each instruction of a warp.
  void begin(Exec &e, const Instr &in);
  void end(Exec &e, const Instr &in, uint32_t pc, uint32_t base);
  /// The warp waits for an event of the cycle `cycle`.
  void wait(Warp &warp, double cycle);
  /// Returns the cycle of the instruction that runs, or of the last instruction of a warp.
  double now() const { return current; }
  /// Returns the cycle after all instructions that `warp` has begun.
  static double endOf(const Warp &warp);

  /// Records an access to global memory: its 32-byte sectors in ascending order, the range [begin, end) of its
  /// addresses, and the sum of the bytes of the lanes.
  void access(const Exec &e, std::span<const uint64_t> sectors, uint64_t begin, uint64_t end, uint64_t bytes,
              bool write);
  void sharedAccess(uint64_t number) {
    work.shared += double(number);
    wavefronts += double(number);
  }
  /// Records a bulk copy, and returns the cycle at which it completes if it begins now.
  double bulk(const Exec &e, const BulkCopy &copy);
  void endBlock(const Block &block);

  Profile result(uint64_t blocksOfGrid) const;

private:
  enum class Group : uint8_t { None, Copy, Product, Store };
  struct Cost {
    double latency = 4.5;
    std::array<double, kPipes> cycles = {1}; ///< of the pipes of a quarter of a multiprocessor
    bool isAsyncProduct = false, isCopy = false, isLoad = false, commits = false, waits = false, branches = false;
    Group group = Group::None;
  };
  static Cost costOf(std::string_view opcode);
  /// Returns true if all lanes have the same values of the instruction's results.
  bool isUniform(const Exec &e, const Instr &in, uint32_t base) const;
  void reachRange(uint32_t pc, bool write, uint64_t begin, uint64_t end, uint64_t sectors);

  struct Range {
    uint64_t begin = ~uint64_t(0), end = 0, sectors = 0;
  };
  struct Work {
    std::array<double, kPipes> cycles = {};
    double shared = 0, lines = 0, bulk = 0;
  };
  const Code &code;
  std::vector<Cost> costs;                           ///< by program counter
  std::vector<std::vector<uint8_t>> words;           ///< by function and first row: words of a register per lane
  std::map<std::pair<uint32_t, bool>, Range> ranges; ///< by program counter; true: writes
  std::unordered_set<uint64_t> seen;                 ///< sectors that a block has read, with the block's number
  Work work;
  double wavefronts = 0; ///< in shared memory, of the current instruction
  double current = 0, pathSum = 0, pathMost = 0;
  uint64_t blocks = 0, read = 0, written = 0, partial = 0, outside = 0;
  bool hit = false; ///< true: the block has loaded all bytes of the current load before
};

} // namespace tilewright::ptx

#endif
