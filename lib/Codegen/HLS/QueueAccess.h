//===- QueueAccess.h - replace an array of a task by a queue -------------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_HLS_QUEUEACCESS_H
#define TILEWRIGHT_LIB_CODEGEN_HLS_QUEUEACCESS_H

#include "dialects/HLS/HLS.h"

namespace tilewright::hls {

/// Changes the type of the argument `array` to `queue`. Replaces `access`, the only load or store of the argument, by a
/// read or write of the queue.
void accessQueue(mlir::BlockArgument array, mlir::Operation *access, StreamType queue);

} // namespace tilewright::hls

#endif
