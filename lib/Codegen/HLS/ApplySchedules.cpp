//===- ApplySchedules.cpp - --tw-hls-apply-schedules: lower linalg to loops by schedules ----===//
//
// Before:
//   linalg.contract {tw_hls.schedule = #tw_hls.schedule<order = [0, 2, 1], unroll = [1, 4, 1], ii = 1>}
//     ins(%a, %b : memref<8x6xf32>, memref<6x12xf32>) outs(%c : memref<8x12xf32>)
// After:
//   affine.for %i = 0 to 8 { affine.for %k = 0 to 6 { affine.for %j = 0 to 3 { affine.for %u = 0 to 4 {
//     ... affine.load %c[%i, %j * 4 + %u] ... affine.store
//   } {tw_hls.loop = #tw_hls.loop<label = "contract_u", unroll = 4>}
//   } {tw_hls.loop = #tw_hls.loop<label = "contract_j", ii = 1, distance = 3>} ...
//
// The loops are nested in the order `order`. The pipelined loop is the innermost loop that is not fully unrolled. If a
// loop is unrolled by a factor less than its trip count, it is split: its inner part, which is fully unrolled, is
// inside the pipelined loop. HLS tools flatten the loops around the pipelined loop into it. An accumulating op (such as
// a sum) with the attribute `tw_hls.initial` starts from the attribute's value: the first iteration of the reduction
// loops uses this value instead of the element of the array. Arrays inside a kernel become tw_hls.buffer, named after
// the first op that computes their elements. An op without a schedule keeps its loop order and is not unrolled. With
// `block = [0, 4]`, the nest is inside a loop over blocks of four iterations of loop 0. In block %b, the index of loop
// 0 is %b * 4 + %i. Accesses of slices and reshapes become accesses of the arrays that these views refer to.
//
// Test: test/Codegen/HLS/apply-schedules.mlir
//
//===----------------------------------------------------------------------===//
#include "dialects/HLS/HLS.h"
#include "lib/Codegen/HLS/Cost.h"
#include "lib/Codegen/HLS/FoldViews.h"
#include "lib/Codegen/HLS/InitialValues.h"
#include "lib/Codegen/HLS/Names.h"
#include "mlir/IR/IRMapping.h"
#include "tilewright/Passes.h"
#include "tilewright/StageContract.h"

using namespace mlir;

namespace tilewright {
#define GEN_PASS_DEF_HLSAPPLYSCHEDULES
#include "tilewright/Passes.h.inc"
} // namespace tilewright

namespace tilewright::hls {
namespace {

std::string opLabel(Operation *op) {
  if (auto name = op->getAttrOfType<StringAttr>(opAttrName))
    return kernelName(name.getValue());
  return op->getName().stripDialect().str();
}

class NestBuilder {
public:
  NestBuilder(linalg::LinalgOp op, NameTable &labels) : op(op), builder(op), loc(op.getLoc()) {
    loops = op.getNumLoops();
    sizes = op.getStaticLoopRanges();
    if (auto given = op->getAttrOfType<ScheduleAttr>(scheduleAttrName)) {
      order.assign(given.getOrder().begin(), given.getOrder().end());
      unroll.assign(given.getUnroll().begin(), given.getUnroll().end());
      ii = given.getIi();
      block.assign(given.getBlock().begin(), given.getBlock().end());
    } else {
      llvm::append_range(order, llvm::seq<int64_t>(0, loops));
      unroll.assign(loops, 1);
    }
    label = labels.take(opLabel(op));
  }

