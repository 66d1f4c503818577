//===- ExpandContractions.cpp - lowers products, convolutions and packs to vectors -===//
//
// Before:
//   tw_tile.matmul {panel = 48, group = 1} ins(%a: memref<64x128xf32>, %b: memref<1x128x48xf32>)
//     outs(%c: memref<64x48xf32>)
// After:
//   scf.for %m = 0 to 64 step 8 {
//     %acc:24 = scf.for %k = 0 to 128 iter_args(24 x vector<16xf32>) { 3 loads of %b, 8 broadcasts of %a, 24 fma }
//     24 stores }
//
// The example omits prefetches of %b. If K is much larger than in this example, the sum is computed in K-blocks.
// MicroKernel.h describes the blocks of rows and vectors. A convolution uses the same blocks, with pixels as rows and
// up to three reduction loops (kh, kw, c). The instructions depend on the dtype and on the number of elements along k
// that are packed together:
//   bf16, 2 k     AMX tiles (TileKernel.h), or vdpbf16ps on machines without tiles
//   bytes, 4 k    AMX tiles, or vpdpbusd
//   bytes, 2 k    vpmaddwd
//   f16, 2 k      AMX tiles of f16; on machines that only have tiles of bf16, products with few rows use FMAs in f32,
//                 and all other products split each operand into two parts (SplitKernel.h)
//   floats, 1 k   FMAs
// If A has 16-bit elements and is stored as k x rows, a kernel with AMX tiles first transposes it (TransposedKernel.h).
// PackPanels.h lowers packs. PackWindows.h gathers the windows of images with few channels. WindowKernels.h lowers
// convolutions with few channels per group, and the gradients of the weights of depthwise convolutions.
//
// Tests: test/Codegen/CPU/MicroKernels/expand-contractions.mlir, test/Codegen/CPU/MicroKernels/amx.mlir,
// test/Codegen/CPU/MicroKernels/int8.mlir
//
//===----------------------------------------------------------------------===//
#include "dialects/Schedule/CpuSchedule.h"
#include "dialects/Tile/Blocks.h"
#include "lib/Codegen/CPU/MicroKernels/PackPanels.h"
#include "lib/Codegen/CPU/MicroKernels/PackWindows.h"
#include "lib/Codegen/CPU/MicroKernels/SplitKernel.h"
#include "lib/Codegen/CPU/MicroKernels/TileKernel.h"
#include "lib/Codegen/CPU/MicroKernels/TransposedKernel.h"
#include "lib/Codegen/CPU/MicroKernels/WindowKernels.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "tilewright/Passes.h"
#include "tilewright/StageContract.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tilewright {
#define GEN_PASS_DEF_EXPANDCONTRACTIONS
#include "tilewright/Passes.h.inc"
namespace cpu {
namespace {

class ContractionExpander {
public:
  ContractionExpander(Operation *op, const ExpandContractionsOptions &options, int64_t tileRows)
      : op(op), builder(op), loc(op->getLoc()), lanes(options.lanes), registers(options.registers), options(options),
        tileRows(tileRows) {}

  void matmul(tile::MatmulOp matmul) {
    Value a = matmul.getInputs()[0], b = matmul.getInputs()[1], c = matmul.getOutputs()[0];
    int64_t rank = typeOf(c).getRank(), batches = rank - 2;
    bool batchedB = typeOf(b).getRank() == rank + 1;
    ArrayRef<int64_t> permutation = matmul.getLhsPermutation();
    SmallVector<Value> batch;
    nest(sizesOf(c, 0, batches), batch, [&] {
      BlockAccess access;
      access.lhs = a;
      access.rhs = b;
      access.out = c;
      SmallVector<Value> ofB(batchedB ? ArrayRef<Value>(batch) : ArrayRef<Value>());
      if (matmul.getInputs().size() == 3)
        ofB = {chosenBatch(matmul, batch[0])};
      access.reductionSizes = {size(a, permutation[rank - 1])};
      access.columns = size(c, rank - 1);
      BlockArgument memory = argumentOf(b);
      access.rhsNear = memory && isScratch(memory);
      readPanels(b, batchedB ? batches : 0, access, matmul.getPanel(), c, rank - 1);
      access.lhsAt = [&](OpBuilder &, Value row, ValueRange k) {
        SmallVector<Value> at(rank);
        for (int64_t dim = 0; dim < batches; ++dim)
          at[permutation[dim]] = batch[dim];
        at[permutation[rank - 2]] = row;
        at[permutation[rank - 1]] = k[0];
        return at;
      };
      access.rhsAt = [&](OpBuilder &, Value panel, ValueRange k) {
        SmallVector<Value> at(ofB);
        at.append({panel, k[0], constant(0)});
        return at;
      };
      access.outAt = [&](OpBuilder &, Value row, Value column) {
        SmallVector<Value> at(batch);
        at.append({row, column});
        return at;
      };
      access.lhsRowDim = permutation[rank - 2];
      access.lhsDepthDim = permutation[rank - 1];
      access.outRowDim = rank - 2;
      scf::ForOp following = followingRowLoop(matmul);
      if (following)
        access.rowsDone = [&](OpBuilder &inside, Value from, Value to) {
          auto part = cast<scf::ForOp>(inside.clone(*following));
          part.setLowerBound(from);
          part.setUpperBound(to);
        };
      if (Value left = emit(access, sizeFold(c, rank - 2), matmul.getPanel(), matmul.getGroup()))
        following.setLowerBound(left);
    });
    op->erase();
  }

