//===- TransposeFilters.cpp - filters that are contiguous along the channels, for wgmma ----===//
//
// Before:
//   %y = call @kernel_0(%x, %w, %into)           // w: 3 x 3 x 64 channels x 70 filters
// After:
//   %t = call @kernel_0_filters(%w, %empty)      // 3 x 3 x 70 x 64
//   %y = call @kernel_0_transposed(%x, %t, %into)
//
// If windows do not overlap along the width, the taps of one line of a window and their channels are summed as one
// contiguous dimension of the image. They must also be contiguous in the transposed weight: a weight of 3 x 2 x 64 x 70
// becomes 3 x 70 x 2 x 64.
//
// The filters are the contiguous dimension of a weight. wgmma cannot read such an operand if its elements do not have
// 16 bits (tf32, int8). TMA cannot load it if the filters do not take a multiple of 16 bytes. The transposed weight of
// a parameter is computed once for each version of the parameter (ComputeOnce.h).
//
// Tests: test/Codegen/GPU/Schedule/transpose-filters.mlir, test/Python/test_cuda_convolution_wgmma.py
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/GPU/Schedule/TransposeFilters.h"
#include "dialects/Tile/Sizes.h"
#include "lib/Codegen/GPU/Schedule/NewKernel.h"
#include "lib/Codegen/GPU/Schedule/WarpGroupProduct.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"
#include "tilewright/AttributeNames.h"

using namespace mlir;

namespace tilewright::gpu {
namespace {

class FilterTransposer {
public:
  FilterTransposer(func::FuncOp kernel, Contraction product)
      : kernel(kernel), op(cast<linalg::Conv2DNhwcHwcfOp>(product.op.getOperation())),
        weight(cast<BlockArgument>(op->getOperand(1))), builder(kernel) {
    constexpr unsigned channels = 2, filters = 3, firstTap = 4; // two dimensions of the weight; the op's first tap loop
    auto from = cast<RankedTensorType>(weight.getType());
    const SmallVector<unsigned> taps = tapsOf(product);
    SmallVector<unsigned> inLine;
    for (unsigned dim : {0, 1})
      (from.getDimSize(dim) == 1 || llvm::is_contained(taps, firstTap + dim) ? order : inLine).push_back(dim);
    order.push_back(filters);
    llvm::append_range(order, inLine);
    order.push_back(channels);
    SmallVector<int64_t> shape;
    for (unsigned dim : order)
      shape.push_back(from.getDimSize(dim));
    type = RankedTensorType::get(shape, from.getElementType());
  }

  /// Returns a new kernel that reads the transposed weight. The caller adds calls of the new kernel.
  func::FuncOp makeProduct() {
    SmallVector<Type> types(kernel.getArgumentTypes());
    types[weight.getArgNumber()] = type;
    func::FuncOp made =
        makeKernel(builder, kernel, "_transposed", types, kernel.getResultTypes(), kernel->getAttr(opsAttrName));
    copySizes(kernel, made); // the number of images may be symbolic
    IRMapping mapping;
    mapping.map(kernel.getArguments(), made.getArguments());
    for (Operation &each : kernel.getBody().front()) {
      if (&each != op.getOperation()) {
        builder.clone(each, mapping);
        continue;
      }
      SmallVector<AffineMap> maps(cast<linalg::LinalgOp>(each).getIndexingMapsArray());
      SmallVector<AffineExpr> ofWeight;
      for (unsigned dim : order)
        ofWeight.push_back(maps[1].getResult(dim));
      maps[1] = AffineMap::get(maps[1].getNumDims(), 0, ofWeight, builder.getContext());
      auto product =
          linalg::GenericOp::create(builder, op.getLoc(), op->getResultTypes(),
                                    ValueRange{mapping.lookup(op->getOperand(0)), mapping.lookup(op->getOperand(1))},
                                    ValueRange{mapping.lookup(op->getOperand(2))}, maps, op.getIteratorTypesArray(),
                                    [&](OpBuilder &inner, Location, ValueRange values) {
                                      IRMapping inBody;
                                      inBody.map(op->getRegion(0).front().getArguments(), values);
                                      for (Operation &member : op->getRegion(0).front())
                                        inner.clone(member, inBody);
                                    });
      product->setAttr(opAttrName, builder.getStringAttr(opName()));
      if (Attribute tf32 = op->getAttr(tf32AttrName))
        product->setAttr(tf32AttrName, tf32);
      mapping.map(op->getResult(0), product.getResult(0));
    }
    return made;
  }

