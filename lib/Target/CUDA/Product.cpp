//===- Product.cpp - a kernel that is a product of matrices with what follows it --------===//
#include "lib/Target/CUDA/Product.h"
#include "dialects/Tile/Rows.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace tilewright::cuda {

/// Bytes of an element of A and B; a row of eight is 16 bytes.
static constexpr int64_t elementBytes = 2, chunk = 8;

/// The body is so far + extended a * extended b.
static bool multipliesAndAdds(linalg::LinalgOp op) {
  Block &body = *op.getBlock();
  auto sum = body.getTerminator()->getOperand(0).getDefiningOp<arith::AddFOp>();
  if (!sum)
    return false;
  Value sofar = body.getArgument(2);
  Value product = sum.getLhs() == sofar ? sum.getRhs() : sum.getLhs();
  auto multiply = product.getDefiningOp<arith::MulFOp>();
  if (!multiply || (sum.getLhs() != sofar && sum.getRhs() != sofar))
    return false;
  auto source = [](Value value) {
    auto extended = value.getDefiningOp<arith::ExtFOp>();
    return extended ? extended.getIn() : Value();
  };
  Value a = source(multiply.getLhs()), b = source(multiply.getRhs());
  return (a == body.getArgument(0) && b == body.getArgument(1)) ||
         (a == body.getArgument(1) && b == body.getArgument(0));
}

bool isFollowedElementwise(func::FuncOp kernel, linalg::LinalgOp op, std::string &reason) {
  SmallVector<Operation *> members;
  for (Operation &other : kernel.getBody().front())
    if (isa<linalg::LinalgOp>(other) && !isa<linalg::FillOp>(other) &&
        (&other == op.getOperation() || op->isBeforeInBlock(&other)))
      members.push_back(&other);
  // Each has one loop for each dimension of C, and reads C at its own place.
  std::optional<tile::RowMap> rows = tile::computeRows(members, reason);
  if (!rows)
    return false;
  auto rank = cast<ShapedType>(op->getResult(0).getType()).getRank();
  for (Operation *member : members) {
    SmallVector<utils::IteratorType> kinds = cast<linalg::LinalgOp>(member).getIteratorTypesArray();
    for (auto [loop, row] : llvm::enumerate(rows->rowOfLoop.lookup(member)))
      if (row < 0 && !(member == op.getOperation() && kinds[loop] == utils::IteratorType::reduction)) {
        reason = "what follows the product is not element by element";
        return false;
      }
  }
  AffineMap made = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  SmallVector<int64_t> madeRows = rows->rowOfLoop.lookup(op);
  for (Value returned : kernel.getBody().front().getTerminator()->getOperands()) {
    auto maker = returned.getDefiningOp<linalg::LinalgOp>();
    if (!maker || !rows->rowOfLoop.contains(maker) || cast<ShapedType>(returned.getType()).getRank() != rank) {
      reason = "a result is not of the product's size";
      return false;
    }
    AffineMap map = maker.getMatchingIndexingMap(maker.getDpsInitOperand(cast<OpResult>(returned).getResultNumber()));
    SmallVector<int64_t> rowOfLoop = rows->rowOfLoop.lookup(maker);
    for (auto [mine, other] : llvm::zip_equal(map.getResults(), made.getResults())) {
      auto here = dyn_cast<AffineDimExpr>(mine), there = dyn_cast<AffineDimExpr>(other);
      if (!here || !there || rowOfLoop[here.getPosition()] != madeRows[there.getPosition()]) {
        reason = "a result is stored in another order than the product's";
        return false;
      }
    }
  }
  return true;
}

