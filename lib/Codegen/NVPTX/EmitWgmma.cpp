//===- EmitWgmma.cpp - the schedule `wgmma`: products on sm_90a by TMA and wgmma ------------===//
//
// A block computes a tile of C. The block's first warp group is the producer: one of its threads issues all loads. The
// other warp groups are the consumers. Each consumer multiplies its rows of the tile. Tiles of A and B are copied to a
// ring of `stages` slots in shared memory, each with two mbarriers:
//
//   producer:    for k tiles: wait until the slot is empty ; announce the number of bytes ; TMA of A and B
//   consumers:   for k tiles: wait until the slot is full ; wgmma ; wait for the previous products ;
//                             each warp arrives at the mbarrier that marks the previous slot as empty
//                             (8-bit floats: wait for these products ; each warp marks this slot as empty ; add the
//                             sums of these products to the accumulators in f32)
//                wait for the last ; compute the epilogue from the sums, and store the results
//
// A slot has swizzled lines of 128 bytes, in the operand's layout in memory. If k is contiguous, a line contains
// consecutive values of k. Otherwise, a line contains 64 rows of A (columns of B) for one k, and a box consists of the
// lines for 64 values of k. wgmma reads both layouts. TMA loads zeros for elements outside of A and B. Results outside
// of C are not stored.
//
// The blocks of a cluster compute tiles in the same column, so they need the same tile of B. Each block loads a part of
// this tile into the shared memory of all blocks. The consumer warps of all blocks arrive at the mbarrier of each
// block, so a block loads its part into a slot only after all blocks have read the slot. The blocks wait for each other
// before they exit, because a block may still write to the shared memory of another block.
//
// With `split_k`, the blocks of a cluster compute the same tile. Each block iterates over its part of the steps along k
// (of each tap). ClusterSums then adds the blocks' sums and distributes the tile's columns to the blocks.
//
// With `swapped`, A is the kernel's second operand, B is its first operand, and the block computes a tile of the
// transposed C. Only the stores of the results differ.
//
// For a convolution, the producer iterates over the taps of a window, and over the channels for each tap. The rows of A
// are the pixels that the windows read at this tap, which TMA loads by a map of windows. The coordinates of such a load
// are the position of the tile's first window, and do not change during the sum. The tap is an offset of the load:
//
//   producer:    for kh, kw: for tiles of channels: ... TMA of A at {c, ow, oh, n} with offsets {kw, kh}, and of B
//
// With `tiles_per_block`, producer and consumers process the block's tiles one after the other through the same ring.
// While the consumers store the sums of one tile, the producer loads the first slots of the next tile.
//
// A kernel may have several independent products (JoinProducts.h). The first blocks of the grid compute the first
// product, the next blocks the second product:
//
//   if block < blocks of the first: code of the first product
//   else if block - blocks of the first < blocks of the second: ...
//
// A pair of products (PairProducts.h) has one operand A and two operands B. Half of the columns of B's tile in a slot
// are columns of the first B, the other half are the same columns of the second B. One wgmma computes the sums of both
// products, and each thread has the sums of both products for the same elements of C.
//
// Tests: test/Codegen/NVPTX/wgmma.mlir, test/Codegen/GPU/Schedule/join-products.mlir,
// test/Codegen/GPU/Schedule/pair-products.mlir, test/Python/test_cuda_wgmma.py,
// test/Python/test_cuda_pair_products.py
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/NVPTX/ClusterSums.h"
#include "lib/Codegen/NVPTX/EmitTensorCores.h"
#include "lib/Codegen/NVPTX/WgmmaOperands.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace tilewright::cuda {
using namespace tilewright::gpu;
namespace {

class WgmmaEmitter : WgmmaOperands {
public:
  WgmmaEmitter(ThreadKernel &kernel, Contraction product) : WgmmaOperands(kernel, std::move(product)) {}