  /// Returns the index of the matrix of B for batch index `batch`. tw_tile.matmul reads this index from its third
  /// input. With `from_end`, a negative index counts from the end. An index out of range is replaced by 0 and is not
  /// reported. If a tile has one batch element, tiling has already replaced the third input by tw_tile.place, which
  /// reports such an index.
  Value chosenBatch(tile::MatmulOp matmul, Value batch) {
    Value number = memref::LoadOp::create(builder, loc, matmul.getInputs()[2], batch);
    number = arith::IndexCastOp::create(builder, loc, builder.getIndexType(), number);
    Value limit = size(matmul.getInputs()[1], 0), none = constant(0);
    if (matmul.getFromEnd()) {
      Value negative = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, number, none);
      Value fromEnd = arith::AddIOp::create(builder, loc, number, limit);
      number = arith::SelectOp::create(builder, loc, negative, fromEnd, number);
    }
    Value inside = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, number, limit);
    return arith::SelectOp::create(builder, loc, inside, number, none);
  }

  void convolution(tile::ConvolutionOp conv) {
    if (conv.getMergedHeight() > 0)
      return convolutionOfWindows(conv);
    Value in = conv.getInputs()[0], w = conv.getInputs()[1], out = conv.getOutputs()[0];
    int64_t rowStride = conv.getStrides()[0], columnStride = conv.getStrides()[1];
    bool merged = conv.getMergedWidth() > 0;
    int64_t channels = typeOf(in).getDimSize(3);
    if (merged) {
      // The pixels of a window's line are contiguous: collapse width and channels into one dimension.
      SmallVector<ReassociationIndices> together{{0}, {1}, {2, 3}};
      in = memref::CollapseShapeOp::create(builder, loc, in, together);
    }
    // If windows are single adjacent pixels and the images are contiguous, collapse the lines of the tile into one
    // line.
    bool flat = !merged && isPixelwise(conv) && isOneRun(in) && isOneRun(out);
    int64_t pixels = flat ? 1 : 2; // number of the dimension of pixels
    if (flat) {
      SmallVector<ReassociationIndices> together{{0}, {1, 2}, {3}};
      in = memref::CollapseShapeOp::create(builder, loc, in, together);
      out = memref::CollapseShapeOp::create(builder, loc, out, together);
    }
    SmallVector<Value> image;
    nest(sizesOf(out, 0, 1), image, [&] {
      BlockAccess access;
      access.lhs = in;
      access.rhs = w;
      access.out = out;
      access.columns = size(out, pixels + 1);
      if (merged)
        access.reductionSizes = {size(w, 1), constant(conv.getMergedWidth() * channels)};
      else
        access.reductionSizes = {size(w, 1), size(w, 2), size(in, pixels + 1)};
      readPanels(w, 0, access, conv.getPanel(), out, pixels + 1);
      access.lhsAt = [&](OpBuilder &, Value row, ValueRange r) {
        if (flat)
          return SmallVector<Value>{image[0], row, r[2]};
        Value line = strided(image[1], rowStride, r[0], conv.getDilations()[0]);
        if (merged)
          return SmallVector<Value>{image[0], line, strided(row, columnStride * channels, r[1], 1)};
        return SmallVector<Value>{image[0], line, strided(row, columnStride, r[1], conv.getDilations()[1]), r[2]};
      };
      access.rhsAt = [&](OpBuilder &, Value panel, ValueRange r) {
        SmallVector<Value> at{panel};
        at.append(r.begin(), r.end());
        at.push_back(constant(0));
        return at;
      };
      access.outAt = [&](OpBuilder &, Value row, Value column) {
        SmallVector<Value> at(image);
        at.append({row, column});
        return at;
      };
      access.lhsRowDim = access.outRowDim = pixels;
      access.lhsDepthDim = merged ? 2 : pixels + 1;
      access.lhsRowStep = merged ? columnStride * channels : columnStride;
      std::optional<int64_t> lines = getConstantIntValue(sizeFold(out, 1)),
                             width = getConstantIntValue(sizeFold(out, pixels));
      if (!flat && lines && width)
        access.rowsInTask = *lines * *width;
      if (!flat)
        access.overLines = [&](function_ref<void()> body) {
          nest(sizesOf(out, 0, 2), image, [&] {
            access.rowsBefore = access.rowsInTask == 0
                                    ? Value()
                                    : arith::MulIOp::create(builder, loc, image[1], constant(*width)).getResult();
            body();
          });
          image.pop_back();
        };
      emit(access, sizeFold(out, pixels), conv.getPanel(), conv.getGroup());
    });
    op->erase();
  }

