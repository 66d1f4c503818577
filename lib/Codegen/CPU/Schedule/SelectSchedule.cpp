//===- SelectSchedule.cpp - selects a schedule for each kernel ----------------===//
//
// Before:  func @kernel_0(...) attributes {tw.kernel}
// After:   func @kernel_0(...) attributes {tw.kernel,
//            tw.schedule = #tw_cpu.schedule<tiles = [64, 48], nanoseconds = 9300, bound = L2>}
//
// `tiles` has one size per row dimension of the kernel (dialects/Tile/Rows.h). The size is the number of indices of
// this dimension that one task computes. A size of 0 means that the dimension is not tiled. `k_block` is set for
// products with few rows and a long K whose right-hand side exceeds the L2 cache. For products and elementwise kernels,
// the cost model (CostModel.h) selects the candidate with the lowest predicted time, and determines the resource that
// limits the kernel. The cost model is not used for products whose kernel also reduces rows, and for elementwise
// kernels with symbolic sizes or little work. For convolutions and attention, the number of threads and limits on the
// pixels, rows and bytes of a task determine the sizes. If a kernel already has a schedule, the user has set it, and
// the pass does not change it.
//
// Tests: test/Codegen/CPU/Schedule/select-schedule.mlir, test/Codegen/CPU/Schedule/select-columns.mlir,
// test/Codegen/CPU/Schedule/select-grouped.mlir, test/Codegen/CPU/Schedule/select-transposed.mlir,
// test/Codegen/CPU/Schedule/select-transposed-operands.mlir
//
//===----------------------------------------------------------------------===//
#include "dialects/Schedule/CpuSchedule.h"
#include "dialects/Tile/Blocks.h"
#include "dialects/Tile/Flops.h"
#include "dialects/Tile/Rows.h"
#include "dialects/Tile/Sizes.h"
#include "lib/Codegen/CPU/Schedule/CostModel.h"
#include "lib/Codegen/CPU/Schedule/KernelShapes.h"
#include "lib/Codegen/CPU/Schedule/TileInserts.h"
#include "tilewright/AttributeNames.h"
#include "tilewright/Passes.h"
#include "tilewright/StageContract.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace mlir;

