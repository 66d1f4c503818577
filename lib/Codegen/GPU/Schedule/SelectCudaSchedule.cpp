//===- SelectCudaSchedule.cpp - --tw-cuda-select-schedule -----------------------------------===//
//
// This pass assigns a schedule (Schedule.h) to each kernel, according to its sizes and the architecture. Before this,
// it changes kernels in this order:
//
//   - It decomposes attention that tensor cores do not support.
//   - It places the ops of a product's kernel that do not compute its operands after the product (ProductsFirst.h).
//   - It splits kernels that reduce the results of another reduction (SplitChains.h).
//   - It moves copies into the windowed kernels that read them (InlineCopies.h).
//   - It moves concatenations into the elementwise kernels that read them (InlineConcats.h).
//   - It transposes weights of convolutions for wgmma (TransposeFilters.h).
//   - It splits long reductions (SplitSums.h).
//   - It fuses norms with the products before them (JoinRows.h), and convolutions with the padding of their images
//     (JoinPadding.h).
//   - It aligns rows of operands (AlignRows.h), and divides operands of f32 products into bf16 parts (SplitF32.h).
//   - It combines the two products of a SwiGLU (PairProducts.h).
//   - It joins products that read the same operand (JoinProducts.h).
//
// If the target does not support an op, the pass reports an error with the op, its type, the reason and the user's
// source line. The pass reports all such ops of the module, not only the first.
//
// Tests: test/Codegen/GPU/Schedule/select-schedule.mlir, test/Codegen/NVPTX/refusals.mlir,
// test/Codegen/NVPTX/product.mlir, test/Codegen/NVPTX/softmax.mlir
//
//===----------------------------------------------------------------------===//
#include "dialects/Tile/Flops.h"
#include "dialects/Tile/Rows.h"
#include "dialects/Tile/Sizes.h"
#include "lib/Codegen/GPU/MathWithCode.h"
#include "lib/Codegen/GPU/ScatterRows.h"
#include "lib/Codegen/GPU/Schedule/AlignRows.h"
#include "lib/Codegen/GPU/Schedule/Arch.h"
#include "lib/Codegen/GPU/Schedule/Attention.h"
#include "lib/Codegen/GPU/Schedule/AttentionGradient.h"
#include "lib/Codegen/GPU/Schedule/ComputeOnce.h"
#include "lib/Codegen/GPU/Schedule/InlineConcats.h"
#include "lib/Codegen/GPU/Schedule/InlineCopies.h"
#include "lib/Codegen/GPU/Schedule/JoinPadding.h"
#include "lib/Codegen/GPU/Schedule/JoinProducts.h"
#include "lib/Codegen/GPU/Schedule/JoinRows.h"
#include "lib/Codegen/GPU/Schedule/PairProducts.h"
#include "lib/Codegen/GPU/Schedule/ProductSpace.h"
#include "lib/Codegen/GPU/Schedule/ProductsFirst.h"
#include "lib/Codegen/GPU/Schedule/SplitChains.h"
#include "lib/Codegen/GPU/Schedule/SplitF32.h"
#include "lib/Codegen/GPU/Schedule/SplitScatters.h"
#include "lib/Codegen/GPU/Schedule/SplitSums.h"
#include "lib/Codegen/GPU/Schedule/TransposeFilters.h"
#include "lib/Codegen/GPU/Schedule/WarpGroupAttention.h"
#include "lib/Codegen/GPU/Schedule/WarpGroupGradient.h"
#include "lib/Codegen/GPU/Schedule/WgmmaSpace.h"
#include "lib/Codegen/GPU/Schedule/Windows.h"
#include "lib/Codegen/GPU/ThreadKernel.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "tilewright/AttributeNames.h"
#include "tilewright/Passes.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tilewright {
#define GEN_PASS_DEF_SELECTCUDASCHEDULE
#include "tilewright/Passes.h.inc"
namespace gpu {
namespace {

/// Returns the reason why `op`, an op of a kernel's body, cannot be emitted, or an empty string if it can.
std::string whyNot(Operation *op) {
  if (isa<linalg::LinalgOp>(op)) {
    std::string reason;
    op->walk([&](Operation *inner) {
      if (inner == op || !reason.empty())
        return;
      if (inner->getNumRegions() > 0)
        reason = "its body has control flow";
      else if (isa<tile::ReportOp>(inner))
        reason = "it writes at computed indices";
      else if (isa<arith::RemFOp>(inner)) // LLVM's expansion x - trunc(x / y) * y is wrong for large quotients
        reason = "the remainder of floats has no exact implementation";
      else if (isa<math::MathDialect>(inner->getDialect()) && inner->getOperand(0).getType().isF64() &&
               !hasCodeOfItsOwn(inner))
        reason = (inner->getName().stripDialect() + " of float64 has no implementation").str();
    });
    return reason;
  }
  if (isa<tensor::EmptyOp, tensor::PadOp, tensor::InsertSliceOp, tensor::ExtractSliceOp, tensor::ExpandShapeOp,
          tensor::CollapseShapeOp, tensor::CastOp, affine::AffineApplyOp, func::ReturnOp, tensor::YieldOp, tile::ScanOp,
          tile::ScatterOp, tile::SortOp, tile::GroupedConvolutionOp, tile::DepthwiseGradientOp, tile::AttentionOp,
          tile::AttentionGradientOp>(op)) // attention ops that are not decomposed have a schedule
    return "";
  if (auto number = dyn_cast<arith::ConstantOp>(op)) {
    auto dense = dyn_cast<ElementsAttr>(number.getValue());
    return !dense || dense.isSplat() ? "" : "a table of constants inside a kernel is not supported";
  }
  if (isa<arith::ArithDialect>(op->getDialect()))
    return "";
  return "the target has no schedule for it";
}

/// Returns, for example, "softmax of tensor<7x512xf64>".
std::string describeWithType(Operation *op) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << tile::describe(op);
  for (Type type : op->getOperandTypes())
    if (isa<RankedTensorType>(type)) {
      stream << " of " << type;
      break;
    }
  return text;
}

/// Emits an error for every op in the kernel that cannot be emitted.
LogicalResult refuseOps(func::FuncOp kernel) {
  bool possible = true;
  for (Operation &op : kernel.getBody().front())
    if (std::string reason = whyNot(&op); !reason.empty()) {
      emitError(op.getLoc()) << "target cuda: " << describeWithType(&op) << ": " << reason
                             << "; target cpu computes it";
      possible = false;
    }
  return success(possible);
}

class Selection {
public:
  Selection(func::FuncOp kernel, const Arch &arch) : kernel(kernel), arch(arch), members(structuredOpsOf(kernel)) {}

