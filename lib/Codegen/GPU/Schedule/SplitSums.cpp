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
#include "lib/Codegen/GPU/Schedule/SumOfParts.h"
#include "lib/Codegen/GPU/Schedule/WgmmaSpace.h"
#include "lib/Codegen/GPU/ThreadKernel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/SymbolTable.h"
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

/// Returns true if views of the operands can split `loop` of `op`. This is the case if every input is a tensor argument
/// of the kernel, and the loop indexes at most one dimension of each input, directly. In addition, `op` must have one
/// result with a known combiner, and its body may capture only constants.
bool canCut(linalg::LinalgOp op, unsigned loop) {
  return op->getNumResults() == 1 && tile::combinerOf(op, 0) && capturesOnlyConstants(op) &&
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

/// Splits `loop` of the reduction `op`, which is in `kernel`, into parts.
class Split {
public:
  Split(func::FuncOp kernel, linalg::LinalgOp op, unsigned loop, int64_t parts)
      : op(op), loop(loop), parts(parts), sum(kernel, op, parts, "sum") {
    for (OpOperand *operand : op.getDpsInputOperands()) {
      const AffineMap map = op.getMatchingIndexingMap(operand);
      inWindows.push_back(!map.isProjectedPermutation());
      sum.addOperand(operand->get(), inWindows.back() ? -1 : dimensionOf(op, operand, loop));
    }
  }

  void run(ModuleOp module, SymbolTable &symbols) {
    func::FuncOp first = makeParts();
    symbols.insert(first);
    Operation *combiner = tile::combinerOf(op, 0);
    sum.replaceOp(op.getDpsInits()[0],
                  [&](OpBuilder &inner, Value all, Value part) { return combine(inner, combiner, all, part); });
    sum.rewriteCalls(module, first);
  }

private:
  /// Returns the kernel that computes the parts: a batch of products or of other reductions.
  func::FuncOp makeParts() {
    Location loc = op.getLoc();
    OpBuilder builder(op);
    func::FuncOp made = sum.makeKernel(builder);
    Block *body = &made.getBody().front();
    Value neutral = arith::ConstantOp::create(builder, loc, tile::identityOf(tile::combinerOf(op, 0)));
    Value fill = linalg::FillOp::create(builder, loc, neutral, body->getArguments().back()).getResult(0);
    // The index of the part is an additional last loop. It indexes the operands and the result.
    const unsigned part = op.getNumLoops();
    AffineExpr partExpr = builder.getAffineDimExpr(part);
    SmallVector<AffineMap> maps;
    for (auto [operand, isInWindows] : llvm::zip_equal(op.getDpsInputOperands(), inWindows)) {
      SmallVector<AffineExpr> exprs(op.getMatchingIndexingMap(operand).getResults());
      if (const int64_t dim = isInWindows ? -1 : dimensionOf(op, operand, loop); dim >= 0)
        exprs.insert(exprs.begin() + dim, partExpr);
      AffineExpr whole = builder.getAffineDimExpr(loop);
      if (isInWindows)
        for (AffineExpr &expr : exprs)
          expr = expr.replace(whole, partExpr * (op.getStaticLoopRanges()[loop] / parts) + whole);
      maps.push_back(AffineMap::get(part + 1, 0, exprs, builder.getContext()));
    }
    SmallVector<AffineExpr> exprs{partExpr};
    llvm::append_range(exprs, op.getMatchingIndexingMap(op.getDpsInitOperand(0)).getResults());
    maps.push_back(AffineMap::get(part + 1, 0, exprs, builder.getContext()));
    SmallVector<utils::IteratorType> kinds = op.getIteratorTypesArray();
    kinds.push_back(utils::IteratorType::parallel);
    auto sums =
        linalg::GenericOp::create(builder, loc, TypeRange(fill.getType()), ValueRange(body->getArguments().drop_back()),
                                  ValueRange(fill), maps, kinds, [&](OpBuilder &inner, Location at, ValueRange values) {
                                    linalg::YieldOp::create(inner, at, cloneBodyOf(inner, op, values));
                                  });
    sums->setAttr(opAttrName, builder.getStringAttr(sum.name()));
    if (Attribute tf32 = op->getAttr(tf32AttrName))
      sums->setAttr(tf32AttrName, tf32);
    func::ReturnOp::create(builder, loc, sums.getResult(0));
    return made;
  }

  linalg::LinalgOp op;
  unsigned loop;
  int64_t parts;
  SumOfParts sum;
  SmallVector<bool> inWindows; ///< for each operand, true if it is read in windows
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
