//===- PtxChecker.h - executes and checks PTX without a GPU ----------------------===//
//
// The PTX checker reads a PTX module, executes a grid of one of its kernels on host memory, lane by lane as the ISA
// specifies, and reports errors that hardware may or may not detect: accesses out of bounds, data races, barriers that
// not all threads reach, and others (Kind).
//
//   std::string error;
//   std::unique_ptr<ptx::Module> module = ptx::Module::read(text, "gemm.ptx", error);
//   ptx::Memory memory;
//   memory.add(data, bytes, "A");
//   ptx::Launch launch{.kernel = "gemm", .grid = {4, 4, 1}, .block = {128, 1, 1}};
//   std::optional<ptx::Report> report = ptx::run(*module, memory, launch, {ptx::argument(data)}, error);
//
// A device address is the host's address of the same byte. The code uses neither LLVM nor CUDA.
// docs/targets/ptx-check.md describes the checks.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_PTXCHECKER_H
#define TILEWRIGHT_PTXCHECKER_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tilewright::ptx {

struct Syntax;

/// A parameter of a kernel.
struct Parameter {
  std::string name;
  uint64_t bytes = 0, align = 1;
};

/// A PTX module and the memory of its .global and .const variables.
class Module {
public:
  /// Parses `text`. On failure, returns null and sets `error` to "<file>:<line>:<column>: <what is wrong>".
  /// Instructions are checked later, when a kernel that reaches them is executed.
  static std::unique_ptr<Module> read(const std::string &text, const std::string &file, std::string &error);
  ~Module();

  std::vector<std::string> kernels() const;
  /// Returns the parameters of `kernel`, or nullopt if there is no such kernel.
  std::optional<std::vector<Parameter>> parameters(const std::string &kernel) const;
  /// Returns the address and the size in bytes of a variable in .global or .const. The address is null if there is no
  /// such variable.
  std::pair<uint8_t *, size_t> variable(const std::string &name) const;

  const Syntax &syntax() const { return *tree; }

private:
  Module() = default;
  std::unique_ptr<Syntax> tree;
  std::map<std::string, std::vector<uint8_t>> storage;
};

/// The allocations that kernels may access.
class Memory {
public:
  struct Allocation {
    uint8_t *data = nullptr;
    uint64_t bytes = 0;
    std::string name;
    bool initialised = true; ///< false: a read of a byte that no kernel wrote is reported
    bool constant = false;   ///< true: a write is reported
  };
  /// `data` must outlive the runs. Two allocations must not overlap.
  void add(void *data, uint64_t bytes, std::string name, bool initialised = true, bool constant = false);
  void remove(const void *data);
  /// Returns the allocations, sorted by address.
  const std::map<uint64_t, Allocation> &all() const { return list; }

private:
  std::map<uint64_t, Allocation> list;
};

using Dimensions = std::array<uint32_t, 3>;

struct Launch {
  std::string kernel;
  Dimensions grid = {1, 1, 1};    ///< blocks
  Dimensions block = {1, 1, 1};   ///< threads
  Dimensions cluster = {0, 0, 0}; ///< blocks per cluster; zeros: the number that the kernel specifies, or one
  uint64_t dynamicShared = 0;     ///< bytes
  uint64_t seed = 0;              ///< seed for the order in which blocks and warps run; 0: blocks start in order
  uint64_t stepLimit = uint64_t(1) << 36; ///< maximum number of warp instructions, over all warps
  uint32_t residentBlocks = 8;            ///< number of blocks that run at the same time
  /// If not 0: only this number of clusters of blocks run, at equal distances in the grid, and Report::profile is set.
  /// The kernel then computes no products, so its results are undefined.
  uint32_t sampledClusters = 0;
};