  Schedule choose() {
    Schedule schedule;
    std::string reason;
    if (std::optional<Contraction> contraction = matchContraction(kernel, reason)) {
      if (isDotProducts(*contraction))
        if (std::optional<tile::RowMap> rows = tile::computeRows(members, reason); rows && wantsRows(*rows))
          return chooseRows(*rows);
      if (std::optional<Schedule> wgmma = wgmmaFor(*contraction, arch))
        return *wgmma;
      if (whyNotOnTensorCores(*contraction, arch.formats()).empty())
        if (Schedule mma = chooseMma(*contraction, arch); whyNotMma(mma, *contraction, arch.sharedBytes).empty())
          return mma;
      if (std::optional<Schedule> fma = chooseFma(*contraction); fma && whyNotFma(*fma, *contraction).empty())
        return *fma;
    }
    const bool reduces = hasReductions();
    if (reduces)
      if (std::optional<tile::RowMap> rows = tile::computeRows(members, reason); rows && wantsRows(*rows))
        return chooseRows(*rows);
    schedule.kind = Schedule::Kind::Elements;
    schedule.threads = 256;
    if (std::optional<ScatterRows> rows = matchScatterRows(kernel, reason)) {
      schedule.kind = Schedule::Kind::Scatter;
      const bool along = llvm::is_contained(rows->direct, cast<ShapedType>(kernel.getResultTypes()[0]).getRank() - 1);
      schedule.vector = along ? vectorOf(lastSizes()) : 1;
      return schedule;
    }
    if (tile::GroupedConvolutionOp grouped = matchWindows(kernel)) {
      Schedule windows = chooseWindows(grouped, vectorOf(lastSizes()), arch);
      if (whyNotWindows(windows, grouped).empty())
        return windows;
    }
    bool loops = false, weights = false; // `weights`: gradients of the weights of a depthwise convolution
    for (Operation &op : kernel.getOps()) {
      auto gradient = dyn_cast<tile::DepthwiseGradientOp>(op);
      const bool inVectors = gradient && cast<ShapedType>(gradient.getInputs()[0].getType()).hasStaticShape();
      weights |= inVectors;
      loops |=
          isa<tile::ScanOp, tile::ScatterOp, tile::SortOp, tile::GroupedConvolutionOp>(op) || (gradient && !inVectors);
    }
    schedule.vector = loops || (reduces && !reducesVectors()) ? 1 : vectorOf(lastSizesOfParts());
    if (reduces || weights)
      schedule.threads = threadsOfReduction(schedule.vector);
    return schedule;
  }

