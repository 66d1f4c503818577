//===- VerilogMemory.h - print memories and queues as Verilog -------------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_HLS_RTL_VERILOGMEMORY_H
#define TILEWRIGHT_LIB_CODEGEN_HLS_RTL_VERILOGMEMORY_H

#include "lib/Codegen/HLS/Rtl/VerilogNest.h"

namespace tilewright::hls {

/// Prints the memories of an array. The nests that access the array share the ports of the memories.
void printMemories(RtlArray &array, RtlText &text);

/// Prints a queue. An element can be removed at the earliest one cycle after it was added. The first element of the
/// queue can be read in any cycle.
void printQueue(RtlQueue &queue, RtlText &text);

} // namespace tilewright::hls

#endif
