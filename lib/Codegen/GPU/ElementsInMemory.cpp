//===- ElementsInMemory.cpp - elements of tensors in memory, as one thread accesses them ----===//
//
//   element(%x, [i, j + 3])                       x: 128 x 96 x f32, row-major
//     ->  %begin = getelementptr %x[i * 96 + j] ; load %begin[3] {alignment = 4}
//   loadTogether(%x, [i, j], [j, j + 1, j + 2, j + 3])      j is a multiple of 4
//     ->  load %begin : vector<4xf32> {alignment = 16}
//
// LLVM merges accesses to adjacent elements, but in large unrolled code it splits some of them. Therefore, emitters
// whose threads access many vectors create the vectors.
//
// Tests: test/Codegen/NVPTX/lower-to-threads.mlir, test/Python/test_cuda_windows.py
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/GPU/Elements.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include <numeric>

using namespace mlir;

namespace tilewright::gpu {

Type memoryType(Type element) {
  const bool isByte = element.isInteger(1) || (isa<FloatType>(element) && element.getIntOrFloatBitWidth() == 8);
  return isByte ? IntegerType::get(element.getContext(), 8) : element;
}

Value toMemory(OpBuilder &builder, Location loc, Value value) {
  Type stored = memoryType(value.getType());
  if (stored == value.getType())
    return value;
  if (isa<FloatType>(value.getType()))
    return arith::BitcastOp::create(builder, loc, stored, value);
  return arith::ExtUIOp::create(builder, loc, stored, value);
}

Value fromMemory(OpBuilder &builder, Location loc, Value word, Type element) {
  if (word.getType() == element)
    return word;
  if (isa<FloatType>(element))
    return arith::BitcastOp::create(builder, loc, element, word);
  Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(word.getType()));
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, word, zero);
}

Elements::Address Elements::address(Value pointer, Type stored, ArrayRef<Value> at, ArrayRef<Value> extents) {
  // Emit the addresses of adjacent elements as constant offsets from one common address, so that LLVM can merge the
  // accesses.
  SmallVector<Value> indices(at);
  int64_t further = 0;
  if (auto sum = at.empty() ? arith::AddIOp() : at.back().getDefiningOp<arith::AddIOp>())
    if (std::optional<int64_t> known = getConstantIntValue(sum.getRhs())) {
      indices.back() = sum.getLhs();
      further = *known;
    }
  Location loc = kernel.getLoc();
  Value linear = arith::IndexCastOp::create(builder, loc, builder.getI64Type(), linearize(indices, extents));
  Value begin = LLVM::GEPOp::create(builder, loc, pointer.getType(), stored, pointer, ArrayRef<LLVM::GEPArg>{linear});
  // Tensors are aligned to 16 bytes. If the row length is a multiple of 16 bytes, rows are aligned to 16 bytes, too.
  constexpr uint64_t most = 16;
  const uint64_t bytes = stored.getIntOrFloatBitWidth() / 8;
  uint64_t alignment = bytes;
  if (auto known = indices.empty() ? multiples.end() : multiples.find(indices.back()); known != multiples.end())
    if (std::optional<int64_t> line = indices.size() == 1 ? known->second : getConstantIntValue(extents.back()))
      alignment = std::gcd(most, bytes * std::gcd(uint64_t(*line), uint64_t(known->second)));
  if (further == 0)
    return {begin, unsigned(alignment)};
  alignment = std::gcd(alignment, bytes * uint64_t(std::abs(further)));
  return {LLVM::GEPOp::create(builder, loc, pointer.getType(), stored, begin, ArrayRef<LLVM::GEPArg>{int32_t(further)}),
          unsigned(alignment)};
}

void Elements::provideMemory(Value tensor, Value pointer) {
  Type element = cast<ShapedType>(tensor.getType()).getElementType();
  SmallVector<Value> sizes = extents(tensor);
  memory[tensor] = pointer;
  provide(tensor, [this, element, pointer, sizes](ArrayRef<Value> at) -> Value {
    Location loc = kernel.getLoc();
    Type stored = memoryType(element);
    Address from = address(pointer, stored, at, sizes);
    Value value = LLVM::LoadOp::create(builder, loc, stored, from.pointer, from.alignment);
    return fromMemory(builder, loc, value, element);
  });
}

void Elements::store(Value value, Value tensor, ArrayRef<Value> at, Value pointer) {
  Location loc = kernel.getLoc();
  value = toMemory(builder, loc, value);
  Address to = address(pointer, value.getType(), at, extents(tensor));
  LLVM::StoreOp::create(builder, loc, value, to.pointer, to.alignment);
}

int64_t Elements::vectorAt(const Address &first, Type stored, int64_t count) {
  constexpr int64_t most = 16;
  const int64_t bytes = stored.getIntOrFloatBitWidth() / 8, together = std::min(count, most / bytes);
  return llvm::isPowerOf2_64(together) && count % together == 0 && first.alignment % (together * bytes) == 0 ? together
                                                                                                             : 1;
}

void Elements::loadTogether(Value tensor, ArrayRef<Value> at, ArrayRef<Value> lanes) {
  Value pointer = memory.lookup(tensor);
  if (!pointer || isKnown(tensor, at))
    return;
  Location loc = kernel.getLoc();
  Type element = cast<ShapedType>(tensor.getType()).getElementType(), stored = memoryType(element);
  Address first = address(pointer, stored, at, extents(tensor));
  const int64_t together = vectorAt(first, stored, lanes.size());
  if (together == 1)
    return;
  for (int64_t begin = 0; begin < int64_t(lanes.size()); begin += together) {
    Value from = LLVM::GEPOp::create(builder, loc, pointer.getType(), stored, first.pointer,
                                     ArrayRef<LLVM::GEPArg>{int32_t(begin)});
    Value loaded = LLVM::LoadOp::create(builder, loc, VectorType::get({together}, stored), from,
                                        unsigned(together * stored.getIntOrFloatBitWidth() / 8));
    for (int64_t i = 0; i < together; ++i) {
      Value word =
          LLVM::ExtractElementOp::create(builder, loc, loaded, arith::ConstantIntOp::create(builder, loc, i, 32));
      SmallVector<Value> indices(at);
      indices.back() = lanes[begin + i];
      remember(tensor, indices, fromMemory(builder, loc, word, element));
    }
  }
}

void Elements::storeTogether(ArrayRef<Value> values, Value tensor, ArrayRef<Value> at, ArrayRef<Value> lanes,
                             Value pointer) {
  Location loc = kernel.getLoc();
  Type stored = memoryType(values.front().getType());
  Address first = address(pointer, stored, at, extents(tensor));
  const int64_t together = vectorAt(first, stored, lanes.size());
  for (int64_t begin = 0; begin < int64_t(lanes.size()); begin += together) {
    if (together == 1) {
      SmallVector<Value> indices(at);
      indices.back() = lanes[begin];
      store(values[begin], tensor, indices, pointer);
      continue;
    }
    Value vector = LLVM::PoisonOp::create(builder, loc, VectorType::get({together}, stored));
    for (int64_t i = 0; i < together; ++i)
      vector = LLVM::InsertElementOp::create(builder, loc, vector, toMemory(builder, loc, values[begin + i]),
                                             arith::ConstantIntOp::create(builder, loc, i, 32));
    Value to = LLVM::GEPOp::create(builder, loc, pointer.getType(), stored, first.pointer,
                                   ArrayRef<LLVM::GEPArg>{int32_t(begin)});
    LLVM::StoreOp::create(builder, loc, vector, to, unsigned(together * stored.getIntOrFloatBitWidth() / 8));
  }
}

} // namespace tilewright::gpu