  /// Returns a schedule in which a cluster of blocks computes each row, or 32 adjacent rows. Returns std::nullopt if no
  /// cluster should share a row, or if the kernel is a contraction. A row whose elements are adjacent in memory is
  /// shared only if the kernel reads it again after it has reduced it.
  std::optional<Schedule> chooseCluster() {
    std::string reason;
    if (arch.groupFlops == 0 || !hasReductions() || matchContraction(kernel, reason))
      return std::nullopt;
    std::optional<tile::RowMap> rows = tile::computeRows(members, reason);
    if (!rows || !wantsRows(*rows))
      return std::nullopt;
    Schedule schedule = chooseRows(*rows);
    const bool isChosen = schedule.cluster > 1 && (schedule.rowsAcrossLanes || readsAgain(*rows));
    return isChosen ? std::optional<Schedule>(schedule) : std::nullopt;
  }

private:
  bool hasReductions() const {
    return llvm::any_of(members, [](Operation *op) { return cast<linalg::LinalgOp>(op).getNumReductionLoops() > 0; });
  }

  /// Returns true if all reductions of the kernel read vectors of operands for vectors of results, as in pooling of
  /// channels-last images and in sums over columns.
  bool reducesVectors() const {
    for (Operation *member : members) {
      auto op = cast<linalg::LinalgOp>(member);
      if (op.getNumReductionLoops() == 0)
        continue;
      SmallVector<utils::IteratorType> kinds = op.getIteratorTypesArray();
      const auto adjacent = [&](OpOperand *input) {
        AffineMap map = op.getMatchingIndexingMap(input);
        auto last = dyn_cast_or_null<AffineDimExpr>(map.getNumResults() ? map.getResults().back() : AffineExpr());
        return !op.payloadUsesValueFromOperand(input) ||
               (last && kinds[last.getPosition()] == utils::IteratorType::parallel);
      };
      if (!llvm::all_of(op.getDpsInputOperands(), adjacent))
        return false;
    }
    return true;
  }

  /// Returns the threads per block for a kernel of the kind `elements` that has reductions. If there are few threads,
  /// blocks are smaller, so that each multiprocessor has a block.
  int64_t threadsOfReduction(int64_t vector) {
    constexpr int64_t most = 256, least = 64, blocksPerMultiprocessor = 4;
    int64_t elements = 0;
    for (Type type : kernel.getResultTypes())
      if (auto shaped = cast<ShapedType>(type); shaped.hasStaticShape())
        elements = std::max(elements, shaped.getNumElements());
    int64_t threads = most;
    while (elements > 0 && threads > least &&
           elements / vector / threads < blocksPerMultiprocessor * arch.multiprocessors)
      threads /= 2;
    return threads;
  }

  /// Returns true if an op that iterates over a row depends on an op that has reduced the row.
  bool readsAgain(const tile::RowMap &rows) {
    llvm::SmallPtrSet<Operation *, 16> dependent;
    for (Operation *member : members) {
      const bool depends = llvm::any_of(member->getOperands(),
                                        [&](Value operand) { return dependent.contains(operand.getDefiningOp()); });
      auto op = cast<linalg::LinalgOp>(member);
      if (depends && !loopsInRow(op, rows).empty())
        return true;
      if (depends || op.getNumReductionLoops() > 0)
        dependent.insert(member);
    }
    return false;
  }

  static int64_t bytesOfElement(Type type) {
    return std::max<int64_t>(1, cast<ShapedType>(type).getElementTypeBitWidth() / 8);
  }