  LogicalResult run() {
    std::optional<Operand> a =
        describe(product, product.lhs(), product.rows, schedule.m, &code.rowOrigin, kernel.maps[0]);
    if (!a)
      return failure();
    if (schedule.cluster > 1)
      rank = toI32(remainder(kernel.block, schedule.cluster));
    slotBytes = a->bytes();
    operands.push_back(*a);
    SmallVector<Contraction, 1> products{product};
    if (product.second)
      products.push_back(product.secondProduct());
    const int64_t columns = schedule.n / (schedule.cluster * product.numProducts());
    for (Contraction &each : products) {
      std::optional<Operand> b =
          describe(each, each.rhs(), each.columns, columns, &code.columnOrigin, kernel.maps[operands.size()]);
      if (!b)
        return failure();
      b->parts = schedule.cluster;
      b->slotOffset = slotBytes;
      slotBytes += b->bytes();
      operands.push_back(*b);
    }
    shared = kernel.dynamicShared(bytesOfRing(schedule));
    const SmallVector<unsigned> depth = gpu::depthOf(product);
    tilesOfTap = divideUp(code.extentOf(depth), schedule.k);
    firstStep = index(0);
    lastStep = tilesOfTap;
    if (schedule.splitK > 1) {
      clusterSums.emplace(kernel, shared);
      std::tie(firstStep, lastStep) = clusterSums->rangeOf(tilesOfTap);
    }
    tiles = elements.multiply(code.extentOf(taps), arith::SubIOp::create(builder, loc, lastStep, firstStep));
    Value isFirst = isEqual(kernel.thread, 0);
    when(isFirst, [&] {
      for (int64_t stage = 0; stage < schedule.stages; ++stage) {
        Value slot = arith::ConstantIntOp::create(builder, loc, stage, 32);
        initialise(full(slot), 1);
        initialise(empty(slot), schedule.consumers * (warpGroupSize / warpSize) * schedule.cluster);
      }
      NVVM::FenceMbarrierInitOp::create(builder, loc);
    });
    if (schedule.cluster > 1)
      beginCluster();
    else
      NVVM::Barrier0Op::create(builder, loc);
    divideRoles(
        [&] {
          when(isFirst, [&] { loadTiles(); });
          if (clusterSums)
            clusterSums->takePart();
        },
        [&] { multiplyTiles(); });
    if (schedule.cluster > 1)
      endCluster();
    SmallVector<Attribute> recipes;
    for (const Operand &operand : operands)
      recipes.push_back(builder.getStringAttr(operand.recipe.text()));
    kernel.to->setAttr("tw_cuda.maps", builder.getArrayAttr(recipes));
    return success();
  }

private:
  Value isEqual(Value value, int64_t number) {
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, value, index(number));
  }

  // The mbarriers are stored after the slots.
  Value full(Value slot) { return inSlot(shared, 8, slot, bytesOfSlots(schedule)); }
  Value empty(Value slot) { return inSlot(shared, 8, slot, bytesOfSlots(schedule) + 8 * schedule.stages); }
  Value tileOf(const Operand &operand, Value slot, int64_t offset = 0) {
    return inSlot(shared, slotBytes, slot, operand.slotOffset + offset);
  }

  /// Emits `body` for each of the block's tiles, after it has selected the tile in `code`. `body` updates `state`.
  void forTiles(SmallVector<Value> state, llvm::function_ref<void(MutableArrayRef<Value>)> body) {
    if (schedule.tilesPerBlock == 1)
      return body(state);
    auto loop = scf::ForOp::create(builder, loc, kernel.block, code.tiles(), code.blocks(), state);
    keepRolled(loop);
    elements.inScope([&] {
      builder.setInsertionPointToStart(loop.getBody());
      code.takeTile(loop.getInductionVar());
      SmallVector<Value> now(loop.getRegionIterArgs());
      body(now);
      scf::YieldOp::create(builder, loc, now);
    });
  }

