//===- Contraction.cpp - a kernel with one contraction and its epilogue -----------------===//
#include "lib/Codegen/GPU/Contraction.h"
#include "dialects/Tile/Rows.h"
#include "dialects/Tile/Sizes.h"
#include "lib/Codegen/GPU/ThreadKernel.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "tilewright/AttributeNames.h"

using namespace mlir;

namespace tilewright::gpu {

int64_t bytesInMemory(Type type) { return memoryType(type).getIntOrFloatBitWidth() / 8; }

/// Returns true if `op` sums elements of at least two operands, and reads each element of these operands repeatedly.
/// Therefore, a sum with weights, such as the mean of a row, is not a product. If `ignoreUnitLoops` is true, loops of
/// one iteration are not counted.
static bool rereadsAllOperands(linalg::LinalgOp op, bool ignoreUnitLoops) {
  int64_t reread = 0;
  SmallVector<int64_t> ranges = op.getStaticLoopRanges();
  for (OpOperand *input : op.getDpsInputOperands()) {
    AffineMap map = op.getMatchingIndexingMap(input);
    bool summed = false, repeated = false;
    for (auto [loop, kind] : llvm::enumerate(op.getIteratorTypesArray())) {
      bool used = map.isFunctionOfDim(loop);
      summed |= used && kind == utils::IteratorType::reduction;
      repeated |= !used && kind == utils::IteratorType::parallel && !(ignoreUnitLoops && ranges[loop] == 1);
    }
    if (summed && !repeated)
      return false;
    reread += summed;
  }
  return reread > 1;
}

bool isProduct(linalg::LinalgOp op) {
  return op.getNumReductionLoops() > 0 && rereadsAllOperands(op, /*ignoreUnitLoops=*/false);
}

bool readsOnce(linalg::LinalgOp op) { return !rereadsAllOperands(op, /*ignoreUnitLoops=*/true); }

bool isProductOfRows(linalg::LinalgOp op, ArrayRef<int64_t> rowOfLoop) {
  if (!isProduct(op))
    return false;
  const bool parallelInRow = llvm::any_of(llvm::zip_equal(op.getIteratorTypesArray(), rowOfLoop), [](auto both) {
    return std::get<0>(both) == utils::IteratorType::parallel && std::get<1>(both) < 0;
  });
  return parallelInRow || !readsOnce(op);
}

bool isDotProducts(Contraction &contraction) {
  constexpr int64_t leastTerms = 256;
  const int64_t terms = contraction.sizeOf(contraction.depth);
  if (!readsOnce(contraction.op) || !contraction.rowSums.empty() || (terms >= 0 && terms < leastTerms))
    return false;
  SmallVector<int64_t> ranges = contraction.op.getStaticLoopRanges();
  return llvm::all_of(contraction.op.getDpsInputOperands(), [&](OpOperand *operand) {
    for (AffineExpr expr : llvm::reverse(contraction.op.getMatchingIndexingMap(operand).getResults())) {
      auto dim = dyn_cast<AffineDimExpr>(expr);
      if (!dim || dim.getPosition() == contraction.depth.back())
        return bool(dim);
      if (ranges[dim.getPosition()] != 1)
        return false;
    }
    return false;
  });
}

int64_t paddingOf(Type type) { return std::max<int64_t>(1, 16 / bytesInMemory(type)); }

Contraction Contraction::transposed() const {
  Contraction other = *this;
  other.swapped = !swapped;
  std::swap(other.rows, other.columns);
  return other;
}

Contraction Contraction::secondProduct() const {
  Contraction other = *this;
  other.op = second;
  other.second = {};
  return other;
}

int64_t Contraction::sizeOf(ArrayRef<unsigned> loops) {
  SmallVector<int64_t> ranges = op.getStaticLoopRanges();
  int64_t size = 1;
  for (unsigned loop : loops) {
    if (ShapedType::isDynamic(ranges[loop]))
      return ShapedType::kDynamic;
    size *= ranges[loop];
  }
  return size;
}

int64_t Contraction::likelySizeOf(ArrayRef<unsigned> loops) {
  constexpr int64_t unknown = 1024;
  int64_t size = sizeOf(loops);
  return ShapedType::isDynamic(size) ? unknown : size;
}

Contraction::TileClass Contraction::tileClass() {
  constexpr int64_t multiprocessors = 100;
  int64_t m = likelySizeOf(rows), n = likelySizeOf(columns);
  if (m <= 16)
    return TileClass::Narrow;
  bool fills = int64_t(llvm::divideCeil(m, 128) * llvm::divideCeil(n, 128)) * likelySizeOf(batches) >= multiprocessors;
  return fills ? TileClass::Large : TileClass::Medium;
}

AffineExpr Contraction::sizeExpr(ArrayRef<unsigned> loops) {
  AffineExpr size = getAffineConstantExpr(1, op.getContext());
  AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  for (auto [dim, expr] : llvm::enumerate(map.getResults()))
    if (auto single = dyn_cast<AffineDimExpr>(expr); single && llvm::is_contained(loops, single.getPosition()))
      size = size * tile::sizeOf(op->getResult(0), int64_t(dim));
  return size;
}

int64_t Contraction::bytesOfTiles(const Schedule &schedule) {
  auto tile = [&](OpOperand *operand, int64_t side) {
    Type type = getElementTypeOrSelf(operand->get().getType());
    return llvm::alignTo(schedule.k * (side + paddingOf(type)) * bytesInMemory(type), 16);
  };
  return int64_t(tile(lhs(), schedule.m) + tile(rhs(), schedule.n));
}

/// Returns true if the body computes accumulator + a * b; a and b may be extended to wider types.
static bool isSumOfProducts(linalg::LinalgOp op) {
  Block &body = *op.getBlock();
  Operation *sum = body.getTerminator()->getOperand(0).getDefiningOp();
  if (!isa_and_nonnull<arith::AddFOp, arith::AddIOp>(sum) || !body.getArgument(2).hasOneUse())
    return false;
  Value accumulated = body.getArgument(2);
  Value product = sum->getOperand(0) == accumulated ? sum->getOperand(1) : sum->getOperand(0);
  Operation *multiply = product.getDefiningOp();
  if (!isa_and_nonnull<arith::MulFOp, arith::MulIOp>(multiply) || !llvm::is_contained(sum->getOperands(), accumulated))
    return false;
  auto source = [](Value value) {
    Operation *extended = value.getDefiningOp();
    return isa_and_nonnull<arith::ExtFOp, arith::ExtSIOp, arith::ExtUIOp>(extended) ? extended->getOperand(0) : value;
  };
  Value a = source(multiply->getOperand(0)), b = source(multiply->getOperand(1));
  return (a == body.getArgument(0) && b == body.getArgument(1)) ||
         (a == body.getArgument(1) && b == body.getArgument(0));
}

static bool isZeroFill(Value value) {
  auto fill = value.getDefiningOp<linalg::FillOp>();
  auto number = fill ? fill.value().getDefiningOp<arith::ConstantOp>() : arith::ConstantOp();
  if (!number)
    return false;
  if (auto real = dyn_cast<FloatAttr>(number.getValue()))
    return real.getValue().isZero();
  auto whole = dyn_cast<IntegerAttr>(number.getValue());
  return whole && whole.getValue().isZero();
}

/// The results of a kernel that depend on a contraction, and the ops that compute them.
struct ComputedResults {
  SmallVector<Value> values;
  SmallVector<linalg::LinalgOp> ops; ///< ops in the kernel's order, without linalg.fill
};

/// Returns, for each value of `computed` and for each of its dimensions, the loop of the product that indexes this
/// dimension. All values must be computed elementwise from the results of the product, or of both products of a pair.
/// Otherwise returns std::nullopt, and sets the reason.
static std::optional<SmallVector<SmallVector<unsigned>>> positionsOfResults(const ComputedResults &computed,
                                                                            Contraction product, std::string &reason) {
  linalg::LinalgOp op = product.op;
  SmallVector<Operation *> members;
  for (linalg::LinalgOp other : computed.ops)
    if (other == op || op->isBeforeInBlock(other))
      members.push_back(other);
  // Each of these ops must have one loop per dimension of C, and read C at the indices of these loops.
  std::optional<tile::RowMap> rows = tile::computeRows(members, reason);
  if (!rows)
    return std::nullopt;
  auto rank = cast<ShapedType>(op->getResult(0).getType()).getRank();
  for (Operation *member : members) {
    SmallVector<utils::IteratorType> kinds = cast<linalg::LinalgOp>(member).getIteratorTypesArray();
    for (auto [loop, row] : llvm::enumerate(rows->rowOfLoop.lookup(member)))
      if (row < 0 && !((member == op.getOperation() || member == product.second.getOperation()) &&
                       kinds[loop] == utils::IteratorType::reduction)) {
        reason = "the ops after the product are not elementwise";
        return std::nullopt;
      }
  }
  SmallVector<int64_t> madeRows = rows->rowOfLoop.lookup(op);
  if (product.second && rows->rowOfLoop.lookup(product.second) != madeRows) {
    reason = "the ops after a pair of products read their results at different indices";
    return std::nullopt;
  }
  SmallVector<SmallVector<unsigned>> positions;
  for (Value returned : computed.values) {
    auto producer = returned.getDefiningOp<linalg::LinalgOp>();
    if (!producer || !rows->rowOfLoop.contains(producer) || cast<ShapedType>(returned.getType()).getRank() != rank) {
      reason = "a result does not have the product's rank";
      return std::nullopt;
    }
    AffineMap map =
        producer.getMatchingIndexingMap(producer.getDpsInitOperand(cast<OpResult>(returned).getResultNumber()));
    SmallVector<int64_t> rowOfLoop = rows->rowOfLoop.lookup(producer);
    positions.emplace_back();
    for (AffineExpr expr : map.getResults()) {
      auto dim = dyn_cast<AffineDimExpr>(expr);
      auto *found = dim ? llvm::find(madeRows, rowOfLoop[dim.getPosition()]) : madeRows.end();
      if (found == madeRows.end()) {
        reason = "a result is not indexed by the product's loops";
        return std::nullopt;
      }
      positions.back().push_back(unsigned(found - madeRows.begin()));
    }
  }
  return positions;
}

/// Sets `results` and `rowSums` of `found` for an epilogue with row reductions. The product must have one column loop
/// and f32 accumulators. Every op of the epilogue must iterate over loops of the product, and may reduce only over its
/// columns, with known combiners. Otherwise returns false, and sets the reason.
static bool findRowSums(const ComputedResults &computed, Contraction &found, std::string &reason) {
  DenseMap<Value, SmallVector<unsigned>> loopsOf; // the loop of the product for each dimension of the value
  auto setLoops = [&](OpResult result, ArrayRef<unsigned> loops) {
    auto op = cast<linalg::LinalgOp>(result.getOwner());
    for (AffineExpr expr : op.getMatchingIndexingMap(op.getDpsInitOperand(result.getResultNumber())).getResults()) {
      auto dim = dyn_cast<AffineDimExpr>(expr);
      if (!dim)
        return false;
      loopsOf[result].push_back(loops[dim.getPosition()]);
    }
    return true;
  };
  if (found.columns.size() != 1 || !getElementTypeOrSelf(found.op->getResult(0).getType()).isF32()) {
    reason = "row reductions require one column dimension and f32 accumulators";
    return false;
  }
  const unsigned column = found.columns[0];
  if (!setLoops(found.op->getResult(0), llvm::to_vector(llvm::seq(found.op.getNumLoops())))) {
    reason = "the result of the product is not indexed by its loops alone";
    return false;
  }
  constexpr unsigned none = ~0u;
  reason = "the ops after the product are neither elementwise nor row reductions";
  for (linalg::LinalgOp op : computed.ops) {
    if (!found.op->isBeforeInBlock(op))
      continue;
    SmallVector<unsigned> loops(op.getNumLoops(), none);
    for (OpOperand *operand : op.getDpsInputOperands()) {
      auto known = loopsOf.find(operand->get());
      if (known == loopsOf.end())
        continue;
      for (auto [expr, loop] : llvm::zip_equal(op.getMatchingIndexingMap(operand).getResults(), known->second)) {
        auto dim = dyn_cast<AffineDimExpr>(expr);
        if (!dim || (loops[dim.getPosition()] != none && loops[dim.getPosition()] != loop))
          return false;
        loops[dim.getPosition()] = loop;
      }
    }
    const llvm::SmallDenseSet<unsigned> different(loops.begin(), loops.end());
    if (llvm::is_contained(loops, none) || different.size() != loops.size())
      return false;
    for (auto [kind, loop] : llvm::zip_equal(op.getIteratorTypesArray(), loops))
      if (kind == utils::IteratorType::reduction && loop != column)
        return false;
    for (OpResult result : op->getResults())
      if (!setLoops(result, loops) ||
          (op.getNumReductionLoops() > 0 && !tile::combinerOf(op, result.getResultNumber())))
        return false;
    if (op.getNumReductionLoops() > 0)
      found.rowSums.push_back({op, loops});
  }
  const auto rank = size_t(cast<ShapedType>(found.op->getResult(0).getType()).getRank());
  for (Value returned : computed.values) {
    auto known = loopsOf.find(returned);
    if (known == loopsOf.end() || known->second.size() != rank)
      return false;
    found.results.push_back(known->second);
  }
  reason.clear();
  return true;
}

bool sizesAreKnown(func::FuncOp kernel) {
  return llvm::all_of(kernel.getArgumentTypes(), [](Type type) {
    auto shaped = dyn_cast<RankedTensorType>(type);
    return shaped && shaped.hasStaticShape();
  });
}

SmallVector<Operation *> structuredOpsOf(func::FuncOp kernel) {
  SmallVector<Operation *> found;
  for (Operation &op : kernel.getBody().front())
    if (isa<linalg::LinalgOp>(op) && !isa<linalg::FillOp>(op))
      found.push_back(&op);
  return found;
}

SetVector<Operation *> opsNeededFor(Operation *op) {
  SetVector<Operation *> needed;
  BackwardSliceOptions options;
  options.inclusive = true;
  options.omitBlockArguments = true;
  options.omitUsesFromAbove = false;
  (void)getBackwardSlice(op, &needed, options);
  return needed;
}

std::string whyNotWholeRows(Contraction contraction, int64_t columns) {
  if (contraction.rowSums.empty() || contraction.sizeOf(contraction.columns) == columns)
    return "";
  return "a block has " + std::to_string(columns) + " columns, but row reductions require whole rows";
}

/// Returns true if `second` can be the second product of a pair whose first product is `first`.
static bool arePair(linalg::LinalgOp first, linalg::LinalgOp second) {
  auto isProductOfFloats = [](linalg::LinalgOp op) {
    return op.getNumDpsInputs() == 2 && op.getNumDpsInits() == 1 && isSumOfProducts(op) &&
           isZeroFill(op.getDpsInitOperand(0)->get()) && !op.hasDynamicShape() &&
           isa<FloatType>(getElementTypeOrSelf(op.getDpsInputOperand(0)->get().getType()));
  };
  if (!isProductOfFloats(first) || !isProductOfFloats(second))
    return false;
  auto rhs = [](linalg::LinalgOp op) { return op.getDpsInputOperand(1)->get(); };
  return first.getDpsInputOperand(0)->get() == second.getDpsInputOperand(0)->get() &&
         rhs(first).getType() == rhs(second).getType() && isa<BlockArgument>(rhs(first)) &&
         isa<BlockArgument>(rhs(second)) && first->getResultTypes() == second->getResultTypes() &&
         first.getIndexingMapsArray() == second.getIndexingMapsArray() &&
         first.getIteratorTypesArray() == second.getIteratorTypesArray() &&
         first.getStaticLoopRanges() == second.getStaticLoopRanges() &&
         first->getAttr(tf32AttrName) == second->getAttr(tf32AttrName);
}

/// Returns true if each value that is computed from the product is only read as an operand of an op in `computed`, or
/// returned. Slices of such a value, and ops whose bodies extract its elements, read elements of other threads.
static bool areResultsReadAsOperands(const ComputedResults &computed, const Contraction &product) {
  llvm::SmallPtrSet<Operation *, 8> dependent;
  for (linalg::LinalgOp op : computed.ops) {
    auto isDependent = [&](Value operand) { return dependent.contains(operand.getDefiningOp()); };
    if (op != product.op && op != product.second && llvm::none_of(op->getOperands(), isDependent))
      continue;
    dependent.insert(op);
    for (Operation *user : op->getUsers())
      if (auto reader = dyn_cast<linalg::LinalgOp>(user);
          !isa<func::ReturnOp>(user) && !(reader && llvm::is_contained(computed.ops, reader)))
        return false;
  }
  return true;
}

/// Returns the contraction, which may be a pair of products, among the ops of `computed`.
static std::optional<Contraction> match(const ComputedResults &computed, std::string &reason) {
  Contraction found;
  bool reducesRows = false;
  for (linalg::LinalgOp structured : computed.ops) {
    if (structured.getNumReductionLoops() == 0)
      continue;
    if (found.op && !found.second && arePair(found.op, structured)) {
      found.second = structured;
      continue;
    }
    if (found.op) {
      reducesRows = true;
      continue;
    }
    found.op = structured;
  }
  linalg::LinalgOp op = found.op;
  if (!op || op.getNumDpsInputs() != 2 || op.getNumDpsInits() != 1 || !isSumOfProducts(op)) {
    reason = "it is not a sum of products of two operands";
    return std::nullopt;
  }
  if (!isZeroFill(op.getDpsInitOperand(0)->get())) {
    reason = "its accumulators do not begin at zero";
    return std::nullopt;
  }
  for (auto [loop, kind] : llvm::enumerate(op.getIteratorTypesArray())) {
    bool inLhs = op.getMatchingIndexingMap(found.lhs()).isFunctionOfDim(loop);
    bool inRhs = op.getMatchingIndexingMap(found.rhs()).isFunctionOfDim(loop);
    if (kind == utils::IteratorType::reduction)
      found.depth.push_back(loop);
    else if (inLhs == inRhs)
      found.batches.push_back(loop);
    else
      (inLhs ? found.rows : found.columns).push_back(loop);
  }
  if (found.rows.empty() || found.columns.empty() || found.sizeOf(found.depth) == 0) {
    reason = "it has no rows, no columns or no elements to sum";
    return std::nullopt;
  }
  if (!areResultsReadAsOperands(computed, found)) {
    reason = "an op reads results of the product at other indices";
    return std::nullopt;
  }
  if (reducesRows && found.second) {
    reason = "a kernel with a pair of products reduces rows";
    return std::nullopt;
  }
  if (reducesRows)
    return findRowSums(computed, found, reason) ? std::optional(found) : std::nullopt;
  auto positions = positionsOfResults(computed, found, reason);
  if (!positions)
    return std::nullopt;
  found.results = std::move(*positions);
  return found;
}

/// Returns the contraction of a kernel without the attribute `joinedResultsAttrName`. It may be a pair of products.
static std::optional<Contraction> matchOne(func::FuncOp kernel, std::string &reason) {
  Block &body = kernel.getBody().front();
  ComputedResults all{llvm::to_vector(body.getTerminator()->getOperands()), {}};
  for (auto op : body.getOps<linalg::LinalgOp>())
    if (!isa<linalg::FillOp>(op.getOperation()))
      all.ops.push_back(op);
  return match(all, reason);
}

std::optional<Contraction> matchContraction(func::FuncOp kernel, std::string &reason) {
  std::optional<Contraction> found;
  if (!kernel->hasAttr(joinedResultsAttrName))
    found = matchOne(kernel, reason);
  if (kernel->hasAttr(joinedResultsAttrName) || (found && found->second)) {
    reason = "it has several products";
    return std::nullopt;
  }
  return found;
}

SmallVector<Contraction, 1> matchContractions(func::FuncOp kernel, std::string &reason) {
  auto joined = kernel->getAttrOfType<DenseI64ArrayAttr>(joinedResultsAttrName);
  if (!joined) {
    std::optional<Contraction> one = matchOne(kernel, reason);
    return one ? SmallVector<Contraction, 1>{*one} : SmallVector<Contraction, 1>();
  }
  Block &body = kernel.getBody().front();
  const int64_t results = kernel.getNumResults();
  if (llvm::any_of(joined.asArrayRef(), [](int64_t count) { return count < 1; }) ||
      llvm::sum_of(joined.asArrayRef()) != results) {
    reason = "the numbers of results of its products do not match its results";
    return {};
  }
  SmallVector<Contraction, 1> found;
  size_t first = 0;
  for (int64_t count : joined.asArrayRef()) {
    ComputedResults computed{llvm::to_vector(body.getTerminator()->getOperands().slice(first, size_t(count))), {}};
    first += size_t(count);
    SetVector<Operation *> slice;
    BackwardSliceOptions options;
    options.inclusive = true;
    options.omitBlockArguments = true;
    for (Value value : computed.values)
      (void)getBackwardSlice(value, &slice, options);
    for (auto op : body.getOps<linalg::LinalgOp>())
      if (slice.contains(op) && !isa<linalg::FillOp>(op.getOperation()))
        computed.ops.push_back(op);
    std::optional<Contraction> product = match(computed, reason);
    if (product && product->second) {
      reason = "one of its independent products is a pair";
      return {};
    }
    if (!product)
      return {};
    found.push_back(std::move(*product));
  }
  return found;
}

std::optional<Schedule> chooseFma(Contraction contraction) {
  int64_t m = contraction.likelySizeOf(contraction.rows), n = contraction.likelySizeOf(contraction.columns),
          k = contraction.likelySizeOf(contraction.depth);
  // A kernel with one thread per element is at least as fast as the schedule `fma` if most of each tile is empty, or if
  // the elements of tiles are read only once. A product with few rows and a large B is an exception: without tiles,
  // adjacent threads would read cache lines that are far apart, but a block reads a tile of B in contiguous runs.
  constexpr int64_t large = 64 * 1024;
  if ((m < 4 && n * k * contraction.likelySizeOf(contraction.batches) < large) || n < 8 || k < 8)
    return std::nullopt;
  struct Shape {
    int64_t m, n, k, tileM, tileN;
  };
  constexpr Shape shapes[] = {{128, 128, 8, 8, 8}, {64, 64, 16, 4, 4}, {16, 64, 16, 2, 4}};
  const Shape *chosen = &shapes[size_t(contraction.tileClass())];
  Schedule schedule;
  schedule.kind = Schedule::Kind::Fma;
  schedule.m = chosen->m;
  schedule.n = chosen->n;
  schedule.k = chosen->k;
  schedule.tileM = chosen->tileM;
  schedule.tileN = chosen->tileN;
  schedule.threads = schedule.m / schedule.tileM * (schedule.n / schedule.tileN);
  return schedule;
}

std::string whyNotFma(const Schedule &schedule, Contraction contraction) {
  constexpr int64_t registers = 255;
  auto text = [](int64_t number) { return std::to_string(number); };
  if (!contraction.rowSums.empty())
    return "its threads do not compute whole rows, which row reductions require";
  if (schedule.m % schedule.tileM != 0 || schedule.n % schedule.tileN != 0)
    return "a block's tile of " + text(schedule.m) + " x " + text(schedule.n) +
           " cannot be divided into tiles of threads of " + text(schedule.tileM) + " x " + text(schedule.tileN);
  int64_t threads = schedule.m / schedule.tileM * (schedule.n / schedule.tileN);
  if (schedule.threads != threads || threads % warpSize != 0 || threads > mostThreads)
    return "it has " + text(schedule.threads) + " threads, but its tiles need " + text(threads) +
           ", which must be a multiple of 32 up to " + text(mostThreads);
  if (schedule.m * schedule.k % threads != 0 || schedule.n * schedule.k % threads != 0)
    return "the tiles of A and B cannot be divided evenly among " + text(threads) + " threads";
  int64_t bytes = 2 * contraction.bytesOfTiles(schedule);
  if (bytes > mostStaticShared)
    return "it needs " + text(bytes) + " bytes of shared memory, and a block has " + text(mostStaticShared);
  // The registers of a thread contain the accumulators, the sums of one step, the loaded elements, and addresses. Each
  // 64-bit value takes two registers.
  int64_t words = std::max<int64_t>(1, bytesInMemory(getElementTypeOrSelf(contraction.op->getResult(0).getType())) / 4);
  int64_t used = words * (2 * schedule.tileM * schedule.tileN + 2 * (schedule.tileM + schedule.tileN)) +
                 words * (schedule.m + schedule.n) * schedule.k / threads + 40;
  if (used > registers)
    return "it needs about " + text(used) + " registers, and a thread has " + text(registers);
  return "";
}

} // namespace tilewright::gpu