std::optional<Product> matchProduct(func::FuncOp kernel, std::string &reason) {
  Product product;
  for (Operation &op : kernel.getBody().front()) {
    auto structured = dyn_cast<linalg::LinalgOp>(op);
    if (!structured || isa<linalg::FillOp>(op))
      continue;
    if (structured.getNumReductionLoops() == 0)
      continue;
    if (product.op) {
      reason = "it reduces twice";
      return std::nullopt;
    }
    product.op = structured;
  }
  linalg::LinalgOp op = product.op;
  if (!op || op.getNumDpsInputs() != 2 || op.getNumDpsInits() != 1 || op.getNumReductionLoops() != 1) {
    reason = "it is no product of two matrices";
    return std::nullopt;
  }
  Type a = getElementTypeOrSelf(op.getDpsInputOperand(0)->get().getType()),
       b = getElementTypeOrSelf(op.getDpsInputOperand(1)->get().getType()),
       c = getElementTypeOrSelf(op->getResult(0).getType());
  if (a != b || !(a.isBF16() || a.isF16()) || !c.isF32() || !multipliesAndAdds(op)) {
    reason = "tensor cores multiply bf16 and f16 into f32";
    return std::nullopt;
  }
  if (!isa<BlockArgument>(product.lhs()->get()) || !isa<BlockArgument>(product.rhs()->get())) {
    reason = "an operand is computed in the kernel";
    return std::nullopt;
  }
  // Which loop is what.
  auto uses = [&](OpOperand *operand, unsigned loop) {
    return op.getMatchingIndexingMap(operand).isFunctionOfDim(loop);
  };
  for (OpOperand &operand : op->getOpOperands())
    if (!op.getMatchingIndexingMap(&operand).isProjectedPermutation(/*allowZeroInResults=*/true)) {
      reason = "an operand is read in windows";
      return std::nullopt;
    }
  std::optional<unsigned> m, n;
  for (auto [loop, kind] : llvm::enumerate(op.getIteratorTypesArray())) {
    bool inLhs = uses(product.lhs(), loop), inRhs = uses(product.rhs(), loop);
    if (kind == utils::IteratorType::reduction) {
      product.k = loop;
      if (!inLhs || !inRhs) {
        reason = "an operand is not read along the sum";
        return std::nullopt;
      }
    } else if (inLhs && !inRhs) {
      if (m)
        product.batches.push_back(*m);
      m = loop;
    } else if (inRhs && !inLhs) {
      if (n)
        product.batches.push_back(*n);
      n = loop;
    } else {
      product.batches.push_back(loop);
    }
  }
  if (!m || !n) {
    reason = "it has no rows or no columns";
    return std::nullopt;
  }
  product.m = *m;
  product.n = *n;
  auto contiguous = [&](OpOperand *operand, unsigned loop) {
    AffineMap map = op.getMatchingIndexingMap(operand);
    auto last = dyn_cast_or_null<AffineDimExpr>(map.getNumResults() ? map.getResults().back() : AffineExpr());
    return last && (last.getPosition() == product.k || last.getPosition() == loop);
  };
  if (!contiguous(product.lhs(), product.m) || !contiguous(product.rhs(), product.n)) {
    reason = "neighbours of an operand lie in several batches";
    return std::nullopt;
  }
  auto fill = op.getDpsInitOperand(0)->get().getDefiningOp<linalg::FillOp>();
  auto zero = fill ? fill.value().getDefiningOp<arith::ConstantFloatOp>() : arith::ConstantFloatOp();
  if (!zero || !zero.value().isZero()) {
    reason = "its sums do not begin at zero";
    return std::nullopt;
  }
  if (!isFollowedElementwise(kernel, op, reason))
    return std::nullopt;
  return product;
}

Schedule chooseMma(Product product) {
  constexpr int64_t multiprocessors = 100, unknown = 1024;
  auto known = [](int64_t size) { return ShapedType::isDynamic(size) ? unknown : size; };
  int64_t m = known(product.sizeOf(product.m)), n = known(product.sizeOf(product.n)), batches = 1;
  for (unsigned loop : product.batches)
    batches *= known(product.sizeOf(loop));
  // Large tiles where they still give work to all multiprocessors; narrow ones for a few rows.
  struct Shape {
    int64_t m, n, warpsM, warpsN, stages;
  };
  constexpr Shape shapes[] = {{128, 128, 2, 4, 3}, {64, 64, 2, 2, 4}, {16, 64, 1, 4, 4}};
  const Shape *chosen = &shapes[1];
  if (m <= 16)
    chosen = &shapes[2];
  else if (llvm::divideCeil(m, 128) * llvm::divideCeil(n, 128) * batches >= multiprocessors)
    chosen = &shapes[0];
  Schedule schedule;
  schedule.kind = Schedule::Kind::Mma;
  schedule.m = chosen->m;
  schedule.n = chosen->n;
  schedule.k = 32;
  schedule.warpsM = chosen->warpsM;
  schedule.warpsN = chosen->warpsN;
  schedule.stages = chosen->stages;
  schedule.threads = chosen->warpsM * chosen->warpsN * warpSize;
  return schedule;
}

std::string whyNotMma(const Schedule &schedule, int64_t sharedBytes) {
  constexpr int64_t staticBytes = 48 * 1024, registers = 255;
  int64_t rows = schedule.m / schedule.warpsM, columns = schedule.n / schedule.warpsN;
  if (schedule.m % schedule.warpsM != 0 || rows % 16 != 0)
    return "a warp's rows are " + std::to_string(rows) + ", and must be a multiple of 16";
  if (schedule.n % schedule.warpsN != 0 || columns % 16 != 0)
    return "a warp's columns are " + std::to_string(columns) + ", and must be a multiple of 16";
  if (schedule.k % 16 != 0)
    return "k is " + std::to_string(schedule.k) + ", and must be a multiple of 16";
  if (!llvm::isPowerOf2_64(schedule.m) || !llvm::isPowerOf2_64(schedule.n) || !llvm::isPowerOf2_64(schedule.k))
    return "the sizes of a block's tile must be powers of two";
  if (schedule.stages < 2)
    return "stages must be two or more";
  if (schedule.threads != schedule.warpsM * schedule.warpsN * warpSize)
    return "threads are " + std::to_string(schedule.threads) + ", and its warps have " +
           std::to_string(schedule.warpsM * schedule.warpsN * warpSize);
  if (schedule.threads > 1024)
    return "a block has at most 1024 threads";
  int64_t bytes = (schedule.m + schedule.n) * schedule.k * elementBytes * schedule.stages;
  int64_t most = std::min(sharedBytes, staticBytes);
  if (bytes > most)
    return "it needs " + std::to_string(bytes) + " bytes of shared memory, and a block has " + std::to_string(most);
  // Sums, a step's fragments, and what addresses take.
  int64_t used = rows * columns / warpSize + rows / 16 * 4 + columns / 8 * 2 + 40;
  if (used > registers)
    return "it needs about " + std::to_string(used) + " registers, and a thread has " + std::to_string(registers);
  return "";
}

} // namespace tilewright::cuda
