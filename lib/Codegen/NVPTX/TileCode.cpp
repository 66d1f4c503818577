//===- TileCode.cpp - matrix tiles in shared memory, and tensor cores that read them ----===//
#include "lib/Codegen/NVPTX/TileCode.h"
#include "lib/Codegen/GPU/Contraction.h"
#include "lib/Codegen/NVPTX/Float8Name.h"
#include "lib/Codegen/NVPTX/InlineAssembly.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace tilewright::cuda {
using namespace tilewright::gpu;

TileCode::TileCode(ThreadKernel &kernel, Type element, Type rhsElement)
    : ThreadCode(kernel), element(element), rhsElement(rhsElement), chunkElements(chunkBytes / bytesOf(element)) {
  warp = quotient(kernel.thread, warpSize);
  lane = remainder(kernel.thread, warpSize);
}

Value TileCode::address(Value pointer, Value offset) {
  return LLVM::GEPOp::create(builder, loc, pointer.getType(), builder.getI8Type(), pointer,
                             ArrayRef<LLVM::GEPArg>{toI32(offset)});
}

Value TileCode::chunkOffset(int64_t chunks, Value row, Value chunk) {
  Value mixed = chunk;
  if (chunks % 2 == 0) {
    // If several rows share a line of 128 bytes, they use the same swizzle, because their chunks are already in
    // different banks.
    Value number = chunks >= 8 ? row : quotient(row, 8 / chunks);
    mixed = arith::XOrIOp::create(builder, loc, chunk, remainder(number, std::min<int64_t>(chunks, 8)));
  }
  return elements.multiply(elements.add(elements.multiply(row, index(chunks)), mixed), index(chunkBytes));
}

void TileCode::forChunks(const SharedTile &tile, Value slot, llvm::function_ref<void(Value, Value, Value)> body,
                         bool rolled) {
  int64_t chunksOfRow = tile.chunksOfRow(), chunks = tile.rows * chunksOfRow;
  auto chunk = [&](Value number, bool inside) {
    when(inside ? Value() : isLess(number, index(chunks)), [&] {
      Value row = quotient(number, chunksOfRow), chunk = remainder(number, chunksOfRow);
      body(row, chunk,
           address(slot, elements.add(index(tile.slotOffset), chunkOffset(tile.rowStrideInChunks(), row, chunk))));
    });
  };
  if (rolled && chunks > schedule.threads) {
    auto loop = scf::ForOp::create(builder, loc, kernel.thread, index(chunks), index(schedule.threads));
    keepRolled(loop);
    elements.inScope([&] {
      builder.setInsertionPointToStart(loop.getBody());
      chunk(loop.getInductionVar(), /*inside=*/true);
    });
    return;
  }
  for (int64_t first = 0; first < chunks; first += schedule.threads)
    chunk(elements.add(kernel.thread, index(first)), first + schedule.threads <= chunks);
}

void TileCode::copyBytes(int64_t size, Value to, Value from, Value inside) {
  Value bytes;
  if (inside) {
    Value all = arith::ConstantIntOp::create(builder, loc, size, 32);
    Value none = arith::ConstantIntOp::create(builder, loc, 0, 32);
    bytes = arith::SelectOp::create(builder, loc, inside, all, none);
  }
  // Only copies of 16 bytes can bypass the L1 cache.
  auto cache = size == chunkBytes ? NVVM::LoadCacheModifierKind::CG : NVVM::LoadCacheModifierKind::CA;
  NVVM::CpAsyncOp::create(builder, loc, to, from, uint32_t(size), cache, bytes);
}

SmallVector<Value> TileCode::loadFragments(const SharedTile &tile, Value slot, Value side, int64_t depth, bool isLhs) {
  if (!tile.alongK && element.isF32())
    return loadWords(tile, slot, side, depth, isLhs);
  Value matrix = quotient(lane, 8), inMatrix = remainder(lane, 8);
  Value low = remainder(matrix, 2), high = quotient(matrix, 2);
  Value alongSide = elements.multiply(isLhs ? low : high, index(8));
  Value alongDepth = elements.add(elements.multiply(isLhs ? high : low, index(chunkElements)), index(depth));
  Value row, column;
  if (tile.alongK) {
    row = elements.add(side, elements.add(alongSide, inMatrix));
    column = alongDepth;
  } else {
    row = elements.add(alongDepth, inMatrix);
    column = elements.add(side, alongSide);
  }
  Value offset = chunkOffset(tile.rowStrideInChunks(), row, quotient(column, chunkElements));
  Value from = address(slot, elements.add(index(tile.slotOffset), offset));
  Type i32 = builder.getI32Type();
  auto four = LLVM::LLVMStructType::getLiteral(builder.getContext(), {i32, i32, i32, i32});
  Value loaded = NVVM::LdMatrixOp::create(
      builder, loc, four, from, 4u, tile.alongK ? NVVM::MMALayout::row : NVVM::MMALayout::col,
      NVVM::LdStMatrixShapeAttr::get(builder.getContext(), 8, 8), NVVM::LdStMatrixEltType::B16);
  SmallVector<Value> words;
  for (int64_t i = 0; i < 4; ++i)
    words.push_back(asFragment(LLVM::ExtractValueOp::create(builder, loc, loaded, ArrayRef<int64_t>{i})));
  return words;
}