  /// Returns the number of adjacent elements, at most 8, that a thread computes. In the operand with the smallest type,
  /// these elements take at most 16 bytes. If the number does not divide all `sizes`, it is halved until it does.
  int64_t vectorOf(ArrayRef<int64_t> sizes) {
    int64_t narrowest = 16;
    for (Type type : kernel.getArgumentTypes())
      if (isa<RankedTensorType>(type))
        narrowest = std::min(narrowest, bytesOfElement(type));
    int64_t vector = std::min<int64_t>(8, 16 / narrowest);
    for (int64_t size : sizes)
      while (vector > 1 && (ShapedType::isDynamic(size) || size % vector != 0))
        vector /= 2;
    return vector;
  }

  /// Returns lastSizes(), and the offsets and sizes of the parts of concatenations in their last dimension. If no part
  /// begins or ends within a vector, the elements of the vector are loaded together.
  SmallVector<int64_t> lastSizesOfParts() {
    SmallVector<int64_t> sizes = lastSizes();
    for (auto insertion : kernel.getOps<tensor::InsertSliceOp>()) {
      if (insertion.getType().getRank() == 0)
        continue;
      for (OpFoldResult value : {insertion.getMixedOffsets().back(), insertion.getMixedSizes().back()})
        sizes.push_back(getConstantIntValue(value).value_or(ShapedType::kDynamic));
    }
    return sizes;
  }

  /// Returns the size of the last dimension of each result.
  SmallVector<int64_t> lastSizes() {
    SmallVector<int64_t> sizes;
    for (Type type : kernel.getResultTypes()) {
      auto shaped = cast<RankedTensorType>(type);
      sizes.push_back(shaped.getRank() ? shaped.getShape().back() : 1);
    }
    return sizes;
  }

  /// Returns the loops of `op` that are within a row.
  static SmallVector<unsigned> loopsInRow(linalg::LinalgOp op, const tile::RowMap &rows) {
    SmallVector<unsigned> loops;
    for (auto [loop, row] : llvm::enumerate(rows.rowOfLoop.lookup(op)))
      if (row < 0)
        loops.push_back(loop);
    return loops;
  }

  /// Returns true if several threads should share a row. Each reduction that is not a product must reduce exactly the
  /// dimensions within a row, by ops with known combiners, and loops must index each result directly. In addition, at
  /// least one reduction must iterate over adjacent elements or over at least `many` elements, or an op that iterates
  /// over the row must read the result of a reduction.
  bool wantsRows(const tile::RowMap &rows) {
    constexpr int64_t many = 64; // minimum number of elements of a reduction that several threads should share
    bool wanted = false;
    for (Operation *member : members) {
      auto op = cast<linalg::LinalgOp>(member);
      if (op.getNumReductionLoops() == 0 || isProductOfRows(op, rows.rowOfLoop.lookup(op)))
        continue;
      for (auto [kind, row] : llvm::zip_equal(op.getIteratorTypesArray(), rows.rowOfLoop.lookup(op)))
        if ((kind == utils::IteratorType::parallel) != (row >= 0))
          return false;
      for (unsigned i = 0; i < op->getNumResults(); ++i)
        if (!tile::combinerOf(op, i))
          return false;
      // The operands with the most indices determine which elements are adjacent. Others, such as the means of rows,
      // are smaller. The window operand of a pooling op has a shape, but no elements that are read.
      auto numIndices = [&](OpOperand *input) {
        AffineMap map = op.getMatchingIndexingMap(input);
        auto indexes = [&](unsigned loop) { return map.isFunctionOfDim(loop); };
        return op.payloadUsesValueFromOperand(input) ? llvm::count_if(llvm::seq(op.getNumLoops()), indexes) : 0;
      };
      int64_t most = 1;
      for (OpOperand *input : op.getDpsInputOperands())
        most = std::max<int64_t>(most, numIndices(input));
      for (OpOperand *input : op.getDpsInputOperands()) {
        AffineMap map = op.getMatchingIndexingMap(input);
        if (map.getNumResults() == 0 || numIndices(input) < most)
          continue;
        auto last = dyn_cast<AffineDimExpr>(map.getResults().back());
        bool along = last && op.getIteratorTypesArray()[last.getPosition()] == utils::IteratorType::reduction;
        wanted |= along;
        readsAdjacent |= along || rows.numRows == 0;
      }
      int64_t length = 1;
      for (auto [kind, size] : llvm::zip_equal(op.getIteratorTypesArray(), op.getStaticLoopRanges()))
        if (kind == utils::IteratorType::reduction)
          length *= ShapedType::isDynamic(size) ? many : size;
      wanted |= length >= many;
      for (Operation *user : op->getUsers())
        if (auto reader = dyn_cast<linalg::LinalgOp>(user))
          wanted |= !loopsInRow(reader, rows).empty();
    }
    for (Value returned : kernel.getBody().front().getTerminator()->getOperands()) {
      auto op = returned.getDefiningOp<linalg::LinalgOp>();
      if (!op || !rows.rowOfLoop.contains(op))
        return false;
      for (AffineExpr expr :
           op.getMatchingIndexingMap(op.getDpsInitOperand(cast<OpResult>(returned).getResultNumber())).getResults())
        if (!isa<AffineDimExpr>(expr))
          return false;
    }
    return wanted;
  }

