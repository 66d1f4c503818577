//===- GridPlan.h - a plan whose kernels run as grids, on any device --------------------===//
//
// GridPlan is the common part of the emulated device and the CUDA device. It validates the plan against its kernel
// table, computes the sizes of a call, and traverses the steps, for which it calls copy() and launch() of a device.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_RUNTIME_CUDA_GRIDPLAN_H
#define TILEWRIGHT_LIB_RUNTIME_CUDA_GRIDPLAN_H

#include "lib/Interfaces/ForkMutex.h"
#include "lib/Runtime/Host/Frame.h"
#include "lib/Runtime/Plan/Plan.h"
#include "tilewright/RunError.h"
#include "tilewright/TensorMapRecipe.h"

#include <memory>
#include <string>
#include <vector>

namespace tilewright::runtime {

/// The alignment of buffers that kernels require, in bytes (DeviceCode.h).
constexpr uint64_t bufferAlignment = 16;

/// A kernel of the plan. The fields correspond to DeviceKernel in include/tilewright/DeviceCode.h.
struct GridKernel {
  std::string name;
  uint32_t threads = 0, shared = 0;
  std::vector<TensorMapRecipe> maps;
};

/// A buffer operand of a launch.
struct GridBuffer {
  uint64_t address = 0; ///< address in the device's address space
  uint64_t bytes = 0;   ///< upper bound of the number of bytes that the launch accesses, starting at `address`
};

/// A launch with all the data for its kernel's parameters.
struct GridLaunch {
  const GridKernel *kernel = nullptr;
  const plan::Step *step = nullptr;
  int32_t callee = 0;  ///< index of the kernel
  int32_t number = 0;  ///< index of the step in plan.once or plan.steps
  bool once = false;   ///< the step is in plan.once
  uint32_t grid = 0;   ///< number of blocks
  bool checks = false; ///< the launch has a status
  const int64_t *sizes = nullptr;
  size_t numSizes = 0;
  std::vector<GridBuffer> buffers;

  /// Returns an error of this step: `what`, followed by a text such as "kernel k is launched by add".
  RunError failure(std::string what) const;
  /// Returns the error for a status, such as "index 7 is out of range for a dimension of size 5, in embedding".
  RunError outOfRange(const int64_t *status) const;
  /// Returns the index of the step in plan.steps, or std::nullopt for a `once` step.
  std::optional<size_t> planStep() const;
};

/// The shape of a tensor map after its sizes have been evaluated.
struct MapShape {
  std::vector<uint32_t> sizes, box; ///< numbers of elements, the fastest dimension first
  std::vector<uint64_t> strides;    ///< strides in bytes, from the second dimension on
  std::vector<uint32_t> steps;      ///< element strides
  std::vector<int> lower, upper;    ///< corners of the bounding box of a map of windows
};
/// Computes the shape of a tensor map. Returns false with a reason in `error` if the sizes are invalid.
bool shapeOfMap(const TensorMapRecipe &recipe, const int64_t *sizes, MapShape &shape, std::string &error);

/// The device addresses of a call's buffers.
struct GridAddresses {
  std::vector<uint64_t> inputs, outputs, packed; ///< by index
  uint64_t arena = 0, constants = 0;
};

/// Executes the steps of a traversal. On failure, copy() and launch() return false with a reason in `error`, and the
/// traversal ends.
class GridDevice {
public:
  virtual ~GridDevice() = default;
  /// Copies `bytes` bytes. `step` is the index of the copy's step. The source and the destination may overlap.
  virtual bool copy(int32_t step, uint64_t to, uint64_t from, uint64_t bytes, RunError &error) = 0;
  virtual bool launch(const GridLaunch &launch, RunError &error) = 0;
};

class GridPlan {
public:
  /// `kernels` corresponds to plan.kernels, in order. Returns null with a reason in `error` if the plan is invalid,
  /// calls a host function or does not match `kernels`, for example if a tensor map refers to a buffer or size that a
  /// launch does not have.
  static std::unique_ptr<GridPlan> create(plan::Plan plan, std::vector<GridKernel> kernels, std::string &error);

  /// The plan's steps with the symbols of a call, and the bytes of the caller's tensors.
  struct Sized {
    Frame frame;
    std::vector<int64_t> inputs, outputs; ///< bytes of each tensor; -1: the plan has no such buffer
    size_t checks = 0;                    ///< number of launches that have a status
  };
  /// Resolves the steps for a call. `symbols` contains a value for each symbol. Returns null, with a reason in `error`,
  /// on failure.
  std::shared_ptr<const Sized> sized(const int64_t *symbols, RunError &error) const;

  /// Returns, for each step, the earlier steps for which it must wait (Frame.h). Transitive dependences are left out.
  std::vector<std::vector<uint32_t>> stepsBefore(const Sized &sized) const;

  /// Traverse the steps of plan.once (walkOnce) or of a call (walk).
  bool walkOnce(const GridAddresses &addresses, GridDevice &device, RunError &error) const;
  bool walk(const Sized &sized, const GridAddresses &addresses, GridDevice &device, RunError &error) const;

  const plan::Plan &plan() const { return program; }
  const std::vector<GridKernel> &kernels() const { return table; }
  const std::vector<int64_t> &packedBytes() const { return packed; }
  /// One flag per input: `once` steps read the input (readOnce), or kernels write it in place (inPlace).
  const std::vector<bool> &readOnce() const { return onceInputs; }
  const std::vector<bool> &inPlace() const { return written; }
  size_t onceChecks() const { return checksOfOnce; }

private:
  GridPlan() = default;
  bool walk(const Frame &frame, bool once, const GridAddresses &addresses, GridDevice &device, RunError &error) const;

  plan::Plan program;
  std::vector<GridKernel> table;
  std::vector<int64_t> packed; ///< size in bytes of each packed slot
  std::vector<bool> onceInputs, written;
  Frame onceFrame;
  size_t checksOfOnce = 0;
  mutable ForkSafe<std::shared_ptr<const Sized>> last; ///< result of the previous call of sized()
};

} // namespace tilewright::runtime

#endif