namespace tilewright {
#define GEN_PASS_DEF_SELECTSCHEDULE
#include "tilewright/Passes.h.inc"
namespace tiled {
using namespace tile;
namespace {

using llvm::divideCeilSigned;

/// Returns the number of lines of `value` that fit into the L1 cache and the L1 TLB at the same time. There is one line
/// for each index of dimension `dim`. The number is rounded down to a power of two, and is at least `least`. If the
/// stride of the lines has a large power of two as a factor, the lines map to few sets of the cache.
int64_t linesKept(Value value, int64_t dim, const FirstCache &cache) {
  constexpr int64_t pageBytes = 4096;
  constexpr int64_t pages = 64; // entries of the L1 data TLB: 64 to 96 on x86 with AVX2
  constexpr int64_t least = 16; // elements of a vector of f32 with AVX-512
  int64_t stride = std::max<int64_t>(1, cast<ShapedType>(value.getType()).getElementTypeBitWidth() / 8);
  for (int64_t inner = dim + 1, rank = cast<ShapedType>(value.getType()).getRank(); inner < rank; ++inner)
    stride *= std::max<int64_t>(1, estimate(tile::sizeOf(value, inner)));
  const int64_t setsBytes = cache.setsBytes();
  const int64_t lines = cache.ways * setsBytes / std::gcd(std::max(stride, cache.lineBytes), setsBytes);
  const int64_t most = std::min(lines, pages * pageBytes / std::min(stride, pageBytes));
  return std::max<int64_t>(least, int64_t(llvm::bit_floor(uint64_t(most))));
}

/// Returns the smallest tile size of each row dimension (Rows.h). The row dimensions are those of the result. If an
/// operand is contiguous along another row dimension than the result, the tile has at least 32 elements (two cache
/// lines of f32) along this other dimension, so that whole blocks can be read and transposed
/// (lib/Codegen/CPU/Vectorize/TransposedLoops.h). In this case, `mostColumns` is lowered if the lines of the operand,
/// one per column, would evict each other from the cache. If an operand of a reduction is contiguous along the same
/// row dimension as the result, and not along a reduced dimension, the tile has at least 64 elements (256 for bytes)
/// along this dimension, so that the hardware prefetchers are effective. No minimum exceeds the number of elements of
/// its dimension.
SmallVector<int64_t> leastOfRows(ArrayRef<Operation *> members, const RowMap &rows, ArrayRef<AffineExpr> sizes,
                                 const FirstCache &cache, int64_t &mostColumns) {
  constexpr int64_t lines = 32, columns = 64, columnsOfBytes = 256;
  const int64_t contiguous = sizes.size() - 1;
  SmallVector<int64_t> least(rows.numRows, 1);
  for (Operation *member : members) {
    SmallVector<int64_t> rowOfLoop = rows.rowOfLoop.lookup(member);
    auto generic = dyn_cast<linalg::GenericOp>(member);
    bool reduces = generic && generic.getNumReductionLoops() > 0;
    auto rowOf = [&](AffineExpr expr) -> int64_t {
      auto dim = dyn_cast<AffineDimExpr>(expr);
      return dim && dim.getPosition() < rowOfLoop.size() ? rowOfLoop[dim.getPosition()] : -1;
    };
    for (OpOperand &operand : member->getOpOperands()) {
      auto type = dyn_cast<RankedTensorType>(operand.get().getType());
      AffineMap map = type && type.getRank() > 0 ? operandMap(operand) : AffineMap();
      if (!map || map.getNumResults() == 0)
        continue;
      int64_t row = rowOf(map.getResults().back());
      bool across = llvm::any_of(map.getResults().drop_back(), [&](AffineExpr e) { return rowOf(e) == contiguous; });
      if (row >= 0 && row != contiguous && across) {
        least[row] = std::clamp<int64_t>(estimate(sizes[row]), 1, lines);
        for (auto [dim, expr] : llvm::enumerate(map.getResults()))
          if (rowOf(expr) == contiguous)
            mostColumns = std::min(mostColumns, linesKept(operand.get(), int64_t(dim), cache));
      }
      if (reduces && row >= 0 && row == contiguous && map.getNumResults() > 1)
        least[row] =
            std::clamp<int64_t>(estimate(sizes[row]), 1, type.getElementTypeBitWidth() <= 8 ? columnsOfBytes : columns);
    }
  }
  return least;
}

struct SelectSchedule : impl::SelectScheduleBase<SelectSchedule> {
  using SelectScheduleBase::SelectScheduleBase;

  void runOnOperation() override {
    if (failed(requireForm(getOperation(), IRForm::Tensors, getArgument())))
      return signalPassFailure();
    func::FuncOp kernel = getOperation();
    if (!kernel->hasAttr(kernelAttrName))
      return;
    tile::setFlops(kernel);
    if (kernel->hasAttr(scheduleAttrName))
      return;
    SmallVector<Operation *> members = membersOf(kernel);
    FailureOr<CostMachine> described =
        costMachineOf(kernel, threads, cacheBytes, sharedBytes, {l1Bytes, l1Ways, lineBytes}, rates);
    if (failed(described))
      return signalPassFailure();
    machine = *described;
    cost.reset();
    SmallVector<int64_t> tiles = members.empty() ? SmallVector<int64_t>{} : tilesFor(members);
    auto selected = schedule::CpuScheduleAttr::get(&getContext(), tiles);
    int64_t kBlock = 0;
    for (Operation *member : members)
      kBlock = std::max(kBlock, kBlockOfStream(member));
    if (kBlock > 0)
      selected = cast<schedule::CpuScheduleAttr>(selected.withKnobs({{"k_block", kBlock}}));
    if (cost && sizesAreKnown(kernel))
      selected = selected.withPrediction({{std::max<int64_t>(1, std::llround(cost->nanoseconds)), cost->bound}});
    kernel->setAttr(scheduleAttrName, selected);
  }

  static bool sizesAreKnown(func::FuncOp kernel) { return tile::indexArguments(kernel).empty(); }

