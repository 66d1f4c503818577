//===- WarpGroupProduct.cpp - contractions by warp groups, with TMA and wgmma -------------===//
#include "lib/Codegen/GPU/Schedule/WarpGroupProduct.h"
#include "dialects/Tile/Sizes.h"
#include "lib/Codegen/GPU/Schedule/SharedTile.h"
#include "tilewright/TensorMapRecipe.h"

using namespace mlir;

namespace tilewright::gpu {

bool multiplySize(MappedOperand::Run &run, AffineExpr size) {
  if (auto number = dyn_cast<AffineConstantExpr>(size))
    return number.getValue() >= 0 && !__builtin_mul_overflow(run.factor, number.getValue(), &run.factor);
  if (auto symbol = dyn_cast<AffineSymbolExpr>(size)) {
    run.sizes.push_back(symbol.getPosition());
    return true;
  }
  auto product = dyn_cast<AffineBinaryOpExpr>(size);
  return product && product.getKind() == AffineExprKind::Mul && multiplySize(run, product.getLHS()) &&
         multiplySize(run, product.getRHS());
}

SmallVector<unsigned> depthOf(Contraction product) {
  SmallVector<int64_t> ranges = product.op.getStaticLoopRanges();
  const SmallVector<unsigned> taps = tapsOf(product);
  SmallVector<unsigned> depth = llvm::filter_to_vector(product.depth, [&](unsigned loop) { return ranges[loop] != 1; });
  if (depth.empty())
    return product.depth;
  llvm::erase_if(depth, [&](unsigned loop) { return llvm::is_contained(taps, loop); });
  return depth;
}

int64_t stepsOf(Contraction product, int64_t k) {
  return product.likelySizeOf(tapsOf(product)) *
         int64_t(llvm::divideCeil(product.likelySizeOf(depthOf(product)), uint64_t(k)));
}

namespace {

/// Divides the dimensions of an operand into runs.
class OperandRuns {
  using Part = MappedOperand::Part;
  using Run = MappedOperand::Run;

public:
  OperandRuns(Contraction product, OpOperand *operand, ArrayRef<unsigned> side)
      : product(product), operand(operand), side(side), depth(depthOf(product)), taps(tapsOf(product)) {}

  /// Sets `runs`, with the slowest dimension first. Returns an empty string, or the reason if the operand has no such
  /// runs.
  std::string divide() {
    // Reduction loops of one iteration are ignored if there are other reduction loops, because their index is always 0,
    // as in a 1 x 1 convolution.
    MLIRContext *context = product.op.getContext();
    const AffineExpr zero = getAffineConstantExpr(0, context), one = getAffineConstantExpr(1, context);
    SmallVector<AffineExpr> loopExprs;
    for (unsigned loop = 0; loop < product.op.getNumLoops(); ++loop) {
      bool still = llvm::is_contained(product.depth, loop) && !llvm::is_contained(depth, loop) &&
                   !llvm::is_contained(taps, loop);
      loopExprs.push_back(still ? zero : getAffineDimExpr(loop, context));
    }
    AffineMap map =
        product.op.getMatchingIndexingMap(operand).replaceDimsAndSymbols(loopExprs, {}, loopExprs.size(), 0);
    if ((patches = matchPatches(operand->get())))
      return addPatches(map);
    std::optional<PaddedImage> image = matchPaddedImage(operand->get());
    if (!image)
      return "an operand is computed in the kernel";
    SmallVector<AffineExpr> sizes = tile::sizesOf(image->image), paddedSizes = tile::sizesOf(operand->get());
    if (sizes.size() != map.getNumResults() || paddedSizes.size() != sizes.size())
      return "a size of an operand cannot be computed from the kernel's arguments";
    for (auto [expr, size, paddedSize, before] : llvm::zip_equal(map.getResults(), sizes, paddedSizes, image->before)) {
      if (expr == zero && size == one && paddedSize == one && before == 0)
        continue;
      const bool padded = !image->aligned && (before != 0 || size != paddedSize);
      if (std::string reason = add(expr, size, before, padded); !reason.empty())
        return reason;
    }
    return llvm::any_of(runs, [](const Run &run) { return run.part == Part::Window; }) ? completeWindows()
                                                                                       : checkOrder();
  }

