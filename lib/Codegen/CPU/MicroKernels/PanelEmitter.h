//===- PanelEmitter.h - one block of rows times one panel -----------------------------===//
//
// PanelEmitter emits the body of the loops in MicroKernel.cpp: the product of a block of rows in registers, copies of
// operands for this product (packed rows of A, K-blocks converted to f32), and prefetches.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_CPU_MICROKERNELS_PANELEMITTER_H
#define TILEWRIGHT_LIB_CODEGEN_CPU_MICROKERNELS_PANELEMITTER_H

#include "lib/Codegen/CPU/MicroKernels/MicroKernel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Dialect/X86Vector/X86VectorDialect.h"
#include "mlir/IR/TypeUtilities.h"

namespace tilewright::cpu {

using namespace mlir;

class PanelEmitter {
public:
  PanelEmitter(OpBuilder &builder, Location loc, const BlockAccess &access, int64_t vectors, int64_t lanes,
               Product product, Value depth)
      : innermostEnd(access.reductionSizes.back()), builder(builder), loc(loc), access(access), vectors(vectors),
        lanes(lanes), vectorType(VectorType::get({lanes}, cast<MemRefType>(access.out.getType()).getElementType())),
        product(product), group(stepOf(product)), depth(depth) {}

  Value constant(int64_t value) { return arith::ConstantIndexOp::create(builder, loc, value); }

