//===- SplitSums.cpp - split long reductions with a small number of results into parts ----===//
//
// Before:
//   %r = call @kernel_0(%x, %w, %b, %into)       // x: 3 x 4096, w: 256 x 4096; r = gelu(x w' + b): 16 tiles of 16 x 16
// After:
//   %x1 = tensor.expand_shape %x [[0], [1, 2]] : 3 x 16 x 256           // views: nothing is copied
//   %w1 = tensor.expand_shape %w [[0], [1, 2]] : 256 x 16 x 256
//   %p = call @kernel_0_parts(%x1, %w1, %empty) : 16 x 3 x 256 x f32    // a batch of 16 products: 256 tiles
//   %r = call @kernel_0(%p, %b, %into)                                  // adds the parts in order; then the epilogue
//
// The kernel of the parts may have any schedule for products. The partial sums are stored in the arena. The second
// kernel adds them in the same order in every run, because there are no atomics (docs/decisions/0034-split-sums.md).
//
// The sum of a convolution is split along its channels if the schedule of the parts is wgmma. The image is read in
// windows, so no view of the image can split its channels. Instead, the index of its channels becomes part * 64 + c
// (for parts of 64 channels).
//
// Other long reductions with a small number of results, which would occupy only a few blocks, are split in the same
// way:
//
//   %r = call @kernel_0(%x, %into)               // x: 65536 x 64, summed over its rows
//   ->  %p = call @kernel_0_parts(%x as 64 x 1024 x 64, %empty) : 64 x 64 x f32 ; %r = call @kernel_0(%p, %into)
//
// Tests: test/Codegen/GPU/Schedule/split-sums.mlir, test/Codegen/GPU/Schedule/split-reductions.mlir,
// test/Python/test_cuda_kernel_table.py (split-*)
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/GPU/Schedule/SplitSums.h"
#include "dialects/Tile/Sizes.h"
#include "lib/Codegen/GPU/Schedule/NewKernel.h"
#include "lib/Codegen/GPU/Schedule/ProductSpace.h"
#include "lib/Codegen/GPU/Schedule/WgmmaSpace.h"
#include "lib/Codegen/GPU/ThreadKernel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Transforms/RegionUtils.h"
#include "tilewright/AttributeNames.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tilewright::gpu {
namespace {

/// The number of terms of a part of a product is at least `leastTerms`. If threads copy the operands, it is a multiple
/// of `termsUnit`, so that rows of operands are aligned to 128 bytes.
constexpr int64_t leastTerms = 256, termsUnit = 128;

/// Returns the dimension of an operand's tensor that a loop indexes, or -1.
int64_t dimensionOf(linalg::LinalgOp op, OpOperand *operand, unsigned loop) {
  for (auto [dim, expr] : llvm::enumerate(op.getMatchingIndexingMap(operand).getResults()))
    if (auto single = dyn_cast<AffineDimExpr>(expr); single && single.getPosition() == loop)
      return int64_t(dim);
  return -1;
}

/// Returns the values of the kernel that the body of `op` captures.
llvm::SetVector<Value> capturedBy(linalg::LinalgOp op) {
  llvm::SetVector<Value> captured;
  getUsedValuesDefinedAbove(op->getRegion(0), captured);
  return captured;
}

/// Returns true if views of the operands can split `loop` of `op`. This is the case if every input is a tensor argument
/// of the kernel, and the loop indexes at most one dimension of each input, directly. In addition, `op` must have one
/// result with a known combiner, and its body may capture only constants.
bool canCut(linalg::LinalgOp op, unsigned loop) {
  return op->getNumResults() == 1 && tile::combinerOf(op, 0) &&
         llvm::all_of(capturedBy(op),
                      [](Value value) { return value.getDefiningOp<arith::ConstantOp>() != nullptr; }) &&
         llvm::all_of(op.getDpsInputOperands(), [&](OpOperand *operand) {
           AffineMap map = op.getMatchingIndexingMap(operand);
           auto uses = llvm::count_if(map.getResults(), [&](AffineExpr expr) { return expr.isFunctionOfDim(loop); });
           return isa<BlockArgument>(operand->get()) && isa<RankedTensorType>(operand->get().getType()) &&
                  (uses == 0 || (uses == 1 && dimensionOf(op, operand, loop) >= 0));
         });
}

/// Returns the predicted time in nanoseconds of the product if it is split into `parts` parts.
double timeOf(Contraction &product, const Arch &arch, int64_t parts) {
  double time;
  if (arch.groupFlops > 0 && whyNotOnWarpGroups(product, arch.formats()).empty())
    time = nanosecondsOfWgmma(chooseWgmma(product, arch, parts), product, arch, parts);
  else
    time = nanosecondsOfMma(chooseMma(product, arch, parts), product, arch, parts);
  if (parts == 1)
    return time;
  // The second kernel starts after the first kernel has ended, and reads the results of the first kernel.
  const int64_t results =
      product.sizeOf(product.batches) * product.sizeOf(product.rows) * product.sizeOf(product.columns);
  return time + secondKernel + double(results * parts * 4) / arch.deviceRate;
}

/// Returns the number of parts for the schedule `fma`. This schedule has no cost model. The number is the largest power
/// of two that results in at most two blocks per multiprocessor, and in parts whose number of terms is a multiple of
/// `termsUnit` and at least `leastTerms`. A product is not split into fewer than four parts.
int64_t partsOfFma(Contraction &product, const Arch &arch) {
  std::optional<Schedule> schedule = chooseFma(product);
  if (!schedule || !whyNotFma(*schedule, product).empty())
    return 1;
  const int64_t blocks =
      product.sizeOf(product.batches) * int64_t(llvm::divideCeil(product.sizeOf(product.rows), schedule->m) *
                                                llvm::divideCeil(product.sizeOf(product.columns), schedule->n));
  const int64_t terms = product.sizeOf(product.depth);
  int64_t parts = 1;
  while (2 * parts * blocks <= 2 * arch.multiprocessors && terms % (2 * parts * termsUnit) == 0 &&
         terms / (2 * parts) >= leastTerms)
    parts *= 2;
  return parts >= 4 ? parts : 1; // fewer parts save less time than the second kernel takes
}

/// Returns the loop of the product's sum that can be split, or std::nullopt if there is none.
std::optional<unsigned> loopToSplit(Contraction &product, const Arch &arch) {
  if (product.depth.size() == 1)
    return product.depth[0];
  if (arch.groupFlops == 0 || !whyNotOnWarpGroups(product, arch.formats()).empty())
    return std::nullopt;
  const SmallVector<unsigned> depth = depthOf(product);
  return depth.size() == 1 ? std::optional(depth[0]) : std::nullopt;
}

/// Returns numbers, the best first. The length of a part may be a multiple of any of them. If threads copy the
/// operands, the only number is `termsUnit`, or, for the channels of a convolution, the elements of a line of shared
/// memory. With tensor maps, rows that are contiguous along the sum must begin at multiples of 16 bytes. Parts of whole
/// lines are preferred, because patches of an image (PaddedImage.h) need them.
SmallVector<int64_t> unitsOfParts(Contraction &product, unsigned loop, const Arch &arch) {
  const int64_t line = lineElements(elementOf(product));
  if (!tapsOf(product).empty())
    return {line};
  if (arch.groupFlops == 0 || !whyNotOnWarpGroups(product, arch.formats()).empty())
    return {termsUnit};
  constexpr int64_t alignmentBits = 128;
  int64_t unit = 1;
  for (OpOperand *operand : product.op.getDpsInputOperands()) {
    auto type = cast<ShapedType>(operand->get().getType());
    if (dimensionOf(product.op, operand, loop) == type.getRank() - 1)
      unit = std::max<int64_t>(unit, alignmentBits / memoryType(type.getElementType()).getIntOrFloatBitWidth());
  }
  return {termsUnit, line, unit};
}

/// Returns the number of parts of `loop`; 1 means that the product is not split.
int64_t partsOf(func::FuncOp kernel, Contraction &product, unsigned loop, const Arch &arch) {
  if (!sizesAreKnown(kernel) || !canCut(product.op, loop))
    return 1;
  if (!whyNotOnTensorCores(product, arch.formats()).empty())
    return partsOfFma(product, arch);
  // A split must reduce the predicted time to this fraction, because the cost model has errors.
  constexpr double worth = 0.8;
  const int64_t terms = product.sizeOf(product.depth), length = product.sizeOf({loop});
  int64_t best = 1;
  if (terms < 2 * leastTerms)
    return best;
  double least = timeOf(product, arch, 1) * worth;
  constexpr int64_t mostParts = 32;
  for (int64_t unit : unitsOfParts(product, loop, arch)) {
    for (int64_t parts = 2; parts <= mostParts && length >= parts * unit && terms / parts >= leastTerms; parts *= 2)
      if (double time = timeOf(product, arch, parts); length % (parts * unit) == 0 && time < least) {
        least = time;
        best = parts;
      }
    if (best > 1)
      break;
  }
  return best;
}

/// Returns the reduction loop to split and the number of parts. The number is 1 if the kernel has enough blocks without
/// a split, or if the reduction is short, is a product, has bf16 or f16 results or symbolic sizes, or cannot be split
/// into at least `leastParts` equal parts.
std::pair<unsigned, int64_t> partsOfReduction(func::FuncOp kernel, linalg::LinalgOp op, const Arch &arch) {
  constexpr int64_t leastElements = 128 * 1024, leastTerms = 256; // elements of the whole reduction; terms of one part
  const std::pair<unsigned, int64_t> whole{0, 1};
  Type type = getElementTypeOrSelf(op->getResult(0).getType());
  if (!sizesAreKnown(kernel) || type.isBF16() || type.isF16() || !readsOnce(op))
    return whole;
  SmallVector<int64_t> ranges = op.getStaticLoopRanges();
  int64_t results = 1, terms = 1;
  // If the terms of a result are contiguous, a warp or a block computes one result, otherwise a warp computes 32.
  bool contiguous = false;
  for (auto [loop, kind] : llvm::enumerate(op.getIteratorTypesArray())) {
    (kind == utils::IteratorType::reduction ? terms : results) *= ranges[loop];
    if (kind != utils::IteratorType::reduction)
      continue;
    for (OpOperand *operand : op.getDpsInputOperands())
      if (AffineMap map = op.getMatchingIndexingMap(operand); map.getNumResults() > 0)
        contiguous |= map.getResults().back().isFunctionOfDim(unsigned(loop));
  }
  if (results * terms < leastElements)
    return whole;
  const int64_t blocks = contiguous ? results : int64_t(llvm::divideCeil(results, warpSize));
  // Use two blocks per multiprocessor if the parts have enough terms.
  const int64_t most = std::min(2 * arch.multiprocessors / std::max<int64_t>(blocks, 1), terms / leastTerms);
  constexpr int64_t leastParts = 4; // fewer parts save less time than the second kernel takes
  std::pair<unsigned, int64_t> best = whole;
  for (auto [loop, kind] : llvm::enumerate(op.getIteratorTypesArray())) {
    if (kind != utils::IteratorType::reduction || !canCut(op, unsigned(loop)))
      continue;
    int64_t parts = std::min(most, ranges[loop]);
    while (parts > 1 && ranges[loop] % parts != 0)
      --parts;
    if (parts >= leastParts && parts > best.second)
      best = {unsigned(loop), parts};
  }
  return best;
}

RankedTensorType expanded(Value tensor, int64_t dim, int64_t parts) {
  auto type = cast<RankedTensorType>(tensor.getType());
  if (dim < 0)
    return type;
  SmallVector<int64_t> shape(type.getShape());
  shape[size_t(dim)] /= parts;
  shape.insert(shape.begin() + dim, parts);
  return RankedTensorType::get(shape, type.getElementType());
}

class Split {
public:
  Split(func::FuncOp kernel, linalg::LinalgOp op, unsigned loop, int64_t parts)
      : kernel(kernel), op(op), loop(loop), parts(parts), builder(kernel) {
    auto result = cast<RankedTensorType>(op->getResult(0).getType());
    SmallVector<int64_t> shape{parts};
    llvm::append_range(shape, result.getShape());
    partial = RankedTensorType::get(shape, result.getElementType());
    for (OpOperand *operand : op.getDpsInputOperands()) {
      sides.push_back(cast<BlockArgument>(operand->get()).getArgNumber());
      const AffineMap map = op.getMatchingIndexingMap(operand);
      dims.push_back(map.isProjectedPermutation() ? dimensionOf(op, operand, loop) : inWindows);
    }
    name = "sum";
    if (auto ofUser = op->getAttrOfType<StringAttr>(opAttrName))
      name = ofUser.getValue().str();
  }

