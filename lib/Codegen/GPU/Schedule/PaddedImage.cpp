//===- PaddedImage.cpp - a tensor with zeros around it, as an operand of a product --------===//
//
// The recognized linalg.generic has no inputs, and its body reads the image by tensor.extract:
//
//   %h = linalg.index 1 ; %y = subi %h, 1 ; %insideY = cmpi ult, %y, 14 ; %atY = select %insideY, %y, 0
//   ... the same for the width ...
//   %inside = andi %insideY, %insideX ; %x = tensor.extract %image[%n, %atY, %atX, %c] ; yield select %inside, %x, 0.0
//
// Tests: test/Codegen/GPU/Schedule/join-padding.mlir
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/GPU/Schedule/PaddedImage.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;

namespace tilewright::gpu {
namespace {

/// Matches `index` - constant, where `index` is the index of dimension `dim` of the result. Returns the constant.
std::optional<int64_t> matchShiftedIndex(Value value, uint64_t dim) {
  int64_t shift = 0;
  if (auto minus = value.getDefiningOp<arith::SubIOp>()) {
    std::optional<int64_t> number = getConstantIntValue(minus.getRhs());
    if (!number)
      return std::nullopt;
    shift = *number;
    value = minus.getLhs();
  }
  auto index = value.getDefiningOp<linalg::IndexOp>();
  return index && index.getDim() == dim ? std::optional(shift) : std::nullopt;
}

/// Adds the conditions whose conjunction is `value` to `conditions`.
void addConditions(Value value, llvm::SmallPtrSetImpl<Operation *> &conditions) {
  if (auto both = value.getDefiningOp<arith::AndIOp>()) {
    addConditions(both.getLhs(), conditions);
    addConditions(both.getRhs(), conditions);
  } else {
    conditions.insert(value.getDefiningOp());
  }
}

class PaddingMatcher {
public:
  explicit PaddingMatcher(linalg::GenericOp op) : op(op) {}

  std::optional<PaddedImage> match() {
    if (op.getNumDpsInputs() != 0 || op.getNumDpsInits() != 1 || op.getNumReductionLoops() != 0 ||
        !op.getMatchingIndexingMap(op.getDpsInitOperand(0)).isIdentity())
      return std::nullopt;
    auto select = op.getBody()->getTerminator()->getOperand(0).getDefiningOp<arith::SelectOp>();
    auto extract = select ? select.getTrueValue().getDefiningOp<tensor::ExtractOp>() : tensor::ExtractOp();
    auto image = extract ? dyn_cast<BlockArgument>(extract.getTensor()) : BlockArgument();
    if (!image || !isa<func::FuncOp>(image.getOwner()->getParentOp()) ||
        !(matchPattern(select.getFalseValue(), m_AnyZeroFloat()) || matchPattern(select.getFalseValue(), m_Zero())))
      return std::nullopt;
    auto type = cast<RankedTensorType>(image.getType()), padded = cast<RankedTensorType>(op->getResult(0).getType());
    if (type.getRank() != padded.getRank() || !type.hasStaticShape() || !padded.hasStaticShape())
      return std::nullopt;
    PaddedImage made{image, {}};
    for (auto [dim, index] : llvm::enumerate(extract.getIndices())) {
      const int64_t size = type.getDimSize(int64_t(dim));
      std::optional<int64_t> before = matchIndex(index, dim, size);
      if (!before || (!checked && (*before != 0 || size != padded.getDimSize(int64_t(dim)))))
        return std::nullopt;
      made.before.push_back(*before);
    }
    llvm::SmallPtrSet<Operation *, 4> conditions;
    addConditions(select.getCondition(), conditions);
    return conditions == bounds ? std::optional(made) : std::nullopt;
  }

private:
  /// Matches the index of dimension `dim` of the image, and adds its bound to `bounds` if it has one. Returns the
  /// number of elements in front of the image.
  std::optional<int64_t> matchIndex(Value value, uint64_t dim, int64_t size) {
    auto select = value.getDefiningOp<arith::SelectOp>();
    checked = bool(select);
    if (!select)
      return size == 1 && getConstantIntValue(value) == 0 ? 0 : matchShiftedIndex(value, dim);
    auto bound = select.getCondition().getDefiningOp<arith::CmpIOp>();
    if (!bound || bound.getPredicate() != arith::CmpIPredicate::ult || bound.getLhs() != select.getTrueValue() ||
        getConstantIntValue(bound.getRhs()) != size || getConstantIntValue(select.getFalseValue()) != 0)
      return std::nullopt;
    bounds.insert(bound);
    return matchShiftedIndex(select.getTrueValue(), dim);
  }

  linalg::GenericOp op;
  bool checked = false; ///< the last matched index has a bound
  llvm::SmallPtrSet<Operation *, 4> bounds;
};

} // namespace

std::optional<PaddedImage> matchPaddedImage(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return PaddedImage{argument, SmallVector<int64_t>(size_t(cast<RankedTensorType>(argument.getType()).getRank()), 0)};
  auto op = value.getDefiningOp<linalg::GenericOp>();
  return op ? PaddingMatcher(op).match() : std::nullopt;
}

} // namespace tilewright::gpu
