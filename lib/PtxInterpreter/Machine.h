//===- Machine.h - the state of a running grid ------------------------------------------===//
//
// A warp consists of one or more fragments. A fragment is a set of lanes at the same instruction. Fragments are split
// at a divergent branch and merged when they reach the same instruction. Usually the fragment at the lowest address
// runs first (Scheduler.cpp). If an instruction must be executed by lanes of other fragments as well, its fragment
// waits for them.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_PTXINTERPRETER_MACHINE_H
#define TILEWRIGHT_LIB_PTXINTERPRETER_MACHINE_H

#include "lib/PtxInterpreter/Code.h"
#include "lib/PtxInterpreter/Shadow.h"
#include "lib/PtxInterpreter/Timing.h"
#include "tilewright/PtxChecker.h"
#include "tilewright/PtxTensorMap.h"

#include <cstring>
#include <deque>
#include <map>

namespace tilewright::ptx {

/// The windows of the other spaces in the generic address space; all other addresses are global.
inline constexpr uint64_t kSharedWindow = uint64_t(1) << 56, kLocalWindow = uint64_t(2) << 56,
                          kParamWindow = uint64_t(3) << 56, kWindowMask = uint64_t(255) << 56;
/// Returns the space to which a generic address refers.
inline Space spaceOf(uint64_t address) {
  const uint64_t window = address & kWindowMask;
  return window == kSharedWindow  ? Space::Shared
         : window == kLocalWindow ? Space::Local
         : window == kParamWindow ? Space::Param
                                  : Space::Global;
}
/// Bits of a shared memory address, from kRankShift on: the rank of a block in the cluster plus one. 0 and kOwnBlock
/// mean the block of the executing thread. In kernels with .reqnctapercluster of more than one block, the addresses of
/// variables have kOwnBlock. On a GPU, these bits contain the rank, so a kernel must not assume that they are zeros.
inline constexpr uint32_t kRankShift = 24, kMaxCluster = 16, kOwnBlock = 255;
inline constexpr uint64_t kSharedBase = 1024; ///< address of the first shared variable: no variable has the address 0

struct Block;
struct Warp;

struct Frame {
  uint32_t returnPc, base, call;
  uint64_t localBase;
};

struct Fragment {
  enum class State : uint8_t { Ready, Converging, AtBarrier, Waiting }; ///< Waiting: until wake()
  uint32_t pc = 0, mask = 0;
  uint32_t base = 0;      ///< index of the first row of the fragment's registers
  uint64_t localBase = 0; ///< start of the function's local memory
  uint32_t function = 0;
  State state = State::Ready;
  uint8_t barrier = 0;
  std::vector<Frame> frames;
};

/// A cp.async that has been issued and not yet executed.
struct PendingCopy {
  uint64_t from = 0, to = 0;
  /// Number of bytes that are written; number of bytes that are read (the other bytes are zeros).
  uint32_t bytes = 0, read = 0;
  uint32_t pc = 0;
  /// If an mbarrier waits for the copy: the clock at completion, or 0 before it.
  std::shared_ptr<uint32_t> done = nullptr;
};

/// A pending cp.async.mbarrier.arrive, which arrives at the mbarrier when the thread's earlier copies have completed.
struct AsyncArrival {
  Block *block = nullptr;
  uint32_t warp = 0, lane = 0, pc = 0;
  uint64_t mbarrier = 0;
  std::vector<PendingCopy> copies;
  VectorClock clock; ///< clock of the warp when the instruction was executed
  double time = 0;   ///< cycle at which the copies have completed (Timing.h)
};

/// A cp.async.bulk, with or without a tensor map, that has not been executed.
struct BulkCopy {
  enum class Direction : uint8_t { Load, Store, Reduce };
  Direction direction = Direction::Load;
  Block *block = nullptr;            ///< block that owns the shared memory
  uint64_t shared = 0;               ///< address of the first byte in shared memory
  uint64_t global = 0;               ///< address in global memory, for a copy without a map
  uint32_t bytes = 0;                ///< number of bytes in shared memory
  uint64_t mbarrier = 0;             ///< for a load: the address of its mbarrier
  uint32_t operation = 0;            ///< for a reduction: a Reduction
  bool tensor = false, read = false; ///< read: the source of the store has been captured
  TensorMap map;
  std::array<int32_t, 5> at = {};
  std::array<uint16_t, 3> offsets = {}; ///< added to the positions of a map of windows: width, height, depth
  std::vector<uint8_t> captured;        ///< the source bytes of a store, in the order of the box
  double time = 0;                      ///< for a load: the cycle at which it completes (Timing.h)
  Epoch issuer;                         ///< the thread that issued the copy, without the flag Epoch::Async
};

struct Lane {
  std::vector<uint8_t> local;
  std::vector<BulkCopy> bulk;                   ///< bulk copies that are not in a group
  std::deque<std::vector<BulkCopy>> bulkGroups; ///< groups of bulk copies, the oldest first
  std::vector<PendingCopy> copies;              ///< cp.async copies that are not in a group
  std::deque<std::vector<PendingCopy>> groups;  ///< groups of cp.async copies, the oldest first
};

/// The part of a wgmma.mma_async that one warp executes: 16 rows of the result. The warp executes it when it waits for
/// the group.
struct MatrixJob {
  void (*run)(Exec &, const MatrixJob &) = nullptr;
  const Instr *in = nullptr;
  uint64_t a = 0, b = 0; ///< descriptors
  uint32_t pc = 0, base = 0;
  bool accumulate = false;
  int8_t scaleA = 1, scaleB = 1;
  bool transposeA = false, transposeB = false;
};

struct Warp {
  Block *block = nullptr;
  uint32_t index = 0;
  uint32_t existing = 0, exited = 0; ///< masks of the lanes that exist, and of those that have exited
  std::vector<Fragment> fragments;   ///< the running fragment is the last
  std::vector<uint32_t> registers;   ///< rows of 32 words
  std::vector<uint32_t> written;     ///< for each row: the lanes that have a value
  std::array<Lane, kLanes> lanes;
  VectorClock clock;
  VectorClock released, acquired; ///< clock at the last release; clocks from strong reads since the last acquire
  bool hasReleased = false, hasAcquired = false;
  std::vector<MatrixJob> jobs;                  ///< products that are not in a group
  std::deque<std::vector<MatrixJob>> jobGroups; ///< groups of products, the oldest first
  /// For each row: 1 if it is an accumulator of a product in flight, 2 if it is a part of A.
  std::vector<uint8_t> inFlight;
  std::vector<uint8_t> unfenced; ///< for each row: written since the last wgmma.fence; empty before the first fence
  uint32_t jobCount = 0, registerLimit = 0;
  WarpTimes times;                         ///< used only by Timing
  uint32_t atCluster = 0, pastCluster = 0; ///< lanes that have arrived at the cluster's barrier; lanes that may pass it

