//===- QueueAccess.h - replace an array of a task by a queue -------------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_HLS_QUEUEACCESS_H
#define TILEWRIGHT_LIB_CODEGEN_HLS_QUEUEACCESS_H

#include "dialects/HLS/HLS.h"

namespace tilewright::hls {

/// Replaces `access`, the only load or store of the argument `array`, by a read or write of `queue`; the argument
/// becomes the queue.
void accessQueue(mlir::BlockArgument array, mlir::Operation *access, StreamType queue);

} // namespace tilewright::hls

#endif
