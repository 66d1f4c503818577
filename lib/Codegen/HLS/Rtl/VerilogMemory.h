//===- VerilogMemory.h - print memories and queues as Verilog -------------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_HLS_RTL_VERILOGMEMORY_H
#define TILEWRIGHT_LIB_CODEGEN_HLS_RTL_VERILOGMEMORY_H

#include "lib/Codegen/HLS/Rtl/VerilogNest.h"

namespace tilewright::hls {

/// Prints the memories of an array. Their ports are shared by its nests.
void printMemories(RtlArray &array, RtlText &text);

/// Prints a queue. Its head can be read at any time. An element can be taken two cycles after it was put.
void printQueue(RtlQueue &queue, RtlText &text);

} // namespace tilewright::hls

#endif
