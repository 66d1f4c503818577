//===- StepRanges.h - parts of a long call between which memory is released ------===//
//
// A backward graph reads the activations that the forward graph saved, and writes gradients of similar size. If all
// results are allocated before the call and all arguments are kept until its end, activations and gradients use memory
// at the same time. The same holds for packs of parameters during training, each of which is used in one call only. The
// steps are therefore divided at barriers into step ranges. Between step ranges, arguments and packs that no later step
// reads are released, and results and packs that the next step range is the first to access are allocated:
//
//   steps        0     1     2   |   3     4     5          | is the barrier between two step ranges
//   saved a   ---read--read      |                          a is released here,
//   gradient g                   |       write              g is allocated here
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_RUNTIME_HOST_STEPRANGES_H
#define TILEWRIGHT_LIB_RUNTIME_HOST_STEPRANGES_H

#include "lib/Runtime/Host/Frame.h"

namespace tilewright::runtime {

/// Returns the step ranges of `frame`; there is at least one. Each step range but the last releases at least
/// `worthwhile` bytes of inputs and packed buffers, and later step ranges allocate at least `worthwhile` bytes of
/// outputs and packed buffers. `stay` has a flag for each input, which is true if `once` steps read the input. Such
/// inputs are not released.
std::vector<Frame::StepRange> cutIntoStepRanges(const Frame &frame, const std::vector<bool> &stay, int32_t numOutputs,
                                                int32_t numPacked, int64_t worthwhile = int64_t(8) << 20);

} // namespace tilewright::runtime

#endif
