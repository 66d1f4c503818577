//===- NestChoices.h - the schedules of a loop nest -----------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_HLS_NESTCHOICES_H
#define TILEWRIGHT_LIB_CODEGEN_HLS_NESTCHOICES_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include <optional>

namespace tilewright::hls {

/// A loop over blocks around a nest. Each block has `size` iterations of loop `loop`.
struct BlockLoop {
  int64_t loop, size;
};

/// A schedule of a nest with its estimated cost.
struct Choice {
  llvm::SmallVector<int64_t> order, unroll;
  int64_t ii = 1, cycles = 0, dsp = 0;
  int64_t blockCycles = 0; ///< cycles of one block; 0 if the nest has no loop over blocks
};

/// Returns the schedules of `op`, sorted by increasing number of multipliers and decreasing number of cycles. If
/// `shares`, products of an iteration that start in different cycles of the II share a multiplier. If `block` is set,
/// the nest is inside this loop over blocks.
llvm::SmallVector<Choice> choicesOf(mlir::linalg::LinalgOp op, bool shares, std::optional<BlockLoop> block = {});

} // namespace tilewright::hls

#endif
