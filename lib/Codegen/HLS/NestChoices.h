//===- NestChoices.h - the schedules that a loop nest may have -----------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_HLS_NESTCHOICES_H
#define TILEWRIGHT_LIB_CODEGEN_HLS_NESTCHOICES_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include <optional>

namespace tilewright::hls {

/// A nest runs block after block; each block has `size` iterations of loop `loop`.
struct BlockLoop {
  int64_t loop, size;
};

struct Choice {
  llvm::SmallVector<int64_t> order, unroll;
  int64_t ii = 1, cycles = 0, dsp = 0;
  int64_t blockCycles = 0; ///< cycles of one block, if there are blocks
};

/// Returns schedules with increasing multipliers and decreasing cycles. With `shares`, one multiplier serves all cycles
/// of an II.
llvm::SmallVector<Choice> choicesOf(mlir::linalg::LinalgOp op, bool shares, std::optional<BlockLoop> block = {});

} // namespace tilewright::hls

#endif