  /// Computes a convolution as a product of gathered windows and the weight. The reduction dimension of this product
  /// consists of all elements of a window.
  void convolutionOfWindows(tile::ConvolutionOp conv) {
    Value w = conv.getInputs()[1], out = conv.getOutputs()[0];
    Type element = typeOf(w).getElementType();
    const int64_t channels = typeOf(conv.getInputs()[0]).getDimSize(3), group = conv.getGroup();
    SmallVector<ReassociationIndices> together{{0}, {1}, {2, 3}};
    WindowLine windows;
    windows.image = memref::CollapseShapeOp::create(builder, loc, conv.getInputs()[0], together);
    windows.height = conv.getMergedHeight();
    windows.lineElements = conv.getMergedWidth() * channels;
    windows.lineStep = conv.getDilations()[0];
    windows.pixelStep = conv.getStrides()[1] * channels;
    windows.depth = typeOf(w).getDimSize(1) * group;
    OpFoldResult pixels = sizeFold(out, 2);
    const int64_t known = getConstantIntValue(pixels).value_or(0);
    if (!tileRows)
      tileRows = rowsOfTiles(pixels);
    // Gather about 16 KiB of windows at a time, so that the L1 cache can also contain the weight and the results.
    constexpr int64_t blockBytes = 16 * 1024;
    const int64_t windowBytes = windows.depth * element.getIntOrFloatBitWidth() / 8, tilesRows = 2 * tileRows;
    int64_t block = std::max<int64_t>(blockBytes / windowBytes / tilesRows, 1) * tilesRows;
    if (known)
      block = std::min<int64_t>(block, llvm::alignTo(known, tilesRows));
    Value packed = onStack(builder, loc, {block, windows.depth}, element), first;
    SmallVector<Value> image;
    BlockAccess access;
    access.lhs = packed;
    access.rhs = w;
    access.out = out;
    access.columns = size(out, 3);
    access.reductionSizes = {constant(windows.depth)};
    access.rhsNear = true;
    readPanels(w, 0, access, conv.getPanel(), out, 3);
    access.lhsAt = [&](OpBuilder &, Value row, ValueRange k) { return SmallVector<Value>{row, k[0]}; };
    access.rhsAt = [&](OpBuilder &, Value panel, ValueRange k) { return SmallVector<Value>{panel, k[0], constant(0)}; };
    access.outAt = [&](OpBuilder &, Value row, Value column) {
      Value pixel = arith::AddIOp::create(builder, loc, first, row);
      return SmallVector<Value>{image[0], image[1], pixel, column};
    };
    access.outRowDim = 2;
    auto windowsFrom = [&](Value at, OpFoldResult count) {
      first = at;
      packWindows(builder, loc, windows, first, count, packed);
      emit(access, count, conv.getPanel(), group);
    };
    nest(sizesOf(out, 0, 2), image, [&] {
      windows.batch = image[0];
      windows.line = strided(image[1], conv.getStrides()[0], constant(0), 0);
      const int64_t whole = known / block * block;
      if (whole > 0 || !known) {
        Value end = known ? constant(whole) : size(out, 2);
        auto loop = scf::ForOp::create(builder, loc, constant(0), end, constant(block));
        OpBuilder::InsertionGuard guard(builder);
        builder.setInsertionPointToStart(loop.getBody());
        Value at = loop.getInductionVar();
        windowsFrom(at, known ? OpFoldResult(builder.getIndexAttr(block)) : fewer(block, at, pixels));
      }
      if (known > whole)
        windowsFrom(constant(whole), builder.getIndexAttr(known - whole));
    });
    op->erase();
  }

private:
  /// Returns the smaller of `most` and the number of elements from `at` to `end`.
  OpFoldResult fewer(int64_t most, Value at, OpFoldResult end) {
    AffineExpr d0 = builder.getAffineDimExpr(0), d1 = builder.getAffineDimExpr(1);
    return affine::makeComposedFoldedAffineMin(
        builder, loc, AffineMap::get(2, 0, {builder.getAffineConstantExpr(most), d1 - d0}, builder.getContext()),
        {OpFoldResult(at), end});
  }
  /// Returns true if each pixel of the result depends only on the pixel of the input at the same position.
  bool isPixelwise(tile::ConvolutionOp conv) {
    Value w = conv.getInputs()[1];
    return typeOf(w).getDimSize(1) == 1 && typeOf(w).getDimSize(2) == 1 &&
           llvm::all_of(conv.getStrides(), [](int64_t stride) { return stride == 1; });
  }
  /// Returns true if all pixels of `image` have the same stride in memory, also from one line to the next.
  static bool isOneRun(Value image) {
    std::optional<int64_t> line = staticStride(image, 1), pixel = staticStride(image, 2);
    int64_t width = typeOf(image).getDimSize(2);
    return line && pixel && !ShapedType::isDynamic(width) && *line == width * *pixel;
  }

