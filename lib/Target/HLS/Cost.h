//===- Cost.h - cycles and resources of hardware, estimated ----------------------------===//
#ifndef TILEWRIGHT_TARGET_HLS_COST_H
#define TILEWRIGHT_TARGET_HLS_COST_H

#include "dialects/HLS/HLS.h"
#include "lib/Target/HLS/Estimate/Operators.h"
#include "lib/Target/HLS/Parts.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include <optional>
#include <vector>

namespace tilewright::hls {

/// May this op be an adder of lookup tables (tw_hls.fabric)?
bool mayBeInFabric(mlir::Operation *op);

/// The row of the table of operators (Estimate/Operators.h) for an op of a design.
OperatorCost operatorCost(mlir::Operation *op);

/// A loop body without inner loops, or with unrolled ones.
struct BodyCost {
  int64_t depth = 0; ///< cycles from the first load to the last store
  int64_t dsp = 0, lut = 0, ff = 0;
  int64_t operators = 0; ///< that could be shared
  int64_t macs = 0;      ///< products that are added to an element of an array
};
BodyCost bodyCost(mlir::Block &body);

/// Cycles of the longest way from `from` to `to` in one block; -1: there is none.
int64_t chainLatency(mlir::Value from, mlir::Value to);

/// Cycles of a pipelined nest: `iterations` that begin `ii` apart, each `depth` long, and two to enter and leave.
int64_t nestCycles(int64_t iterations, int64_t ii, int64_t depth);

/// Cycles of a block: those of what is done in it, and two to take its memories and to hand them on.
int64_t blockCycles(int64_t inside);
/// Cycles of a loop over blocks, none of which begins before the one before has ended.
int64_t blockLoopCycles(int64_t blocks, int64_t inside);
/// Does the loop go over blocks, outside of the nest and not flattened with it?
bool isBlockLoop(mlir::affine::AffineForOp loop);

/// Block memories of 18 kbit for an array: each bank of its own, small ones in LUTs.
int64_t blockMemories(mlir::MemRefType type);
/// UltraRAMs for an array that lies in them.
int64_t ultraMemories(mlir::MemRefType type);
/// Block memories of a queue.
int64_t blockMemories(StreamType type);

/// A loop nest of a task.
struct NestEstimate {
  std::string label;
  int64_t iterations = 0, ii = 0, copies = 1, cycles = 0, dsp = 0, lut = 0, ff = 0;
  int64_t blocks = 1; ///< of its iterations, one after another
  int64_t macs = 0;   ///< products added to elements, in all iterations
};
/// A task: its nests run one after another.
struct TaskEstimate {
  std::string name;
  int64_t cycles = 0, dsp = 0, bram = 0, lut = 0, ff = 0;
  int64_t blocks = 1; ///< it hands on its results in so many
  std::vector<NestEstimate> nests;
};
/// A queue between two tasks, of elements or of blocks.
struct QueueEstimate {
  std::string name, type, from, to;
  int64_t depth = 0, bram = 0;
};
/// Of a design's Verilog: lookup tables and registers of its text, not of a synthesis of the C++.
struct RtlEstimate {
  int64_t lut = 0, ff = 0;
};
/// A design: `latency` of one call, the longest chain of tasks; `kernelLatency` the same if ports took no time, all
/// inputs being on the chip; `interval` between two calls, the slowest task.
struct DesignEstimate {
  int64_t latency = 0, kernelLatency = 0, interval = 0, channelBram = 0, romBram = 0;
  int64_t macs = 0;        ///< products added to elements, in one call
  int64_t oneCallBram = 0; ///< where calls do not overlap, as in Verilog: channels are there once
  int64_t lut = 0, ff = 0;
  Resources total;
  std::optional<RtlEstimate> rtl;
  std::vector<TaskEstimate> tasks;
  std::vector<QueueEstimate> queues;

  /// Multiply-accumulates per multiplier and cycle where calls follow each other as fast as they can, and of one call
  /// whose inputs are on the chip; 0 without multipliers. A float32 one takes 2 or 3 DSP for the product alone:
  /// Operators.h.
  double dspEfficiency() const { return perDsp(interval); }
  double dspEfficiencyOfOneCall() const { return perDsp(kernelLatency); }

private:
  double perDsp(int64_t cycles) const {
    return total.dsp > 0 && cycles > 0 ? double(macs) / double(total.dsp) / double(cycles) : 0;
  }
};
/// `shares`: an operator serves all cycles of an II, as in HLS tools; the Verilog has one for each use.
DesignEstimate estimateDesign(mlir::func::FuncOp top, bool shares = true);

} // namespace tilewright::hls

#endif