  SmallVector<Run> runs;
  std::optional<Patches> patches;

private:
  /// Adds the image's dimensions for an operand that consists of patches. The operand must have the indices [batch], k,
  /// and the row of A (column of B).
  std::string addPatches(AffineMap map) {
    const int64_t line = lineElements(elementOf(product));
    auto isLoop = [&](unsigned dim, ArrayRef<unsigned> loops) {
      auto loop = dyn_cast<AffineDimExpr>(map.getResult(dim));
      return loop && loops.size() == 1 && loop.getPosition() == loops[0];
    };
    const unsigned rank = map.getNumResults();
    if (!isLoop(rank - 1, side) || !isLoop(rank - 2, depth) || (rank == 3 && !isLoop(0, product.batches)))
      return "patches are not a matrix along the loops of the product";
    if (patches->channels % line != 0 || (rank == 3 && patches->rows % line != 0))
      return "patches are not whole lines of shared memory";
    const int64_t images = cast<RankedTensorType>(patches->image.getType()).getDimSize(0);
    const int64_t windows = product.sizeOf(depth) * (rank == 3 ? product.sizeOf(product.batches) : 1);
    // The last load of a sum may read images after the operand's last image. TMA loads zeros for them only if they are
    // outside of the tensor.
    if (patches->firstImage + patches->images != images && windows % line != 0)
      return "patches of a part of the images are not whole lines of shared memory";
    runs.push_back({Part::Depth, depth, images, {}, {}, {}});
    for (const WindowDimension &window : patches->windows)
      runs.push_back({Part::Window, {}, window.size, {}, window, {}});
    runs.push_back({Part::Side, SmallVector<unsigned>(side), patches->channels, {}, {}, {}});
    return whyNotWindows(patches->windows);
  }

  Part partOf(unsigned loop) const {
    return llvm::is_contained(side, loop)    ? Part::Side
           : llvm::is_contained(depth, loop) ? Part::Depth
           : llvm::is_contained(taps, loop)  ? Part::Tap
                                             : Part::Batch;
  }

  /// Matches batch * n + k, where k is the only loop of the sum besides the taps and has n iterations. Returns the loop
  /// `batch`.
  std::optional<unsigned> batchOfDepth(AffineExpr expr) {
    auto sum = dyn_cast<AffineBinaryOpExpr>(expr);
    if (!sum || sum.getKind() != AffineExprKind::Add || depth.size() != 1)
      return std::nullopt;
    AffineExpr term = getAffineDimExpr(depth[0], expr.getContext());
    const int64_t terms = product.sizeOf(depth);
    for (unsigned batch : product.batches)
      if (terms > 0 && terms % lineElements(elementOf(product)) == 0 &&
          expr == getAffineDimExpr(batch, expr.getContext()) * terms + term)
        return batch;
    return std::nullopt;
  }

  /// Adds a dimension of `size` elements, whose index is `expr` - `before`. If `padded` is true, the index may be out
  /// of range.
  std::string add(AffineExpr expr, AffineExpr size, int64_t before, bool padded) {
    if (std::optional<unsigned> batch = batchOfDepth(expr); batch && !padded) {
      runs.push_back({Part::Depth, depth, 1, {}, {}, batch});
      return multiplySize(runs.back(), size) ? "" : "a size of an operand is unknown";
    }
    if (loopOfParts(expr)) {
      runs.push_back({Part::Tap, {}, 1, {}, {}, {}, expr});
      return multiplySize(runs.back(), size) ? "" : "a size of an operand is unknown";
    }
    auto dim = dyn_cast<AffineDimExpr>(expr);
    // A dimension of rows (columns) that is padded, or is after a run of windows, becomes a run of windows with one
    // tap.
    const bool afterWindows = dim && !runs.empty() && runs.back().part == Part::Window;
    if (!dim || padded || (afterWindows && partOf(dim.getPosition()) == Part::Side)) {
      std::optional<WindowDimension> window = windowDimension(product, expr, size);
      if (!window || !llvm::is_contained(side, *window->window))
        return "an operand is read in windows whose sizes are unknown, or whose elements are not at regular distances";
      window->lower = -before;
      if (!padded && window->dividesImage() &&
          (partOf(*window->tap) == Part::Depth || window->step > TensorMapRecipe::mostStep))
        return addDivided(*window, expr.getContext());
      runs.push_back({Part::Window, {*window->window}, window->size, {}, window, {}});
      return "";
    }
    const Part part = partOf(dim.getPosition());
    if (runs.empty() || runs.back().part != part)
      runs.push_back({part, {}, 1, {}, {}, {}});
    runs.back().loops.push_back(dim.getPosition());
    return multiplySize(runs.back(), size) ? "" : "a size of an operand is not a product of the kernel's arguments";
  }

