//===- Rows.cpp - which structured ops can be tiled together -------------------===//
#include "dialects/Tile/Rows.h"
#include "dialects/Tile/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "tilewright/AttributeNames.h"

using namespace mlir;

namespace tilewright::tile {

/// Returns true if the body of `op` multiplies two different values.
static bool multiplies(linalg::LinalgOp op) {
  for (Operation &inner : op.getBlock()->without_terminator())
    if (isa<arith::MulFOp, arith::MulIOp>(inner) && inner.getOperand(0) != inner.getOperand(1))
      return true;
  return false;
}

bool isContractionRoot(Operation *op) {
  if (isa<linalg::ContractOp, linalg::Conv2DNhwcHwcfOp, linalg::MatmulOp, linalg::BatchMatmulOp, MatmulOp,
          ConvolutionOp, GroupedConvolutionOp, DepthwiseGradientOp>(op))
    return true;
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  return linalgOp && linalgOp.getNumReductionLoops() > 0 &&
         (linalg::isaContractionOpInterface(linalgOp) || linalg::isaConvolutionOpInterface(linalgOp)) &&
         linalgOp.getNumDpsInputs() == 2 && multiplies(linalgOp);
}

std::string describe(Operation *op) {
  if (auto name = op->getAttrOfType<StringAttr>(opAttrName))
    return name.str();
  return op->getName().stripDialect().str();
}

/// Returns a map from `loops` dimensions. Loop `loopOfDim[i]` indexes dimension i. If `loopOfDim[i]` is -1, the whole
/// dimension i is read.
static AffineMap readMap(int64_t loops, ArrayRef<int64_t> loopOfDim, MLIRContext *context) {
  SmallVector<AffineExpr> exprs;
  for (int64_t loop : loopOfDim)
    exprs.push_back(loop < 0 ? getAffineConstantExpr(0, context) : getAffineDimExpr(loop, context));
  return AffineMap::get(loops, 0, exprs, context);
}

int64_t numLoops(Operation *op) {
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
    return linalgOp.getNumLoops();
  if (isa<MatmulOp, ConvolutionOp>(op))
    return cast<ShapedType>(op->getResult(0).getType()).getRank();
  if (isa<AttentionOp, GroupedConvolutionOp>(op))
    return 3;
  if (isa<DepthwiseGradientOp, AttentionGradientOp>(op))
    return 2;
  return 0;
}

AffineMap resultMap(OpResult result) {
  Operation *op = result.getOwner();
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
    return linalgOp.getIndexingMapMatchingResult(result);
  if (isa<AttentionOp>(op))
    return readMap(3, result.getResultNumber() == 0 ? ArrayRef<int64_t>{0, 1, 2, -1} : ArrayRef<int64_t>{0, 1, 2},
                   op->getContext());
  if (isa<GroupedConvolutionOp>(op))
    return readMap(3, {0, 1, 2, -1}, op->getContext());
  if (isa<DepthwiseGradientOp>(op))
    return readMap(2, {0, 1, -1, -1, -1}, op->getContext());
  if (isa<AttentionGradientOp>(op))
    return readMap(2, {0, 1, -1, -1}, op->getContext());
  if (int64_t loops = numLoops(op))
    return AffineMap::getMultiDimIdentityMap(loops, op->getContext());
  return {};
}

AffineMap operandMap(OpOperand &operand) {
  Operation *op = operand.getOwner();
  MLIRContext *context = op->getContext();
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
    return linalgOp.getMatchingIndexingMap(&operand);
  auto dps = dyn_cast<DestinationStyleOpInterface>(op);
  int64_t loops = numLoops(op), rank = cast<ShapedType>(operand.get().getType()).getRank();
  if (!dps || !loops)
    return {};
  if (dps.isDpsInit(&operand))
    return resultMap(dps.getTiedOpResult(&operand));
  SmallVector<int64_t> loopOfDim(rank, -1);
  if (auto matmul = dyn_cast<MatmulOp>(op)) {
    if (operand.getOperandNumber() == 0)
      for (int64_t dim = 0; dim + 1 < rank; ++dim)
        loopOfDim[matmul.getLhsPermutation()[dim]] = dim;
  } else if (isa<AttentionGradientOp>(op)) {
    constexpr unsigned logsumexp = 5; // other operands may have permuted dimensions and are not tiled
    if (operand.getOperandNumber() == logsumexp)
      loopOfDim = {0, 1, -1};
  } else if (isa<ConvolutionOp, GroupedConvolutionOp, DepthwiseGradientOp>(op)) {
    if (operand.getOperandNumber() == 0)
      loopOfDim[0] = 0;
  }
  return readMap(loops, loopOfDim, context);
}

/// Returns, for each dimension of the result, the row of the cluster along which the users of the result are tiled. The
/// row is -1 if a user reads the whole dimension, or if two users are tiled along different rows. Sets `used` to false
/// if no member of the cluster uses the result.
static SmallVector<int64_t> rowsOfResult(OpResult result, const llvm::DenseMap<Operation *, SmallVector<int64_t>> &rows,
                                         bool &used) {
  auto rank = cast<ShapedType>(result.getType()).getRank();
  SmallVector<int64_t> rowOf(rank, -1);
  used = false;
  for (OpOperand &use : result.getUses()) {
    auto found = rows.find(use.getOwner());
    if (found == rows.end())
      continue;
    AffineMap map = operandMap(use);
    SmallVector<int64_t> here(rank, -1);
    for (auto [dim, expr] : llvm::enumerate(map.getResults()))
      if (auto loop = dyn_cast<AffineDimExpr>(expr))
        here[dim] = found->second[loop.getPosition()];
    if (!used) {
      rowOf = here;
      used = true;
      continue;
    }
    for (int64_t dim = 0; dim < rank; ++dim)
      if (rowOf[dim] != here[dim])
        rowOf[dim] = -1;
  }
  return rowOf;
}

std::optional<RowMap> computeRows(ArrayRef<Operation *> members, std::string &reason) {
  RowMap map;
  Operation *anchor = members.back();
  auto anchorType = cast<ShapedType>(anchor->getResult(0).getType());
  map.numRows = anchorType.getRank();
  SmallVector<int64_t> anchorRows = llvm::to_vector(llvm::seq<int64_t>(0, anchorType.getRank()));
  for (Operation *op : llvm::reverse(members)) {
    int64_t loops = numLoops(op);
    if (!loops && anchorType.getRank() > 0) {
      reason = describe(op) + " cannot be tiled";
      return std::nullopt;
    }
    SmallVector<int64_t> rowOfLoop(loops, -1);
    bool first = true;
    for (OpResult result : op->getResults()) {
      bool used = op == anchor;
      SmallVector<int64_t> rowOf = anchorRows;
      if (op != anchor || result.getResultNumber() != 0) {
        rowOf = rowsOfResult(result, map.rowOfLoop, used);
        if (!used)
          continue;
      }
      AffineMap output = resultMap(result);
      SmallVector<int64_t> here(loops, -1);
      for (auto [dim, expr] : llvm::enumerate(output.getResults()))
        if (auto loop = dyn_cast<AffineDimExpr>(expr))
          here[loop.getPosition()] = rowOf[dim];
      if (first)
        rowOfLoop = here;
      else
        for (auto [mine, other] : llvm::zip_equal(rowOfLoop, here))
          mine = mine == other ? mine : -1;
      first = false;
    }
    // This member can be tiled only along the leading rows over which its loops iterate.
    int64_t prefix = 0;
    while (llvm::is_contained(rowOfLoop, prefix))
      ++prefix;
    if (prefix < map.numRows)
      map.numRows = prefix;
    if (map.numRows == 0 && anchorType.getRank() > 0) {
      reason = "no dimension can be tiled: " + describe(op) + " needs the whole of dimension 0 of " + describe(anchor);
      return std::nullopt;
    }
    map.rowOfLoop[op] = rowOfLoop;
  }
  for (auto &entry : map.rowOfLoop)
    for (int64_t &row : entry.second)
      if (row >= map.numRows)
        row = -1;
  return map;
}

} // namespace tilewright::tile