  /// Returns the number of steps of the K-blocks of `member` if it is an unbatched product without AMX tiles that has
  /// few rows, a long K, and a B that exceeds the L2 cache. Otherwise returns 0. With few rows, the time to read B
  /// dominates. Long contiguous runs of B are read faster than short runs, if the K-block of A fits into the L1 cache.
  /// If B fits into the L2 cache, the length of the runs has no effect.
  ///
  /// Longer K-blocks are less accurate, because more products are added to one partial sum. If the blocks are longer
  /// than usual, a sum of f32 or f64 has at least eight partial sums. For a sum of 768 positive terms, the error was
  /// 3.5 times that of MKL with blocks of 512, and 1.5 times with blocks of 128. The time was the same (Xeon with
  /// AVX-512, 2 rows, 4096 columns).
  static constexpr int64_t mostStreamedRows = 64, longKBlock = 512, leastPartialSums = 8;
  int64_t kBlockOfStream(Operation *member) const {
    auto matmul = dyn_cast<MatmulOp>(member);
    if (!matmul)
      return 0;
    const ProductShape shape =
        productShapeOf(matmul, tile::sizesOf(matmul->getResult(0)), {tileUnit, splitF16, machine.rates});
    const bool streams = !shape.tiles && shape.batches == 1 && shape.m <= mostStreamedRows &&
                         shape.k > longKBlock * int64_t(matmul.getGroup()) / 2 &&
                         shape.k * shape.panels * shape.panelColumns * shape.bytes > cacheBytes;
    if (!streams)
      return 0;
    // For narrower operands, the error of the products exceeds the error of their sum.
    const bool wide = shape.bytes >= 4;
    return wide ? std::clamp<int64_t>(int64_t(llvm::bit_floor(uint64_t(shape.k) / leastPartialSums)),
                                      schedule::defaultKBlock, longKBlock)
                : longKBlock;
  }

  /// Returns the rows and columns per task of `matmul`, whose result has the sizes `own`. If `wholeRows` is set,
  /// columns are not tiled.
  std::pair<int64_t, int64_t> productTiles(MatmulOp matmul, ArrayRef<AffineExpr> own, bool wholeRows) {
    const int64_t rank = own.size();
    const ProductShape shape = productShapeOf(matmul, own, {tileUnit, splitF16, machine.rates});
    const bool transposed = readsTransposed(matmul), grouped = isGrouped(matmul, splitF16);
    // The rows of A of one task may use half of the L2 cache. The resulting maximum number of rows is limited to the
    // range from 128 to 256, or to 512 for instructions on groups of k, which are so fast that each panel must be used
    // for many rows. If A is transposed, the limits are constants, because micro-kernels copy A to the stack K-block by
    // K-block (PanelEmitter.h, TransposedKernel.h).
    const int64_t most = transposed ? (grouped ? 256 : 128)
                                    : std::clamp<int64_t>(cacheBytes / 2 / std::max<int64_t>(1, shape.k * shape.bytes),
                                                          128, grouped ? 512 : 256);
    ProductTiles tiles;
    if (wholeRows) // C's rows are reduced: 32 to 128 rows keep C's tile in the cache; if possible, 4 tasks per thread
      tiles = {std::clamp<int64_t>(shape.m / (4 * threads) / 32 * 32, 32, 128), shape.panels};
    else if (isa<AffineConstantExpr>(own[rank - 2]))
      tiles = chooseProductTiles(shape, /*leastRows=*/32, most, machine);
    else
      tiles = chooseTilesForAnyRows(shape, grouped ? most : 256, machine);
    cost = costOfProduct(shape, tiles, machine);
    return {tiles.rows, tiles.panels * shape.panelColumns};
  }

  /// Returns the number of rows of a head per task. Each task packs the keys and values again, so tasks should be
  /// large. The sums (f32, one per column of the values) and the queries may use half of the L2 cache. Tasks have about
  /// equal sizes of up to 512 rows (256 in f32, for which larger sizes were not measured). There are at least four
  /// tasks per thread if tasks of 64 rows allow this. Scores are computed for 32 rows at a time (tile::attentionRows).
  int64_t attentionRows(int64_t rows, int64_t columns, int64_t heads, bool narrow) const {
    constexpr int64_t least = 64, unit = tile::attentionRows;
    const int64_t mostRows = narrow ? 512 : 256;
    int64_t most = std::clamp<int64_t>(cacheBytes / 2 / std::max<int64_t>(8 * columns, 1), least, mostRows);
    int64_t count = divideCeilSigned(rows, most);
    while (heads * count < 4 * threads && divideCeilSigned(rows, count + 1) >= least)
      ++count;
    return count == 1 ? std::max<int64_t>(rows, 1) : divideCeilSigned(divideCeilSigned(rows, count), unit) * unit;
  }

