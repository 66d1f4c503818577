//===- VerilogMemory.h - the text of memories and queues ------------------------------------===//
#ifndef TILEWRIGHT_TARGET_HLS_RTL_VERILOGMEMORY_H
#define TILEWRIGHT_TARGET_HLS_RTL_VERILOGMEMORY_H

#include "lib/Target/HLS/Rtl/VerilogNest.h"

namespace tilewright::hls {

/// The memories of an array, with ports that its nests take in turn.
void printMemories(RtlArray &array, RtlText &text);

/// A queue, with its head in front: what is put can be taken two cycles later.
void printQueue(RtlQueue &queue, RtlText &text);

} // namespace tilewright::hls

#endif
