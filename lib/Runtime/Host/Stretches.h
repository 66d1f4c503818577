//===- Stretches.h - a long call in parts between which memory changes hands ----===//
//
// A backward graph reads what the forward graph saved and writes gradients as large. A caller that makes all results
// before the call and keeps all arguments until it has ended holds both at once. The steps are cut at barriers into
// stretches, between which arguments that no later step reads can be given back, and results that the next ones write
// are made:
//
//   steps        0     1     2   |   3     4     5          | barrier, where 2 and 3 meet
//   saved a   ---read--read      |                          a is given back here,
//   gradient g                   |       write              g is made here
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_RUNTIME_HOST_STRETCHES_H
#define TILEWRIGHT_LIB_RUNTIME_HOST_STRETCHES_H

#include "lib/Runtime/Host/Frame.h"

namespace tilewright::runtime {

/// The stretches of `frame`, at least one: each but the last gives back inputs of `worthwhile` bytes or more, while
/// outputs of as many bytes are still to come.
std::vector<Frame::Stretch> cutIntoStretches(const Frame &frame, int32_t numInputs, int32_t numOutputs,
                                             int64_t worthwhile = int64_t(8) << 20);

} // namespace tilewright::runtime

#endif