  Schedule chooseRows(const tile::RowMap &rows) {
    constexpr int64_t unknown = 4096; // assumed length of a row of symbolic size
    Schedule schedule;
    schedule.kind = Schedule::Kind::Rows;
    SmallVector<int64_t> last;
    int64_t longest = 1;
    for (Operation *member : members) {
      auto op = cast<linalg::LinalgOp>(member);
      SmallVector<unsigned> loops = loopsInRow(op, rows);
      if (loops.empty())
        continue;
      SmallVector<int64_t> ranges = op.getStaticLoopRanges();
      if (isProductOfRows(op, rows.rowOfLoop.lookup(op)))
        llvm::erase_if(
            loops, [&](unsigned loop) { return op.getIteratorTypesArray()[loop] == utils::IteratorType::reduction; });
      int64_t size = 1;
      for (unsigned loop : loops)
        size *= ShapedType::isDynamic(ranges[loop]) ? unknown : ranges[loop];
      if (!loops.empty())
        last.push_back(ranges[loops.back()]);
      longest = std::max(longest, size);
    }
    // The loop that indexes the last dimension of a result is possibly not the last loop of the op.
    for (auto [returned, size] :
         llvm::zip_equal(kernel.getBody().front().getTerminator()->getOperands(), lastSizes())) {
      auto op = returned.getDefiningOp<linalg::LinalgOp>();
      AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(cast<OpResult>(returned).getResultNumber()));
      auto dim = dyn_cast_or_null<AffineDimExpr>(map.getNumResults() ? map.getResults().back() : AffineExpr());
      if (size != 1 && !(dim && rows.rowOfLoop.lookup(op)[dim.getPosition()] >= 0))
        last.push_back(size);
    }
    schedule.vector = vectorOf(last);
    if (!readsAdjacent) {
      schedule.rowsAcrossLanes = true;
      schedule.vector = 1;
      schedule.cluster = clusterAcrossLanes(rows, longest);
      // With a cluster, a thread loads all of its elements before it adds them (mostOfRowInRegisters), because there
      // are few threads.
      const int64_t ofThread = schedule.cluster > 1 ? schedule.cluster * mostOfRowInRegisters : 64;
      schedule.group =
          std::clamp<int64_t>(int64_t(llvm::PowerOf2Ceil(llvm::divideCeil(longest, ofThread))), 2, warpSize);
      schedule.threads = schedule.group * warpSize;
      return schedule;
    }
    int64_t groups = llvm::divideCeil(longest, schedule.vector);
    schedule.cluster = clusterFor(rows, longest, groups, schedule.vector);
    if (groups <= warpSize * 4) {
      // If a row has few chunks, a part of a warp computes it, so that no lanes are idle.
      constexpr int64_t least = 4;
      schedule.group = std::clamp(int64_t(llvm::PowerOf2Ceil(uint64_t(groups))), least, warpSize);
      schedule.threads = 128;
    } else {
      schedule.group = std::min<int64_t>(
          mostThreads, std::max<int64_t>(64, llvm::PowerOf2Ceil(llvm::divideCeil(groups, 4 * schedule.cluster))));
      schedule.threads = schedule.group;
    }
    return schedule;
  }

  /// Returns the number of iterations of each row dimension.
  SmallVector<int64_t> sizesOfRows(const tile::RowMap &rows) {
    SmallVector<int64_t> sizes(rows.numRows, ShapedType::kDynamic);
    for (Operation *member : members)
      for (auto [row, size] :
           llvm::zip_equal(rows.rowOfLoop.lookup(member), cast<linalg::LinalgOp>(member).getStaticLoopRanges()))
        if (row >= 0)
          sizes[row] = size;
    return sizes;
  }

