//===- VerilogMemory.h - print memories and queues as Verilog -------------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_HLS_RTL_VERILOGMEMORY_H
#define TILEWRIGHT_LIB_CODEGEN_HLS_RTL_VERILOGMEMORY_H

#include "lib/Codegen/HLS/Rtl/VerilogNest.h"

namespace tilewright::hls {

/// Prints the memories of an array. The nests that access the array share their ports.
void printMemories(RtlArray &array, RtlText &text);

/// Prints a queue. The first element can be read at any time. An element can be removed two cycles after it was added.
void printQueue(RtlQueue &queue, RtlText &text);

} // namespace tilewright::hls

#endif