  /// Returns the images, lines and pixels per task of a grouped convolution with small groups. A task computes all
  /// channels of whole lines, so the taps of a pixel that are inside of the image are known at compile time. A task
  /// computes at most 16384 results or one line, so that the results stay in the cache for the epilogue. It computes
  /// fewer lines if there would otherwise be fewer than four tasks per thread.
  SmallVector<int64_t> groupedTiles(ArrayRef<AffineExpr> own) const {
    constexpr int64_t grain = 16384;
    int64_t images = std::max<int64_t>(1, estimate(own[0])), height = std::max<int64_t>(1, estimate(own[1]));
    int64_t line = std::max<int64_t>(1, estimate(own[2]) * estimate(own[3]));
    int64_t lines = std::clamp<int64_t>(grain / line, 1, height);
    while (lines > 1 && images * divideCeilSigned(height, lines) < 4 * threads)
      --lines;
    return {1, divideCeilSigned(height, divideCeilSigned(height, lines)), 0};
  }

  /// Returns the number of filters per task, which is the width of a panel. If each task first gathers its windows,
  /// returns the filters of several panels, whose results for a line of `width` pixels take at most `resultBytes`. All
  /// tasks have about the same number of panels.
  static int64_t filtersOfTask(ConvolutionOp convolution, int64_t filters, int64_t width) {
    constexpr int64_t resultBytes = 64 * 1024;
    const int64_t panel = convolution.getPanel();
    if (!convolution.getMergedHeight())
      return panel;
    const int64_t panels = std::max<int64_t>(1, divideCeilSigned(filters, panel));
    const int64_t most = std::max<int64_t>(1, resultBytes / (4 * width * panel));
    return panel * divideCeilSigned(panels, divideCeilSigned(panels, most));
  }

  /// Returns the tile sizes of a concatenation or padding. The number of tasks depends on the number of elements. Outer
  /// dimensions are tiled before inner dimensions, so that each task copies long contiguous runs.
  SmallVector<int64_t> insertTiles(const InsertChain &chain) {
    constexpr int64_t mostGrain = 16384, leastColumns = 1024;
    const int64_t rank = chain.sizes.size();
    const auto type = cast<RankedTensorType>(chain.result().getType());
    const int64_t elements = countOf(chain.sizes);
    const double bytes = 2.0 * std::max(1u, type.getElementTypeBitWidth() / 8);
    const bool known = type.hasStaticShape();
    const int64_t grain = known ? chooseGrain(elements, bytes, mostGrain, machine) : mostGrain;
    cost = costOfElements(elements, bytes, grain, machine);
    int64_t wanted =
        known ? std::min(divideCeilSigned(elements, grain), 8 * machine.threads) : divideCeilSigned(elements, grain);
    SmallVector<int64_t> tiles(rank, 0);
    for (int64_t dim = 0, inside = elements; dim < rank; ++dim) {
      const int64_t size = std::max<int64_t>(1, estimate(chain.sizes[dim]));
      inside /= size;
      if (!chain.shared.test(dim) || size == 1)
        continue;
      const bool fixed = isa<AffineConstantExpr>(chain.sizes[dim]);
      int64_t take = fixed ? divideCeilSigned(size, std::min(wanted, size))
                           : divideCeilSigned(mostGrain, std::max<int64_t>(1, inside));
      if (dim == rank - 1)
        take = std::max(take, fixed ? leastColumns : mostGrain);
      if (fixed && take >= size)
        continue;
      tiles[dim] = take;
      wanted = divideCeilSigned(wanted, divideCeilSigned(size, take));
    }
    return tiles;
  }

  CostMachine machine;
  std::optional<Cost> cost; ///< cost of the schedule that tilesFor() has selected, if the model covers it