  /// Splits a dimension that windows divide into two dimensions, the windows and the taps of a window, and adds both.
  std::string addDivided(const WindowDimension &window, MLIRContext *context) {
    auto addLoop = [&](unsigned loop, int64_t size) {
      return add(getAffineDimExpr(loop, context), getAffineConstantExpr(size, context), 0, /*padded=*/false);
    };
    if (std::string reason = addLoop(*window.window, window.windows); !reason.empty())
      return reason;
    if (partOf(*window.tap) == Part::Depth)
      return addLoop(*window.tap, window.taps);
    WindowDimension one;
    one.tap = window.tap;
    one.size = one.taps = window.taps;
    one.windows = one.dilation = 1;
    runs.push_back({Part::Window, {}, one.size, {}, one, {}});
    return "";
  }

  bool runIs(Part part, ArrayRef<unsigned> loops) const {
    return llvm::count_if(runs, [&](const Run &run) { return run.part == part; }) == 1 &&
           llvm::any_of(runs, [&](const Run &run) { return run.part == part && ArrayRef(run.loops) == loops; });
  }

  std::string checkOrder() const {
    if (!runIs(Part::Side, side) || !runIs(Part::Depth, depth))
      return "dimensions of an operand are not contiguous in the order of the loops";
    if (runs.back().part == Part::Batch || runs.back().part == Part::Tap)
      return "adjacent elements of an operand belong to different products of the batch";
    return "";
  }

  /// Checks the order of the runs: one run of the operand's rows (A) or columns (B), the runs of windows, and one run
  /// of the channels. If the first run is missing, adds one of size 1. Returns an empty string, or the reason if the
  /// order is different.
  std::string completeWindows() {
    if (runs.front().part != Part::Side)
      runs.insert(runs.begin(), Run{Part::Side, {}, 1, {}, {}, {}});
    SmallVector<unsigned> loops(runs.front().loops);
    SmallVector<WindowDimension> windows;
    for (const Run &run : ArrayRef(runs).drop_front().drop_back()) {
      if (run.part != Part::Window)
        return "windows of an operand are not adjacent, or an operand has windows for each product of a batch";
      if (run.window->window)
        loops.push_back(*run.window->window);
      windows.push_back(*run.window);
    }
    if (ArrayRef(loops) != side || runs.back().part != Part::Depth || !runIs(Part::Depth, depth))
      return "channels of an operand that is read in windows are not contiguous";
    return whyNotWindows(windows);
  }

