//===- RandomCall.cpp - a call of a program with random inputs ------------------------------------===//
#include "lib/Tuner/Workers/RandomCall.h"
#include "dialects/Tile/Sizes.h"
#include "lib/Tuner/Workers/CallSizes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/APFloat.h"

#include <chrono>
#include <random>

using namespace mlir;

namespace tilewright {
namespace {

int64_t widthOf(Type element) { return std::max<int64_t>(1, llvm::divideCeil(element.getIntOrFloatBitWidth(), 8)); }

/// Fills a buffer with random elements. Large buffers repeat a block of random elements, so that they are filled
/// quickly.
void fill(char *to, int64_t count, Type element, std::mt19937_64 &random) {
  const int64_t width = widthOf(element), block = std::min<int64_t>(count, 1 << 16);
  for (int64_t i = 0; i < block; ++i) {
    uint64_t bits = random() >> 63;
    if (auto floats = dyn_cast<FloatType>(element)) {
      llvm::APFloat value(double(int64_t(random() >> 11)) / double(int64_t(1) << 52) - 1);
      bool lossy;
      value.convert(floats.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven, &lossy);
      bits = value.bitcastToAPInt().getZExtValue();
    }
    memcpy(to + i * width, &bits, size_t(width));
  }
  for (int64_t i = block; i < count; i += block)
    memcpy(to + i * width, to, size_t(std::min(block, count - i) * width));
}
} // namespace

llvm::Expected<RandomCall> RandomCall::make(ModuleOp module, llvm::ArrayRef<int64_t> sizes) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  RandomCall call;
  call.symbols = sizesOfCall(main, sizes);
  auto allocate = [&](Value value, Type &element, int64_t &count) -> llvm::Expected<char *> {
    auto type = cast<RankedTensorType>(value.getType());
    element = type.getElementType();
    count = 1;
    SmallVector<AffineExpr> exprs = tile::sizesOf(value);
    if (!element.isIntOrFloat() || int64_t(exprs.size()) != type.getRank())
      return llvm::createStringError("a size or type of an input or result is not known");
    for (AffineExpr expr : exprs) {
      std::optional<int64_t> size = evaluateSize(expr, call.symbols);
      if (!size)
        return llvm::createStringError("a size is not known for these symbolic sizes");
      count *= *size;
    }
    void *made = ::operator new(size_t(std::max<int64_t>(count * widthOf(element), 64)) + 64, std::align_val_t(64),
                                std::nothrow);
    if (!made)
      return llvm::createStringError("out of memory for the inputs");
    call.memory.emplace_back(made);
    return static_cast<char *>(made);
  };
  std::mt19937_64 random(0);
  for (BlockArgument argument : main.getArguments()) {
    if (!isa<RankedTensorType>(argument.getType()))
      continue;
    Type element;
    int64_t count = 0;
    llvm::Expected<char *> made = allocate(argument, element, count);
    if (!made)
      return made.takeError();
    fill(*made, count, element, random);
    call.inputs.push_back(*made);
    call.inputBytes.push_back(count * widthOf(element));
  }
  for (Value result : main.getBody().front().getTerminator()->getOperands()) {
    if (!isa<RankedTensorType>(result.getType()))
      return llvm::createStringError("a result is not a tensor");
    Type element;
    int64_t count = 0;
    llvm::Expected<char *> made = allocate(result, element, count);
    if (!made)
      return made.takeError();
    call.outputs.push_back(*made);
    call.outputBytes.push_back(count * widthOf(element));
  }
  return call;
}

llvm::Error RandomCall::useDeviceOf(Program &program) {
  RunError error;
  if (timer || !(timer = program.deviceTimer(error)))
    return error.text.empty() ? llvm::Error::success() : llvm::createStringError(error.text);
  for (auto [input, bytes] : llvm::zip_equal(inputs, inputBytes)) {
    void *there = timer->allocate(bytes, error);
    if (!there || !timer->copyIn(there, input, bytes, error))
      return llvm::createStringError(error.text);
    input = there;
  }
  for (auto [output, bytes] : llvm::zip_equal(outputs, outputBytes))
    if (!(output = timer->allocate(bytes, error)))
      return llvm::createStringError(error.text);
  memory.clear();
  return llvm::Error::success();
}

bool RandomCall::enqueue(Program &program, int threads, RunError &error) {
  std::vector<uint64_t> versions(inputs.size(), 0);
  return program.run(inputs.data(), outputs.data(), symbols.data(), versions.data(), threads, error, nullptr);
}

llvm::Error RandomCall::run(Program &program, int threads) {
  RunError error;
  return enqueue(program, threads, error) ? llvm::Error::success() : llvm::createStringError(error.text);
}

llvm::Expected<double> RandomCall::time(Program &program, int threads, int64_t calls) {
  RunError error;
  double sum = 0;
  const auto start = std::chrono::steady_clock::now();
  for (int64_t i = 0; i < calls; ++i) {
    double nanoseconds = 0;
    const bool good =
        timer ? timer->time([&](RunError &why) { return enqueue(program, threads, why); }, nanoseconds, error)
              : enqueue(program, threads, error);
    if (!good)
      return llvm::createStringError(error.text);
    sum += nanoseconds;
  }
  if (!timer)
    sum = std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
  return sum / double(calls);
}

} // namespace tilewright