  /// Returns true if a product uses AMX tiles. `group` is the number of consecutive k of B that are packed together.
  bool onTiles(Value b, int64_t group) {
    Type element = typeOf(b).getElementType();
    if (element.isInteger(8))
      return options.amxInt8 && group == 4;
    return group == 2 && (element.isF16() ? options.amxF16 : options.amx);
  }

  /// Emits the kernel. Returns the first row for which the caller must still call access.rowsDone. Returns null if the
  /// kernel has called it for no row.
  Value emit(BlockAccess &access, OpFoldResult rows, int64_t panel, int64_t group) {
    access.tileRows = tileRows;
    auto kernel = op->getParentOfType<func::FuncOp>();
    access.reductionBlock = schedule::knobOr(kernel, &schedule::CpuScheduleAttr::getKBlock, schedule::defaultKBlock);
    access.blockRows = schedule::knobOr(kernel, &schedule::CpuScheduleAttr::getBlock, 0);
    if (onTiles(access.rhs, group) && isTransposed(access)) {
      emitTransposedPanels(builder, loc, access, rows, panel);
      return {};
    }
    if (onTiles(access.rhs, group)) {
      if (!access.overLines)
        return emitTilePanels(builder, loc, access, rows, panel);
      access.overLines([&] { emitTilePanels(builder, loc, access, rows, panel); });
      return {};
    }
    if (group == 2 && typeOf(access.rhs).getElementType().isF16()) {
      int64_t most = mostRows(rows);
      if (most > 0 && most <= tile::rowsNotSplit)
        emitPanels(builder, loc, access, rows, panel / lanes, lanes, registers, Product::PairFma);
      else
        emitSplitPanels(builder, loc, access, rows, panel);
      return {};
    }
    bool bytes = typeOf(access.rhs).getElementType().isInteger(8);
    Product product = group == 4   ? Product::ByteDot
                      : bytes      ? Product::WordDot
                      : group == 2 ? Product::PairDot
                                   : Product::Fma;
    emitPanels(builder, loc, access, rows, panel / lanes, lanes, registers, product);
    return {};
  }

  /// Returns the argument of the kernel that is `value`, or of which `value` is a view. Returns null if there is none.
  static BlockArgument argumentOf(Value value) {
    while (Operation *op = value.getDefiningOp()) {
      if (!isa<memref::SubViewOp, memref::CastOp, memref::CollapseShapeOp, memref::ExpandShapeOp, memref::ViewOp,
               memref::ReinterpretCastOp>(op))
        return {};
      value = op->getOperand(0);
    }
    return dyn_cast<BlockArgument>(value);
  }

  /// Returns true if `argument` may be the scratch memory of the kernel: the last argument of a kernel, with elements
  /// of 8 bits.
  static bool isScratch(BlockArgument argument) {
    auto type = dyn_cast<MemRefType>(argument.getType());
    return type && type.getElementType().isInteger(8) &&
           argument.getArgNumber() + 1 == argument.getOwner()->getNumArguments();
  }

