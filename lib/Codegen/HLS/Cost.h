//===- Cost.h - estimated cycles and resources of hardware -----------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_HLS_COST_H
#define TILEWRIGHT_LIB_CODEGEN_HLS_COST_H

#include "dialects/HLS/HLS.h"
#include "lib/Codegen/HLS/Estimate/Operators.h"
#include "lib/Codegen/HLS/Parts.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include <optional>
#include <vector>

namespace tilewright::hls {

/// Returns the number of bits of an element of a design. An index has 32 bits.
unsigned widthOf(mlir::Type element);

/// Returns true if this op may be implemented as an adder in lookup tables, without DSP slices (tw_hls.fabric).
bool mayBeInFabric(mlir::Operation *op);

/// Returns the cost of an op of a design, from the table of operators (Estimate/Operators.h).
OperatorCost operatorCost(mlir::Operation *op);

/// The cost of a loop body that has no inner loops, or whose inner loops are unrolled.
struct BodyCost {
  int64_t depth = 0; ///< cycles from the first load to the last store
  int64_t dsp = 0, lut = 0, ff = 0;
  int64_t operators = 0; ///< number of operators that could be shared
  int64_t macs = 0;      ///< number of products that are added to an element of an array
};
BodyCost bodyCost(mlir::Block &body);

/// Returns the cycles of the longest path from `from` to `to` in one block, or -1 if there is no path.
int64_t chainLatency(mlir::Value from, mlir::Value to);

/// Returns the cycles of a pipelined nest. The nest starts one of `iterations` iterations every `ii` cycles, each
/// iteration takes `depth` cycles, and entering and leaving the nest takes two cycles.
int64_t nestCycles(int64_t iterations, int64_t ii, int64_t depth);

/// Returns the cycles of one iteration of a loop over blocks: `inside` cycles for the nest, and two cycles to acquire
/// and release the memories of the block.
int64_t blockCycles(int64_t inside);
/// Returns the cycles of a loop over blocks, in which a block begins after the previous block has ended.
int64_t blockLoopCycles(int64_t blocks, int64_t inside);
/// Returns true if `loop` is a loop over blocks, which is outside of the pipelined nest and not flattened with it.
bool isBlockLoop(mlir::affine::AffineForOp loop);

/// Returns the number of 18-kbit block memories for an array; 0 if its memory space is not Bram or BramWords. Each bank
/// is a separate memory, except in BramWords, where the banks are one memory with wide words. Memories of at most 1024
/// bits are stored in lookup tables and need no block memory.
int64_t blockMemories(mlir::MemRefType type);
/// Returns the number of UltraRAMs for an array; 0 if its memory space is not Uram or UramWords.
int64_t ultraMemories(mlir::MemRefType type);
/// Returns the number of block memories for a queue.
int64_t blockMemories(StreamType type);

/// The estimate of a loop nest of a task.
struct NestEstimate {
  std::string label;
  int64_t iterations = 0, ii = 0, copies = 1, cycles = 0, dsp = 0, lut = 0, ff = 0;
  int64_t blocks = 1; ///< number of blocks of iterations; blocks run one after another
  int64_t macs = 0;   ///< number of products added to elements, in all iterations
};
/// The estimate of a task, whose nests run one after another.
struct TaskEstimate {
  std::string name;
  int64_t cycles = 0, dsp = 0, bram = 0, lut = 0, ff = 0;
  int64_t blocks = 1; ///< the largest number of blocks of a nest of the task
  std::vector<NestEstimate> nests;
};
/// The estimate of a queue of elements or of blocks between two tasks.
struct QueueEstimate {
  std::string name, type, from, to;
  int64_t depth = 0, bram = 0;
};
/// Lookup tables and registers that the design needs if it is written in Verilog, instead of C++ for a vendor's HLS
/// tool.
struct RtlEstimate {
  int64_t lut = 0, ff = 0;
};
/// The estimate of a design. `latency` is the number of cycles of one call, that is, of the longest chain of tasks.
/// `kernelLatency` is the latency if all inputs are on the chip and ports take no time. `interval` is the number of
/// cycles between the starts of two calls, that is, the cycles of the slowest task.
struct DesignEstimate {
  int64_t latency = 0, kernelLatency = 0, interval = 0, channelBram = 0, romBram = 0;
  int64_t macs = 0;        ///< number of products added to elements, in one call
  int64_t oneCallBram = 0; ///< block memories if calls do not overlap, as in Verilog: each channel has one array
  int64_t lut = 0, ff = 0;
  Resources total;
  std::optional<RtlEstimate> rtl;
  std::vector<TaskEstimate> tasks;
  std::vector<QueueEstimate> queues;

  /// Return the multiply-accumulates per DSP slice and cycle: dspEfficiency() if calls follow each other without a
  /// pause, and dspEfficiencyOfOneCall() for one call whose inputs are on the chip. The result is 0 for a design
  /// without DSP slices. A float32 product takes 3 DSP slices (Estimate/Operators.cpp).
  double dspEfficiency() const { return perDsp(interval); }
  double dspEfficiencyOfOneCall() const { return perDsp(kernelLatency); }

private:
  double perDsp(int64_t cycles) const {
    return total.dsp > 0 && cycles > 0 ? double(macs) / double(total.dsp) / double(cycles) : 0;
  }
};
/// Returns the estimate of the design. If `shares`, operations of one iteration that start in different cycles modulo
/// the II share an operator, as in the output of HLS tools. The generated Verilog has a separate operator for each
/// operation.
DesignEstimate estimateDesign(mlir::func::FuncOp top, bool shares = true);

} // namespace tilewright::hls

#endif