  /// Emits one block of `rows` rows (static) starting at row `first`.
  void block(int64_t rows, Value first) {
    SmallVector<Value> rowIndex;
    for (int64_t row = 0; row < rows; ++row)
      rowIndex.push_back(row == 0 ? first : arith::AddIOp::create(builder, loc, first, constant(row)).getResult());
    planAhead(rows, first);
    if (packed)
      packedBlock = arith::DivUIOp::create(builder, loc, first, constant(packedRows()));
    Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(vectorType));
    SmallVector<Value> accumulators((rows + (product == Product::ByteDot)) * vectors, zero), ivs(outerIndices);
    accumulators = reduce(ivs.size(), accumulators, ivs, rowIndex);
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t v = 0; v < vectors; ++v) {
        Value sum = accumulators[row * vectors + v];
        if (product == Product::ByteDot)
          sum = arith::SubIOp::create(builder, loc, sum, accumulators[rows * vectors + v]);
        store(sum, rowIndex[row], v);
      }
  }

  /// Copies the rows [0, rows) of A for the range [innermostBegin, innermostEnd) of the innermost reduction to
  /// `packed`, and converts them to f32. The elements that a block of rows reads at consecutive k become contiguous.
  void packLhs(int64_t rows) {
    const int64_t blockRows = packedRows();
    auto loop = scf::ForOp::create(builder, loc, blockBegin(), innermostEnd, constant(1));
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    SmallVector<Value> ivs = reductionAt(loop.getInductionVar());
    Value position = inBlock(loop.getInductionVar());
    auto copy = [&](Value block, int64_t count) {
      auto type = VectorType::get({count}, cast<MemRefType>(access.lhs.getType()).getElementType());
      Value row = arith::MulIOp::create(builder, loc, block, constant(blockRows));
      Value line = vector::LoadOp::create(builder, loc, type, access.lhs, access.lhsAt(builder, row, ivs));
      vector::StoreOp::create(builder, loc, widened(line), packed, ValueRange{block, position, constant(0)});
    };
    if (rows >= blockRows) {
      auto blocks = scf::ForOp::create(builder, loc, constant(0), constant(rows / blockRows), constant(1));
      OpBuilder::InsertionGuard inner(builder);
      builder.setInsertionPointToStart(blocks.getBody());
      copy(blocks.getInductionVar(), blockRows);
    }
    if (rows % blockRows)
      copy(constant(rows / blockRows), rows % blockRows);
  }

  /// Converts the first `rows` rows of A in the current K-block to f32, and stores them in `wideLhs`.
  void widenLhs(Value rows) {
    Value begin = blockBegin();
    auto overRows = scf::ForOp::create(builder, loc, constant(0), rows, constant(1));
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(overRows.getBody());
    Value row = overRows.getInductionVar();
    auto copy = [&](Value from, Value to, int64_t count) {
      auto loop = scf::ForOp::create(builder, loc, from, to, constant(count));
      OpBuilder::InsertionGuard inner(builder);
      builder.setInsertionPointToStart(loop.getBody());
      Value position = inBlock(loop.getInductionVar());
      SmallVector<Value> at = access.lhsAt(builder, row, reductionAt(loop.getInductionVar()));
      if (count == 1) {
        Value value = widened(memref::LoadOp::create(builder, loc, access.lhs, at));
        memref::StoreOp::create(builder, loc, value, wideLhs, ValueRange{row, position});
        return;
      }
      auto type = VectorType::get({count}, cast<MemRefType>(access.lhs.getType()).getElementType());
      Value value = widened(vector::LoadOp::create(builder, loc, type, access.lhs, at));
      vector::StoreOp::create(builder, loc, value, wideLhs, ValueRange{row, position});
    };
    Value count = arith::SubIOp::create(builder, loc, innermostEnd, begin);
    Value rest = arith::RemUIOp::create(builder, loc, count, constant(lanes));
    Value whole = arith::SubIOp::create(builder, loc, innermostEnd, rest);
    copy(begin, whole, lanes);
    std::optional<int64_t> known = getConstantIntValue(access.reductionSizes.back());
    if (!known || *known % lanes)
      copy(whole, innermostEnd, 1);
  }

  /// Converts the elements of B's current panel in the current K-block to f32, and stores them in `wideRhs`.
  void widenRhs() {
    auto loop = scf::ForOp::create(builder, loc, blockBegin(), innermostEnd, constant(1));
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    VectorType type = VectorType::get({lanes}, cast<MemRefType>(access.rhs.getType()).getElementType());
    Value position = inBlock(loop.getInductionVar());
    for (auto [v, at] : llvm::enumerate(rhsVectors(access.panel, reductionAt(loop.getInductionVar())))) {
      Value value = widened(vector::LoadOp::create(builder, loc, type, access.rhs, at));
      vector::StoreOp::create(builder, loc, value, wideRhs, ValueRange{position, constant(v * lanes)});
    }
  }

  /// Emits a loop that sets the columns of the current panel to zero in the first `rows` rows of C.
  void clear(OpFoldResult rows) {
    Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(vectorType));
    auto loop =
        scf::ForOp::create(builder, loc, constant(0), getValueOrCreateConstantIndexOp(builder, loc, rows), constant(1));
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    for (int64_t v = 0; v < vectors; ++v)
      store(zero, loop.getInductionVar(), v);
  }

  /// Bounds of the innermost reduction loop; a null `innermostBegin` is 0.
  Value innermostBegin, innermostEnd;
  bool accumulate = false;         ///< C already contains the sum of the previous K-blocks
  SmallVector<Value> outerIndices; ///< indices of the outer reduction loops, if they contain the loop over rows
  /// Number of rows of the tile; 0: not static, so nothing is prefetched unless rowsBefore is set.
  int64_t totalRows = 0;
  Value packed;           ///< packed A (blocks x k x rows of a block); null: A is read in place
  Value wideLhs, wideRhs; ///< K-blocks converted to f32; null: converted where they are read

