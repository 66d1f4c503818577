//===- PaddedImage.cpp - images that a kernel pads or unfolds, as operands of a product ----===//
//
// The recognized linalg.generic has no inputs, and its body reads the image by tensor.extract. This is an image with a
// border of one pixel:
//
//   %h = linalg.index 1 ; %y = subi %h, 1 ; %insideY = cmpi ult, %y, 14 ; %atY = select %insideY, %y, 0
//   ... the same for the width ...
//   %inside = andi %insideY, %insideX ; %x = tensor.extract %image[%n, %atY, %atX, %c] ; yield select %inside, %x, 0.0
//
// For patches, %y is the sum of the indices of a window and of a tap, which are multiplied by constants.
//
// Tests: test/Codegen/GPU/Schedule/join-padding.mlir
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/GPU/Schedule/PaddedImage.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;

namespace tilewright::gpu {
namespace {

/// Returns an index of a linalg.generic's body as an expression of the indices of its loops. Returns null if it is not
/// affine.
AffineExpr affineOf(Value value) {
  MLIRContext *context = value.getContext();
  if (std::optional<int64_t> number = getConstantIntValue(value))
    return getAffineConstantExpr(*number, context);
  if (auto index = value.getDefiningOp<linalg::IndexOp>())
    return getAffineDimExpr(unsigned(index.getDim()), context);
  Operation *op = value.getDefiningOp();
  if (!isa_and_nonnull<arith::AddIOp, arith::SubIOp, arith::MulIOp>(op))
    return {};
  AffineExpr left = affineOf(op->getOperand(0)), right = affineOf(op->getOperand(1));
  if (!left || !right)
    return {};
  if (isa<arith::AddIOp>(op))
    return left + right;
  if (isa<arith::SubIOp>(op))
    return left - right;
  return isa<AffineConstantExpr>(left) || isa<AffineConstantExpr>(right) ? left * right : AffineExpr();
}

/// An op whose element is the element of `image` at the indices `at`, or zero if a checked index is outside.
struct ImageRead {
  BlockArgument image;
  SmallVector<int64_t> first, sizes; ///< the part of the image that is read
  SmallVector<AffineExpr> at;        ///< expressions of the indices of the element
  SmallVector<bool> checked;
};

class ImageReadMatcher {
public:
  explicit ImageReadMatcher(linalg::GenericOp op) : op(op) {}

  std::optional<ImageRead> match() {
    if (op.getNumDpsInputs() != 0 || op.getNumDpsInits() != 1 || op.getNumReductionLoops() != 0 ||
        !op.getMatchingIndexingMap(op.getDpsInitOperand(0)).isIdentity())
      return std::nullopt;
    auto select = op.getBody()->getTerminator()->getOperand(0).getDefiningOp<arith::SelectOp>();
    auto extract = select ? select.getTrueValue().getDefiningOp<tensor::ExtractOp>() : tensor::ExtractOp();
    if (!extract || !setImage(extract.getTensor()) ||
        !(matchPattern(select.getFalseValue(), m_AnyZeroFloat()) || matchPattern(select.getFalseValue(), m_Zero())))
      return std::nullopt;
    for (auto [index, size] : llvm::zip_equal(extract.getIndices(), made.sizes))
      if (!addIndex(index, size))
        return std::nullopt;
    llvm::SmallPtrSet<Operation *, 4> conditions;
    addConditions(select.getCondition(), conditions);
    return conditions == bounds ? std::optional(made) : std::nullopt;
  }

private:
  bool setImage(Value tensor) {
    auto type = cast<RankedTensorType>(tensor.getType());
    made.first.assign(size_t(type.getRank()), 0);
    if (auto slice = tensor.getDefiningOp<tensor::ExtractSliceOp>()) {
      if (!slice.hasUnitStride() || llvm::any_of(slice.getStaticOffsets(), ShapedType::isDynamic) ||
          slice.getSourceType().getRank() != type.getRank())
        return false;
      made.first.assign(slice.getStaticOffsets().begin(), slice.getStaticOffsets().end());
      tensor = slice.getSource();
    }
    made.image = dyn_cast<BlockArgument>(tensor);
    made.sizes.assign(type.getShape().begin(), type.getShape().end());
    return made.image && isa<func::FuncOp>(made.image.getOwner()->getParentOp()) && type.hasStaticShape() &&
           cast<RankedTensorType>(op->getResult(0).getType()).hasStaticShape() &&
           cast<RankedTensorType>(made.image.getType()).hasStaticShape();
  }

