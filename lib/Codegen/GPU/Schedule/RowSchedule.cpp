//===- RowSchedule.cpp - choose a schedule `rows` ------------------------------------------===//
#include "lib/Codegen/GPU/Schedule/RowSchedule.h"
#include "lib/Codegen/GPU/Contraction.h"
#include "lib/Codegen/GPU/ThreadKernel.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tilewright::gpu {

SmallVector<int64_t> lastSizes(func::FuncOp kernel) {
  SmallVector<int64_t> sizes;
  for (Type type : kernel.getResultTypes()) {
    auto shaped = cast<RankedTensorType>(type);
    sizes.push_back(shaped.getRank() ? shaped.getShape().back() : 1);
  }
  return sizes;
}

static int64_t bytesOfElement(Type type) {
  return std::max<int64_t>(1, cast<ShapedType>(type).getElementTypeBitWidth() / 8);
}

int64_t vectorOf(func::FuncOp kernel, ArrayRef<int64_t> sizes) {
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

bool RowSchedule::readsAgain() {
  llvm::SmallPtrSet<Operation *, 16> dependent;
  for (Operation *member : members) {
    const bool depends =
        llvm::any_of(member->getOperands(), [&](Value operand) { return dependent.contains(operand.getDefiningOp()); });
    auto op = cast<linalg::LinalgOp>(member);
    if (depends && !loopsInRow(op).empty())
      return true;
    if (depends || op.getNumReductionLoops() > 0)
      dependent.insert(member);
  }
  return false;
}

/// Returns the loops of `op` that are within a row.
SmallVector<unsigned> RowSchedule::loopsInRow(linalg::LinalgOp op) const {
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
bool RowSchedule::isWanted() {
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
        wanted |= !loopsInRow(reader).empty();
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

Schedule RowSchedule::chosen() {
  constexpr int64_t unknown = 4096; // assumed length of a row of symbolic size
  Schedule schedule;
  schedule.kind = Schedule::Kind::Rows;
  SmallVector<int64_t> last;
  int64_t longest = 1;
  for (Operation *member : members) {
    auto op = cast<linalg::LinalgOp>(member);
    SmallVector<unsigned> loops = loopsInRow(op);
    if (loops.empty())
      continue;
    SmallVector<int64_t> ranges = op.getStaticLoopRanges();
    if (isProductOfRows(op, rows.rowOfLoop.lookup(op)))
      llvm::erase_if(loops,
                     [&](unsigned loop) { return op.getIteratorTypesArray()[loop] == utils::IteratorType::reduction; });
    int64_t size = 1;
    for (unsigned loop : loops)
      size *= ShapedType::isDynamic(ranges[loop]) ? unknown : ranges[loop];
    if (!loops.empty())
      last.push_back(ranges[loops.back()]);
    longest = std::max(longest, size);
  }
  // The loop that indexes the last dimension of a result is possibly not the last loop of the op.
  for (auto [returned, size] :
       llvm::zip_equal(kernel.getBody().front().getTerminator()->getOperands(), lastSizes(kernel))) {
    auto op = returned.getDefiningOp<linalg::LinalgOp>();
    AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(cast<OpResult>(returned).getResultNumber()));
    auto dim = dyn_cast_or_null<AffineDimExpr>(map.getNumResults() ? map.getResults().back() : AffineExpr());
    if (size != 1 && !(dim && rows.rowOfLoop.lookup(op)[dim.getPosition()] >= 0))
      last.push_back(size);
  }
  schedule.vector = vectorOf(kernel, last);
  if (!readsAdjacent) {
    schedule.rowsAcrossLanes = true;
    schedule.vector = 1;
    schedule.cluster = clusterAcrossLanes(longest);
    // With a cluster, a thread loads all of its elements before it adds them (mostOfRowInRegisters), because there
    // are few threads. If some multiprocessors have no block, the threads of the others have fewer elements.
    const SmallVector<int64_t> sizes = sizesOfRows();
    const bool hasFewBlocks =
        !llvm::any_of(sizes, ShapedType::isDynamic) && llvm::product_of(sizes) <= warpSize * arch.multiprocessors;
    const int64_t ofThread = schedule.cluster > 1 ? schedule.cluster * mostOfRowInRegisters : hasFewBlocks ? 16 : 64;
    schedule.group = std::clamp<int64_t>(int64_t(llvm::PowerOf2Ceil(llvm::divideCeil(longest, ofThread))), 2, warpSize);
    schedule.threads = schedule.group * warpSize;
    return schedule;
  }
  int64_t groups = llvm::divideCeil(longest, schedule.vector);
  schedule.cluster = clusterFor(longest, groups, schedule.vector);
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
SmallVector<int64_t> RowSchedule::sizesOfRows() const {
  SmallVector<int64_t> sizes(rows.numRows, ShapedType::kDynamic);
  for (Operation *member : members)
    for (auto [row, size] :
         llvm::zip_equal(rows.rowOfLoop.lookup(member), cast<linalg::LinalgOp>(member).getStaticLoopRanges()))
      if (row >= 0)
        sizes[row] = size;
  return sizes;
}

bool RowSchedule::hasRowsOfUnknownLength() const {
  return llvm::any_of(members, [&](Operation *member) {
    auto op = cast<linalg::LinalgOp>(member);
    return llvm::any_of(llvm::zip_equal(rows.rowOfLoop.lookup(member), op.getStaticLoopRanges()),
                        [](auto loop) { return std::get<0>(loop) < 0 && ShapedType::isDynamic(std::get<1>(loop)); });
  });
}

bool RowSchedule::hasProductOfRows() const {
  return llvm::any_of(
      members, [&](Operation *op) { return isProductOfRows(cast<linalg::LinalgOp>(op), rows.rowOfLoop.lookup(op)); });
}

/// Returns the number of blocks that share 32 adjacent rows, such as the columns of a sum over columns. On sm_90, the
/// number is above 1 if the blocks of one row of blocks would leave multiprocessors idle, each block still gets
/// `ofBlock` elements of a row, and the blocks of all clusters occupy most multiprocessors. If they do not,
/// splitSums() divides the reduction of a kernel with one reduction into more parts. With four blocks for each
/// multiprocessor, the last blocks leave few multiprocessors idle.
int64_t RowSchedule::clusterAcrossLanes(int64_t longest) const {
  constexpr int64_t most = 8, ofBlock = 256, blocksPerMultiprocessor = 4;
  if (arch.groupFlops == 0 || hasProductOfRows() || hasRowsOfUnknownLength())
    return 1;
  SmallVector<int64_t> sizes = sizesOfRows();
  if (llvm::any_of(sizes, ShapedType::isDynamic) || longest == 0)
    return 1;
  const auto alone = int64_t(llvm::divideCeil(llvm::product_of(sizes), warpSize));
  int64_t blocks = 1;
  while (blocks < most && alone * blocks * 2 <= blocksPerMultiprocessor * arch.multiprocessors &&
         longest >= ofBlock * blocks * 2)
    blocks *= 2;
  const auto reductions =
      llvm::count_if(members, [](Operation *op) { return cast<linalg::LinalgOp>(op).getNumReductionLoops() > 0; });
  return reductions > 1 || 4 * alone * blocks >= 3 * arch.multiprocessors ? blocks : 1;
}

/// Returns the number of blocks that share a row. On sm_90, the registers of this number of blocks can contain a long
/// row, which is then read only once. The number is larger if multiprocessors would otherwise be idle and each block
/// still gets `ofBlock` elements. The number is 1 on other architectures, if a size within the row is unknown, or if
/// the registers of `most` blocks cannot contain the row. It is also 1 if the kernel has a product, because a row
/// that a product reads again must be in one block.
int64_t RowSchedule::clusterFor(int64_t longest, int64_t groups, int64_t vector) const {
  constexpr int64_t most = 8;          // the number of blocks of a cluster that every sm_90 chip supports
  constexpr int64_t ofBlock = 8 << 10; // number of elements per block that justify a cluster's barrier
  if (arch.groupFlops == 0 || hasProductOfRows() || hasRowsOfUnknownLength()) // such rows are read in a loop
    return 1;
  const SmallVector<int64_t> sizes = sizesOfRows();
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

} // namespace tilewright::gpu
