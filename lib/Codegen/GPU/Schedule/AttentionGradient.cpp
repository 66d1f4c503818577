//===- AttentionGradient.cpp - a kernel with one gradient of attention, for tensor cores ------===//
//
// Tests: test/Codegen/NVPTX/attention-gradient.mlir, test/Python/test_cuda_attention_gradient.py
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/GPU/Schedule/AttentionGradient.h"

using namespace mlir;

namespace tilewright::gpu {

int64_t AttentionGradient::sizeOf(Operand operand, unsigned dim) const {
  return cast<ShapedType>(op.getInputs()[operand].getType()).getDimSize(dims[operand][dim]);
}

std::optional<AttentionGradient> matchAttentionGradient(func::FuncOp kernel, std::string &reason) {
  AttentionGradient found{};
  found.op = onlyOp<tile::AttentionGradientOp>(kernel, "a gradient of attention", reason);
  if (!found.op)
    return std::nullopt;
  tile::AttentionGradientOp op = found.op;
  std::optional<ArrayRef<int64_t>> permutations = op.getPermutations();
  for (int64_t operand = 0; operand < 8; ++operand)
    for (int64_t dim = 0; dim < 4; ++dim)
      found.dims[operand].push_back(permutations ? (*permutations)[size_t(operand * 4 + dim)] : dim);
  Type element = getElementTypeOrSelf(op.getInputs()[0].getType());
  if (!element.isBF16() && !element.isF16()) {
    reason = "the schedule supports only bf16 and f16";
    return std::nullopt;
  }
  for (Value input : op.getInputs())
    if (!isa<BlockArgument>(input)) {
      reason = "an operand is computed in the kernel";
      return std::nullopt;
    }
  constexpr int64_t largestHead = 256;
  auto deltaType = cast<ShapedType>(op.getInputs()[AttentionGradient::Delta].getType());
  if (deltaType.getRank() != 3 || !deltaType.getElementType().isF32()) {
    reason = "it reads the result of the attention instead of its products with the gradient in f32";
    return std::nullopt;
  }
  for (unsigned operand = 0; operand < AttentionGradient::LogSumExp; ++operand) {
    if (operand == AttentionGradient::Delta)
      continue;
    if (getElementTypeOrSelf(op.getInputs()[operand].getType()) != element) {
      reason = "the type of an operand differs from the type of the query";
      return std::nullopt;
    }
    if (found.dims[operand][3] != 3) {
      reason = "the elements of a head are not contiguous";
      return std::nullopt;
    }
    int64_t size = found.sizeOf(AttentionGradient::Operand(operand), 3);
    if (size < 8 || size > largestHead || size % 8 != 0) {
      reason = "the head size is " + (ShapedType::isDynamic(size) ? "unknown" : std::to_string(size)) +
               ", but must be a multiple of 8 up to " + std::to_string(largestHead);
      return std::nullopt;
    }
  }
  if (!getElementTypeOrSelf(op.getInputs()[AttentionGradient::LogSumExp].getType()).isF32()) {
    reason = "the log-sum-exp is not f32";
    return std::nullopt;
  }
  found.headSize = found.sizeOf(AttentionGradient::Query, 3);
  found.valueSize = found.sizeOf(AttentionGradient::Value, 3);
  for (Value returned : kernel.getBody().front().getTerminator()->getOperands())
    if (returned.getDefiningOp() != op) {
      reason = "a result is not computed by the gradient of attention";
      return std::nullopt;
    }
  return found;
}

bool keepsOwnRows(const AttentionGradient &gradient) {
  return filledUp(gradient.headSize) + filledUp(gradient.valueSize) <= 128;
}

int64_t rowsAtOnce(const Schedule &schedule, const AttentionGradient &gradient) {
  return keepsOwnRows(gradient) ? schedule.n : 16;
}

Schedule chooseAttentionGradient(const AttentionGradient &gradient) {
  Schedule schedule;
  schedule.kind = Schedule::Kind::Attention;
  schedule.threads = 4 * warpSize;
  schedule.m = 4 * rowsOfWarp;
  schedule.n = 32;
  schedule.stages = 2;
  return schedule;
}

GradientTiles::GradientTiles(const Schedule &schedule, const AttentionGradient &gradient) {
  for (unsigned side = 0; side < 2; ++side) {
    int64_t columns = filledUp(side == 0 ? gradient.headSize : gradient.valueSize);
    own[side] = {/*alongK=*/true, schedule.m, columns, slots};
    slots += own[side].bytes();
    far[side] = {/*alongK=*/true, schedule.n, columns, statistics};
    statistics += far[side].bytes();
  }
  constexpr int64_t pairBytes = 8;
  slotBytes = int64_t(llvm::alignTo(uint64_t(statistics + schedule.n * pairBytes), 128));
  bytes = slots + schedule.stages * slotBytes;
}

std::string whyNotAttentionGradient(const Schedule &schedule, const AttentionGradient &gradient) {
  if (std::string why = whyNotRowsOfBlock(schedule); !why.empty())
    return why;
  if (schedule.n % 16 != 0 || schedule.n > schedule.threads)
    return "n, the number of rows per step, is " + std::to_string(schedule.n) +
           ", but must be a multiple of 16, and at most the number of threads";
  if (schedule.stages < 2)
    return "stages must be two or more";
  // The registers of a thread contain the sums, the block's own rows, the scores and their gradients, addresses and
  // statistics. For a head size of 192 and a value size of 128, ptxas spills registers. For 128 and 128, it does not.
  constexpr int64_t others = 90;
  int64_t sums = (gradient.headSize + gradient.valueSize) / 2, own = keepsOwnRows(gradient) ? sums / 2 : 8;
  return whyNotResources(GradientTiles(schedule, gradient).bytes, sums + own + rowsAtOnce(schedule, gradient) + others);
}

} // namespace tilewright::gpu