  bool done() const { return fragments.empty(); }
};

struct Barrier {
  uint32_t arrived = 0, expected = 0;
  /// True: the instruction has a thread count; false: the barrier waits for all threads of the block.
  bool counted = false;
  uint32_t pc = 0; ///< program counter of the first arrival
  uint32_t firstWarp = 0;
  VectorClock clock;
  double time = 0; ///< cycle of the last arrival (Timing.h)
  uint32_t trueCount = 0;
  bool all = true, any = false;
};

struct Mbarrier {
  uint32_t expected = 0; ///< number of arrivals of the next phase
  uint32_t pending = 0;  ///< number of arrivals that this phase still needs
  int64_t bytes = 0;     ///< number of bytes that this phase still expects
  uint32_t phase = 0;    ///< number of the current phase, from 0
  uint32_t agent = 0;    ///< agent of the copies that signal this mbarrier; an index in VectorClock::own
  bool shown = false;    ///< true if the initialization of the mbarrier is visible to the async proxy
  Epoch init, lastLoad;
  double gathered = 0, passed = 0; ///< cycles of the last arrival of the phase, and of the phase before (Timing.h)
  VectorClock arriving, completed;
};

/// The blocks of a cluster, which run concurrently and can access each other's shared memory.
struct Cluster {
  std::vector<Block *> blocks;  ///< indexed by rank
  Dimensions index = {0, 0, 0}; ///< indices of the cluster in the grid
  /// For each rank: clocks of the arrivals at the barrier, and of its last completion.
  std::vector<VectorClock> arriving, completed;
  uint32_t live = 0;           ///< number of blocks that have not ended
  double time = 0, passed = 0; ///< cycles of the last arrival, and of the last completion of the barrier (Timing.h)
  bool waited = false;         ///< true if a thread has arrived since the barrier last completed
};

struct Block {
  std::shared_ptr<Cluster> cluster;
  uint32_t rank = 0; ///< rank of the block in its cluster
  bool ended = false;
  uint32_t endPc = 0;                 ///< program counter at which the last thread exited
  std::map<uint64_t, Epoch> visitors; ///< for each warp of other blocks: its last access to this block's shared memory
  std::map<uint64_t, Mbarrier> mbarriers; ///< by address
  std::array<uint32_t, kAgents> agentClocks = {};
  uint32_t mbarriersMade = 0;
  /// For each warp group and number of a product: the first warp's job, and the number of warps that have executed it.
  std::map<std::pair<uint32_t, uint32_t>, std::pair<MatrixJob, uint32_t>> groupJobs;
  uint32_t serial = 0; ///< number of the block in the order in which blocks start, from 1
  Dimensions index = {0, 0, 0};
  std::vector<Warp> warps;
  std::vector<uint8_t> shared, sharedWritten;
  Shadow shadow;
  std::array<Barrier, 16> barriers;
  /// For each quarter of a multiprocessor: the cycles at which its pipes are free (Timing.h).
  std::array<std::array<double, kPipes>, 4> pipesFree = {};
  double sharedFree = 0; ///< the same for shared memory
  double bulkFree = 0;   ///< cycle at which the last bulk load has arrived (Timing.h)
  uint32_t doneWarps = 0;
};

/// A global allocation or variable.
struct GlobalObject {
  uint64_t begin = 0, bytes = 0;
  const Memory::Allocation *allocation = nullptr;
  Shadow shadow;
  std::vector<uint8_t> written; ///< empty: all bytes are written
};

struct Cost {
  uint64_t executions = 0, extraWavefronts = 0, sectors = 0, leastSectors = 0;
};

struct Grid {
  const Code &code;
  const Launch &launch;
  Report &report;
  std::vector<GlobalObject> objects = {}; ///< by address
  size_t lastObject = 0;
  std::vector<uint8_t> parameters = {};
  std::vector<Cost> costs = {}; ///< by program counter
  std::vector<std::unique_ptr<Block>> running = {};
  std::vector<BulkCopy> loads = {};        ///< loads in flight, in all blocks
  std::vector<AsyncArrival> arrivals = {}; ///< pending arrivals of cp.async.mbarrier.arrive
  Dimensions cluster = {1, 1, 1};          ///< number of blocks per cluster
  uint64_t random = 1, steps = 0, polls = 0;
  uint32_t nextBlock = 0;
  std::vector<Dimensions> started = {}; ///< indices of the blocks that have started, by serial number - 1
  std::unordered_map<uint64_t, std::pair<VectorClock, uint32_t>> released =
      {}; ///< for the address of each strong write: the clock and the block of the writer
  std::unordered_map<std::string, size_t> findings = {};
  std::unique_ptr<Timing> timing = nullptr; ///< set if the launch samples blocks

