//===- DriverProgram.h - run a plan's kernels on a GPU through the NVIDIA driver --------===//
//
// A call enqueues the plan's steps into a stream. It waits for them only if a result or a changed input is copied to
// host memory, if an input is in pinned host memory, or if CUDA_LAUNCH_BLOCKING is set. The call uses one slab for
// all memory that it needs in addition to the caller's tensors. The caller provides the slab, or the call allocates it:
//
//   | arena | statuses of the launches that check indices | copies of host tensors and of unaligned tensors |
//
// With `asGraph`, a call whose symbols equal those of the previous call enqueues its steps, except `once` steps, as one
// CUDA graph (LaunchGraph.h), unless CUDA_LAUNCH_BLOCKING is set.
//
// Tensors may be on the device or on the host; the driver reports which. Out-of-range indices that kernels report are
// read after the device has finished, by the call itself if it waits, otherwise by a later call of the program.
// CUDA_LAUNCH_BLOCKING=1 makes every launch wait, so that an error names the kernel that failed.
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
  /// `cubin` may be empty. If the driver cannot load it, the driver compiles the PTX, and the reason is in
  /// `cubinRefused`, unless it is a lack of memory. On failure, returns null with a reason in `error`.
  static std::unique_ptr<DriverProgram> create(std::unique_ptr<GridPlan> plan, const std::string &ptx,
                                               const std::string &cubin, std::shared_ptr<DriverContext> context,
                                               bool asGraph, std::string &cubinRefused, std::string &error);
  /// Waits until the device no longer uses the memory that the program frees.
  ~DriverProgram();

  /// Implements Program::run. If `memory` is not null, it specifies the stream and may provide the slab.
  bool run(const void *const *inputs, void *const *outputs, const int64_t *symbols, const uint64_t *versions,
           CallersMemory *memory, RunError &error);

  /// Enables or disables the timing of each step. While it is enabled, every call waits for the device, and no call is
  /// one CUDA graph.
  void profile(bool on);
  /// Returns the sum of the nanoseconds of each step, by index in plan.steps, since profile(true).
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
  /// Records `event`, which is created if it is null, in the call's stream.
  bool mark(driver::Event &event, const Call &call, RunError &error) const;
  /// Returns false with an error if a status of `pending` is not 0; the error describes the first such status.
  static bool read(const PendingStatuses &pending, RunError &error);
  /// Reads the statuses that have arrived; returns false if an earlier call failed.
  bool readArrived(RunError &error);
  RunError failure(const char *what, driver::Code code) const;

  std::shared_ptr<DriverContext> context;
  std::unique_ptr<GridPlan> plan;
  driver::Module module = nullptr;
  std::vector<driver::Function> functions; ///< by index of the kernel
  driver::Address constants = 0;
  bool blocking = false, asGraph = false;
  std::vector<int64_t> stepNanoseconds; ///< by index of the step; empty: steps are not timed

  std::mutex mutex; ///< held while a call enqueues its work
  std::vector<driver::Address> packed;
  std::vector<std::pair<const void *, uint64_t>> packedFrom; ///< pointers and versions of the inputs of `once` steps
  bool isPacked = false;
  driver::Event made = nullptr;                 ///< recorded after the `once` steps
  driver::Stream madeOn = nullptr;              ///< the stream in which `made` was recorded
  std::map<driver::Stream, driver::Event> uses; ///< recorded after each stream's last call that read packed buffers
  std::list<PendingStatuses> underway, idle;
  std::vector<LaunchParameters> parameters, onceParameters; ///< by index of the step
  std::shared_ptr<const GridPlan::Sized> lastSized;         ///< the steps with the symbols of the previous call
  std::unique_ptr<LaunchGraph> graph;
  std::shared_ptr<const GridPlan::Sized> graphOf;
};

} // namespace tilewright::runtime

#endif