private:
  int64_t packedRows() const { return cast<MemRefType>(packed.getType()).getDimSize(2); }

  /// Plans prefetches of the next block of B into the L2 cache, because reads from the L3 cache would delay the first
  /// rows of that block. Each block of rows prefetches a part of the next block of B. For a matrix product, nextBlock()
  /// returns the next block. In a convolution whose lines each read all of a panel, the next block is in the next
  /// panel, at the same k. If all lines of a convolution use a block of B before the next block is read, the next block
  /// is in the same panel, one K-block later. One step of the next block is prefetched after every few steps of the
  /// current block: with more outstanding misses than the core supports, reads of A would wait.
  void planAhead(int64_t rows, Value first) {
    ahead.reset();
    const int64_t total = access.rowsBefore ? access.rowsInTask : totalRows;
    if (access.rhsNear || total < 2 * rows || (!access.rowsBefore && !access.hasOneRun()))
      return;
    std::optional<int64_t> depth = getConstantIntValue(access.reductionSizes.back());
    int64_t block = depth ? std::min(*depth, access.reductionBlock) : access.reductionBlock;
    NextBlock next;
    Value from = first;
    if (access.rowsBefore) {
      std::optional<int64_t> all = 1;
      for (Value size : access.reductionSizes) {
        std::optional<int64_t> known = getConstantIntValue(size);
        all = all && known ? std::optional<int64_t>(*all * *known) : std::nullopt;
      }
      if (!all)
        return;
      next = {access.panel, constant(access.overLines ? block : *all)};
      from = arith::AddIOp::create(builder, loc, access.rowsBefore, first);
    } else {
      next = nextBlock(builder, loc, access, block);
    }
    if (innermostBegin)
      next.steps = arith::AddIOp::create(builder, loc, innermostBegin, next.steps);
    int64_t steps = llvm::divideCeil(block * rows, total);
    // The number of row blocks before this one; the division is unsigned, because `from` is not negative.
    Value before = arith::DivUIOp::create(builder, loc, from, constant(rows));
    Value share = arith::MulIOp::create(builder, loc, before, constant(steps));
    Value position = arith::AddIOp::create(builder, loc, next.steps, share);
    if (access.hasOneRun() || innermostBegin) {
      ahead = Ahead{next.panel, position, std::max<int64_t>(1, block / steps)};
      return;
    }
    // The accumulators stay in registers through the outer reduction loops, so all prefetches are emitted before these
    // loops.
    for (int64_t step = 0; step < steps; ++step)
      fetch(next.panel,
            step == 0 ? position : arith::AddIOp::create(builder, loc, position, constant(step)).getResult());
  }

  void fetch(Value panel, Value position) {
    for (const SmallVector<Value> &at : rhsVectors(panel, reductionAt(position)))
      memref::PrefetchOp::create(builder, loc, access.rhs, at, /*isWrite=*/false, /*localityHint=*/2,
                                 /*isDataCache=*/true);
  }

  /// Returns the number of elements in a vector of B.
  int64_t rhsWidth() const { return group * lanes; }
  /// Returns the indices of each vector in the row of B's `panel` for the reduction indices `ivs`.
  SmallVector<SmallVector<Value>> rhsVectors(Value panel, ValueRange ivs) {
    SmallVector<SmallVector<Value>> indices(vectors, access.rhsAt(builder, panel, ivs));
    for (int64_t v = 1; v < vectors; ++v)
      indices[v].back() = arith::AddIOp::create(builder, loc, indices[0].back(), constant(v * rhsWidth()));
    return indices;
  }

  SmallVector<Value> reduce(size_t depth, SmallVector<Value> carried, SmallVector<Value> &ivs,
                            ArrayRef<Value> rowIndex) {
    if (depth == access.reductionSizes.size())
      return step(carried, ivs, rowIndex);
    bool innermost = depth + 1 == access.reductionSizes.size();
    if (isConstantIntValue(access.reductionSizes[depth], 1)) {
      ivs.push_back(constant(0));
      SmallVector<Value> next = reduce(depth + 1, carried, ivs, rowIndex);
      ivs.pop_back();
      return next;
    }
    auto over = [&](Value from, Value to, int64_t by, SmallVector<Value> sums,
                    function_ref<SmallVector<Value>(Value, SmallVector<Value>)> inside) {
      auto loop = scf::ForOp::create(builder, loc, from, to, constant(by), sums);
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(loop.getBody());
      scf::YieldOp::create(builder, loc,
                           inside(loop.getInductionVar(), llvm::to_vector_of<Value>(loop.getRegionIterArgs())));
      return llvm::to_vector_of<Value>(loop.getResults());
    };
    auto each = [&](Value at, SmallVector<Value> sums) {
      ivs.push_back(at);
      SmallVector<Value> next = reduce(depth + 1, std::move(sums), ivs, rowIndex);
      ivs.pop_back();
      return next;
    };
    Value from = innermost && innermostBegin ? innermostBegin : constant(0),
          to = innermost ? innermostEnd : access.reductionSizes[depth];
    if (!innermost)
      return over(from, to, 1, std::move(carried), each);
    // Only the last step can have fewer than `group` elements along k.
    std::optional<int64_t> tail = partialStep();
    const Value end = tail ? arith::MinUIOp::create(builder, loc, to, constant(*tail)).getResult() : to;
    wholeSteps = tail.has_value();
    SmallVector<Value> sums;
    if (ahead)
      sums = over(from, end, ahead->every, std::move(carried), [&](Value begin, SmallVector<Value> sums) {
        Value done = arith::SubIOp::create(builder, loc, begin, from);
        done = arith::DivUIOp::create(builder, loc, done, constant(ahead->every));
        fetch(ahead->panel, arith::AddIOp::create(builder, loc, ahead->position, done));
        Value next = arith::AddIOp::create(builder, loc, begin, constant(ahead->every));
        return over(begin, arith::MinUIOp::create(builder, loc, next, end), 1, std::move(sums), each);
      });
    else
      sums = over(from, end, 1, std::move(carried), each);
    wholeSteps = false;
    if (!tail)
      return sums;
    Value last = arith::MaxUIOp::create(builder, loc, from, constant(*tail));
    return over(last, to, 1, std::move(sums), each);
  }

  /// Returns the index of the last step of the innermost reduction if K is known, the last step has fewer than `group`
  /// elements along k, and the other steps load `group` contiguous elements of A at once. Otherwise, returns
  /// std::nullopt.
  std::optional<int64_t> partialStep() const {
    std::optional<int64_t> known = getConstantIntValue(depth);
    if (product == Product::Fma || product == Product::PairFma || !known || *known % group == 0 ||
        !access.lhsDepthContiguous())
      return std::nullopt;
    return *known / group;
  }

  SmallVector<Value> step(ArrayRef<Value> accumulators, ArrayRef<Value> ivs, ArrayRef<Value> rowIndex) {
    Type element = cast<MemRefType>(access.rhs.getType()).getElementType();
    VectorType loaded = VectorType::get({rhsWidth()}, element);
    SmallVector<Value> b;
    for (int64_t v = 0; wideRhs && v < vectors; ++v)
      b.push_back(vector::LoadOp::create(builder, loc, vectorType, wideRhs,
                                         ValueRange{inBlock(ivs.back()), constant(v * lanes)}));
    for (const SmallVector<Value> &at : wideRhs ? SmallVector<SmallVector<Value>>() : rhsVectors(access.panel, ivs)) {
      Value value = vector::LoadOp::create(builder, loc, loaded, access.rhs, at);
      if (product == Product::Fma)
        value = widened(value);
      else if (product == Product::WordDot)
        value = arith::ExtSIOp::create(builder, loc, VectorType::get({2 * lanes}, builder.getI16Type()), value);
      b.push_back(value);
    }
    SmallVector<Value> next;
    if (product == Product::PairFma)
      return stepOfPairs(accumulators, b, ivs, rowIndex);
    for (auto [row, index] : llvm::enumerate(rowIndex)) {
      Value a = product == Product::Fma ? broadcastOne(row, index, ivs) : broadcastGroup(index, ivs);
      for (int64_t v = 0; v < vectors; ++v)
        next.push_back(multiplyAdd(a, b[v], accumulators[row * vectors + v]));
    }
    // vpdpbusd needs unsigned bytes of A, so 128 was added to each byte of A. The result is corrected by 128 times the
    // sum of each column of B, which is computed here.
    if (product == Product::ByteDot) {
      Value shift = splat(VectorType::get({rhsWidth()}, builder.getI8Type()), builder.getI8IntegerAttr(-128));
      for (int64_t v = 0; v < vectors; ++v)
        next.push_back(multiplyAdd(shift, b[v], accumulators[rowIndex.size() * vectors + v]));
    }
    return next;
  }

  /// Multiplies pairs of k of B in f32. `b` contains a vector of pairs for each vector of columns.
  SmallVector<Value> stepOfPairs(ArrayRef<Value> accumulators, ArrayRef<Value> b, ArrayRef<Value> ivs,
                                 ArrayRef<Value> rowIndex) {
    SmallVector<Value> sums(accumulators);
    SmallVector<vector::DeinterleaveOp> halves;
    for (Value pairs : b)
      halves.push_back(vector::DeinterleaveOp::create(builder, loc, widened(pairs)));
    SmallVector<Value> at(ivs);
    Value k = arith::MulIOp::create(builder, loc, ivs.back(), constant(2));
    Value zero = arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(0));
    std::optional<int64_t> known = getConstantIntValue(depth);
    for (int64_t half = 0; half < 2; ++half) {
      Value position = half == 0 ? k : arith::AddIOp::create(builder, loc, k, constant(1)).getResult(), there;
      if (half == 1 && !(known && *known % 2 == 0)) {
        there = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, position, depth);
        position = arith::SelectOp::create(builder, loc, there, position, k);
      }
      at.back() = position;
      for (auto [row, index] : llvm::enumerate(rowIndex)) {
        Value a = widened(memref::LoadOp::create(builder, loc, access.lhs, access.lhsAt(builder, index, at)));
        if (there)
          a = arith::SelectOp::create(builder, loc, there, a, zero);
        a = vector::BroadcastOp::create(builder, loc, vectorType, a);
        for (int64_t v = 0; v < vectors; ++v) {
          Value &sum = sums[row * vectors + v];
          sum = vector::FMAOp::create(builder, loc, a, halves[v]->getResult(half), sum);
        }
      }
    }
    return sums;
  }

  Value splat(VectorType type, Attribute element) {
    return arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(type, element));
  }

  Value intrinsic(StringRef name, ArrayRef<Value> operands) {
    return LLVM::CallIntrinsicOp::create(builder, loc, vectorType, builder.getStringAttr(name), operands).getResult(0);
  }

  Value multiplyAdd(Value a, Value b, Value sum) {
    bool wide = lanes == 16;
    switch (product) {
    case Product::Fma:
    case Product::PairFma:
      return vector::FMAOp::create(builder, loc, a, b, sum);
    case Product::PairDot:
      return x86vector::DotBF16Op::create(builder, loc, vectorType, sum, a, b);
    case Product::ByteDot:
      return intrinsic(wide ? "llvm.x86.avx512.vpdpbusd.512" : "llvm.x86.avx512.vpdpbusd.256", {sum, a, b});
    case Product::WordDot:
      return arith::AddIOp::create(builder, loc, sum,
                                   intrinsic(wide ? "llvm.x86.avx512.pmaddw.d.512" : "llvm.x86.avx2.pmadd.wd", {a, b}));
    }
    llvm_unreachable("all products are handled");
  }

  /// Broadcasts an element of A to all lanes. The row of the element has index `number` in the block and index `row` in
  /// the tile.
  Value broadcastOne(int64_t number, Value row, ArrayRef<Value> ivs) {
    Value a;
    if (packed)
      a = memref::LoadOp::create(builder, loc, packed, ValueRange{packedBlock, inBlock(ivs.back()), constant(number)});
    else if (wideLhs)
      a = memref::LoadOp::create(builder, loc, wideLhs, ValueRange{row, inBlock(ivs.back())});
    else
      a = widened(memref::LoadOp::create(builder, loc, access.lhs, access.lhsAt(builder, row, ivs)));
    return vector::BroadcastOp::create(builder, loc, vectorType, a);
  }

  Value blockBegin() { return innermostBegin ? innermostBegin : constant(0); }

  /// Returns the indices of all reductions, with the innermost at `k`.
  SmallVector<Value> reductionAt(Value k) {
    SmallVector<Value> ivs(outerIndices);
    ivs.resize(access.reductionSizes.size() - 1, constant(0));
    ivs.push_back(k);
    return ivs;
  }

  /// Returns the index of `k` relative to the start of the K-block.
  Value inBlock(Value k) {
    return innermostBegin ? arith::SubIOp::create(builder, loc, k, innermostBegin).getResult() : k;
  }

  /// Converts `value`, a scalar or vector, to f32.
  Value widened(Value value) {
    if (getElementTypeOrSelf(value).isF32())
      return value;
    Type type = builder.getF32Type();
    if (auto vector = dyn_cast<VectorType>(value.getType()))
      type = vector.clone(type);
    return arith::ExtFOp::create(builder, loc, type, value);
  }

  /// Broadcasts `group` elements of A's `row` that are consecutive along k to all lanes. Elements after the last k are
  /// zero (before the 128 of ByteDot is added), like the corresponding elements of B.
  Value broadcastGroup(Value row, ArrayRef<Value> ivs) {
    SmallVector<Value> at(ivs);
    Value k = arith::MulIOp::create(builder, loc, ivs.back(), constant(group));
    at.back() = k;
    Type element = cast<MemRefType>(access.lhs.getType()).getElementType();
    VectorType groupType = VectorType::get({group}, element);
    std::optional<int64_t> known = getConstantIntValue(depth);
    Value together;
    if (wholeSteps || (access.lhsDepthContiguous() && known && *known % group == 0)) {
      together = vector::LoadOp::create(builder, loc, groupType, access.lhs, access.lhsAt(builder, row, at));
    } else {
      SmallVector<Value> parts;
      Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(element));
      for (int64_t g = 0; g < group; ++g) {
        Value position = g == 0 ? k : arith::AddIOp::create(builder, loc, k, constant(g)).getResult();
        Value there = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, position, depth);
        at.back() = arith::SelectOp::create(builder, loc, there, position, k);
        Value part = memref::LoadOp::create(builder, loc, access.lhs, access.lhsAt(builder, row, at));
        parts.push_back(g == 0 ? part : arith::SelectOp::create(builder, loc, there, part, zero).getResult());
      }
      together = vector::FromElementsOp::create(builder, loc, groupType, parts);
    }
    if (product == Product::WordDot) {
      element = builder.getI16Type();
      together = arith::ExtSIOp::create(builder, loc, VectorType::get({group}, element), together);
    }
    VectorType bitsType = VectorType::get({1}, builder.getI32Type());
    Value bits = vector::BitCastOp::create(builder, loc, bitsType, together);
    bits = vector::ExtractOp::create(builder, loc, bits, 0);
    if (product == Product::ByteDot) // adds 128 to each byte
      bits = arith::XOrIOp::create(
          builder, loc, bits,
          arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(static_cast<int32_t>(0x80808080u))));
    bits = vector::BroadcastOp::create(builder, loc, VectorType::get({lanes}, builder.getI32Type()), bits);
    return vector::BitCastOp::create(builder, loc, VectorType::get({group * lanes}, element), bits);
  }

  Value sumOf(Value a, Value b) {
    if (isa<IntegerType>(vectorType.getElementType()))
      return arith::AddIOp::create(builder, loc, a, b);
    return arith::AddFOp::create(builder, loc, a, b);
  }

  void store(Value value, Value row, int64_t v) {
    Value column = v == 0 ? access.firstColumn
                          : arith::AddIOp::create(builder, loc, access.firstColumn, constant(v * lanes)).getResult();
    SmallVector<Value> at = access.outAt(builder, row, column);
    if (access.wholePanels) {
      if (accumulate)
        value = sumOf(value, vector::LoadOp::create(builder, loc, vectorType, access.out, at));
      vector::StoreOp::create(builder, loc, value, access.out, at);
      return;
    }
    Value left = arith::SubIOp::create(builder, loc, access.columns, column);
    Value mask = vector::CreateMaskOp::create(builder, loc, VectorType::get({lanes}, builder.getI1Type()), left);
    if (accumulate) {
      Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(vectorType));
      value = sumOf(value, vector::MaskedLoadOp::create(builder, loc, vectorType, access.out, at, mask, zero));
    }
    vector::MaskedStoreOp::create(builder, loc, access.out, at, mask, value);
  }

  OpBuilder &builder;
  Location loc;
  const BlockAccess &access;
  int64_t vectors, lanes;
  VectorType vectorType;
  Product product;
  int64_t group;           ///< number of elements along k per step
  bool wholeSteps = false; ///< true: no emitted step has fewer than `group` elements along k
  Value depth;             ///< K in elements; the innermost reduction runs over steps
  Value packedBlock;

  /// The prefetches during a block of rows. Once per `every` steps, one step of `panel` is prefetched, starting with
  /// step `position`.
  struct Ahead {
    Value panel, position;
    int64_t every;
  };
  std::optional<Ahead> ahead;
};

} // namespace tilewright::cpu

#endif
