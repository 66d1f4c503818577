//===- ComputeOnce.cpp - compute values of parameters once per version ----------------------===//
//
// Before:
//   @main(%x, %w {tw.static}, %v {tw.static}) {
//     %p = call @permute_0(%w, %empty)
//     %s = call @rsqrt_1(%v, %empty)
//     %r = call @convolution_2(%x, %p, %s, %empty) ; return %r }
// After:
//     %p = call @permute_0(%w, %empty) {tw.once}
//     %s = call @rsqrt_1(%v, %empty) {tw.once}
//     %r = call @convolution_2(%x, %p, %s, %empty) ; return %r }
//
// The results of such calls stay in memory between calls of the program. Therefore, a call is not marked if its results
// are larger than its operands. For example, a kernel that expands quantized weights is called each time. Small results
// are an exception. A call is also not marked if it has a symbolic size, if @main returns its result, or if @main
// changes a parameter on which the call depends (tw.into).
//
// Test: test/Codegen/GPU/Schedule/compute-once.mlir, test/Python/test_cuda_driver.py (parameters)
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/GPU/Schedule/ComputeOnce.h"
#include "dialects/Tile/Views.h"
#include "lib/Codegen/GPU/Elements.h"
#include "lib/Codegen/GPU/Schedule.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "tilewright/AttributeNames.h"

using namespace mlir;

namespace tilewright::gpu {
namespace {

/// Results that take at most this number of bytes may be larger than the operands.
constexpr int64_t smallBytes = 1 << 20;
/// The results of other calls may exceed the size of the operands by at most 1/8. Copies with aligned rows are an
/// example.
constexpr int64_t mostGrowth = 8;

/// Returns the bytes of the tensors in `values`, or std::nullopt if a size is unknown.
std::optional<int64_t> bytesOf(ValueRange values) {
  int64_t bytes = 0;
  for (Type type : values.getTypes()) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor || !tensor.hasStaticShape())
      return std::nullopt;
    bytes += tensor.getNumElements() * int64_t(memoryType(tensor.getElementType()).getIntOrFloatBitWidth()) / 8;
  }
  return bytes;
}

class Parameters {
public:
  explicit Parameters(func::FuncOp main) : main(main) {
    for (unsigned i = 0; i < main.getNumResults(); ++i)
      if (auto into = main.getResultAttrOfType<IntegerAttr>(i, intoAttrName))
        changed.insert(unsigned(into.getInt()));
  }

  /// Returns true if `value` is a parameter, a view of one, or the result of a call that is computed once.
  bool includes(Value value) {
    value = tile::viewedValue(value);
    if (auto argument = dyn_cast<BlockArgument>(value))
      return main.getArgAttr(argument.getArgNumber(), staticAttrName) && !changed.contains(argument.getArgNumber());
    auto call = value.getDefiningOp<func::CallOp>();
    return call && call->hasAttr(onceAttrName);
  }

private:
  func::FuncOp main;
  llvm::DenseSet<unsigned> changed; ///< numbers of the arguments of @main that @main changes
};

bool dependsOnlyOn(Parameters &parameters, func::CallOp call) {
  SmallVector<Value> read;
  for (Value operand : call.getOperands()) {
    Operation *op = operand.getDefiningOp();
    if (isa_and_nonnull<tensor::EmptyOp>(op))
      continue;
    if (!isa<RankedTensorType>(operand.getType()))
      return false; // a symbolic size
    if (isa_and_nonnull<arith::ConstantOp>(op))
      continue;
    if (!parameters.includes(operand))
      return false;
    read.push_back(operand);
  }
  std::optional<int64_t> from = bytesOf(read), to = bytesOf(call.getResults());
  return !read.empty() && from && to && (*to <= *from + *from / mostGrowth || *to <= smallBytes) &&
         llvm::none_of(call->getUsers(), [](Operation *user) { return isa<func::ReturnOp>(user); });
}

} // namespace

void computeOnce(ModuleOp module) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  if (!main)
    return;
  Parameters parameters(main);
  llvm::SetVector<func::FuncOp> once;
  llvm::DenseSet<func::FuncOp> others; // kernels that are also called in each call of @main
  for (auto call : main.getOps<func::CallOp>()) {
    auto kernel = module.lookupSymbol<func::FuncOp>(call.getCallee());
    if (!kernel || !kernel->hasAttr(kernelAttrName))
      continue;
    if (dependsOnlyOn(parameters, call)) {
      call->setAttr(onceAttrName, UnitAttr::get(module.getContext()));
      once.insert(kernel);
    } else {
      others.insert(kernel);
    }
  }
  for (func::FuncOp kernel : once)
    if (!others.contains(kernel))
      kernel->setAttr(onceKernelAttrName, UnitAttr::get(module.getContext()));
}

} // namespace tilewright::gpu