  bool hasRowsOfUnknownLength(const tile::RowMap &rows) {
    return llvm::any_of(members, [&](Operation *member) {
      auto op = cast<linalg::LinalgOp>(member);
      return llvm::any_of(llvm::zip_equal(rows.rowOfLoop.lookup(member), op.getStaticLoopRanges()),
                          [](auto loop) { return std::get<0>(loop) < 0 && ShapedType::isDynamic(std::get<1>(loop)); });
    });
  }

  bool hasProductOfRows(const tile::RowMap &rows) {
    return llvm::any_of(
        members, [&](Operation *op) { return isProductOfRows(cast<linalg::LinalgOp>(op), rows.rowOfLoop.lookup(op)); });
  }

  /// Returns the number of blocks that share 32 adjacent rows, such as the columns of a sum over columns. On sm_90, the
  /// number is above 1 if the blocks of one row of blocks would leave multiprocessors idle, each block still gets
  /// `ofBlock` elements of a row, and the blocks of all clusters occupy most multiprocessors. If they do not,
  /// splitSums() divides the reduction into more parts.
  int64_t clusterAcrossLanes(const tile::RowMap &rows, int64_t longest) {
    constexpr int64_t most = 8, ofBlock = 256, blocksPerMultiprocessor = 2;
    if (arch.groupFlops == 0 || hasProductOfRows(rows) || hasRowsOfUnknownLength(rows))
      return 1;
    SmallVector<int64_t> sizes = sizesOfRows(rows);
    if (llvm::any_of(sizes, ShapedType::isDynamic) || longest == 0)
      return 1;
    const auto alone = int64_t(llvm::divideCeil(llvm::product_of(sizes), warpSize));
    int64_t blocks = 1;
    while (blocks < most && alone * blocks * 2 <= blocksPerMultiprocessor * arch.multiprocessors &&
           longest >= ofBlock * blocks * 2)
      blocks *= 2;
    return 4 * alone * blocks >= 3 * arch.multiprocessors ? blocks : 1;
  }

  /// Returns the number of blocks that share a row. On sm_90, the registers of this number of blocks can contain a long
  /// row, which is then read only once. The number is larger if multiprocessors would otherwise be idle and each block
  /// still gets `ofBlock` elements. The number is 1 on other architectures, if a size within the row is unknown, or if
  /// the registers of `most` blocks cannot contain the row. It is also 1 if the kernel has a product, because a row
  /// that a product reads again must be in one block.
  int64_t clusterFor(const tile::RowMap &rows, int64_t longest, int64_t groups, int64_t vector) {
    constexpr int64_t most = 8;          // the number of blocks of a cluster that every sm_90 chip supports
    constexpr int64_t ofBlock = 8 << 10; // number of elements per block that justify a cluster's barrier
    if (arch.groupFlops == 0 || hasProductOfRows(rows) || hasRowsOfUnknownLength(rows)) // such rows are read in a loop
      return 1;
    const SmallVector<int64_t> sizes = sizesOfRows(rows);
    auto inRegisters = [&](int64_t blocks) {
      return llvm::divideCeil(groups, mostThreads * blocks) * vector <= mostOfRowInRegisters;
    };
    int64_t blocks = 1;
    while (blocks < most && !inRegisters(blocks))
      blocks *= 2;
    if (!inRegisters(blocks))
      return 1;
    if (llvm::any_of(sizes, ShapedType::isDynamic))
      return blocks;
    const int64_t count = llvm::product_of(sizes);
    while (blocks < most && count * blocks * 2 <= arch.multiprocessors && longest >= ofBlock * blocks * 2)
      blocks *= 2;
    return blocks;
  }

  func::FuncOp kernel;
  const Arch &arch;
  bool readsAdjacent = false; ///< a reduction iterates over adjacent elements
  SmallVector<Operation *> members;
};

