//===- WindowOperand.cpp - images of convolutions as operands of products -----------------===//
//
// Tests: test/Codegen/NVPTX/convolution-wgmma.mlir, test/Python/test_cuda_convolution_wgmma.py
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/GPU/Schedule/WindowOperand.h"
#include "lib/Codegen/GPU/Schedule/Product.h"
#include "tilewright/TensorMapRecipe.h"

using namespace mlir;

namespace tilewright::gpu {

/// Adds `factor` * `expr` to `terms`. Returns false if `expr` is not a linear expression of loop indices.
static bool addTerms(AffineExpr expr, int64_t factor, LoopTerms &terms) {
  if (auto loop = dyn_cast<AffineDimExpr>(expr)) {
    terms.factors[loop.getPosition()] += factor;
    return true;
  }
  if (auto number = dyn_cast<AffineConstantExpr>(expr)) {
    terms.number += factor * number.getValue();
    return true;
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return false;
  if (binary.getKind() == AffineExprKind::Add)
    return addTerms(binary.getLHS(), factor, terms) && addTerms(binary.getRHS(), factor, terms);
  auto number = dyn_cast<AffineConstantExpr>(binary.getRHS());
  return binary.getKind() == AffineExprKind::Mul && number &&
         addTerms(binary.getLHS(), factor * number.getValue(), terms);
}

std::optional<LoopTerms> loopTerms(AffineExpr expr) {
  LoopTerms terms;
  return addTerms(expr, 1, terms) ? std::optional(std::move(terms)) : std::nullopt;
}

std::optional<WindowDimension> windowDimension(Contraction product, AffineExpr expr, AffineExpr size) {
  auto elements = dyn_cast<AffineConstantExpr>(size);
  std::optional<LoopTerms> terms = loopTerms(expr);
  if (!elements || !terms || terms->number != 0)
    return std::nullopt;
  SmallVector<int64_t> ranges = product.op.getStaticLoopRanges();
  WindowDimension made;
  made.size = elements.getValue();
  for (auto [loop, factor] : terms->factors) {
    if (ShapedType::isDynamic(ranges[loop]) || factor < 1)
      return std::nullopt;
    if (llvm::is_contained(product.depth, loop)) {
      if (ranges[loop] == 1)
        continue;
      if (made.tap)
        return std::nullopt;
      made.tap = loop;
      made.taps = ranges[loop];
      made.dilation = factor;
    } else {
      if (made.windows > 0 || llvm::is_contained(product.batches, loop))
        return std::nullopt;
      made.window = loop;
      made.windows = ranges[loop];
      made.step = factor;
    }
  }
  return made.windows > 0 ? std::optional(made) : std::nullopt;
}

/// Returns true if the reduction loop `loop` is contiguous with the channels of an image in memory (see the header).
static bool joinsChannels(Contraction product, OpOperand *operand, unsigned loop) {
  AffineMap map = product.op.getMatchingIndexingMap(operand);
  const unsigned rank = map.getNumResults();
  auto type = dyn_cast<RankedTensorType>(operand->get().getType());
  if (rank < 2 || !type || !isa<BlockArgument>(operand->get()) || type.isDynamicDim(rank - 2))
    return false;
  auto channels = dyn_cast<AffineDimExpr>(map.getResult(rank - 1));
  std::optional<WindowDimension> window = windowDimension(
      product, map.getResult(rank - 2), getAffineConstantExpr(type.getDimSize(rank - 2), map.getContext()));
  return channels && llvm::is_contained(product.depth, channels.getPosition()) && window && window->tap == loop &&
         window->dividesImage();
}

SmallVector<unsigned> tapsOf(Contraction product) {
  SmallVector<int64_t> ranges = product.op.getStaticLoopRanges();
  auto isTap = [&](OpOperand *operand, unsigned loop) {
    return llvm::any_of(product.op.getMatchingIndexingMap(operand).getResults(), [&](AffineExpr expr) {
      if (isa<AffineDimExpr>(expr) || !expr.isFunctionOfDim(loop))
        return false;
      if (loopOfParts(expr))
        return true;
      for (unsigned other = 0; other < ranges.size(); ++other)
        if (other != loop && expr.isFunctionOfDim(other) && !llvm::is_contained(product.batches, other))
          return !joinsChannels(product, operand, loop);
      return false;
    });
  };
  return llvm::filter_to_vector(product.depth, [&](unsigned loop) {
    return ranges[loop] != 1 && (isTap(product.lhs(), loop) || isTap(product.rhs(), loop));
  });
}

std::string whyNotWindows(ArrayRef<WindowDimension> windows) {
  if (windows.size() > std::size(TensorMapRecipe::cornerLimits))
    return "an image has more than three dimensions of pixels";
  const int64_t limit = TensorMapRecipe::cornerLimits[windows.size() - 1];
  for (const WindowDimension &each : windows) {
    auto fits = [&](int64_t corner) { return corner >= -limit && corner < limit; };
    if (each.step > TensorMapRecipe::mostStep || each.dilation * (each.taps - 1) >= 2 * limit || !fits(each.lower) ||
        !fits(each.upper()))
      return "windows of an operand are too large or too far apart for a tensor map";
  }
  return "";
}

bool hasWindows(Contraction product, OpOperand *operand) {
  return llvm::any_of(product.op.getMatchingIndexingMap(operand).getResults(), [&](AffineExpr expr) {
    return !isa<AffineDimExpr>(expr) && windowDimension(product, expr, getAffineConstantExpr(1, expr.getContext()));
  });
}

double timesRead(Contraction product) {
  double times = 1;
  SmallVector<int64_t> ranges = product.op.getStaticLoopRanges();
  for (unsigned loop : tapsOf(product))
    times *= ShapedType::isDynamic(ranges[loop]) ? 1 : double(ranges[loop]);
  for (OpOperand *operand : product.op.getDpsInputOperands())
    for (AffineExpr expr : product.op.getMatchingIndexingMap(operand).getResults())
      if (auto window = windowDimension(product, expr, getAffineConstantExpr(1, expr.getContext())))
        times /= isa<AffineDimExpr>(expr) ? 1 : double(std::max<int64_t>(1, window->step));
  return std::max(times, 1.0);
}

} // namespace tilewright::gpu
