//===- ApplySchedule.cpp - tiles a kernel into parallel tasks ------------------===//
//
// Before (tiles = [64, 48]):
//   func @kernel_0(%a, %w, %bias, %out) {
//     %mm = tw_tile.matmul ins(%a, %w) outs(%empty)
//     %r = linalg.generic {add bias; gelu} ins(%mm, %bias) outs(%out)
//     return %r }
// After:
//   %r = scf.forall (%i, %j) = (0, 0) to (M, N) step (64, 48) shared_outs(%o = %out) {
//     %mm = tw_tile.matmul ins(slice %a, slice %w) outs(tensor.empty of the tile)
//     %t = linalg.generic ins(%mm, slice %bias) outs(slice %o)
//     in_parallel { tensor.parallel_insert_slice %t into %o } }
//
// The ops of the kernel are called its members. Each member computes each of its tiles once. The rows of a kernel are
// the dimensions of its result along which all members can be tiled (dialects/Tile/Rows.h). TileInserts.h tiles
// concatenations and paddings. A kernel without rows runs as one task.
//
// Test: test/Codegen/CPU/Schedule/apply-schedule.mlir
//
//===----------------------------------------------------------------------===//
#include "dialects/Schedule/CpuSchedule.h"
#include "dialects/Tile/Rows.h"
#include "dialects/Tile/Sizes.h"
#include "lib/Codegen/CPU/Schedule/TileBounds.h"
#include "lib/Codegen/CPU/Schedule/TileInserts.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/TilingInterface.h"
#include "tilewright/AttributeNames.h"
#include "tilewright/Passes.h"
#include "tilewright/StageContract.h"

using namespace mlir;

namespace tilewright {
#define GEN_PASS_DEF_APPLYSCHEDULE
#include "tilewright/Passes.h.inc"
namespace tiled {
using namespace tile;
namespace {

using Folds = SmallVector<OpFoldResult>;

class KernelTiler {
public:
  explicit KernelTiler(func::FuncOp kernel) : kernel(kernel), builder(kernel.getContext()) {}

  LogicalResult run(ArrayRef<int64_t> tiles) {
    Block &body = kernel.getBody().front();
    for (Operation &op : body)
      if (isa<TilingInterface>(op) &&
          isa<linalg::LinalgOp, MatmulOp, ConvolutionOp, GroupedConvolutionOp, DepthwiseGradientOp, PackOp, AttentionOp,
              AttentionGradientOp>(op) &&
          !isa<linalg::FillOp>(op))
        members.push_back(&op);
    if (tiles.empty())
      return success();
    if (std::optional<InsertChain> chain = insertChainOf(kernel)) {
      if (tiles.size() != chain->sizes.size())
        return kernel.emitOpError("its schedule tiles ")
               << tiles.size() << " dimensions, but its result has " << chain->sizes.size();
      for (auto [dim, size] : llvm::enumerate(tiles))
        if (size != 0 && !chain->shared.test(dim))
          return kernel.emitOpError("its schedule tiles dimension ") << dim << ", along which tensors are concatenated";
      if (failed(tileInserts(kernel, *chain, tiles)))
        return kernel.emitOpError("the producer of a part of its result cannot be tiled");
      eraseDead(body);
      return success();
    }
    if (members.empty())
      return success();
    auto terminator = cast<func::ReturnOp>(body.getTerminator());
    std::string reason;
    std::optional<RowMap> rows = rowsOf(reason);
    if (!rows)
      return kernel.emitOpError("cannot be tiled: ") << reason;
    if (static_cast<int64_t>(tiles.size()) > rows->numRows)
      return kernel.emitOpError("its schedule tiles ")
             << tiles.size() << " dimensions, but only " << rows->numRows << " can be tiled";
    symbols = indexArguments(kernel);
    builder.setInsertionPoint(terminator);
    // A kernel with a loop of trip count 0 is not tiled, because MLIR's tiling interprets the tile size 0 as "not
    // tiled".
    for (Operation *member : members)
      for (int64_t loop = 0; loop < numLoops(member); ++loop)
        if (OpFoldResult size = loopSize(member, loop); size && isConstantIntValue(size, 0))
          return success();
    Location loc = members.back()->getLoc();

    // There is one loop per tiled row. A row whose tile size is 0 is not tiled.
    SmallVector<AffineExpr> rowSizes = rowSizesOf(*rows);
    Folds lower, upper, step;
    SmallVector<int64_t> loopOfRow(rows->numRows, -1), order;
    for (auto [row, size] : llvm::enumerate(tiles))
      if (size != 0)
        order.push_back(row);
    // The last loop varies fastest: consecutive tasks differ in its index. The knob `order` swaps the last two loops.
    if (schedule::knobOr(kernel, &schedule::CpuScheduleAttr::getOrder, 0) == 1 && order.size() > 1)
      std::swap(order[order.size() - 1], order[order.size() - 2]);
    for (int64_t row : order) {
      const int64_t size = tiles[row];
      loopOfRow[row] = lower.size();
      lower.push_back(builder.getIndexAttr(0));
      upper.push_back(tile::materialize(builder, loc, rowSizes[row], symbols));
      step.push_back(builder.getIndexAttr(size));
    }
    if (lower.empty())
      return success();
    SmallVector<Value> outputs;
    for (Value returned : terminator.getOperands())
      outputs.push_back(destinationOf(returned));
    if (llvm::is_contained(outputs, Value()))
      return success(); // run the kernel as one task if a result has no destination argument
    auto forall = scf::ForallOp::create(builder, loc, lower, upper, step, outputs, std::nullopt);

    // Compute the row offsets and row sizes of this task.
    builder.setInsertionPointToStart(forall.getBody());
    Folds rowOffset(rows->numRows, builder.getIndexAttr(0)), rowSize(rows->numRows);
    for (int64_t row = 0; row < rows->numRows; ++row) {
      rowSize[row] = tile::materialize(builder, loc, rowSizes[row], symbols);
      if (loopOfRow[row] < 0)
        continue;
      Value iv = forall.getInductionVar(loopOfRow[row]);
      rowOffset[row] = iv;
      rowSize[row] = sizeOfTile(builder, loc, iv, tiles[row], rowSizes[row], rowSize[row]);
    }

    for (auto [index, output] : llvm::enumerate(outputs))
      shared[output] = forall.getRegionIterArgs()[index];
    for (Operation *member : members)
      if (failed(tileMember(member, *rows, rowOffset, rowSize)))
        return failure();

    builder.setInsertionPointToStart(forall.getTerminator().getBody());
    for (auto [index, returned] : llvm::enumerate(terminator.getOperands())) {
      auto &tile = tileOf[returned];
      Folds strides(tile.offsets.size(), builder.getIndexAttr(1));
      tensor::ParallelInsertSliceOp::create(builder, loc, tile.value, forall.getRegionIterArgs()[index], tile.offsets,
                                            tile.sizes, strides);
    }
    terminator->setOperands(forall.getResults());
    // The remaining slices of the original members' results have no users. Erase these slices, and then the members.
    eraseDead(*forall.getBody());
    eraseDead(body);
    return success();
  }

private:
  static void eraseDead(Block &block) {
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (isOpTriviallyDead(&op))
        op.erase();
  }