  Contraction product;
  OpOperand *operand;
  ArrayRef<unsigned> side;
  SmallVector<unsigned> depth, taps;
};

} // namespace

std::optional<MappedOperand> mapOperand(Contraction product, OpOperand *operand, ArrayRef<unsigned> side,
                                        std::string &reason) {
  OperandRuns operandRuns(product, operand, side);
  auto fail = [&](std::string why) {
    reason = std::move(why);
    return std::nullopt;
  };
  if (std::string why = operandRuns.divide(); !why.empty())
    return fail(std::move(why));
  const SmallVector<MappedOperand::Run> &runs = operandRuns.runs; // the slowest dimension comes first
  constexpr size_t mostDimensions = 5;
  if (runs.size() > mostDimensions)
    return fail("an operand has more dimensions than a tensor map");
  // This condition ensures that all strides, except that of the contiguous dimension, are multiples of 16 bytes.
  const Type element = elementOf(product);
  if (runs.back().factor % (chunkBytes / bytesOf(element)) != 0)
    return fail("rows of an operand begin at addresses that are not multiples of 16 bytes");
  for (const MappedOperand::Run &run : runs)
    if (run.factor > UINT32_MAX)
      return fail("an operand has more elements in a dimension than a tensor map can describe");
  MappedOperand made;
  made.runs.assign(runs.rbegin(), runs.rend());
  made.patches = operandRuns.patches;
  made.element = element;
  made.alongK = made.runs.front().part == MappedOperand::Part::Depth;
  if (bytesOf(element) != 2 && !made.alongK)
    return fail("wgmma requires int8, fp8 and tf32 operands that are contiguous along the sum");
  return made;
}

TensorMapRecipe MappedOperand::recipe(uint32_t buffer, int64_t side) const {
  TensorMapRecipe made;
  made.buffer = buffer;
  made.element = bytesOf(element) == 1 ? TensorMapRecipe::Element::I8
                 : element.isF32()     ? TensorMapRecipe::Element::TF32
                 : element.isF16()     ? TensorMapRecipe::Element::F16
                                       : TensorMapRecipe::Element::BF16;
  made.swizzle = uint32_t(lineBytes);
  made.pixels = patches ? uint32_t(lineElements(element)) : hasWindows() ? uint32_t(side) : 0;
  for (const Run &run : runs) {
    // The box has one line of elements in the contiguous dimension, and the whole extent of the tile in the other
    // dimension. In each dimension of the batch or of taps, its extent is 1.
    const bool isSide = run.part == Part::Side, isDepth = run.part == Part::Depth && !patches;
    int64_t box = isDepth || (isSide && !alongK) ? lineElements(element) : isSide && made.pixels == 0 ? side : 1;
    made.dimensions.push_back({uint32_t(box), run.factor, {run.sizes.begin(), run.sizes.end()}});
    if (run.window) {
      made.dimensions.back().step = uint32_t(run.window->step);
      made.dimensions.back().lower = int32_t(run.window->lower);
      made.dimensions.back().upper = int32_t(run.window->upper());
    }
  }
  return made;
}

std::string whyNotOnWarpGroups(Contraction product, TensorFormats formats) {
  if (std::string reason = whyNotOnTensorCores(product, formats, /*mayPad=*/true); !reason.empty())
    return reason;
  std::string reason;
  if (!mapOperand(product, product.lhs(), product.rows, reason) ||
      !mapOperand(product, product.rhs(), product.columns, reason))
    return reason;
  // The terms of each tap are padded to whole lines. The limit exists because mma.sync needs less padding.
  constexpr int64_t mostPadding = 3;
  if (const int64_t terms = product.likelySizeOf(depthOf(product));
      !tapsOf(product).empty() && mostPadding * terms < lineElements(elementOf(product)))
    return "a window has " + std::to_string(terms) + " channels, less than a third of a line of shared memory";
  return "";
}

Contraction inOrderOf(const Schedule &schedule, Contraction product) {
  return product.swapped == schedule.swapped ? product : product.transposed();
}

int64_t registersOfConsumer(const Schedule &schedule, int64_t sets) {
  return sets * schedule.m / schedule.consumers * schedule.n / warpGroupSize + otherRegisters;
}

int64_t columnsOfBlock(const Schedule &schedule) {
  constexpr int64_t columnsOfFragment = 8;
  return schedule.splitK > 1 ? std::max(columnsOfFragment, schedule.n / schedule.splitK) : schedule.n;
}

int64_t bytesOfSlots(const Schedule &schedule) {
  constexpr int64_t bytesOfSum = 4;
  const int64_t slots = (schedule.m + schedule.n) * lineBytes * schedule.stages;
  return schedule.splitK > 1 ? std::max(slots, schedule.m * schedule.n * bytesOfSum) : slots;
}

int64_t bytesOfRing(const Schedule &schedule) {
  constexpr int64_t barriers = 2 * 8;
  return bytesOfSlots(schedule) + barriers * schedule.stages;
}

std::string whyNotColumns(Contraction product, int64_t width) {
  std::string reason;
  const std::optional<MappedOperand> b = mapOperand(product, product.rhs(), product.columns, reason);
  const int64_t unit = product.numProducts() * (b && !b->alongK ? lineElements(elementOf(product)) : 8);
  if (product.numProducts() == 1 || width % unit == 0)
    return "";
  return "a block has " + std::to_string(width) +
         " columns of the two products, but the number must be a multiple of " + std::to_string(unit);
}

std::string whyNotWgmma(const Schedule &schedule, Contraction product, int64_t sharedBytes) {
  auto text = [](int64_t number) { return std::to_string(number); };
  if (product.second && (schedule.swapped || schedule.cluster > 1 || schedule.splitK > 1))
    return "a pair of products cannot have `swapped`, `cluster` or `split_k`";
  if (std::string reason = whyNotColumns(product, schedule.n); !reason.empty())
    return reason;
  if (schedule.swapped && !product.rowSums.empty())
    return "it swaps the operands of a kernel that reduces rows of results";
  product = inOrderOf(schedule, std::move(product));
  if (schedule.consumers > 2)
    return "it has " + text(schedule.consumers) + " consumer warp groups, but must have one or two";
  int64_t rows = schedule.m / schedule.consumers;
  if (schedule.m % schedule.consumers != 0 || (rows != groupRows && rows != 2 * groupRows))
    return "a warp group has " + text(rows) + " rows, but must have 64 or 128";
  if (std::string reason = whyNotWholeRows(product, schedule.n); !reason.empty())
    return reason;
  const Type element = elementOf(product);
  if (schedule.n % 8 != 0 || schedule.n > 256)
    return "a block has " + text(schedule.n) + " columns, but the number must be a multiple of 8 up to 256";
  if (element.isInteger() && schedule.n > 32 && schedule.n % 16 != 0)
    return "a block has " + text(schedule.n) + " columns, but for int8, a number above 32 must be a multiple of 16";
  const int64_t line = lineElements(element);
  if (schedule.k != line)
    return "k is " + text(schedule.k) + ", but must be " + text(line) + ", the length of a line of shared memory";
  if (schedule.cluster != 1 && schedule.cluster != 2)
    return "clusters have " + text(schedule.cluster) + " blocks, but must have one or two";
  if (schedule.n / schedule.cluster % 8 != 0)
    return "a block has " + text(schedule.n) +
           " columns, but each block of a cluster must load a multiple of 8 columns";
  if (schedule.tilesPerBlock < 1)
    return "a block computes " + text(schedule.tilesPerBlock) + " tiles, but must compute at least one";
  if (schedule.splitK > 1) {
    if (!product.rowSums.empty())
      return "a kernel that reduces rows of results cannot have a split_k";
    // Each block writes a number of fragments of eight columns. If there are fewer fragments than blocks, it is 0 or 1.
    if (const int64_t fragments = schedule.n / 8; fragments > schedule.splitK && fragments % schedule.splitK != 0)
      return "split_k is " + text(schedule.splitK) + ", but the " + text(schedule.n) +
             " columns of a block are not a multiple of " + text(8 * schedule.splitK);
    if (const int64_t terms = product.sizeOf(depthOf(product));
        !ShapedType::isDynamic(terms) && int64_t(llvm::divideCeil(terms, line)) < schedule.splitK)
      return "split_k is " + text(schedule.splitK) + ", but the sum has only " + text(terms) + " terms" +
             (tapsOf(product).empty() ? "" : " per tap");
  }
  if (schedule.stages < 2 || schedule.stages > 64)
    return "stages is " + text(schedule.stages) + ", but must be 2 to 64";
  if (schedule.threads != (schedule.consumers + 1) * warpGroupSize)
    return "it has " + text(schedule.threads) + " threads, but its warp groups have " +
           text((schedule.consumers + 1) * warpGroupSize);
  std::string reason;
  std::optional<MappedOperand> b = mapOperand(product, product.rhs(), product.columns, reason);
  if (b && !b->alongK && schedule.n % (line * schedule.cluster) != 0)
    return "a block has " + text(schedule.n) + " columns, but the number must be a multiple of " +
           text(line * schedule.cluster) + " if columns are contiguous in memory";
  if (int64_t bytes = bytesOfRing(schedule); bytes > sharedBytes)
    return "it needs " + text(bytes) + " bytes of shared memory, and a block has " + text(sharedBytes);
  if (int64_t used = registersOfConsumer(schedule, setsOfSums(product)); used > consumerRegisters)
    return "it needs about " + text(used) + " registers, and a thread has " + text(consumerRegisters);
  return "";
}

} // namespace tilewright::gpu