  void run(ModuleOp module, SymbolTable &symbols) {
    func::FuncOp first = makeParts();
    symbols.insert(first);
    addUp();
    for (func::CallOp call : callsOf(module, kernel))
      rewrite(call, first);
    for (unsigned side : llvm::reverse(unused))
      (void)kernel.eraseArgument(side);
    forgetInPlace(kernel);
  }

private:
  /// Returns the kernel that computes the parts: a batch of products or of other reductions.
  func::FuncOp makeParts() {
    Location loc = op.getLoc();
    SmallVector<Type> types;
    for (auto [operand, dim] : llvm::zip_equal(ArrayRef<unsigned>(sides), dims))
      types.push_back(expanded(kernel.getArgument(operand), dim, parts));
    const auto inputs = unsigned(types.size());
    types.push_back(partial);
    OpBuilder::InsertionGuard guard(builder);
    func::FuncOp made = makeKernel(builder, kernel, "_parts", types, {partial}, builder.getStringAttr(name));
    Block *body = &made.getBody().front();
    Value neutral = arith::ConstantOp::create(builder, loc, tile::identityOf(tile::combinerOf(op, 0)));
    Value fill = linalg::FillOp::create(builder, loc, neutral, body->getArgument(inputs)).getResult(0);
    // The index of the part is an additional last loop. It indexes the operands and the result.
    const unsigned part = op.getNumLoops();
    AffineExpr partExpr = builder.getAffineDimExpr(part);
    SmallVector<AffineMap> maps;
    for (auto [operand, dim] : llvm::zip_equal(op.getDpsInputOperands(), dims)) {
      SmallVector<AffineExpr> exprs(op.getMatchingIndexingMap(operand).getResults());
      if (dim >= 0)
        exprs.insert(exprs.begin() + dim, partExpr);
      AffineExpr whole = builder.getAffineDimExpr(loop);
      if (dim == inWindows)
        for (AffineExpr &expr : exprs)
          expr = expr.replace(whole, partExpr * (op.getStaticLoopRanges()[loop] / parts) + whole);
      maps.push_back(AffineMap::get(part + 1, 0, exprs, builder.getContext()));
    }
    SmallVector<AffineExpr> exprs{partExpr};
    llvm::append_range(exprs, op.getMatchingIndexingMap(op.getDpsInitOperand(0)).getResults());
    maps.push_back(AffineMap::get(part + 1, 0, exprs, builder.getContext()));
    SmallVector<utils::IteratorType> kinds = op.getIteratorTypesArray();
    kinds.push_back(utils::IteratorType::parallel);
    auto sums = linalg::GenericOp::create(
        builder, loc, TypeRange(partial), ValueRange(body->getArguments().take_front(inputs)), ValueRange(fill), maps,
        kinds, [&](OpBuilder &inner, Location at, ValueRange values) {
          IRMapping mapping;
          mapping.map(op.getBlock()->getArguments(), values);
          for (Value number : capturedBy(op))
            inner.clone(*number.getDefiningOp(), mapping);
          for (Operation &each : op.getBlock()->without_terminator())
            inner.clone(each, mapping);
          linalg::YieldOp::create(inner, at, mapping.lookup(op.getBlock()->getTerminator()->getOperand(0)));
        });
    sums->setAttr(opAttrName, builder.getStringAttr(name));
    if (Attribute tf32 = op->getAttr(tf32AttrName))
      sums->setAttr(tf32AttrName, tf32);
    func::ReturnOp::create(builder, loc, sums.getResult(0));
    return made;
  }