  uint64_t draw() {
    random ^= random << 13;
    random ^= random >> 7;
    return random ^= random << 17;
  }
};

enum class Access : uint8_t { Read, Write, ReadWrite };

/// The context in which a handler executes an instruction.
struct Exec {
  Grid &grid;
  Block &block;
  Warp &warp;
  Fragment *fragment;
  uint32_t mask = 0;
  uint32_t *registers = nullptr; ///< first row of the registers of the current function
  const uint32_t *operands = nullptr;
  uint32_t pc = 0;
  Block *reached = nullptr; ///< set by locate(): the block whose shared memory was accessed

  uint32_t operand(const Instr &in, uint32_t i) const { return operands[in.operands + i]; }
  /// Returns the row of an operand; results come before sources.
  template <class Cell> Cell *row(const Instr &in, uint32_t i) const { return rowAt<Cell>(operand(in, i)); }
  template <class Cell> Cell *rowAt(uint32_t row) const {
    uint32_t *words = row & kPool ? const_cast<uint32_t *>(grid.code.pool.data()) + size_t(row & ~kPool) * kLanes
                                  : registers + size_t(row) * kLanes;
    return reinterpret_cast<Cell *>(words);
  }
  uint32_t &written(uint32_t row) const { return warp.written[fragment->base + row]; }

  void find(Kind kind, uint32_t lane, const std::string &message, const Epoch *other = nullptr);
  Accessor accessor(uint32_t lane, uint16_t flags = 0) const;