  /// Returns the kernel that transposes the weight.
  func::FuncOp makeFilters() {
    func::FuncOp made =
        makeKernel(builder, kernel, "_filters", {weight.getType(), type}, {type}, builder.getStringAttr(opName()));
    SmallVector<AffineExpr> from(order.size()); // dimension order[i] of the weight is dimension i of the result
    for (auto [position, dim] : llvm::enumerate(order))
      from[dim] = builder.getAffineDimExpr(unsigned(position));
    auto copy = linalg::GenericOp::create(
        builder, op.getLoc(), TypeRange(type), ValueRange(made.getArgument(0)), ValueRange(made.getArgument(1)),
        ArrayRef<AffineMap>{AffineMap::get(4, 0, from, builder.getContext()), builder.getMultiDimIdentityMap(4)},
        SmallVector<utils::IteratorType>(4, utils::IteratorType::parallel),
        [](OpBuilder &inner, Location at, ValueRange values) { linalg::YieldOp::create(inner, at, values[0]); });
    copy->setAttr(opAttrName, builder.getStringAttr(opName()));
    func::ReturnOp::create(builder, op.getLoc(), copy.getResult(0));
    return made;
  }

  /// Replaces `call`, a call of the original kernel, by calls of `filters` and `product`.
  void replace(func::CallOp call, func::FuncOp product, func::FuncOp filters) {
    builder.setInsertionPoint(call);
    Value empty = tensor::EmptyOp::create(builder, call.getLoc(), type.getShape(), type.getElementType());
    SmallVector<Value> operands(call.getOperands());
    Value &ofWeight = operands[weight.getArgNumber()];
    auto transposed = func::CallOp::create(builder, call.getLoc(), filters, ValueRange{ofWeight, empty});
    transposed->setAttr(opsAttrName, filters->getAttr(opsAttrName));
    ofWeight = transposed.getResult(0);
    redirectCall(call, product, operands);
  }

private:
  StringRef opName() {
    auto name = op->getAttrOfType<StringAttr>(opAttrName);
    return name ? name.getValue() : "convolution";
  }

  func::FuncOp kernel;
  linalg::Conv2DNhwcHwcfOp op;
  BlockArgument weight;
  SmallVector<unsigned> order; ///< dimensions of the weight, in the order of the transposed weight
  OpBuilder builder;
  RankedTensorType type; ///< type of the transposed weight
};

/// Returns the product of `kernel` if it is a convolution that may have the schedule `wgmma` after its weight is
/// transposed. Otherwise returns std::nullopt.
std::optional<Contraction> convolutionOf(func::FuncOp kernel, const Arch &arch) {
  std::string reason;
  if (!kernel->hasAttr(kernelAttrName) || kernel->hasAttr(scheduleAttrName))
    return std::nullopt;
  std::optional<Contraction> product = matchContraction(kernel, reason);
  if (!product || whyNotOnWarpGroups(*product, arch.formats()).empty())
    return std::nullopt;
  auto op = dyn_cast<linalg::Conv2DNhwcHwcfOp>(product->op.getOperation());
  auto weight = op ? dyn_cast<BlockArgument>(op->getOperand(1)) : BlockArgument();
  return weight && weight.hasOneUse() && cast<RankedTensorType>(weight.getType()).hasStaticShape() ? product
                                                                                                   : std::nullopt;
}

} // namespace

void transposeFilters(ModuleOp module, const Arch &arch) {
  if (arch.groupFlops == 0)
    return;
  SymbolTable symbols(module);
  for (auto kernel : llvm::to_vector(module.getOps<func::FuncOp>())) {
    std::optional<Contraction> convolution = convolutionOf(kernel, arch);
    if (!convolution)
      continue;
    std::string reason;
    FilterTransposer transposer(kernel, *convolution);
    func::FuncOp made = transposer.makeProduct();
    symbols.insert(made);
    std::optional<Contraction> product = matchContraction(made, reason);
    if (!product || !whyNotOnWarpGroups(*product, arch.formats()).empty()) {
      symbols.erase(made);
      continue;
    }
    func::FuncOp filters = transposer.makeFilters();
    symbols.insert(filters);
    for (func::CallOp call : callsOf(module, kernel))
      transposer.replace(call, made, filters);
    symbols.erase(kernel);
  }
}

} // namespace tilewright::gpu