  bool addIndex(Value value, int64_t size) {
    auto select = value.getDefiningOp<arith::SelectOp>();
    if (select) {
      auto bound = select.getCondition().getDefiningOp<arith::CmpIOp>();
      if (!bound || bound.getPredicate() != arith::CmpIPredicate::ult || bound.getLhs() != select.getTrueValue() ||
          getConstantIntValue(bound.getRhs()) != size || getConstantIntValue(select.getFalseValue()) != 0)
        return false;
      bounds.insert(bound);
      value = select.getTrueValue();
    }
    made.at.push_back(affineOf(value));
    made.checked.push_back(bool(select));
    return bool(made.at.back());
  }

  /// Adds the conditions whose conjunction is `value` to `conditions`.
  static void addConditions(Value value, llvm::SmallPtrSetImpl<Operation *> &conditions) {
    if (auto both = value.getDefiningOp<arith::AndIOp>()) {
      addConditions(both.getLhs(), conditions);
      addConditions(both.getRhs(), conditions);
    } else {
      conditions.insert(value.getDefiningOp());
    }
  }

  linalg::GenericOp op;
  ImageRead made;
  llvm::SmallPtrSet<Operation *, 4> bounds;
};

/// Returns the index of the only loop in an expression loop + number, and `number`; a dimension of one element has no
/// loop. Returns std::nullopt for other expressions.
struct Shifted {
  std::optional<unsigned> loop;
  int64_t number = 0;
};
std::optional<Shifted> shiftedLoop(AffineExpr expr) {
  std::optional<LoopTerms> terms = loopTerms(expr);
  if (!terms || terms->factors.size() > 1)
    return std::nullopt;
  if (terms->factors.empty())
    return Shifted{std::nullopt, terms->number};
  auto [loop, factor] = terms->factors.front();
  return factor == 1 ? std::optional(Shifted{loop, terms->number}) : std::nullopt;
}

/// Matches a linalg.generic that reads an image. The dimensions of its result are image, window..., tap..., channel.
class PatchesMatcher {
public:
  PatchesMatcher(const ImageRead &read, ArrayRef<int64_t> shape) : read(read), shape(shape) {}

  std::optional<Patches> match() {
    const size_t rank = read.sizes.size();
    if (rank < 3 || shape.size() != 2 * rank - 2)
      return std::nullopt;
    Patches made{read.image, read.first.front(), shape.front(), {}, shape.back(), 0};
    for (size_t dim = 1; dim < rank; ++dim)
      if (read.first[dim] != 0 || read.sizes[dim] != cast<RankedTensorType>(read.image.getType()).getShape()[dim])
        return std::nullopt;
    if (!isWhole(0, 0) || !isWhole(rank - 1, shape.size() - 1))
      return std::nullopt;
    for (size_t dim = 1; dim + 1 < rank; ++dim) {
      std::optional<WindowDimension> window = windowOf(dim, dim, rank - 2 + dim);
      if (!window)
        return std::nullopt;
      made.windows.push_back(*window);
    }
    return made;
  }

private:
  /// Returns true if the index of loop `loop` is the index in dimension `dim` of the image.
  bool isWhole(size_t dim, size_t loop) const {
    std::optional<Shifted> found = shiftedLoop(read.at[dim]);
    return !read.checked[dim] && found && found->number == 0 && shape[loop] == read.sizes[dim] &&
           (found->loop ? *found->loop == loop : shape[loop] == 1);
  }