  /// Returns the loop after `matmul` that iterates over all rows of the result, if an iteration can run as soon as the
  /// product has computed its row. The loop must read only the current row of the result, and must write nothing that
  /// the product reads later. Ops between the product and the loop are moved before `matmul`. Returns null for other
  /// loops, and for products without AMX tiles, with a batch dimension, with more than one panel, or with few rows.
  scf::ForOp followingRowLoop(tile::MatmulOp matmul) {
    Value a = matmul.getInputs()[0], b = matmul.getInputs()[1], c = matmul.getOutputs()[0];
    if (!onTiles(b, matmul.getGroup()))
      return {}; // without tiles, the product and the loop would compete for the vector units
    if (typeOf(c).getRank() != 2 || typeOf(b).getRank() != 3 || typeOf(b).getDimSize(0) != 1)
      return {};
    OpFoldResult rows = sizeFold(c, 0);
    std::optional<int64_t> known = getConstantIntValue(rows);
    constexpr int64_t leastRows = 64; // minimum number of rows for which the loop is interleaved with the product
    if ((known ? *known : mostRows(rows)) < leastRows)
      return {};
    SmallVector<Operation *> between;
    Operation *next = matmul->getNextNode();
    for (; next && isPure(next); next = next->getNextNode())
      between.push_back(next);
    auto loop = dyn_cast_or_null<scf::ForOp>(next);
    if (!loop || !loop.getInitArgs().empty() || !isConstantIntValue(loop.getLowerBound(), 0) ||
        !isConstantIntValue(loop.getStep(), 1) || getAsOpFoldResult(loop.getUpperBound()) != rows)
      return {};
    // If an operand of the product is in scratch memory, the loop might write to the same memory.
    BlockArgument ofA = argumentOf(a), ofB = argumentOf(b);
    if (!ofA || !ofB || isScratch(ofA) || isScratch(ofB))
      return {};
    bool legal = true;
    loop.walk([&](Operation *op) {
      if (isPure(op) || isa<scf::ForOp, scf::IfOp, scf::YieldOp>(op))
        return;
      Value memory;
      ValueRange accessIndices;
      bool writes = false;
      auto take = [&](Value base, ValueRange indices, bool isWrite) {
        memory = base;
        accessIndices = indices;
        writes = isWrite;
      };
      llvm::TypeSwitch<Operation *>(op)
          .Case([&](vector::LoadOp load) { take(load.getBase(), load.getIndices(), false); })
          .Case([&](vector::MaskedLoadOp load) { take(load.getBase(), load.getIndices(), false); })
          .Case([&](memref::LoadOp load) { take(load.getMemRef(), load.getIndices(), false); })
          .Case([&](vector::StoreOp store) { take(store.getBase(), store.getIndices(), true); })
          .Case([&](vector::MaskedStoreOp store) { take(store.getBase(), store.getIndices(), true); })
          .Case([&](memref::StoreOp store) { take(store.getMemRef(), store.getIndices(), true); });
      if (!memory) {
        legal = false;
      } else if (memory == c) {
        legal &= accessIndices[0] == loop.getInductionVar();
      } else if (writes) {
        BlockArgument written = argumentOf(memory);
        legal &= written && written != ofA && written != ofB;
      }
    });
    // The checks above do not detect writes to views of the result.
    for (Operation *user : c.getUsers())
      legal &= !isa<ViewLikeOpInterface>(user);
    if (!legal)
      return {};
    for (Operation *op : between)
      op->moveBefore(matmul);
    builder.setInsertionPoint(matmul);
    return loop;
  }

  static MemRefType typeOf(Value value) { return cast<MemRefType>(value.getType()); }
  Value constant(int64_t value) { return arith::ConstantIndexOp::create(builder, loc, value); }
  OpFoldResult sizeFold(Value value, int64_t dim) { return memref::getMixedSize(builder, loc, value, dim); }
  Value size(Value value, int64_t dim) { return getValueOrCreateConstantIndexOp(builder, loc, sizeFold(value, dim)); }
  SmallVector<Value> sizesOf(Value value, int64_t from, int64_t to) {
    SmallVector<Value> sizes;
    for (int64_t dim = from; dim < to; ++dim)
      sizes.push_back(size(value, dim));
    return sizes;
  }
  Value strided(Value at, int64_t stride, Value offset, int64_t dilation) {
    AffineExpr d0 = builder.getAffineDimExpr(0), d1 = builder.getAffineDimExpr(1);
    return affine::makeComposedAffineApply(builder, loc, AffineMap::get(2, 0, d0 * stride + d1 * dilation),
                                           {OpFoldResult(at), OpFoldResult(offset)});
  }