SmallVector<Value> TileCode::loadWords(const SharedTile &tile, Value slot, Value side, int64_t depth, bool isLhs) {
  SmallVector<Value> words;
  Value inSide = elements.add(side, quotient(lane, 4));
  for (int64_t i = 0; i < 4; ++i) {
    const int64_t low = i % 2, high = i / 2, alongSide = isLhs ? low : high, alongDepth = isLhs ? high : low;
    Value row = elements.add(remainder(lane, 4), index(depth + alongDepth * chunkElements));
    Value column = elements.add(inSide, index(alongSide * 8));
    Value offset = chunkOffset(tile.rowStrideInChunks(), row, quotient(column, chunkElements));
    offset = elements.add(offset, elements.multiply(remainder(column, chunkElements), index(bytesOf(element))));
    Value from = address(slot, elements.add(index(tile.slotOffset), offset));
    words.push_back(asFragment(LLVM::LoadOp::create(builder, loc, builder.getI32Type(), from)));
  }
  return words;
}

Value TileCode::asFragment(Value word) {
  if (element.isF32()) {
    Value number = LLVM::BitcastOp::create(builder, loc, element, word);
    return NVVM::ConvertFloatToTF32Op::create(builder, loc, builder.getI32Type(), number, NVVM::FPRoundingMode::RNA);
  }
  if (!element.isF16())
    return word;
  return LLVM::BitcastOp::create(builder, loc, VectorType::get({2}, builder.getF16Type()), word);
}

/// Emits an mma of 8-bit floats, because the nvvm dialect has no such op.
static Value multiplyFloat8(OpBuilder &builder, Location loc, Type result, Type left, Type right, ValueRange a,
                            ValueRange b, ValueRange sums) {
  SmallVector<Value> operands(a);
  llvm::append_range(operands, b);
  llvm::append_range(operands, sums);
  const std::string text = "mma.sync.aligned.m16n8k32.row.col.f32." + ptxName(left).str() + "." + ptxName(right).str() +
                           ".f32 {$0, $1, $2, $3}, {$4, $5, $6, $7}, {$8, $9}, {$10, $11, $12, $13};";
  return inlineAssembly(builder, loc, text, "=f,=f,=f,=f,r,r,r,r,r,r,0,1,2,3", operands, result,
                        /*hasSideEffects=*/false);
}

void TileCode::multiply(ValueRange a, ValueRange b, MutableArrayRef<Value> sums) {
  bool isInteger = element.isInteger();
  NVVM::MMATypes type = isInteger         ? NVVM::MMATypes::s8
                        : element.isF32() ? NVVM::MMATypes::tf32
                        : element.isF16() ? NVVM::MMATypes::f16
                                          : NVVM::MMATypes::bf16;
  Type sum = sums.front().getType();
  auto four = LLVM::LLVMStructType::getLiteral(builder.getContext(), {sum, sum, sum, sum});
  // Sums of integers wrap, as they do in a loop.
  std::optional<NVVM::MMAIntOverflow> overflow;
  if (isInteger)
    overflow = NVVM::MMAIntOverflow::wrapped;
  ValueRange before{ArrayRef<Value>(sums)};
  Value made = isFloat8(element)
                   ? multiplyFloat8(builder, loc, four, element, rhsElement, a, b, before)
                   : NVVM::MmaOp::create(builder, loc, four, a, b, before, ArrayRef<int64_t>{16, 8, stepOf(element)},
                                         std::nullopt, overflow, std::array<NVVM::MMATypes, 2>{type, type},
                                         std::array<NVVM::MMALayout, 2>{NVVM::MMALayout::row, NVVM::MMALayout::col})
                         .getResult();
  for (auto [number, each] : llvm::enumerate(sums))
    each = LLVM::ExtractValueOp::create(builder, loc, made, ArrayRef<int64_t>{int64_t(number)});
}

} // namespace tilewright::cuda