  /// Signals that this warp has read a slot. In a cluster, each lane signals the block whose rank is the lane's number.
  void releaseSlot(Value slot, Value lane) {
    if (schedule.cluster > 1)
      arriveAt(empty(slot), toI32(lane));
    else
      arrive(empty(slot));
  }

  void loadTiles() {
    forTiles({first().slot, first().parity}, [&](MutableArrayRef<Value> state) {
      PipelineState then = loadTile({state[0], state[1]});
      state[0] = then.slot;
      state[1] = then.parity;
    });
  }

  /// Emits `body` for all steps along k, in order. `body` updates `state`.
  void forSteps(PipelineState &state, Depth at, llvm::function_ref<void(const Depth &, PipelineState &)> body) {
    const bool isTap = at.taps.size() < taps.size();
    Value begin = isTap ? index(0) : firstStep, end = isTap ? code.extentOf(taps[at.taps.size()]) : lastStep;
    auto loop = scf::ForOp::create(builder, loc, begin, end, index(1), ValueRange{state.slot, state.parity});
    keepRolled(loop);
    elements.inScope([&] {
      builder.setInsertionPointToStart(loop.getBody());
      PipelineState now{loop.getRegionIterArg(0), loop.getRegionIterArg(1)};
      if (isTap) {
        at.taps.push_back(loop.getInductionVar());
        forSteps(now, at, body);
      } else {
        at.rest = elements.multiply(loop.getInductionVar(), index(schedule.k));
        body(at, now);
      }
      scf::YieldOp::create(builder, loc, ValueRange{now.slot, now.parity});
    });
    state = {loop.getResult(0), loop.getResult(1)};
  }

  /// Loads the tiles of A and B for all k, starting at the position `state` of the ring. Returns the position after
  /// these tiles.
  PipelineState loadTile(PipelineState state) {
    SmallVector<SmallVector<Value>> windows;
    for (const Operand &operand : operands)
      windows.push_back(windowsOf(operand));
    forSteps(state, {}, [&](const Depth &at, PipelineState &now) {
      Value flipped =
          arith::XOrIOp::create(builder, loc, now.parity, arith::ConstantIntOp::create(builder, loc, 1, 32));
      wait(empty(now.slot), flipped); // in the first round, an mbarrier reports this phase as complete
      arriveExpecting(full(now.slot), slotBytes);
      for (const auto &[operand, ofOperand] : llvm::zip_equal(operands, windows))
        loadStep(operand, ofOperand, at, now.slot);
      now = next(now);
    });
    return state;
  }

  /// Loads the operand's tile, or this block's part of it, for one step along k.
  void loadStep(const Operand &operand, ArrayRef<Value> windows, const Depth &at, Value slot) {
    for (int64_t box = 0; box < operand.mapped.boxes(operand.side); ++box) {
      Value to = tileOf(operand, slot, box * operand.boxBytes());
      if (operand.parts > 1) {
        Value part = arith::IndexCastUIOp::create(builder, loc, builder.getIndexType(), rank);
        to = LLVM::GEPOp::create(
            builder, loc, to.getType(), builder.getI8Type(), to,
            ArrayRef<LLVM::GEPArg>{toI32(elements.multiply(part, index(operand.side * lineBytes)))});
      }
      const Coordinates from = coordinatesOf(operand, windows, box, at);
      load(to, operand.map, from.at, full(slot), operand.parts, from.offsets);
    }
  }

  void multiplyTiles() {
    forTiles({first().slot, first().parity}, [&](MutableArrayRef<Value> state) {
      PipelineState then = multiplyTile({state[0], state[1]});
      state[0] = then.slot;
      state[1] = then.parity;
    });
  }