  /// Changes the kernel: it adds the parts, which become its first argument, and then computes the epilogue.
  void addUp() {
    Location loc = op.getLoc();
    (void)kernel.insertArgument(0, partial, {}, loc);
    setSizes(kernel, 0);
    builder.setInsertionPoint(op);
    const auto rank = unsigned(partial.getRank());
    SmallVector<AffineExpr> from{builder.getAffineDimExpr(rank - 1)}, to;
    for (unsigned dim = 0; dim + 1 < rank; ++dim)
      to.push_back(builder.getAffineDimExpr(dim));
    llvm::append_range(from, to);
    SmallVector<utils::IteratorType> kinds(rank, utils::IteratorType::parallel);
    kinds.back() = utils::IteratorType::reduction;
    auto sum = linalg::GenericOp::create(
        builder, loc, op->getResultTypes(), ValueRange(kernel.getArgument(0)), ValueRange(op.getDpsInits()),
        ArrayRef<AffineMap>{AffineMap::get(rank, 0, from, builder.getContext()),
                            AffineMap::get(rank, 0, to, builder.getContext())},
        kinds, [&](OpBuilder &inner, Location at, ValueRange values) {
          linalg::YieldOp::create(inner, at, combine(inner, tile::combinerOf(op, 0), values[1], values[0]));
        });
    sum->setAttr(opAttrName, builder.getStringAttr("sum of parts"));
    op->replaceAllUsesWith(sum);
    op->erase();
    for (unsigned side : sides)
      if (kernel.getArgument(side + 1).use_empty() && !llvm::is_contained(unused, side + 1))
        unused.push_back(side + 1);
    llvm::sort(unused);
    if (auto ops = kernel->getAttrOfType<StringAttr>(opsAttrName))
      kernel->setAttr(opsAttrName, builder.getStringAttr("sum of parts+" + ops.getValue().str()));
  }

