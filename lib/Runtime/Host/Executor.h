//===- Executor.h - runs a plan on the host -------------------------------===//
//
//   std::string error;
//   auto executable = Executable::create(std::move(plan), kernels, hostFunctions, error);
//   if (!executable || !executable->run(inputs, outputs, symbols, /*threads=*/0, error))
//     report(error);
//
// A call looks its frame up by the symbols' values, borrows an arena, and walks the steps on its threads, which meet
// at barriers. With one thread it touches neither the team nor an atomic. Any number of calls may run at once.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_RUNTIME_HOST_EXECUTOR_H
#define TILEWRIGHT_LIB_RUNTIME_HOST_EXECUTOR_H

#include "lib/Runtime/Host/Kernel.h"
#include "lib/Runtime/Host/Packing.h"
#include "lib/Runtime/Host/ThreadTeam.h"
#include "tilewright/CallersMemory.h"
#include "tilewright/ForkMutex.h"

#include <atomic>

namespace tilewright::runtime {

/// A step of the plan in a profile.
struct StepTime {
  const plan::Step *step = nullptr;
  int64_t nanoseconds = 0; ///< of all threads together, of all calls
  int64_t flops = 0;       ///< of one call, contractions only
  int64_t bytes = 0;       ///< of the buffers that one call reads or writes
  int64_t kept = 0;        ///< of those, what no step of the call made: packed weights, constants, arguments
};

class Executable {
public:
  ~Executable();

  /// Takes a plan, which is verified here, and the functions behind plan.kernels and plan.hostFunctions, in their
  /// order. Null with a reason in `error` when the plan is invalid or a function is missing. What `keepAlive` holds
  /// (the JIT's code) lives as long as the executable.
  static std::unique_ptr<Executable> create(plan::Plan plan, std::vector<Kernel> kernels,
                                            std::vector<HostFunction> hostFunctions, std::string &error,
                                            std::shared_ptr<void> keepAlive = nullptr);

  /// Runs the plan. `inputs` and `outputs` have a pointer per input and output of the plan (null for empty tensors),
  /// `symbols` a value per symbol, in elements as the plan means them. `threads` of 0 or less is the default, see
  /// clipThreads(). `identities` has one entry per input, or is null: then a packed parameter is known by its pointer
  /// and its fingerprint alone. With `memory` the pointers of outputs are read after memory->take() has set them. False
  /// with a reason in `error`; what outputs then hold is undefined.
  bool run(const void *const *inputs, void *const *outputs, const int64_t *symbols, int threads, std::string &error,
           const InputIdentity *identities = nullptr, CallersMemory *memory = nullptr);

  /// Packs, in a thread of its own, what run() would pack of these inputs, until all is packed or run() comes, which
  /// packs the rest. A null pointer is an input that is not known yet. What they point to has to stay until
  /// endPackAhead() or run() returns. Does nothing after onPacked(), and where there is one thread or little to pack.
  void packAhead(std::vector<const void *> inputs, std::vector<InputIdentity> identities);

  /// Returns when the thread of packAhead() reads no input any more.
  void endPackAhead();

  /// The next run() packs every parameter anew: for writes that leave version and fingerprint alone.
  void repack();

  /// `release` is asked about every input of which packedInputs() is true when it has been packed; set it before the
  /// first run(). It is called by the thread that packs, which holds no lock that run() of a current pack takes.
  void onPacked(ReleaseInput release) { releaseInput = std::move(release); }

  /// Per input of the plan: once steps read it, and no other step does.
  const std::vector<bool> &packedInputs() const { return packedOnly; }

  const plan::Plan &plan() const { return program; }

  /// From now on calls are timed step by step (true), or no longer. Not while a call is under way.
  void profile(bool on);

  /// What the steps took since profile(true), and what they do at sizes `symbols`. Empty without a profile.
  std::vector<StepTime> times(const int64_t *symbols, std::string &error);

  /// Bytes of arena a call with these symbols needs; -1 with a reason in `error`.
  int64_t arenaBytes(const int64_t *symbols, std::string &error);

  /// Bytes of packed parameters now held.
  int64_t packedBytes();

  /// How many times once steps have run, counted by group: for tests and reports.
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

  bool checkSymbols(const int64_t *symbols, std::string &error) const;
  bool resolve(const int64_t *symbols, FramePointer &frame, std::string &error);
  bool lookUp(const int64_t *symbols, FramePointer &frame, SnapshotPointer &packs);
  bool isCurrent(const PackSnapshot &packs, const void *const *inputs, const InputIdentity *identities) const;
  bool refreshPacks(const void *const *inputs, const InputIdentity *identities, int threads, SnapshotPointer &packs,
                    std::string &error);
  std::shared_ptr<Memory> pack(const PackGroup &group, const void *const *inputs, int threads, std::string &error);
  bool packGroupAhead(size_t i, const void *const *inputs, const InputIdentity *identities);
  void releasePacked(size_t last, const void *const *inputs, PackSnapshot &packs);
  bool runFrame(const Frame &frame, const void *const *inputs, void *const *outputs, void *const *packed, int threads,
                std::string &error, std::atomic<int64_t> *times = nullptr, Exchange *exchange = nullptr);

  plan::Plan program;
  std::vector<Kernel> kernels;
  std::vector<HostFunction> hostFunctions;
  std::shared_ptr<void> keepAlive;
  Memory constants;
  std::vector<PackGroup> groups;
  std::vector<bool> packedOnly; ///< by input
  ReleaseInput releaseInput;
  size_t packedSlots = 0;
  std::vector<size_t> groupOf;  ///< by packed buffer
  std::vector<bool> packInputs; ///< by input: once steps read it

  static constexpr size_t maxFrames = 8;
  ForkMutex stateMutex;             ///< guards the two below, for a few instructions only (StateLock)
  std::vector<FramePointer> frames; ///< most recently used first
  SnapshotPointer snapshot;

  std::atomic<bool> ahead{false};    ///< the thread of packAhead() may be there
  std::shared_ptr<Ahead> aheadState; ///< set before `ahead`

  ForkMutex packMutex;                ///< one thread packs (PackLock); never taken while stateMutex is held
  std::vector<PackHistory> histories; ///< by group, guarded by packMutex
  std::atomic<uint64_t> epoch{0};
  std::atomic<int64_t> packings{0};
  std::unique_ptr<std::atomic<int64_t>[]> busy; ///< by step, while there is a profile
};

} // namespace tilewright::runtime

#endif