  PipelineState multiplyTile(PipelineState state) {
    const Operand &a = operands[0], &b = operands[1]; // the tiles of all B are contiguous
    Value inGroup = remainder(kernel.thread, warpGroupSize), lane = remainder(inGroup, warpSize);
    // Consumer warp groups are numbered from 0. The block's first warp group is the producer.
    Value group = elements.add(quotient(kernel.thread, warpGroupSize), index(-1));
    const int64_t rows = schedule.m / schedule.consumers;
    Value firstRow = elements.multiply(group, index(rows));
    Value rowBytes = toI32(elements.multiply(firstRow, index(lineBytes))); // both layouts have 64 lines for 64 rows
    Type sumType = elementOf(product).isInteger() ? Type(builder.getI32Type()) : builder.getF32Type();
    Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(sumType));
    Value arrives = isLess(lane, index(schedule.cluster)); // one lane per block of the cluster
    SmallVector<Value> initial{state.slot, state.parity, state.slot};
    const size_t numStateValues = initial.size();
    initial.append(size_t(rows * schedule.n / warpGroupSize), zero);
    auto loop = scf::ForOp::create(builder, loc, index(0), tiles, index(1), initial);
    keepRolled(loop);
    elements.inScope([&] {
      builder.setInsertionPointToStart(loop.getBody());
      PipelineState now{loop.getRegionIterArg(0), loop.getRegionIterArg(1)};
      SmallVector<Value> sums(loop.getRegionIterArgs().drop_front(numStateValues));
      wait(full(now.slot), now.parity);
      SmallVector<Matrix> left;
      for (int64_t row = 0; row < rows; row += groupRows) {
        Value start = tileOf(a, now.slot, row * lineBytes);
        start = LLVM::GEPOp::create(builder, loc, start.getType(), builder.getI8Type(), start,
                                    ArrayRef<LLVM::GEPArg>{rowBytes});
        left.push_back({start, a.mapped.alongK, a.boxBytes()});
      }
      const Matrix right{tileOf(b, now.slot), b.mapped.alongK, b.boxBytes()};
      auto multiplyInto = [&](MutableArrayRef<Value> into, bool anew) {
        multiply(elementOf(product), rhsElementOf(product), left, right, schedule.n, lineBytes / groupDepthBytes, into,
                 anew);
      };
      if (addsTiles(product)) {
        // One consumer adds to the accumulators while the other consumer uses the tensor cores.
        SmallVector<Value> sumsOfTile(sums.size(), LLVM::UndefOp::create(builder, loc, sumType));
        multiplyInto(sumsOfTile, /*anew=*/true);
        waitForGroups(0, sumsOfTile);
        when(arrives, [&] { releaseSlot(now.slot, lane); });
        sums = code.added(sums, sumsOfTile);
      } else {
        multiplyInto(sums, /*anew=*/false);
        waitForGroups(1);
        Value later = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, loop.getInductionVar(), index(0));
        when(both(arrives, later), [&] { releaseSlot(loop.getRegionIterArg(2), lane); });
      }
      PipelineState then = next(now);
      SmallVector<Value> yielded{then.slot, then.parity, now.slot};
      yielded.append(sums);
      scf::YieldOp::create(builder, loc, yielded);
    });
    SmallVector<Value> sums(loop.getResults().drop_front(numStateValues));
    if (!addsTiles(product))
      waitForGroups(0, sums);
    if (schedule.tilesPerBlock > 1 && !addsTiles(product)) { // release the last slot for the next tile
      Value any = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, tiles, index(0));
      when(both(arrives, any), [&] { releaseSlot(loop.getResult(2), lane); });
    }
    Value row = elements.add(firstRow, elements.multiply(quotient(inGroup, warpSize), index(16)));
    auto write = [&](ArrayRef<Value> total, Value column) {
      code.writeFragments(lane, row, column,
                          {rows / groupRows, columnsOfBlock(schedule) / (8 * product.numProducts()), groupRows}, total);
    };
    if (clusterSums)
      clusterSums->add(sums, write);
    else
      write(sums, index(0));
    return {loop.getResult(0), loop.getResult(1)};
  }

  SmallVector<Operand, 0> operands; ///< A and B, or A and the B of both products of a pair
  Value shared;
  Value tilesOfTap, tiles;                ///< numbers of tiles along k, of one tap, and in total of this block
  Value firstStep, lastStep;              ///< the first and the last plus one of this block's tiles along k of each tap
  std::optional<ClusterSums> clusterSums; ///< with `split_k`
  int64_t slotBytes = 0;
};