  /// Emits nested loops over the extents from index ivs.size() on, appends their induction variables to `ivs`, and
  /// emits `body` in the innermost loop. No loop is emitted for an extent of 1.
  void nest(ArrayRef<Value> extents, SmallVector<Value> &ivs, function_ref<void()> body) {
    if (ivs.size() == extents.size())
      return body();
    Value extent = extents[ivs.size()];
    if (isConstantIntValue(extent, 1)) {
      ivs.push_back(constant(0));
      return nest(extents, ivs, body);
    }
    auto loop = scf::ForOp::create(builder, loc, constant(0), extent, constant(1));
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    ivs.push_back(loop.getInductionVar());
    nest(extents, ivs, body);
  }

  void readPanels(Value packed, int64_t panelDim, BlockAccess &access, int64_t panel, Value out, int64_t columnDim) {
    std::optional<int64_t> columns = getConstantIntValue(sizeFold(out, columnDim));
    access.wholePanels = columns && *columns % panel == 0;
    Value count = access.panels = size(packed, panelDim);
    access.overPanels = [this, &access, count, panel](function_ref<void()> body) {
      SmallVector<Value> ivs;
      nest({count}, ivs, [&] {
        access.panel = ivs[0];
        access.firstColumn = arith::MulIOp::create(builder, loc, ivs[0], constant(panel));
        body();
      });
    };
  }

  Operation *op;
  OpBuilder builder;
  Location loc;
  int64_t lanes, registers;
  const ExpandContractionsOptions &options;
  int64_t tileRows; ///< see BlockAccess::tileRows
};

/// Returns the number of rows per tile that all products of a kernel must use. Returns 0 if there is no such
/// restriction, because all products would choose the same number.
int64_t commonTileRows(ArrayRef<Operation *> ops) {
  std::optional<int64_t> common;
  for (Operation *op : ops) {
    if (!isa<tile::MatmulOp, tile::ConvolutionOp>(op))
      continue;
    auto result = cast<MemRefType>(cast<DestinationStyleOpInterface>(op).getDpsInits()[0].getType());
    int64_t rows = result.getDimSize(result.getRank() - 2);
    int64_t own = ShapedType::isDynamic(rows) ? tileRows : rowsOfTiles(Builder(op->getContext()).getIndexAttr(rows));
    if (common && *common != own)
      return tileRows;
    common = own;
  }
  return 0;
}

struct ExpandContractions : impl::ExpandContractionsBase<ExpandContractions> {
  using ExpandContractionsBase::ExpandContractionsBase;
  void runOnOperation() override {
    if (failed(requireForm(getOperation(), IRForm::Buffers, getArgument())))
      return signalPassFailure();
    const ExpandContractionsOptions options{lanes, registers, amx, amxF16, splitF16, amxInt8};
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) {
      if (isa<tile::MatmulOp, tile::ConvolutionOp, tile::GroupedConvolutionOp, tile::DepthwiseGradientOp, tile::PackOp>(
              op))
        ops.push_back(op);
    });
    const int64_t tileRows = commonTileRows(ops);
    for (Operation *op : ops) {
      if (auto pack = dyn_cast<tile::PackOp>(op)) {
        expandPack(pack, lanes);
        continue;
      }
      if (auto grouped = dyn_cast<tile::GroupedConvolutionOp>(op)) {
        expandGroupedConvolution(grouped, lanes, registers);
        continue;
      }
      if (auto gradient = dyn_cast<tile::DepthwiseGradientOp>(op)) {
        expandDepthwiseGradient(gradient, lanes, registers);
        continue;
      }
      Type element = cast<MemRefType>(op->getOperand(1).getType()).getElementType();
      bool tiles = amxF16 || (splitF16 && isa<tile::MatmulOp>(op));
      if (element.isF16() && !tiles && op->getAttrOfType<IntegerAttr>("group").getInt() != 1) {
        op->emitOpError(
            "expected unpaired f16 operands (group = 1), because only tiles (amx-f16, split-f16) read pairs");
        return signalPassFailure();
      }
      ContractionExpander expander(op, options, tileRows);
      if (auto matmul = dyn_cast<tile::MatmulOp>(op))
        expander.matmul(matmul);
      else
        expander.convolution(cast<tile::ConvolutionOp>(op));
    }
  }
};
} // namespace
} // namespace cpu
} // namespace tilewright
