//===- DriverProgram.h - a plan's kernels on a GPU, by the driver -----------------------===//
//
// A call puts the plan's steps into a stream and does not wait for them, unless a result goes to the host's memory.
// Everything that the call needs besides the caller's tensors lies in one slab:
//
//   | arena | a status of each launch that checks its indices | copies of host and of unaligned tensors |
//
// With `asGraph` a call whose symbols are those of the call before it puts all its steps into the stream as one CUDA
// graph (LaunchGraph.h), unless CUDA_LAUNCH_BLOCKING is set.
//
// Tensors may lie on the device or on the host: the driver tells which. What kernels say of indices out of range
// is read once the device has come so far: by the call itself where it waits, else by a later call of the program.
// CUDA_LAUNCH_BLOCKING=1 makes every launch wait, so that a failure names its kernel.
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
  /// `cubin` may be empty. Where the driver refuses it, why is in `cubinRefused`, and it compiles the PTX. Null with a
  /// reason in `error`.
  static std::unique_ptr<DriverProgram> create(std::unique_ptr<GridPlan> plan, const std::string &ptx,
                                               const std::string &cubin, std::shared_ptr<DriverContext> context,
                                               bool asGraph, std::string &cubinRefused, std::string &error);
  /// Waits for the device to be done with the program.
  ~DriverProgram();

  /// As Program::run. `memory` (may be null) says on which stream, and may give the slab.
  bool run(const void *const *inputs, void *const *outputs, const int64_t *symbols, const uint64_t *versions,
           CallersMemory *memory, std::string &error);

  /// Packed buffers are made anew by the next call.
  void repack();
  int64_t packedBytes();

  int32_t numOutputs() const { return plan->plan().numOutputs; }

private:
  class Call;

  /// Statuses of a call on their way to the host.
  struct Told {
    driver::Event event = nullptr;
    int64_t *statuses = nullptr; ///< three each, pinned
    size_t capacity = 0;
    std::vector<GridLaunch> launches; ///< that they are of
  };

  DriverProgram() = default;
  bool load(const std::string &ptx, const std::string &cubin, std::string &cubinRefused, std::string &error);
  bool pack(Call &call, const void *const *inputs, const uint64_t *versions, std::string &error);
  /// Puts the call's steps into its stream.
  bool walk(Call &call, const std::shared_ptr<const GridPlan::Sized> &sized, std::string &error);
  bool walkAsGraph(Call &call, const std::shared_ptr<const GridPlan::Sized> &sized, std::string &error);
  /// Records `event`, made where it is null, in the call's stream.
  bool mark(driver::Event &event, const Call &call, std::string &error) const;
  /// The first status of `told` that is not 0 as an error.
  static bool read(const Told &told, std::string &error);
  /// Reads what has arrived; false where an earlier call failed.
  bool readArrived(std::string &error);
  std::string failure(const char *what, driver::Code code) const;

  std::shared_ptr<DriverContext> context;
  std::unique_ptr<GridPlan> plan;
  driver::Module module = nullptr;
  std::vector<driver::Function> functions; ///< by kernel
  driver::Address constants = 0;
  bool blocking = false, asGraph = false;

  std::mutex mutex; ///< one call at a time puts its work into its stream
  std::vector<driver::Address> packed;
  std::vector<std::pair<const void *, uint64_t>> packedFrom; ///< pointers and versions of the inputs of once steps
  bool isPacked = false;
  driver::Event made = nullptr; ///< behind the once steps, on
  driver::Stream madeOn = nullptr;
  std::map<driver::Stream, driver::Event> uses; ///< behind the last call of each stream that read packed buffers
  std::list<Told> underway, idle;
  std::vector<LaunchParameters> parameters, onceParameters; ///< by number of the step
  std::shared_ptr<const GridPlan::Sized> lastSized;         ///< of the call before
  std::unique_ptr<LaunchGraph> graph;
  std::shared_ptr<const GridPlan::Sized> graphOf;
};

} // namespace tilewright::runtime

#endif
