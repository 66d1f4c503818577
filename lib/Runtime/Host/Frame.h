//===- Frame.h - a plan with its symbols filled in ------------------------===//
//
// A frame contains the data of a sequence of steps that depends only on the symbols' values: offsets, grids, sizes, and
// the barriers between steps. A frame is computed for one set of values and can be used by any number of calls.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_RUNTIME_HOST_FRAME_H
#define TILEWRIGHT_LIB_RUNTIME_HOST_FRAME_H

#include "lib/Runtime/Plan/Plan.h"
#include "tilewright/RunError.h"

namespace tilewright::runtime {

struct Frame {
  /// The space to which the offset of an operand is relative. Each call provides one list of base pointers per space.
  enum class Space : uint8_t { Input, Output, Packed, Arena, Constant };
  static constexpr int numSpaces = 5;

  struct Operand {
    Space space;
    int32_t index;  ///< index in the space's list; 0 for Arena and Constant
    int64_t offset; ///< bytes from the base pointer that `index` selects
    int64_t bytes;  ///< upper bound of the number of bytes that the step accesses, starting at `offset`
  };

  struct Step {
    plan::Step::Kind kind;
    bool serial;        ///< only thread 0 executes the step
    bool barrierBefore; ///< all threads synchronize before this step
    bool checks;        ///< the kernel reports failed checks (tilewright_failed_check)
    int32_t callee;
    int32_t number; ///< index of the step in the plan
    uint32_t firstOperand, firstSize;
    int64_t grid;
    int64_t copyBytes;
    /// The number of tiles of all steps from the beginning of the frame to the next barrier. A serial step has one
    /// tile.
    int64_t tilesToBarrier;
  };

  /// The steps [begin, end), which start and end at a barrier or an end of the frame. The caller allocates results
  /// before a step range and releases arguments after it (StepRanges.h).
  struct StepRange {
    size_t begin = 0, end = 0;
    // Indices of buffers.
    /// Outputs first accessed in this range; the first range also has those that no range accesses.
    std::vector<int32_t> outputs;
    std::vector<int32_t> packed;   ///< packed buffers first accessed in this range
    std::vector<int32_t> inputs;   ///< inputs last accessed in this range
    std::vector<int32_t> unpacked; ///< packed buffers last accessed in this range
  };

  std::vector<int64_t> symbols;
  std::vector<Step> steps; ///< the steps whose grid is not 0
  std::vector<Operand> operands;
  std::vector<int64_t> sizes;
  std::vector<int32_t> neededInputs, neededOutputs; ///< inputs and outputs whose pointers must not be null
  std::vector<StepRange> stepRanges;                ///< at least one range for a frame of plan.steps

  /// Returns the index of the first operand of a step. For the index after the last step, returns the number of
  /// operands.
  size_t operandsOf(size_t step) const { return step < steps.size() ? steps[step].firstOperand : operands.size(); }

  int64_t arenaBytes = 0;
  int64_t scratchBytes = 0; ///< scratch bytes per thread, a multiple of 128
  int64_t parallelism = 1;  ///< the maximum number of threads that have work
};

/// Returns the index of each buffer within its space: the caller's index for an input or output, a dense index for a
/// packed buffer, and 0 for other buffers.
std::vector<int32_t> bufferSlots(const plan::Plan &plan);

/// Resolves `steps`, which belong to the verified `plan`. Steps that are not in plan.steps must not use arena buffers.
/// `symbols` is null for `once` steps, which depend on no symbol. On failure, such as an overflow, a negative size or
/// an operand that is out of bounds, returns false with a reason in `error`.
bool resolveFrame(const plan::Plan &plan, const std::vector<const plan::Step *> &steps, const int64_t *symbols,
                  Frame &frame, std::string &error);

/// Resolves plan.steps after a check of the plan's size guards. `symbols` may be null if the plan has none.
bool resolveFrame(const plan::Plan &plan, const int64_t *symbols, Frame &frame, RunError &error);

/// Sets barrierBefore and tilesToBarrier. A step needs a barrier if, since the last barrier, another thread may have
/// written memory that the step accesses, or may still read memory that the step writes. Host functions may access any
/// memory. `writes` has a flag for each operand of the frame. `mayAlias` has a flag for each input, which is true if
/// the input may overlap any other input or output (an in-place input).
void placeBarriers(Frame &frame, const std::vector<bool> &writes, const std::vector<bool> &mayAlias);

/// Returns, for a device that runs steps concurrently, the steps for which each step must wait, without transitive
/// dependences. The result has `planSteps` lists, one for each step of plan.steps, and the elements of the lists are
/// indices in plan.steps, too. `writes` and `mayAlias` are as for placeBarriers().
std::vector<std::vector<uint32_t>> stepsBefore(const Frame &frame, size_t planSteps, const std::vector<bool> &writes,
                                               const std::vector<bool> &mayAlias);

} // namespace tilewright::runtime

#endif