enum class Kind : uint8_t {
  OutOfBounds,
  Misaligned,
  ReadOnly,            ///< a write to constant or parameter memory
  UninitialisedMemory, ///< a read of shared memory, or of an allocation, that has not been written
  UninitialisedRegister,
  Race,
  AsyncNotWaited,    ///< an access to memory that an unfinished cp.async, bulk copy or wgmma writes or reads
  MissingProxyFence, ///< ordinary writes that are possibly not visible to the async proxy (bulk copies, wgmma)
  /// An mbarrier that is not initialized, a count that overflows, or a phase that is not one of the last two.
  MbarrierMisuse,
  RegisterInFlight,   ///< an access to a register of a wgmma before the wait for this wgmma
  MissingMatrixFence, ///< a register that is written before a wgmma, without a wgmma.fence in between
  RegisterBudget,     ///< setmaxnreg.inc to fewer, or setmaxnreg.dec to more registers than the threads have
  /// Threads of a warp, or warps of a warp group, that diverge at an instruction that all must execute.
  BarrierDivergence,
  BarrierMismatch, ///< thread counts of a barrier that differ, or a wrong order at the barrier of a cluster
  ExitAtBarrier,   ///< a thread that has exited while other threads wait for it
  ExitedBlock,     ///< an access to shared memory of a block of the cluster that may have exited
  Deadlock,
  StepLimit,
  BadOperand, ///< a value that the ISA forbids, or an executed trap
};
const char *name(Kind kind);

/// The instruction, and the thread or the threads of a warp, to which a finding refers. A race and some other findings
/// have two sides.
struct Side {
  uint32_t line = 0;       ///< line number in the PTX text
  std::string instruction; ///< text of the instruction in the PTX
  std::string location;    ///< the user's line, from .loc and //@tw comments; may be empty
  /// Index of the block; after the end of its cluster: its number in the order of starts, 0, 0.
  Dimensions block = {0, 0, 0};
  uint32_t warp = 0, lane = 0; ///< lane 255 means several lanes
};

struct Finding {
  Kind kind;
  std::string kernel;
  std::string message;
  Side here;
  std::optional<Side> other; ///< the other access of a race, or a related one, such as the mbarrier's initialization
  uint64_t count = 1;        ///< number of occurrences
};

/// The memory cost of an instruction; instructions without avoidable cost are omitted.
struct AccessCost {
  uint32_t line = 0;
  std::string instruction;
  uint64_t executions = 0;
  /// Wavefronts in shared memory, because of bank conflicts, in addition to one wavefront per phase.
  uint64_t extraWavefronts = 0;
  /// 32-byte sectors of global memory that are accessed, and that the bytes need at least.
  uint64_t sectors = 0, leastSectors = 0;
};

/// Measures of the blocks that ran, for an estimate of the time of the grid. Cycles are those of a multiprocessor; the
/// values are means per block, except where noted. lib/PtxInterpreter/Timing.h describes the model.
struct Profile {
  uint64_t blocks = 0;              ///< number of blocks that ran
  double path = 0, longestPath = 0; ///< cycles of a block that runs alone; the maximum over the blocks
  double issue = 0;                 ///< cycles of the schedulers
  double integer = 0, single = 0, doubles = 0, special = 0, tensor = 0; ///< cycles of the arithmetic pipes
  double shared = 0;                                                    ///< wavefronts in shared memory
  double lines = 0;                             ///< lines of 128 bytes of global memory that loads and stores access
  double bytesRead = 0, bytesWritten = 0;       ///< bytes between the L2 cache and the block, in sectors of 32 bytes
  double bulkBytes = 0;                         ///< bytes of bulk copies in shared memory
  double outsideBytes = 0;                      ///< bytes of boxes of bulk copies that are outside of the tensor
  double partialWrites = 0;                     ///< sectors of which a store writes only a part
  double distinctRead = 0, distinctWritten = 0; ///< bytes of global memory that the whole grid accesses
};

struct Report {
  std::vector<Finding> findings; ///< in the order of detection; equal findings are counted together
  std::vector<AccessCost> costs;
  uint64_t instructions = 0; ///< number of executed warp instructions
  uint64_t seed = 0;
  std::optional<Profile> profile; ///< if Launch::sampledClusters is not 0
  bool finished = true;           ///< false: the results are incomplete because of a deadlock or the step limit

  std::string text() const;
  std::string json() const;
};

/// The bytes of an argument of a kernel.
using Argument = std::vector<uint8_t>;
template <class T> Argument argument(const T &value) {
  Argument bytes(sizeof(T));
  std::memcpy(bytes.data(), static_cast<const void *>(&value), sizeof(T));
  return bytes;
}

/// Runs a grid until it ends or cannot continue (Report::finished). Returns nullopt, with the reason in `error`, if the
/// grid cannot start, for example because the kernel or an instruction is unknown, or because a size exceeds a limit of
/// the ISA.
std::optional<Report> run(const Module &module, const Memory &memory, const Launch &launch,
                          const std::vector<Argument> &arguments, std::string &error);

} // namespace tilewright::ptx

#endif