  /// Checks and records an access. Returns the bytes at the address, or null if locate() returns null.
  uint8_t *reach(uint32_t lane, Space space, uint64_t address, uint32_t bytes, Access access, bool strong);
  /// Like reach(), but checks only bounds, alignment and writes of read-only memory. If `space` is generic or Cluster,
  /// replaces `space` by the actual space. Replaces `address` by the address in that space.
  uint8_t *locate(uint32_t lane, Space &space, uint64_t &address, uint32_t bytes, Access access);
  /// Returns the block of the cluster to whose shared memory `address` refers. Removes the block's rank from the
  /// address. Reports an error and returns null if there is no such block, or if the block has exited. If `anyBlock` is
  /// false, a block other than the thread's block is also an error.
  Block *ownerOf(uint32_t lane, uint64_t &address, bool anyBlock);
  GlobalObject *objectAt(uint64_t address, uint64_t bytes);
  /// Returns the address of a memory operand in a lane. `operand` is the index of the operand, and `number` is its
  /// index among the instruction's memory operands.
  uint64_t address(const Instr &in, uint32_t operand, uint32_t lane, uint32_t number = 0) const;
  void noteRace(uint32_t lane, Space space, uint64_t address, const Epoch &other, bool write, bool read);

  void release();                 ///< publishes the preceding accesses to warps that acquire
  void acquire();                 ///< orders the writes that strong reads have observed before the accesses that follow
  void publish(uint64_t address); ///< records a strong write
  void observe(uint64_t address); ///< records a strong read
  void finish(uint32_t lane, const PendingCopy &copy);
  void finish(const Accessor &who, const PendingCopy &copy);
  /// Returns true if the bytes of shared memory are in one variable, at a multiple of `align`. Otherwise reports an
  /// error.
  bool inShared(uint32_t lane, uint64_t address, uint64_t bytes, uint32_t align, const std::string &what);
  void countShared(const uint64_t *addresses, uint32_t bytes);
  void countGlobal(const uint64_t *addresses, uint32_t bytes, bool write);
};

/// Runs all blocks until they end, until no warp can continue, or until the step limit is reached.
void runGrid(Grid &grid);
/// Ends the threads of the lanes in `mask`, which must belong to the running fragment.
void exitLanes(Exec &e, uint32_t mask);
/// Moves the lanes of `mask` from the running fragment to a new fragment at `pc`.
void leave(Exec &e, uint32_t mask, uint32_t pc);
/// Makes the waiting threads of `block` check their conditions again.
void wake(Block &block);
/// Executes one pending bulk load, or one pending arrival of a cp.async.mbarrier.arrive. Returns false if there is
/// neither.
bool deliverLoad(Grid &grid);
/// The same for the load or arrival that completes first, if this is before the cycle `time`.
bool deliverLoad(Grid &grid, double time);
/// Executes the remaining bulk stores of an ending block. Reports copies and wgmma instructions for which no thread has
/// waited. Reports accesses of other blocks that are not ordered before the end of the block.
void endBlock(Grid &grid, Block &block);
void endBulk(Exec &e);
void endMatrixJobs(Exec &e);
/// Returns the reason why a fragment waits, for the report of a deadlock.
std::string describeWait(Exec &e, const Instr &in);
/// Describes why a thread waits at the cluster's barrier; returns "" for another instruction.
std::string describeClusterWait(Exec &e, const Instr &in);
/// Completes the cluster's barrier if all threads that have not exited have arrived at it.
void settleCluster(Cluster &cluster);
/// Reports accesses of other blocks to the shared memory of an exiting block that are not ordered before its exit.
void checkVisitors(Exec &e);
/// Returns the mbarrier to which an operand refers. If the instruction permits it, the mbarrier may be in any block of
/// the cluster. Returns null after it has reported an error.
Mbarrier *mbarrierAt(Exec &e, const Instr &in, uint32_t operand, uint32_t lane, uint64_t &address, Block *&owner);
/// Executes the arrival of a cp.async.mbarrier.arrive. Its copies have been executed before.
void arriveAsync(Grid &grid, AsyncArrival &arrival);
/// Subtracts `bytes` from the number of bytes that the current phase still expects. A negative `bytes` increases this
/// number.
void completeBytes(Block &block, Mbarrier &mbarrier, int64_t bytes);
/// Reports an error if the instruction accesses registers of a pending wgmma.mma_async.
void checkInFlight(Exec &e, const Instr &in);
/// Resumes the threads that wait at a barrier after the last expected thread has arrived.
void completeBarrier(Grid &grid, Block &block, uint32_t number);

} // namespace tilewright::ptx

#endif
