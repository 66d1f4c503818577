//===- WidenIntegers.cpp - --tw-widen-integers: integers of any width to 8, 16, 32 or 64 bits ----------===//
//
// Before:
//   %m = tw.matmul %x, %w : (tensor<4x64xi10>, tensor<64x10xi10>) -> tensor<4x10xi27>
//   %y = tw.cast %m : (tensor<4x10xi27>) -> tensor<4x10xi10>
// After:
//   %a = tw.cast %x : (tensor<4x64xi16>) -> tensor<4x64xi32>       %b = tw.cast %w : ...
//   %m = tw.matmul %a, %b : (tensor<4x64xi32>, tensor<64x10xi32>) -> tensor<4x10xi32>
//   %c = tw.cast %m : (tensor<4x10xi32>) -> tensor<4x10xi16>
//   %l = tw.shift_left %c, %6      %y = tw.shift_right %l, %6 : tensor<4x10xi16>      // sign-extends the low ten bits
//
// An FPGA supports integers of every bit width, but a CPU supports only 8, 16, 32 and 64 bits. The pass does not
// change the values of a graph from --tw-fixed-point. In such a graph, only conversions to fewer bits wrap around.
// After a conversion to a bit width other than 8, 16, 32 and 64, the pass emits shifts that wrap the value around to
// the original bit width.
//
// Test: test/Graph/widen-integers.mlir
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/Graph.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "tilewright/Passes.h"

using namespace mlir;

namespace tilewright {
#define GEN_PASS_DEF_WIDENINTEGERS
#include "tilewright/Passes.h.inc"
namespace {

int widthOf(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  auto integer = tensor ? dyn_cast<IntegerType>(tensor.getElementType()) : IntegerType();
  return integer && integer.isSignless() ? integer.getWidth() : 0;
}

/// Returns the smallest of 8, 16, 32 and 64 that is at least `width`. Widths of at most 1 and above 64 are returned
/// unchanged.
int containerOf(int width) {
  for (int container : {8, 16, 32, 64})
    if (width > 1 && width <= container)
      return container;
  return width;
}

Type widened(Type type) {
  const int width = widthOf(type), container = containerOf(width);
  if (width == container)
    return type;
  return graph::withElementType(cast<RankedTensorType>(type), IntegerType::get(type.getContext(), container));
}

struct WidenIntegers : impl::WidenIntegersBase<WidenIntegers> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    SmallVector<Operation *> ops;
    function.walk([&](Operation *op) {
      if (op != function)
        ops.push_back(op);
    });
    // For each conversion that wraps values around, the bit width of its result before widening.
    llvm::DenseMap<Operation *, int> wraps;
    for (Operation *op : ops)
      if (auto cast = dyn_cast<graph::CastOp>(op)) {
        const int from = widthOf(cast.getInput().getType()), to = widthOf(cast.getType());
        if (to && from > to && to != containerOf(to))
          wraps[op] = to;
      }
    for (BlockArgument argument : function.getArguments())
      argument.setType(widened(argument.getType()));
    for (Operation *op : ops) {
      for (OpResult result : op->getResults())
        result.setType(widened(result.getType()));
      if (auto constant = dyn_cast<graph::ConstantOp>(op))
        widenConstant(constant);
      if (isa<graph::MatmulOp, graph::ConvolutionOp, graph::AvgPoolOp, graph::ReduceOp>(op))
        widenOperands(op);
    }
    for (auto [op, width] : wraps)
      wrapAround(cast<graph::CastOp>(op), width);
    function.setType(FunctionType::get(&getContext(), function.front().getArgumentTypes(),
                                       function.front().getTerminator()->getOperandTypes()));
  }

private:
  static void widenConstant(graph::ConstantOp op) {
    auto value = dyn_cast<DenseElementsAttr>(op.getValue());
    auto type = cast<RankedTensorType>(op.getType());
    const int width = widthOf(type);
    if (!value || !width || value.getElementType() == type.getElementType())
      return;
    op.setValueAttr(value.mapValues(type.getElementType(), [&](const APInt &element) { return element.sext(width); }));
  }

  /// Converts the operands of `op` to the type of its result, because code for a CPU multiplies and adds values of one
  /// type.
  static void widenOperands(Operation *op) {
    const int width = widthOf(op->getResult(0).getType());
    OpBuilder builder(op);
    for (OpOperand &operand : op->getOpOperands()) {
      const int own = widthOf(operand.get().getType());
      if (!own || own == width)
        continue;
      auto type =
          graph::withElementType(cast<RankedTensorType>(operand.get().getType()), builder.getIntegerType(width));
      operand.set(graph::CastOp::create(builder, op->getLoc(), type, operand.get()));
    }
  }

  static void wrapAround(graph::CastOp op, int width) {
    OpBuilder builder(op);
    builder.setInsertionPointAfter(op);
    auto type = cast<RankedTensorType>(op.getType());
    auto scalar = RankedTensorType::get({}, type.getElementType());
    const int by = type.getElementTypeBitWidth() - width;
    Value amount = graph::ConstantOp::create(
        builder, op.getLoc(), scalar,
        mlir::cast<TypedAttr>(DenseElementsAttr::get(scalar, APInt(type.getElementTypeBitWidth(), by))));
    auto left = graph::ShiftLeftOp::create(builder, op.getLoc(), type, op.getResult(), amount);
    auto right = graph::ShiftRightOp::create(builder, op.getLoc(), type, left, amount);
    op.getResult().replaceAllUsesExcept(right, left);
  }
};

} // namespace

} // namespace tilewright
