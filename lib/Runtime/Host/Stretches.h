//===- Stretches.h - a long call in parts between which memory changes hands ----===//
//
// A backward graph reads what the forward graph saved and writes gradients as large. A caller that makes all results
// before the call and keeps all arguments until it has ended holds both at once; and so it is with packs of parameters
// that are trained, which serve one call. The steps are cut at barriers into stretches, between which arguments and
// packs that no later step reads can be given back, and results and packs that the next ones touch are made:
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

/// The stretches of `frame`, at least one. Each but the last gives back inputs and packed buffers of `worthwhile` bytes
/// or more, while outputs and packed buffers of as many bytes are still to come. Inputs that `stay`, by number, are not
/// given back: once steps read them.
std::vector<Frame::Stretch> cutIntoStretches(const Frame &frame, const std::vector<bool> &stay, int32_t numOutputs,
                                             int32_t numPacked, int64_t worthwhile = int64_t(8) << 20);

} // namespace tilewright::runtime

#endif