  void build() {
    for (unsigned loop = 0; loop < loops; ++loop)
      indexOf.push_back(builder.getAffineConstantExpr(0));
    if (!block.empty()) {
      const int64_t loop = block[0], size = block[1];
      auto made = affine::AffineForOp::create(builder, loc, 0, sizes[loop] / size);
      made->setAttr(loopAttrName, LoopAttr::get(builder.getContext(), label + "_b", 0, 1, false, 0));
      indexOf[loop] = builder.getAffineDimExpr(0) * size;
      ivs.push_back(made.getInductionVar());
      builder.setInsertionPointToStart(made.getBody());
      sizes[loop] = size;
    }
    // A loop that is fully unrolled has no outer part. If all loops have only one iteration, the innermost loop keeps
    // its outer part, so that there is a loop to pipeline.
    SmallVector<int64_t> outer;
    for (int64_t loop : order)
      if (sizes[loop] > unroll[loop])
        outer.push_back(loop);
    if (outer.empty() && loops > 0 && llvm::all_of(unroll, [](int64_t copies) { return copies == 1; }))
      outer.push_back(order.back());
    findDistance(outer);
    for (auto [depth, loop] : llvm::enumerate(outer)) {
      const bool last = depth + 1 == outer.size();
      enter(loop, sizes[loop] / unroll[loop], letter('i', loop), last ? ii : 0, 1, !last, unroll[loop]);
    }
    size_t copies = 0;
    for (int64_t loop : order)
      if (unroll[loop] > 1)
        enter(loop, unroll[loop], letter('u', copies++), 0, unroll[loop], false, 1);
    body();
    op->erase();
  }

private:
  /// Sets `distance` to the number of iterations between two consecutive updates of the same element. This number is
  /// the product of the trip counts of the loops that are inside all reduction loops. `distance` remains 0 if the
  /// number is 1 or unknown.
  void findDistance(ArrayRef<int64_t> outer) {
    if (op.getNumReductionLoops() == 0 || op.getNumDpsInits() != 1)
      return;
    Value sum = arrayOf(op.getDpsInits()[0]);
    if (llvm::any_of(op.getDpsInputs(), [&](Value input) { return arrayOf(input) == sum; }))
      return; // an input may be a view of the result, which the previous iteration writes
    AffineMap result = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
    int64_t iterations = 1;
    for (int64_t loop : llvm::reverse(outer)) {
      if (op.getIteratorTypesArray()[loop] == utils::IteratorType::reduction)
        break;
      if (!llvm::is_contained(result.getResults(), builder.getAffineDimExpr(loop)))
        return;
      iterations *= sizes[loop] / unroll[loop];
    }
    distance = iterations > 1 ? iterations : 0;
  }

  void enter(int64_t loop, int64_t trips, const std::string &iv, int64_t pipelined, int64_t copies, bool flatten,
             int64_t scale) {
    auto made = affine::AffineForOp::create(builder, loc, 0, trips);
    made->setAttr(loopAttrName, LoopAttr::get(builder.getContext(), label + "_" + iv, pipelined, copies, flatten,
                                              pipelined > 0 ? distance : 0));
    indexOf[loop] = indexOf[loop] + builder.getAffineDimExpr(ivs.size()) * scale;
    ivs.push_back(made.getInductionVar());
    builder.setInsertionPointToStart(made.getBody());
  }

  AffineMap accessMapOf(OpOperand &operand) {
    AffineMap map = op.getMatchingIndexingMap(&operand).replaceDimsAndSymbols(indexOf, {}, ivs.size(), 0);
    return simplifyAffineMap(map);
  }

  /// Emits a condition that is true if every reduction loop is in its first iteration.
  Value isFirst() {
    Value first;
    for (auto [loop, kind] : llvm::enumerate(op.getIteratorTypesArray())) {
      if (kind != utils::IteratorType::reduction || op.getStaticLoopRanges()[loop] == 1)
        continue;
      AffineMap map = AffineMap::get(ivs.size(), 0, indexOf[loop]);
      Value index = affine::AffineApplyOp::create(builder, loc, map, ivs);
      Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
      Value begins = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, index, zero);
      first = first ? arith::AndIOp::create(builder, loc, first, begins).getResult() : begins;
    }
    return first ? first : arith::ConstantIntOp::create(builder, loc, 1, 1).getResult();
  }

  void body() {
    IRMapping mapping;
    Block &block = *op.getBlock();
    for (OpOperand &operand : op->getOpOperands()) {
      BlockArgument argument = op.getMatchingBlockArgument(&operand);
      if (argument.use_empty())
        continue;
      Value value = operand.get();
      if (isa<MemRefType>(value.getType()))
        value = affine::AffineLoadOp::create(builder, loc, value, accessMapOf(operand), ivs);
      if (auto initial = op->getAttrOfType<TypedAttr>(initialAttrName); initial && op.isDpsInit(&operand))
        value =
            arith::SelectOp::create(builder, loc, isFirst(), arith::ConstantOp::create(builder, loc, initial), value);
      mapping.map(argument, value);
    }
    for (Operation &inner : block.without_terminator()) {
      if (auto index = dyn_cast<linalg::IndexOp>(inner)) {
        AffineMap map = AffineMap::get(ivs.size(), 0, indexOf[index.getDim()]);
        mapping.map(index.getResult(), affine::AffineApplyOp::create(builder, loc, map, ivs).getResult());
        continue;
      }
      Operation *made = builder.clone(inner, mapping);
      if (op->hasAttr(fabricAttrName) && mayBeInFabric(&inner))
        made->setAttr(fabricAttrName, builder.getUnitAttr());
    }
    for (auto [number, yielded] : llvm::enumerate(block.getTerminator()->getOperands())) {
      OpOperand &destination = *op.getDpsInitOperand(number);
      affine::AffineStoreOp::create(builder, loc, mapping.lookupOrDefault(yielded), destination.get(),
                                    accessMapOf(destination), ivs);
    }
  }

