//===- WidenMovers.cpp - copy more than one element per cycle -------------===//
//
//   load_x_j: for (j < 6) { to[i][j] = from[i * 6 + j]; }
// If the array `to` has one bank along j, the loop copies two elements per cycle, because a bank has two ports:
//   load_x_j: for (j < 3) { for (u < 2) { to[i][j * 2 + u] = from[i * 6 + j * 2 + u]; } }
// The elements that are copied in one cycle are in one row of each array, even if the arrays have different shapes:
//   copy_x_j: for (j < 3) { for (u < 2) { to[(i * 6 + j * 2) / 4][(i * 6 + j * 2) % 4 + u] = from[i][j * 2 + u]; } }
//
// Tests: test/Codegen/HLS/design.mlir, test/Codegen/HLS/widen-movers.mlir
//
//===----------------------------------------------------------------------===//
#include "dialects/HLS/HLS.h"
#include "lib/Codegen/HLS/DataMovers.h"
#include "lib/Codegen/HLS/Names.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include <numeric>

using namespace mlir;

namespace tilewright::hls {
namespace {

/// Changes `function` to copy several elements per cycle, if possible: at most two for each bank along the last
/// dimension, one per port, and at most 512 bits. The number of elements divides the lengths of the rows.
void widen(func::FuncOp function) {
  affine::AffineForOp innermost;
  function.walk([&](affine::AffineForOp loop) {
    if (auto attribute = loop->getAttrOfType<LoopAttr>(loopAttrName); attribute && attribute.getIi() > 0)
      innermost = loop;
  });
  const int64_t trips = innermost.getConstantUpperBound();
  int64_t width = trips;
  for (BlockArgument argument : function.getArguments()) {
    auto type = cast<MemRefType>(argument.getType());
    if (type.getRank() == 0)
      return;
    width = std::gcd(width, elementsOfWord(type));
    PartitionAttr banks = banksOf(type);
    if (memoryOf(type) == Memory::Dram)
      continue;
    const int64_t row = type.getShape().back();
    width = std::gcd(width, row);
    width = std::gcd(width, portsOfBank * banks.getBanks(type.getRank() - 1, row));
  }
  if (width <= 1)
    return;
  OpBuilder builder(innermost);
  auto old = innermost->getAttrOfType<LoopAttr>(loopAttrName);
  auto outer = affine::AffineForOp::create(builder, innermost.getLoc(), 0, trips / width);
  outer->setAttr(loopAttrName, old);
  builder.setInsertionPointToStart(outer.getBody());
  auto inner = affine::AffineForOp::create(builder, innermost.getLoc(), 0, width);
  inner->setAttr(loopAttrName,
                 LoopAttr::get(builder.getContext(), (old.getLabel().drop_back() + "u").str(), 0, width, false, 0));
  for (Operation &op : llvm::make_early_inc_range(innermost.getBody()->without_terminator()))
    op.moveBefore(inner.getBody()->getTerminator());
  for (Operation &op : llvm::make_early_inc_range(*inner.getBody())) {
    builder.setInsertionPoint(&op);
    // The index along the last dimension is that of the first element of the word, plus the counter of the inner loop.
    auto compose = [&](AffineMap map, OperandRange operands, SmallVector<Value> &values) {
      SmallVector<AffineExpr> dims;
      for (Value operand : operands) {
        AffineExpr dim = builder.getAffineDimExpr(values.size());
        const bool widened = operand == innermost.getInductionVar();
        dims.push_back(widened ? dim * width : dim);
        values.push_back(widened ? outer.getInductionVar() : operand);
      }
      AffineExpr lane = builder.getAffineDimExpr(values.size());
      values.push_back(inner.getInductionVar());
      map = map.replaceDimsAndSymbols(dims, {}, values.size(), 0);
      SmallVector<AffineExpr> indices(map.getResults());
      indices.back() = indices.back() + lane;
      return AffineMap::get(values.size(), 0, indices, builder.getContext());
    };
    SmallVector<Value> values;
    if (auto load = dyn_cast<affine::AffineLoadOp>(op)) {
      AffineMap map = compose(load.getAffineMap(), load.getMapOperands(), values);
      auto made = affine::AffineLoadOp::create(builder, op.getLoc(), load.getMemRef(), map, values);
      load.replaceAllUsesWith(made.getResult());
      load.erase();
    } else if (auto store = dyn_cast<affine::AffineStoreOp>(op)) {
      AffineMap map = compose(store.getAffineMap(), store.getMapOperands(), values);
      affine::AffineStoreOp::create(builder, op.getLoc(), store.getValueToStore(), store.getMemRef(), map, values);
      store.erase();
    }
  }
  innermost.erase();
}

} // namespace

void widenMovers(func::FuncOp top) {
  auto module = top->getParentOfType<ModuleOp>();
  top.walk([&](TaskOp task) {
    auto function = module.lookupSymbol<func::FuncOp>(task.getCallee());
    if (function->hasAttr(moverAttrName) && llvm::all_of(function.getArgumentTypes(), llvm::IsaPred<MemRefType>))
      widen(function);
  });
}

} // namespace tilewright::hls