  /// Returns dimension `dim` of the image as windows, whose loops are `window` and `tap`.
  std::optional<WindowDimension> windowOf(size_t dim, size_t window, size_t tap) const {
    WindowDimension made;
    made.size = read.sizes[dim];
    made.windows = shape[window];
    made.taps = shape[tap];
    made.step = made.dilation = 0;
    std::optional<LoopTerms> terms = loopTerms(read.at[dim]);
    if (!terms)
      return std::nullopt;
    made.lower = terms->number;
    for (auto [loop, factor] : terms->factors) {
      if (loop != window && loop != tap)
        return std::nullopt;
      (loop == window ? made.step : made.dilation) = factor;
    }
    // The index of a loop with one iteration is 0, so its factor is not known.
    made.step = made.windows == 1 ? 1 : made.step;
    const bool inside = made.lower >= 0 && made.upper() + made.dilation * (made.taps - 1) <= 0;
    const bool valid = made.step > 0 && made.dilation >= 0 && (made.dilation > 0 || made.taps == 1);
    return valid && (read.checked[dim] || inside) ? std::optional(made) : std::nullopt;
  }

  const ImageRead &read;
  ArrayRef<int64_t> shape;
};

std::optional<ImageRead> matchImageRead(Value value) {
  auto op = value.getDefiningOp<linalg::GenericOp>();
  return op ? ImageReadMatcher(op).match() : std::nullopt;
}

} // namespace

std::optional<PaddedImage> matchPaddedImage(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return PaddedImage{argument, SmallVector<int64_t>(size_t(cast<RankedTensorType>(argument.getType()).getRank()), 0)};
  if (auto slice = value.getDefiningOp<tensor::ExtractSliceOp>()) {
    auto argument = dyn_cast<BlockArgument>(slice.getSource());
    auto kernel = argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()) : func::FuncOp();
    if (!kernel || !kernel.getArgAttr(argument.getArgNumber(), alignedAttrName))
      return std::nullopt;
    return PaddedImage{argument, SmallVector<int64_t>(size_t(slice.getSourceType().getRank()), 0), /*aligned=*/true};
  }
  std::optional<ImageRead> read = matchImageRead(value);
  ArrayRef<int64_t> padded = cast<RankedTensorType>(value.getType()).getShape();
  if (!read || padded.size() != read->sizes.size() || llvm::any_of(read->first, [](int64_t at) { return at != 0; }) ||
      ArrayRef(read->sizes) != cast<RankedTensorType>(read->image.getType()).getShape())
    return std::nullopt;
  PaddedImage made{read->image, {}};
  for (auto [dim, expr] : llvm::enumerate(read->at)) {
    std::optional<Shifted> found = shiftedLoop(expr);
    const bool single = found && !found->loop && found->number == 0 && padded[dim] == 1;
    if (!single && (!found || found->loop != unsigned(dim)))
      return std::nullopt;
    if (!read->checked[dim] && (found->number != 0 || padded[dim] != read->sizes[dim]))
      return std::nullopt;
    made.before.push_back(-found->number);
  }
  return made;
}

std::optional<Patches> matchPatches(Value value) {
  auto expand = value.getDefiningOp<tensor::ExpandShapeOp>();
  auto collapse = (expand ? expand.getSrc() : value).getDefiningOp<tensor::CollapseShapeOp>();
  std::optional<ImageRead> read = collapse ? matchImageRead(collapse.getSrc()) : std::nullopt;
  if (!read)
    return std::nullopt;
  std::optional<Patches> made = PatchesMatcher(*read, collapse.getSrcType().getShape()).match();
  const auto groups = collapse.getReassociationIndices();
  if (!made || groups.size() != 2 || groups[0].size() != 1 + made->windows.size())
    return std::nullopt;
  made->rows = collapse.getResultType().getDimSize(0);
  if (expand) {
    const auto parts = expand.getReassociationIndices();
    if (parts.size() != 2 || parts[0].size() != 2 || parts[1].size() != 1)
      return std::nullopt;
    made->rows = expand.getResultType().getDimSize(1);
  }
  return made;
}

BlockArgument imageOf(Value value) {
  if (std::optional<PaddedImage> padded = matchPaddedImage(value))
    return padded->image;
  return matchPatches(value)->image;
}

} // namespace tilewright::gpu