  linalg::LinalgOp op;
  OpBuilder builder;
  Location loc;
  unsigned loops;
  SmallVector<int64_t> sizes, order, unroll, block;
  int64_t ii = 1, distance = 0;
  std::string label;
  SmallVector<AffineExpr> indexOf; ///< the index of each loop of the op, as an expression of `ivs`
  SmallVector<Value> ivs;
};

/// Returns true if `op` is a linalg op or a copy that only writes each element to the address from which it has read
/// this element.
bool copiesOntoItself(Operation *op) {
  if (auto copy = dyn_cast<memref::CopyOp>(op))
    return copy.getSource() == copy.getTarget();
  auto generic = dyn_cast<linalg::LinalgOp>(op);
  if (!generic || generic.getNumDpsInputs() != 1 || generic.getNumDpsInits() != 1)
    return false;
  Operation *yield = generic.getBlock()->getTerminator();
  return generic->getOperand(0) == generic->getOperand(1) &&
         generic.getIndexingMapsArray()[0] == generic.getIndexingMapsArray()[1] &&
         yield->getOperand(0) == generic.getBlock()->getArgument(0);
}

/// Returns the first linalg op that computes elements of `array`, or null. linalg.fill ops are ignored.
Operation *producerOf(Value array) {
  Operation *first = nullptr;
  for (Operation *user : array.getUsers()) {
    auto writer = dyn_cast<linalg::LinalgOp>(user);
    if (!writer || isa<linalg::FillOp>(user) || !llvm::is_contained(writer.getDpsInits(), array))
      continue;
    if (!first || (user->getBlock() == first->getBlock() && user->isBeforeInBlock(first)))
      first = user;
  }
  return first;
}

/// Replaces the local arrays of a kernel by tw_hls.buffer.
void nameArrays(func::FuncOp kernel) {
  NameTable names;
  SmallVector<memref::AllocOp> allocations;
  kernel.walk([&](memref::AllocOp alloc) { allocations.push_back(alloc); });
  for (memref::AllocOp alloc : allocations) {
    for (Operation *user : llvm::make_early_inc_range(alloc->getUsers()))
      if (isa<memref::DeallocOp>(user))
        user->erase();
    OpBuilder builder(alloc);
    Operation *producer = producerOf(alloc);
    std::string name = names.take(producer ? opLabel(producer) + "_out" : "local");
    auto buffer = BufferOp::create(builder, alloc.getLoc(), alloc.getType(), name, ElementsAttr());
    alloc.replaceAllUsesWith(buffer.getMemory());
    alloc.erase();
  }
}

struct HlsApplySchedules : impl::HlsApplySchedulesBase<HlsApplySchedules> {
  void runOnOperation() override {
    if (failed(requireForm(getOperation(), IRForm::Buffers, getArgument())))
      return signalPassFailure();
    func::FuncOp kernel = getOperation();
    if (kernel.isDeclaration())
      return;
    NameTable labels;
    nameArrays(kernel);
    SmallVector<Operation *> work;
    kernel.walk([&](Operation *op) {
      if (isa<linalg::LinalgOp, memref::CopyOp>(op))
        work.push_back(op);
    });
    for (Operation *op : work) {
      if (copiesOntoItself(op)) {
        op->erase();
        continue;
      }
      if (auto copy = dyn_cast<memref::CopyOp>(op)) {
        OpBuilder builder(op);
        auto type = cast<MemRefType>(copy.getSource().getType());
        AffineMap map = builder.getMultiDimIdentityMap(type.getRank());
        SmallVector<utils::IteratorType> kinds(type.getRank(), utils::IteratorType::parallel);
        op = linalg::GenericOp::create(
            builder, op->getLoc(), copy.getSource(), copy.getTarget(), ArrayRef<AffineMap>{map, map}, kinds,
            [](OpBuilder &b, Location at, ValueRange in) { linalg::YieldOp::create(b, at, in[0]); });
        op->setAttr(opAttrName, builder.getStringAttr("copy"));
        copy.erase();
      }
      NestBuilder(cast<linalg::LinalgOp>(op), labels).build();
    }
    foldViews(kernel);
  }
};

} // namespace
} // namespace tilewright::hls