  struct Tile {
    Value value;
    Folds offsets, sizes;
  };

  std::optional<RowMap> rowsOf(std::string &reason) {
    if (auto pack = dyn_cast<PackOp>(members.back())) {
      RowMap map;
      map.numRows = pack.getLoopIteratorTypes().size();
      map.rowOfLoop[pack] = llvm::to_vector(llvm::seq<int64_t>(0, map.numRows));
      return map;
    }
    if (isa<AttentionOp, AttentionGradientOp>(members.back())) {
      RowMap map;
      map.numRows = numLoops(members.back());
      map.rowOfLoop[members.back()] = llvm::to_vector(llvm::seq<int64_t>(0, map.numRows));
      return map;
    }
    return computeRows(members, reason);
  }

  SmallVector<AffineExpr> rowSizesOf(const RowMap &rows) {
    Operation *anchor = members.back();
    // For attention, take the sizes from the log-sum-exp, because only its dimensions are never permuted.
    auto gradient = dyn_cast<AttentionGradientOp>(anchor);
    SmallVector<AffineExpr> all = tile::sizesOf(gradient                   ? gradient.getInputs()[5]
                                                : isa<AttentionOp>(anchor) ? anchor->getResult(1)
                                                                           : anchor->getResult(0));
    all.resize(rows.numRows);
    return all;
  }

  /// Returns the argument of the kernel into which `value` is computed. Returns null if there is none.
  Value destinationOf(Value value) {
    auto dps = value.getDefiningOp<DestinationStyleOpInterface>();
    if (!dps || !llvm::is_contained(members, dps.getOperation()))
      return {};
    Value init = dps.getTiedOpOperand(cast<OpResult>(value))->get();
    if (auto fill = init.getDefiningOp<linalg::FillOp>())
      init = fill.getOutputs()[0];
    return isa<BlockArgument>(init) ? init : Value();
  }

  /// Returns the trip count of loop `loop` of `member`, which is the size of an operand's dimension that the loop
  /// indexes. Returns null if no such size is known.
  OpFoldResult loopSize(Operation *member, int64_t loop) {
    for (OpOperand &operand : member->getOpOperands()) {
      if (!isa<ShapedType>(operand.get().getType()))
        continue;
      AffineMap map = operandMap(operand);
      if (!map)
        continue;
      for (auto [dim, expr] : llvm::enumerate(map.getResults()))
        if (auto read = dyn_cast<AffineDimExpr>(expr); read && read.getPosition() == loop)
          if (AffineExpr size = tile::sizeOf(operand.get(), dim))
            return tile::materialize(builder, member->getLoc(), size, symbols);
    }
    return {};
  }

