//===- DriverProgram.h - run a plan's kernels on a GPU through the NVIDIA driver --------===//
//
// A call enqueues the plan's steps into a stream. The call waits for the steps only in three cases: if a result or a
// changed input is copied to host memory, if an input is in pinned host memory, or if CUDA_LAUNCH_BLOCKING is set. The
// call uses one slab for all memory that it needs in addition to the caller's tensors. The caller may provide the slab;
// otherwise, the call allocates it:
//
//   | arena | statuses of the launches that check indices | copies of host tensors and of unaligned tensors |
//
// With `asGraph`, a call enqueues its steps, except `once` steps, as one CUDA graph (LaunchGraph.h). The call does so
// if its symbols equal those of the previous call, and CUDA_LAUNCH_BLOCKING is not set.
//
// Tensors may be on the device or on the host; the program queries the driver for their locations. Kernels report
// out-of-range indices in statuses, which are read after the device has finished. A call that waits reads the statuses
// itself. Otherwise, a later call of the program reads them. CUDA_LAUNCH_BLOCKING=1 makes every launch wait, so that an
// error names the kernel that failed.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_RUNTIME_CUDA_DRIVERPROGRAM_H
#define TILEWRIGHT_LIB_RUNTIME_CUDA_DRIVERPROGRAM_H

#include "lib/Runtime/CUDA/DriverContext.h"
#include "lib/Runtime/CUDA/GridPlan.h"
#include "lib/Runtime/CUDA/LaunchGraph.h"
#include "lib/Runtime/CUDA/LaunchParameters.h"
#include "tilewright/CallersMemory.h"

#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace tilewright::runtime {

class DriverProgram {
public:
  /// `cubin` may be empty. If the driver cannot load `cubin`, it compiles the PTX, and `cubinRefused` has the reason,
  /// unless the reason is a lack of memory. On failure, returns null with a reason in `error`.
  static std::unique_ptr<DriverProgram> create(std::unique_ptr<GridPlan> plan, const std::string &ptx,
                                               const std::string &cubin, std::shared_ptr<DriverContext> context,
                                               bool asGraph, std::string &cubinRefused, std::string &error);
  /// Waits until the device no longer uses the memory that the program frees.
  ~DriverProgram();

  /// Implements Program::run. If `memory` is not null, it specifies the stream and may provide the slab.
  bool run(const void *const *inputs, void *const *outputs, const int64_t *symbols, const uint64_t *versions,
           CallersMemory *memory, RunError &error);

  /// Enables or disables the timing of steps. While timing is enabled, every call waits for the device, and no call is
  /// executed as one CUDA graph.
  void profile(bool on);
  /// Returns, for each step of plan.steps, the sum of its times in nanoseconds since profile(true).
  std::vector<int64_t> times();

  const plan::Plan &planOf() const { return plan->plan(); }
  const std::shared_ptr<DriverContext> &contextOf() const { return context; }

  /// Makes the next call recompute the packed buffers.
  void repack();
  int64_t packedBytes();

  int32_t numOutputs() const { return plan->plan().numOutputs; }

private:
  class Call;

  /// The statuses of a call. Their copy to the host may still be in progress.
  struct PendingStatuses {
    driver::Event event = nullptr;
    int64_t *statuses = nullptr; ///< three values per launch, in pinned memory
    size_t capacity = 0;
    std::vector<GridLaunch> launches; ///< the launches to which the statuses belong
  };

  DriverProgram() = default;
  bool load(const std::string &ptx, const std::string &cubin, std::string &cubinRefused, std::string &error);
  bool pack(Call &call, const void *const *inputs, const uint64_t *versions, RunError &error);
  /// Enqueues the call's steps into its stream.
  bool walk(Call &call, const std::shared_ptr<const GridPlan::Sized> &sized, RunError &error);
  bool walkAsGraph(Call &call, const std::shared_ptr<const GridPlan::Sized> &sized, RunError &error);
  /// Records `event` in the call's stream. If `event` is null, creates it first.
  bool mark(driver::Event &event, const Call &call, RunError &error) const;
  /// Returns false if a status of `pending` is not 0. `error` then describes the first such status.
  static bool read(const PendingStatuses &pending, RunError &error);
  /// Reads the statuses that have been copied to the host. Returns false if an earlier call failed.
  bool readArrived(RunError &error);
  RunError failure(const char *what, driver::Code code) const;

  std::shared_ptr<DriverContext> context;
  std::unique_ptr<GridPlan> plan;
  driver::Module module = nullptr;
  std::vector<driver::Function> functions; ///< one function per kernel
  driver::Address constants = 0;
  bool blocking = false, asGraph = false;
  std::vector<int64_t> stepNanoseconds; ///< indexed by step; empty if steps are not timed

  std::mutex mutex; ///< held while a call enqueues its work
  std::vector<driver::Address> packed;
  std::vector<std::pair<const void *, uint64_t>> packedFrom; ///< pointers and versions of the inputs of `once` steps
  bool isPacked = false;
  driver::Event made = nullptr;    ///< event that is recorded after the `once` steps
  driver::Stream madeOn = nullptr; ///< the stream in which `made` was recorded
  /// For each stream: the event after its last call that read packed buffers.
  std::map<driver::Stream, driver::Event> uses;
  std::list<PendingStatuses> underway, idle;
  std::vector<LaunchParameters> parameters, onceParameters; ///< indexed by step
  std::shared_ptr<const GridPlan::Sized> lastSized;         ///< the steps with the symbols of the previous call
  std::unique_ptr<LaunchGraph> graph;
  std::shared_ptr<const GridPlan::Sized> graphOf;
};

} // namespace tilewright::runtime

#endif