  SmallVector<int64_t> tilesFor(ArrayRef<Operation *> members) {
    Operation *anchor = members.back();
    if (auto pack = dyn_cast<PackOp>(anchor))
      return SmallVector<int64_t>(pack.getLoopIteratorTypes().size(), 1);
    if (isa<AttentionGradientOp>(anchor))
      return {1, 1}; // a task computes one head of one batch element
    if (auto attention = dyn_cast<AttentionOp>(anchor)) {
      int64_t rows = estimate(tile::sizeOf(anchor->getResult(1), 2));
      int64_t heads = estimate(tile::sizeOf(anchor->getResult(1), 1)) * estimate(tile::sizeOf(anchor->getResult(1), 0));
      const bool narrow = !cast<ShapedType>(attention.getInputs()[0].getType()).getElementType().isF32();
      return {1, 1, attentionRows(rows, estimate(tile::sizeOf(anchor->getResult(0), 3)), heads, narrow)};
    }
    if (std::optional<InsertChain> chain = insertChainOf(anchor->getParentOfType<func::FuncOp>()))
      return insertTiles(*chain);
    if (anchor->getNumResults() == 0 || numLoops(anchor) == 0)
      return {};
    std::string reason;
    std::optional<RowMap> rows = computeRows(members, reason);
    if (!rows)
      return {};
    SmallVector<AffineExpr> sizes = tile::sizesOf(anchor->getResult(0));
    SmallVector<int64_t> tiles(rows->numRows, 1);
    for (Operation *member : members) {
      if (isa<DepthwiseGradientOp>(member))
        return tiles; // a task computes one part of the lines of one image
      if (isa<GroupedConvolutionOp>(member)) {
        SmallVector<AffineExpr> own = tile::sizesOf(member->getResult(0));
        SmallVector<int64_t> cuts = groupedTiles(own);
        for (auto [loop, row] : llvm::enumerate(rows->rowOfLoop[member]))
          if (row >= 0)
            tiles[row] = cuts[loop];
        return tiles;
      }
      if (!isa<MatmulOp, ConvolutionOp>(member))
        continue;
      // The sizes `own` are in the order of the contraction's loops. The dimensions of the anchor may be permuted.
      SmallVector<AffineExpr> own = tile::sizesOf(member->getResult(0));
      ArrayRef<int64_t> rowOfLoop = rows->rowOfLoop[member];
      auto cut = [&](int64_t loop, int64_t size) {
        if (rowOfLoop[loop] >= 0)
          tiles[rowOfLoop[loop]] = size;
      };
      int64_t rank = own.size();
      if (auto matmul = dyn_cast<MatmulOp>(member)) {
        auto [tileRows, tileColumns] = productTiles(matmul, own, rowOfLoop[rank - 1] < 0);
        cost->nanoseconds *= double(llvm::count_if(members, [](Operation *other) { return isa<MatmulOp>(other); }));
        cut(rank - 2, tileRows);
        cut(rank - 1, tileColumns);
      } else {
        // A task computes all pixels of a few lines of the image for one panel of filters, or for several panels if
        // windows are gathered. All tasks have about the same number of lines.
        int64_t width = std::max<int64_t>(1, estimate(own[2])), height = std::max<int64_t>(1, estimate(own[1]));
        cut(1, divideCeilSigned(height, divideCeilSigned(height, std::clamp<int64_t>(128 / width, 1, height))));
        cut(2, isa<AffineConstantExpr>(own[2]) ? width : 0);
        cut(3, filtersOfTask(cast<ConvolutionOp>(member), estimate(own[3]), width));
      }
      return tiles;
    }
    // Extend the tile from the innermost row dimension outward until the task has about `grain` elements.
    const RowsShape shape = rowsShapeOf(members, *rows);
    const int64_t rank = sizes.size(), elements = shape.elements;
    const double bytes = shape.bytesPerElement;
    const bool again = shape.readAgain;
    int64_t inside = shape.inside;
    const int64_t grain = sizesAreKnown(anchor->getParentOfType<func::FuncOp>())
                              ? chooseGrain(elements, bytes, again ? 4096 : 16384, machine)
                              : (again ? 4096 : 16384);
    cost = costOfElements(elements, bytes, grain, machine);
    int64_t mostColumns = INT64_MAX;
    SmallVector<int64_t> least = leastOfRows(members, *rows, sizes, machine.first, mostColumns);
    int64_t ahead = 1; // product of the smallest tile sizes of the rows that have not been visited
    for (int64_t count : least)
      ahead *= count;
    for (int64_t row = rows->numRows - 1; row >= 0; --row) {
      int64_t size = std::max<int64_t>(1, estimate(sizes[row]));
      ahead /= least[row];
      int64_t take = std::min<int64_t>(size, std::max<int64_t>(least[row], grain / (inside * ahead)));
      bool contiguous = row == rank - 1;
      if (contiguous)
        take = std::min(take, mostColumns);
      constexpr int64_t leastSymbolic = 4096; // minimum size of a tile along a contiguous row of symbolic size
      tiles[row] = contiguous && !isa<AffineConstantExpr>(sizes[row]) ? std::max(take, leastSymbolic) : take;
      inside *= take;
    }
    return tiles;
  }
};
} // namespace
} // namespace tiled
} // namespace tilewright
