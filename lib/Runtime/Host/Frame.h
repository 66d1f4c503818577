//===- Frame.h - a plan with its symbols filled in ------------------------===//
//
// Everything about a run of steps that depends on the symbols' values and on nothing else: offsets, grids, sizes,
// where the threads must meet. Resolved once per set of values, then read by any number of calls.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_RUNTIME_HOST_FRAME_H
#define TILEWRIGHT_LIB_RUNTIME_HOST_FRAME_H

#include "lib/Runtime/Plan/Plan.h"

namespace tilewright::runtime {

struct Frame {
  /// What an operand's offset is relative to. Each call brings one list of base pointers per space.
  enum class Space : uint8_t { Input, Output, Packed, Arena, Constant };
  static constexpr int numSpaces = 5;

  struct Operand {
    Space space;
    int32_t index;  ///< number in the space's list; 0 for Arena and Constant
    int64_t offset; ///< bytes from that base
    int64_t bytes;  ///< at most so many bytes from there are touched
  };

  struct Step {
    plan::Step::Kind kind;
    bool serial;        ///< thread 0 alone
    bool barrierBefore; ///< every thread waits for all the others before it
    bool checks;        ///< the kernel tells of indices out of range
    int32_t callee;
    int32_t number; ///< among the plan's steps
    uint32_t firstOperand, firstSize;
    int64_t grid;
    int64_t copyBytes;
    /// How many tiles all steps up to the next barrier have, those of earlier barriers included; a serial step is one.
    int64_t tilesToBarrier;
  };

  /// Steps [begin, end), from a barrier to a barrier: a part of a call before which the caller makes results, and
  /// behind which it gives arguments back (Stretches.h).
  struct Stretch {
    size_t begin = 0, end = 0;
    // Numbers of what this stretch touches and
    std::vector<int32_t> outputs;  ///< no earlier one does; the first has those that none touches, too
    std::vector<int32_t> packed;   ///< no earlier one does
    std::vector<int32_t> inputs;   ///< no later one does
    std::vector<int32_t> unpacked; ///< no later one does: packed buffers
  };

  std::vector<int64_t> symbols;
  std::vector<Step> steps; ///< without those whose grid is 0
  std::vector<Operand> operands;
  std::vector<int64_t> sizes;
  std::vector<int32_t> neededInputs, neededOutputs; ///< numbers whose pointer must not be null
  std::vector<Stretch> stretches;                   ///< of a frame of plan.steps: at least one

  /// Where the operands of a step start; of the step behind the last, where all operands end.
  size_t operandsOf(size_t step) const { return step < steps.size() ? steps[step].firstOperand : operands.size(); }

  int64_t arenaBytes = 0;
  int64_t scratchBytes = 0; ///< per thread, a multiple of 128
  int64_t parallelism = 1;  ///< the largest number of threads that have something to do
};

/// Where a plan's buffers are found: for every buffer its number in its space (inputs and outputs: the caller's
/// number; packed: a dense number; else 0).
std::vector<int32_t> bufferSlots(const plan::Plan &plan);

/// Resolves `steps`, which belong to the verified `plan`. When they are not plan.steps they use no arena buffer.
/// False with a reason in `error`: overflow, a negative size, an operand outside of its buffer; it names the step.
bool resolveFrame(const plan::Plan &plan, const std::vector<const plan::Step *> &steps, const int64_t *symbols,
                  Frame &frame, std::string &error);

/// Resolves plan.steps. `symbols` may be null when the plan has none.
bool resolveFrame(const plan::Plan &plan, const int64_t *symbols, Frame &frame, std::string &error);

/// Sets barrierBefore and tilesToBarrier: a step waits when it touches memory that another thread may have written, or
/// may still read, since the last barrier. Conservative. `mayAlias` tells, per input number, that its memory may be any
/// other input's or output's (an in-place input); `writes` has one flag per frame operand.
void placeBarriers(Frame &frame, const std::vector<bool> &writes, const std::vector<bool> &mayAlias);

/// The steps of a frame that each has to wait for, in a device that runs others beside each other: by and as numbers of
/// the plan's steps, without those that follow from others. `writes` and `mayAlias` as above.
std::vector<std::vector<uint32_t>> stepsBefore(const Frame &frame, size_t planSteps, const std::vector<bool> &writes,
                                               const std::vector<bool> &mayAlias);

} // namespace tilewright::runtime

#endif
