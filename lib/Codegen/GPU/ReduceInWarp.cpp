//===- ReduceInWarp.cpp - combine the partial results of the lanes of a warp -----------===//
//
// A butterfly of five shuffles combines the values, after which every lane has the result. The values are combined in
// the same order in each run.
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/GPU/ThreadKernel.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace tilewright::gpu {

Value combine(OpBuilder &builder, Operation *combiner, Value a, Value b) {
  IRMapping mapping;
  mapping.map(combiner->getOperand(0), a);
  mapping.map(combiner->getOperand(1), b);
  return builder.clone(*combiner, mapping)->getResult(0);
}

Value shuffle(ThreadKernel &kernel, Value value, int32_t mask) {
  OpBuilder &builder = kernel.builder;
  Location loc = kernel.loc();
  Type type = value.getType(), i32 = builder.getI32Type();
  unsigned width = type.getIntOrFloatBitWidth();
  auto swap = [&](Value word) { return kernel.threads.shuffleXor(builder, loc, word, mask); };
  Type integer = builder.getIntegerType(width);
  Value bits = type == integer ? value : arith::BitcastOp::create(builder, loc, integer, value).getResult();
  if (width < 32)
    bits = arith::TruncIOp::create(builder, loc, integer, swap(arith::ExtUIOp::create(builder, loc, i32, bits)));
  else if (width == 32)
    bits = swap(bits);
  else {
    Value half = arith::ConstantIntOp::create(builder, loc, 32, 64);
    Value low = swap(arith::TruncIOp::create(builder, loc, i32, bits));
    Value high =
        swap(arith::TruncIOp::create(builder, loc, i32, arith::ShRUIOp::create(builder, loc, bits, half).getResult()));
    low = arith::ExtUIOp::create(builder, loc, integer, low);
    high = arith::ExtUIOp::create(builder, loc, integer, high);
    bits = arith::OrIOp::create(builder, loc, arith::ShLIOp::create(builder, loc, high, half).getResult(), low);
  }
  return type == integer ? bits : arith::BitcastOp::create(builder, loc, type, bits).getResult();
}

Value reduceInWarp(ThreadKernel &kernel, Operation *combiner, Value value, int64_t lanes) {
  for (auto mask = int32_t(lanes / 2); mask > 0; mask /= 2)
    value = combine(kernel.builder, combiner, value, shuffle(kernel, value, mask));
  return value;
}

} // namespace tilewright::gpu