  void rewrite(func::CallOp call, func::FuncOp first) {
    Location loc = call.getLoc();
    builder.setInsertionPoint(call);
    SmallVector<Value> operands;
    for (auto [side, dim] : llvm::zip_equal(ArrayRef<unsigned>(sides), dims)) {
      Value whole = call.getOperand(side);
      if (dim < 0) {
        operands.push_back(whole);
        continue;
      }
      SmallVector<ReassociationIndices> groups;
      for (int64_t i = 0, next = 0; i < cast<ShapedType>(whole.getType()).getRank(); ++i) {
        groups.push_back(i == dim ? ReassociationIndices{next, next + 1} : ReassociationIndices{next});
        next += i == dim ? 2 : 1;
      }
      operands.push_back(tensor::ExpandShapeOp::create(builder, loc, expanded(whole, dim, parts), whole, groups));
    }
    operands.push_back(tensor::EmptyOp::create(builder, loc, partial.getShape(), partial.getElementType()));
    auto made = func::CallOp::create(builder, loc, first, operands);
    made->setAttr(opsAttrName, builder.getStringAttr(name));
    SmallVector<Value> rest{made.getResult(0)};
    for (auto [number, operand] : llvm::enumerate(call.getOperands()))
      if (!llvm::is_contained(unused, number + 1))
        rest.push_back(operand);
    call->setOperands(rest);
    if (auto ops = kernel->getAttr(opsAttrName))
      call->setAttr(opsAttrName, ops);
  }

