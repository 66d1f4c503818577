//===- GridPlan.h - a plan whose kernels run as grids, for any device -------------------===//
//
// What the emulated device and the driver's have in common: the plan checked against its table of kernels, its sizes
// filled in per call, and the walk over its steps, which tells a device what to copy and what to launch.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_RUNTIME_CUDA_GRIDPLAN_H
#define TILEWRIGHT_LIB_RUNTIME_CUDA_GRIDPLAN_H

#include "lib/Runtime/Host/Frame.h"
#include "lib/Runtime/Plan/Plan.h"
#include "tilewright/ForkMutex.h"
#include "tilewright/TensorMapRecipe.h"

#include <memory>
#include <string>
#include <vector>

namespace tilewright::runtime {

/// Kernels rely on it (DeviceCode.h).
constexpr uint64_t bufferAlignment = 16;

/// As DeviceKernel in include/tilewright/DeviceCode.h.
struct GridKernel {
  std::string name;
  uint32_t threads = 0, shared = 0;
  std::vector<TensorMapRecipe> maps;
};

/// A buffer of a launch.
struct GridBuffer {
  uint64_t address = 0; ///< as the device sees it
  uint64_t bytes = 0;   ///< at most so many from there are touched
};

/// A launch with all that a kernel's parameters are made of.
struct GridLaunch {
  const GridKernel *kernel = nullptr;
  const plan::Step *step = nullptr;
  int32_t callee = 0;  ///< the kernel's number
  int32_t number = 0;  ///< of the step, in plan.once or plan.steps
  bool once = false;   ///< which of them
  uint32_t grid = 0;   ///< blocks
  bool checks = false; ///< it has a status
  const int64_t *sizes = nullptr;
  size_t numSizes = 0;
  std::vector<GridBuffer> buffers;

  /// "kernel k is launched by add [step 3]", where whoever knows the user's lines puts them in the place of "[step 3]".
  std::string origin() const;
  /// "index 7 is out of range for a dimension of size 5, in embedding [step 3]": what a status says.
  std::string outOfRange(const int64_t *status) const;
  /// " [step 3]"; of a once step nothing.
  std::string place() const;
};

/// A tensor map with its sizes known.
struct MapShape {
  std::vector<uint32_t> sizes, box; ///< elements, the fastest dimension first
  std::vector<uint64_t> strides;    ///< bytes, of the dimensions from the second on
};
/// False with a reason in `error`.
bool shapeOfMap(const TensorMapRecipe &recipe, const int64_t *sizes, MapShape &shape, std::string &error);

/// Where a call's buffers lie on the device.
struct GridPlaces {
  std::vector<uint64_t> inputs, outputs, packed; ///< by number
  uint64_t arena = 0, constants = 0;
};

/// Does what a walk comes to. Both return false with a reason in `error`, which ends the walk.
class GridDevice {
public:
  virtual ~GridDevice() = default;
  /// `step` is the number of the copy's step. The two may overlap.
  virtual bool copy(int32_t step, uint64_t to, uint64_t from, uint64_t bytes, std::string &error) = 0;
  virtual bool launch(const GridLaunch &launch, std::string &error) = 0;
};

class GridPlan {
public:
  /// `kernels` are plan.kernels, in order. Null with a reason in `error`: an invalid plan, a tensor map of a buffer or
  /// size that a launch does not have, packed buffers whose sizes depend on symbols.
  static std::unique_ptr<GridPlan> create(plan::Plan plan, std::vector<GridKernel> kernels, std::string &error);

  /// The plan's steps with the symbols of a call, and the bytes of the caller's tensors.
  struct Sized {
    Frame frame;
    std::vector<int64_t> inputs, outputs; ///< by number; -1: the plan has no such buffer
    size_t checks = 0;                    ///< launches that have a status
  };
  /// Null with a reason in `error`. `symbols` has a value per symbol.
  std::shared_ptr<const Sized> sized(const int64_t *symbols, std::string &error) const;

  /// By number of a step, those it has to wait for (Frame.h), and no others.
  std::vector<std::vector<uint32_t>> stepsBefore(const Sized &sized) const;

  /// Walks plan.once or the sized steps.
  bool walkOnce(const GridPlaces &places, GridDevice &device, std::string &error) const;
  bool walk(const Sized &sized, const GridPlaces &places, GridDevice &device, std::string &error) const;

  const plan::Plan &plan() const { return program; }
  const std::vector<GridKernel> &kernels() const { return table; }
  const std::vector<int64_t> &packedBytes() const { return packed; }
  /// Inputs by number: once steps read it; kernels write it for the caller.
  const std::vector<bool> &readOnce() const { return onceInputs; }
  const std::vector<bool> &inPlace() const { return written; }
  size_t onceChecks() const { return checksOfOnce; }

private:
  GridPlan() = default;
  bool walk(const Frame &frame, bool once, const GridPlaces &places, GridDevice &device, std::string &error) const;

  plan::Plan program;
  std::vector<GridKernel> table;
  std::vector<int64_t> packed; ///< bytes by slot
  std::vector<bool> onceInputs, written;
  Frame onceFrame;
  size_t checksOfOnce = 0;
  mutable ForkSafe<std::shared_ptr<const Sized>> last; ///< of the last call
};

} // namespace tilewright::runtime

#endif
