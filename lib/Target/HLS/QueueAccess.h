//===- QueueAccess.h - an array of a task becomes a queue ----------------------------------===//
#ifndef TILEWRIGHT_TARGET_HLS_QUEUEACCESS_H
#define TILEWRIGHT_TARGET_HLS_QUEUEACCESS_H

#include "dialects/HLS/HLS.h"

namespace tilewright::hls {

/// `access`, the only load or store of the argument `array`, becomes a read or a write of it; it becomes the queue.
void accessQueue(mlir::BlockArgument array, mlir::Operation *access, StreamType queue);

} // namespace tilewright::hls

#endif