  /// The entry of `dims` for an operand that is read in windows.
  static constexpr int64_t inWindows = -2;

  func::FuncOp kernel;
  linalg::LinalgOp op;
  unsigned loop;
  int64_t parts;
  std::string name; ///< name of the op, for messages
  OpBuilder builder;
  RankedTensorType partial;
  SmallVector<unsigned> sides; ///< numbers of the kernel's arguments that are operands of the product
  SmallVector<int64_t> dims; ///< for each of `sides`, the dimension that the split loop indexes, or -1, or `inWindows`
  SmallVector<unsigned> unused;
};

} // namespace

void splitSums(ModuleOp module, const Arch &arch) {
  SymbolTable symbols(module);
  for (auto kernel : llvm::to_vector(module.getOps<func::FuncOp>())) {
    if (!kernel->hasAttr(kernelAttrName) || kernel->hasAttr(scheduleAttrName))
      continue;
    std::string reason;
    std::optional<Contraction> product = matchContraction(kernel, reason);
    if (product && !isDotProducts(*product)) {
      std::optional<unsigned> loop = product->rowSums.empty() ? loopToSplit(*product, arch) : std::nullopt;
      if (int64_t parts = loop ? partsOf(kernel, *product, *loop, arch) : 1; parts > 1)
        Split(kernel, product->op, *loop, parts).run(module, symbols);
      continue;
    }
    SmallVector<linalg::LinalgOp> reductions;
    for (auto op : kernel.getOps<linalg::LinalgOp>())
      if (op.getNumReductionLoops() > 0)
        reductions.push_back(op);
    if (reductions.size() != 1)
      continue;
    if (auto [loop, parts] = partsOfReduction(kernel, reductions[0], arch); parts > 1)
      Split(kernel, reductions[0], loop, parts).run(module, symbols);
  }
}

} // namespace tilewright::gpu