/// Sets a schedule on tensor cores if the kernel is an attention or the gradient of one, has no schedule yet, and
/// tensor cores support it. Returns true if matchAttention() or matchAttentionGradient() accepts the kernel and the
/// kernel has a schedule afterwards.
bool takesTensorCores(func::FuncOp kernel, const Arch &arch) {
  std::string reason;
  std::optional<Schedule> schedule;
  if (std::optional<Attention> attention = matchAttention(kernel, reason)) {
    if (arch.groupFlops > 0) {
      schedule = chooseWarpGroupAttention(*attention, arch.sharedBytes);
      reason = whyNotWarpGroupAttention(*schedule, *attention, arch.sharedBytes);
    }
    if (!schedule || !reason.empty()) {
      schedule = chooseAttention(*attention);
      reason = whyNotAttention(*schedule, *attention);
    }
  } else if (std::optional<AttentionGradient> gradient = matchAttentionGradient(kernel, reason)) {
    if (arch.groupFlops > 0) {
      schedule = chooseWarpGroupGradient(*gradient, arch.sharedBytes);
      reason = whyNotWarpGroupGradient(*schedule, *gradient, arch.sharedBytes);
    }
    if (!schedule || !reason.empty()) {
      schedule = chooseAttentionGradient(*gradient);
      reason = whyNotAttentionGradient(*schedule, *gradient);
    }
  }
  if (!schedule)
    return false;
  if (kernel->hasAttr(scheduleAttrName))
    return true;
  if (reason.empty())
    setSchedule(kernel, *schedule);
  return reason.empty();
}

struct SelectCudaSchedule : impl::SelectCudaScheduleBase<SelectCudaSchedule> {
  using Base::Base;
  void runOnOperation() override {
    llvm::Expected<Arch> known = findArch(arch);
    if (!known) {
      getOperation().emitError() << llvm::toString(known.takeError());
      return signalPassFailure();
    }
    // If tensor cores do not support an attention, it is decomposed into products and a softmax of rows between them.
    OpPassManager decompose(func::FuncOp::getOperationName());
    decompose.addPass(createDecomposeTile());
    decompose.addPass(createCanonicalizerPass());
    decompose.addPass(createCSEPass());
    for (auto kernel : getOperation().getOps<func::FuncOp>()) {
      auto isAttention = [](Operation *op) { return isa<tile::AttentionOp, tile::AttentionGradientOp>(op); };
      if (llvm::none_of(kernel.getOps(), [&](Operation &op) { return isAttention(&op); }))
        continue;
      if (takesTensorCores(kernel, *known))
        continue;
      if (failed(runPipeline(decompose, kernel)))
        return signalPassFailure();
    }
    bool possible = true;
    for (auto kernel : getOperation().getOps<func::FuncOp>())
      if (kernel->hasAttr(kernelAttrName))
        possible &= succeeded(refuseOps(kernel));
    if (!possible)
      return signalPassFailure();
    placeProductsFirst(getOperation());
    auto computesElements = [&](func::FuncOp kernel) {
      return Selection(kernel, *known).choose().kind == Schedule::Kind::Elements;
    };
    splitChains(getOperation(), computesElements);
    // Select clusters before splitSums() runs: a cluster that holds a row in its registers reads the row once, but the
    // kernels that splitSums() creates would read the row once per reduction.
    for (auto kernel : getOperation().getOps<func::FuncOp>())
      if (kernel->hasAttr(kernelAttrName) && !kernel->hasAttr(scheduleAttrName))
        if (std::optional<Schedule> cluster = Selection(kernel, *known).chooseCluster())
          setSchedule(kernel, *cluster);
    inlineCopies(getOperation(), computesElements);
    inlineConcats(getOperation(), computesElements);
    transposeFilters(getOperation(), *known);
    splitSums(getOperation(), *known);
    splitScatters(getOperation(), *known);
    joinRows(getOperation(), *known);
    joinPadding(getOperation(), *known);
    alignRows(getOperation(), *known);
    if (!f32Fma)
      splitF32(getOperation(), *known);
    computeOnce(getOperation());
    pairProducts(getOperation(), *known);
    joinProducts(getOperation(), *known);
    for (auto kernel : getOperation().getOps<func::FuncOp>())
      if (kernel->hasAttr(kernelAttrName))
        tile::setFlops(kernel);
    for (auto kernel : getOperation().getOps<func::FuncOp>())
      if (kernel->hasAttr(kernelAttrName) && !kernel->hasAttr(scheduleAttrName))
        setSchedule(kernel, Selection(kernel, *known).choose());
  }
};

} // namespace
} // namespace gpu
} // namespace tilewright