/// Emits a kernel with several products.
class JoinedEmitter : ThreadCode {
public:
  JoinedEmitter(ThreadKernel &kernel, ArrayRef<Contraction> products)
      : ThreadCode(kernel), products(products), block(kernel.block), maps(kernel.maps) {}

  LogicalResult run() {
    AffineExpr zero = getAffineConstantExpr(0, builder.getContext());
    if (failed(emitFrom(0, zero)))
      return failure();
    kernel.setGrid(grid);
    kernel.to->setAttr("tw_cuda.maps", builder.getArrayAttr(recipes));
    return success();
  }

private:
  /// Emits the products from number `number` on. The first block of product `number` has the index `first`.
  LogicalResult emitFrom(size_t number, AffineExpr first) {
    const AffineExpr end = first + ContractionCode::gridOf(products[number], schedule);
    if (number + 1 == products.size()) {
      grid = end;
      return emit(number, first);
    }
    auto branch = scf::IfOp::create(builder, loc, TypeRange(), isLess(block, elements.evaluate(end, {})),
                                    /*withElse=*/true);
    LogicalResult mine = failure(), others = failure();
    elements.inScope([&] {
      builder.setInsertionPointToStart(&branch.getThenRegion().front());
      mine = emit(number, first);
    });
    elements.inScope([&] {
      builder.setInsertionPointToStart(&branch.getElseRegion().front());
      others = emitFrom(number + 1, end);
    });
    return success(succeeded(mine) && succeeded(others));
  }

  LogicalResult emit(size_t number, AffineExpr first) {
    kernel.block = arith::SubIOp::create(builder, loc, block, elements.evaluate(first, {}));
    kernel.maps.assign({maps[2 * number], maps[2 * number + 1]});
    kernel.firstResult = 0;
    for (const Contraction &before : products.take_front(number))
      kernel.firstResult += before.results.size();
    kernel.numResults = products[number].results.size();
    if (failed(WgmmaEmitter(kernel, products[number]).run()))
      return failure();
    llvm::append_range(recipes, kernel.to->getAttrOfType<ArrayAttr>("tw_cuda.maps"));
    return success();
  }

  ArrayRef<Contraction> products;
  Value block;
  SmallVector<Value> maps;
  SmallVector<Attribute> recipes;
  AffineExpr grid;
};

} // namespace

LogicalResult emitWgmma(ThreadKernel &kernel) {
  std::string reason;
  SmallVector<Contraction, 1> products = matchContractions(kernel.from, reason);
  for (Contraction &product : products) {
    if (std::string wrong = whyNotOnWarpGroups(product, TensorFormats()); !wrong.empty()) {
      reason = wrong;
      break;
    }
    // The limit is INT64_MAX, because the size of shared memory is checked when a schedule is selected or measured.
    if (std::string wrong = whyNotWgmma(kernel.schedule, product, INT64_MAX); !wrong.empty())
      return kernel.from.emitOpError("its schedule `wgmma` is invalid: ") << wrong;
    product = inOrderOf(kernel.schedule, std::move(product));
  }
  if (!reason.empty())
    return kernel.from.emitOpError("its schedule `wgmma` does not fit: ") << reason;
  if (products.size() == 1)
    return WgmmaEmitter(kernel, std::move(products.front())).run();
  return JoinedEmitter(kernel, products).run();
}

} // namespace tilewright::cuda
