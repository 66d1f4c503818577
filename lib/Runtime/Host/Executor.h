//===- Executor.h - runs a plan on the host -------------------------------===//
//
//   RunError error;
//   auto executable = Executable::create(std::move(plan), kernels, hostFunctions, error.text);
//   if (!executable || !executable->run(inputs, outputs, symbols, /*threads=*/0, error))
//     report(error.text);
//
// A call looks up its frame by the symbols' values, allocates an arena from the pool, and executes the steps on its
// threads, which synchronize at barriers. A call with one thread does not use the thread team. Calls may run
// concurrently.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_RUNTIME_HOST_EXECUTOR_H
#define TILEWRIGHT_LIB_RUNTIME_HOST_EXECUTOR_H

#include "lib/Interfaces/ForkMutex.h"
#include "lib/Runtime/Host/Kernel.h"
#include "lib/Runtime/Host/Packing.h"
#include "lib/Runtime/Host/ThreadTeam.h"
#include "lib/Runtime/Plan/StepWork.h"
#include "tilewright/CallersMemory.h"

#include <atomic>

namespace tilewright::runtime {

/// A step of the plan in a profile.
struct StepTime {
  const plan::Step *step = nullptr;
  int64_t nanoseconds = 0; ///< summed over all threads and calls
  plan::StepWork work;     ///< work of the step in one call
};

class Executable {
public:
  ~Executable();

  /// Verifies `plan` and creates an executable from it and from the functions of plan.kernels and plan.hostFunctions,
  /// in their order. Returns null with a reason in `error` if the plan is invalid or a function is missing.
  /// `keepAlive` (the JIT's code) is kept alive as long as the executable.
  static std::unique_ptr<Executable> create(plan::Plan plan, std::vector<Kernel> kernels,
                                            std::vector<HostFunction> hostFunctions, std::string &error,
                                            std::shared_ptr<void> keepAlive = nullptr);

  /// Runs the plan. `inputs` and `outputs` have a pointer per input and output of the plan (null for empty tensors).
  /// `symbols` has a value per symbol, in elements. If `threads` is 0 or less, the default is used, see clipThreads().
  /// `identities` has one entry per input. If it is null, packed parameters are identified only by their pointers and
  /// fingerprints. With `memory`, pointers of outputs are read after memory->take() has set them. On failure, returns
  /// false with a reason in `error`, and the contents of the outputs are undefined.
  bool run(const void *const *inputs, void *const *outputs, const int64_t *symbols, int threads, RunError &error,
           const InputIdentity *identities = nullptr, CallersMemory *memory = nullptr);

  /// Starts a thread that packs the parameters that run() would pack for these inputs. When run() is called, the thread
  /// stops, and run() packs the remaining parameters. A null pointer means that the input is not available yet. The
  /// inputs' memory must stay valid until endPackAhead() or run() returns. Does nothing after onPacked(), with one
  /// thread, or if there is little to pack.
  void packAhead(std::vector<const void *> inputs, std::vector<InputIdentity> identities);

  /// Stops the thread of packAhead() and waits until it no longer reads any input.
  void endPackAhead();

  /// Makes the next run() pack again every parameter whose memory was not released. The caller uses this function after
  /// writes to parameters that change neither a version nor a fingerprint.
  void repack();

  /// Sets `release`, which is called when an input for which packedInputs() is true has been packed. Call this before
  /// the first run(). While `release` runs, its thread holds no lock that run() acquires if all packs are current.
  void onPacked(ReleaseInput release) { releaseInput = std::move(release); }

  /// Returns a flag for each input of the plan, which is true if only `once` steps read the input.
  const std::vector<bool> &packedInputs() const { return packedOnly; }

  const plan::Plan &plan() const { return program; }

  /// Returns true if every call is a single step on one thread that accesses at most 4 KiB of buffers and scratch
  /// memory, without a host function and without packs.
  bool isBrief() const { return brief; }

  /// Starts (true) or stops timing each step of calls. Must not be called while a call is running.
  void profile(bool on);

  /// Returns the time of each step since profile(true), and its operations and bytes for the sizes `symbols`. Returns
  /// an empty vector if the calls were not profiled.
  std::vector<StepTime> times(const int64_t *symbols, std::string &error);

  /// Returns the bytes of arena that a call with these symbols needs. On failure, returns -1 with a reason in `error`.
  int64_t arenaBytes(const int64_t *symbols, RunError &error);

  /// Returns the total size in bytes of the packed parameters that this executable currently uses.
  int64_t packedBytes();

  /// Returns the number of groups of `once` steps (Packing.h) that have been packed so far, for tests and reports.
  int64_t packCount() const { return packings.load(std::memory_order_relaxed); }

private:
  using FramePointer = std::shared_ptr<const Frame>;
  using SnapshotPointer = std::shared_ptr<const PackSnapshot>;

  class Exchange;
  class StateLock;
  class PackLock;
  class Registry;
  struct Ahead;

  Executable();
  SnapshotPointer emptySnapshot() const;
  void forget(const PackedSet &set);
  static void forgetOutdated(const PackGroup &group, const std::vector<InputStamp> &stamps);

  bool checkSymbols(const int64_t *symbols, RunError &error) const;
  bool resolve(const int64_t *symbols, FramePointer &frame, RunError &error);
  bool lookUp(const int64_t *symbols, FramePointer &frame, SnapshotPointer &packs);
  bool isCurrent(const PackSnapshot &packs, const void *const *inputs, const InputIdentity *identities) const;
  bool refreshPacks(const void *const *inputs, const InputIdentity *identities, int threads, SnapshotPointer &packs,
                    RunError &error);
  std::shared_ptr<Memory> pack(const PackGroup &group, const void *const *inputs, int threads, RunError &error);
  bool packGroupAhead(size_t i, const void *const *inputs, const InputIdentity *identities);
  void releasePacked(size_t last, const void *const *inputs, PackSnapshot &packs);
  bool runFrame(const Frame &frame, const void *const *inputs, void *const *outputs, void *const *packed, int threads,
                RunError &error, std::atomic<int64_t> *times = nullptr, Exchange *exchange = nullptr);

  plan::Plan program;
  std::vector<Kernel> kernels;
  std::vector<HostFunction> hostFunctions;
  std::shared_ptr<void> keepAlive;
  Memory constants;
  std::vector<PackGroup> groups;
  std::vector<bool> packedOnly; ///< by input
  bool brief = false;           ///< see isBrief()
  ReleaseInput releaseInput;
  size_t packedSlots = 0;
  std::vector<size_t> groupOf;  ///< the group of each packed buffer
  std::vector<bool> packInputs; ///< for each input: true if `once` steps read it

  static constexpr size_t maxFrames = 8;
  ForkMutex stateMutex;             ///< guards the next two members (StateLock)
  std::vector<FramePointer> frames; ///< the most recently used frame first
  SnapshotPointer snapshot;

  std::atomic<bool> ahead{false};    ///< the thread of packAhead() may be running
  std::shared_ptr<Ahead> aheadState; ///< set before `ahead` becomes true

  ForkMutex packMutex;                ///< see PackLock; never taken while stateMutex is held
  std::vector<PackHistory> histories; ///< one history per group; guarded by packMutex
  std::atomic<uint64_t> epoch{0};
  std::atomic<int64_t> packings{0};
  std::unique_ptr<std::atomic<int64_t>[]> busy; ///< time of each step, while profiling is on
};

} // namespace tilewright::runtime

#endif