  LogicalResult tileMember(Operation *member, const RowMap &rows, const Folds &rowOffset, const Folds &rowSize) {
    Location loc = member->getLoc();
    const SmallVector<int64_t> &rowOfLoop = rows.rowOfLoop.lookup(member);
    Folds offsets, sizes;
    for (auto [loop, row] : llvm::enumerate(rowOfLoop)) {
      offsets.push_back(row < 0 ? OpFoldResult(builder.getIndexAttr(0)) : rowOffset[row]);
      OpFoldResult size = row < 0 ? loopSize(member, loop) : rowSize[row];
      if (!size)
        return member->emitOpError("the size of its loop ") << loop << " is not known";
      sizes.push_back(size);
    }
    FailureOr<TilingResult> tiled = cast<TilingInterface>(member).getTiledImplementation(builder, offsets, sizes);
    if (failed(tiled))
      return member->emitOpError("cannot be tiled");
    Operation *tile = tiled->tiledOps.front();
    tile->setLoc(loc);
    for (NamedAttribute attribute : member->getDiscardableAttrs())
      tile->setAttr(attribute.getName(), attribute.getValue());
    auto dps = cast<DestinationStyleOpInterface>(tile);
    for (OpOperand &operand : tile->getOpOperands())
      if (auto slice = operand.get().getDefiningOp<tensor::ExtractSliceOp>())
        operand.set(localValue(slice, dps.isDpsInit(&operand)));
    for (auto [result, tiledResult] : llvm::zip_equal(member->getResults(), tile->getResults())) {
      Tile entry{tiledResult, {}, {}};
      if (failed(cast<TilingInterface>(member).getResultTilePosition(builder, result.getResultNumber(), offsets, sizes,
                                                                     entry.offsets, entry.sizes)))
        return member->emitOpError("does not define the position of its tile");
      tileOf[result] = entry;
    }
    return success();
  }

  /// Returns the value that replaces `slice`, a slice of a value of the kernel, inside of the task. This value is the
  /// tile that a member has computed (or a slice or cast of it), a tensor.empty or fill of the size of a tile, a slice
  /// of the shared destination, or `slice`.
  Value localValue(tensor::ExtractSliceOp slice, bool isInit) {
    Value source = slice.getSource();
    if (auto found = tileOf.find(source); found != tileOf.end()) {
      Value tile = found->second.value;
      if (tile.getType() == slice.getType())
        return tile;
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointAfter(slice);
      // Possibly no window contains the last elements of an input, so the slice may be smaller than the computed tile.
      if (failed(verifyCompatibleShape(tile.getType(), slice.getType()))) {
        Folds start(slice.getType().getRank(), builder.getIndexAttr(0)), strides(start.size(), builder.getIndexAttr(1));
        return tensor::ExtractSliceOp::create(builder, slice.getLoc(), tile, start, slice.getMixedSizes(), strides);
      }
      return tensor::CastOp::create(builder, slice.getLoc(), slice.getType(), tile);
    }
    if (auto fill = source.getDefiningOp<linalg::FillOp>(); fill && isInit) {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointAfter(slice);
      Value destination = localDestination(fill.getOutputs()[0], slice);
      return linalg::FillOp::create(builder, fill.getLoc(), fill.getInputs(), destination).getResult(0);
    }
    if (isInit)
      return localDestination(source, slice);
    return slice;
  }

  Value localDestination(Value source, tensor::ExtractSliceOp slice) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointAfter(slice);
    if (source.getDefiningOp<tensor::EmptyOp>())
      return tensor::EmptyOp::create(builder, slice.getLoc(), slice.getMixedSizes(), slice.getType().getElementType());
    if (auto found = shared.find(source); found != shared.end())
      return tensor::ExtractSliceOp::create(builder, slice.getLoc(), found->second, slice.getMixedOffsets(),
                                            slice.getMixedSizes(), slice.getMixedStrides());
    return slice;
  }

  func::FuncOp kernel;
  OpBuilder builder;
  SmallVector<Operation *> members;
  SmallVector<Value> symbols;
  llvm::DenseMap<Value, Tile> tileOf;
  llvm::DenseMap<Value, Value> shared;
};

struct ApplySchedule : impl::ApplyScheduleBase<ApplySchedule> {
  void runOnOperation() override {
    if (failed(requireForm(getOperation(), IRForm::Tensors, getArgument())))
      return signalPassFailure();
    func::FuncOp kernel = getOperation();
    Attribute attribute = kernel->getAttr(scheduleAttrName);
    if (!kernel->hasAttr(kernelAttrName) || !attribute ||
        isa<schedule::CpuScriptAttr>(attribute)) // --tw-apply-scripts has tiled this kernel
      return;
    auto schedule = dyn_cast<schedule::CpuScheduleAttr>(attribute);
    if (!schedule) {
      kernel.emitOpError("its schedule is not a #tw_cpu.schedule: ") << attribute;
      return signalPassFailure();
    }
    if (failed(KernelTiler(kernel).run(schedule.getTiles())))
      signalPassFailure();
  }
};
} // namespace
} // namespace tiled
} // namespace tilewright
