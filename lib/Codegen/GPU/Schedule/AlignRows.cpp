//===- AlignRows.cpp - copies of operands whose rows begin at multiples of 16 bytes --------===//
//
// Before (a product that reads %g, the gradient of the logits of a language model with 50257 words):
//   %d = call @kernel_0(%g, %w, %into)           // g: 4096 x 50257 x bf16, w: 50257 x 768
// After:
//   %a = call @kernel_0_aligned_rows(%g, %empty)        // 4096 x 50264; the last seven elements of each row are zeros
//   %d = call @kernel_0_aligned(%a, %w, %into)   // reads tensor.extract_slice %a[0, 0] [4096, 50257] [1, 1]
//
// TMA cannot load rows that do not begin at multiples of 16 bytes. mma.sync would load the elements of such rows one by
// one. A copy reads and writes the operand once. This takes less time than loads of single elements if each element is
// multiplied many times. The last step of the sum reads the zeros, which do not change the result.
//
// Tests: test/Codegen/GPU/Schedule/align-rows.mlir, test/Python/test_cuda_wgmma.py
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/GPU/Schedule/AlignRows.h"
#include "lib/Codegen/GPU/Schedule/NewKernel.h"
#include "lib/Codegen/GPU/Schedule/PaddedImage.h"
#include "lib/Codegen/GPU/Schedule/SharedTile.h"
#include "lib/Codegen/GPU/Schedule/WgmmaSpace.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "tilewright/AttributeNames.h"
#include <map>

using namespace mlir;

namespace tilewright::gpu {
namespace {

class RowAligner {
public:
  RowAligner(ModuleOp module, const Arch &arch)
      : module(module), symbols(module), arch(arch), builder(module), copies(builder, symbols) {}

  void run() {
    for (auto kernel : llvm::to_vector(module.getOps<func::FuncOp>()))
      if (kernel->hasAttr(kernelAttrName) && !kernel->hasAttr(scheduleAttrName))
        align(kernel);
  }

private:
  /// Returns the type whose rows are padded to a multiple of 16 bytes, or null if the rows of `type` have such a
  /// length.
  static RankedTensorType alignedType(Type type) {
    auto tensor = cast<RankedTensorType>(type);
    SmallVector<int64_t> shape(tensor.getShape());
    shape.back() =
        int64_t(llvm::alignTo(uint64_t(shape.back()), uint64_t(chunkBytes / bytesOf(tensor.getElementType()))));
    return shape == tensor.getShape() ? RankedTensorType() : RankedTensorType::get(shape, tensor.getElementType());
  }

  /// Returns true if copying `operands` takes less time than `wgmma` saves.
  static bool isWorthCopying(Contraction &product, ArrayRef<BlockArgument> operands) {
    // Nanoseconds per operation that wgmma saves, per byte that is read and written, and of a launch (H200; the rate of
    // mma.sync, 250 Tflop/s, is an estimate for rows that are not aligned).
    constexpr double saved = 1 / 250e3 - 1 / 700e3, moved = 1 / 4e3, launch = 3000;
    double operations = 2, cost = 0;
    for (ArrayRef<unsigned> loops : {product.batches, product.rows, product.columns, product.depth})
      operations *= double(product.likelySizeOf(loops));
    for (BlockArgument operand : operands) {
      auto type = cast<RankedTensorType>(operand.getType());
      const int64_t elements = type.getNumElements() + alignedType(type).getNumElements();
      cost += double(elements * bytesOf(type.getElementType())) * moved + launch;
    }
    return operations * saved > cost;
  }

  void align(func::FuncOp kernel) {
    std::string reason;
    std::optional<Contraction> product = matchContraction(kernel, reason);
    if (!product || !whyNotOnTensorCores(*product, arch.formats(), /*mayPad=*/true).empty() ||
        whyNotOnWarpGroups(*product, arch.formats()).empty())
      return;
    SmallVector<BlockArgument> operands;
    for (OpOperand *operand : {product->lhs(), product->rhs()}) {
      auto argument = dyn_cast<BlockArgument>(operand->get());
      auto type = dyn_cast<RankedTensorType>(operand->get().getType());
      if (argument && argument.hasOneUse() && type.hasStaticShape() && type.getRank() >= 2 && alignedType(type))
        operands.push_back(argument);
    }
    if (operands.empty() || !isWorthCopying(*product, operands))
      return;
    func::FuncOp made = makeProduct(kernel, operands);
    symbols.insert(made);
    const std::optional<Schedule> schedule = wgmmaFor(made, arch);
    if (!schedule)
      return symbols.erase(made);
    setSchedule(made, *schedule);
    for (func::CallOp call : callsOf(module, kernel))
      replace(call, made, operands);
    symbols.erase(kernel);
  }

  /// Returns a new kernel that computes the same as `kernel`, and whose arguments `operands` have longer rows. The
  /// caller adds calls of the new kernel.
  func::FuncOp makeProduct(func::FuncOp kernel, ArrayRef<BlockArgument> operands) {
    SmallVector<Type> types(kernel.getArgumentTypes());
    for (BlockArgument operand : operands)
      types[operand.getArgNumber()] = alignedType(operand.getType());
    func::FuncOp made =
        makeKernel(builder, kernel, "_aligned", types, kernel.getResultTypes(), kernel->getAttr(opsAttrName));
    IRMapping mapping;
    mapping.map(kernel.getArguments(), made.getArguments());
    copySizes(kernel, made);
    for (BlockArgument operand : operands) {
      made.setArgAttr(operand.getArgNumber(), alignedAttrName, builder.getUnitAttr());
      auto type = cast<RankedTensorType>(operand.getType());
      SmallVector<OpFoldResult> offsets(size_t(type.getRank()), builder.getIndexAttr(0)),
          strides(size_t(type.getRank()), builder.getIndexAttr(1)), sizes;
      for (int64_t size : type.getShape())
        sizes.push_back(builder.getIndexAttr(size));
      mapping.map(operand,
                  tensor::ExtractSliceOp::create(builder, kernel.getLoc(), type,
                                                 made.getArgument(operand.getArgNumber()), offsets, sizes, strides)
                      .getResult());
    }
    for (Operation &op : kernel.getBody().front())
      builder.clone(op, mapping);
    return made;
  }

  /// Returns a new kernel, inserted before `origin`, that copies a tensor of the type `from` to a tensor with longer
  /// rows.
  func::FuncOp makeCopy(RankedTensorType from, func::FuncOp origin) {
    const Location loc = origin.getLoc();
    RankedTensorType to = alignedType(from);
    func::FuncOp made = makeKernel(builder, origin, "_rows", {from, to}, {to}, builder.getStringAttr("align rows"));
    auto rank = unsigned(from.getRank());
    BlockArgument source = made.getArgument(0);
    auto copy = linalg::GenericOp::create(
        builder, loc, TypeRange(to), ValueRange(), ValueRange(made.getArgument(1)),
        ArrayRef<AffineMap>{builder.getMultiDimIdentityMap(rank)},
        SmallVector<utils::IteratorType>(rank, utils::IteratorType::parallel),
        [&](OpBuilder &inner, Location at, ValueRange) {
          SmallVector<Value> indices;
          for (unsigned dim = 0; dim < rank; ++dim)
            indices.push_back(linalg::IndexOp::create(inner, at, dim));
          Value last = indices.back(), length = arith::ConstantIndexOp::create(inner, at, from.getShape().back());
          Value inside = arith::CmpIOp::create(inner, at, arith::CmpIPredicate::ult, last, length);
          Value first = arith::ConstantIndexOp::create(inner, at, 0);
          indices.back() = arith::SelectOp::create(inner, at, inside, last, first);
          Value element = tensor::ExtractOp::create(inner, at, source, indices);
          Value zero = arith::ConstantOp::create(inner, at, inner.getZeroAttr(from.getElementType()));
          linalg::YieldOp::create(inner, at, arith::SelectOp::create(inner, at, inside, element, zero).getResult());
        });
    copy->setAttr(opAttrName, builder.getStringAttr("align rows"));
    func::ReturnOp::create(builder, loc, copy.getResult(0));
    return made;
  }

  /// Changes `call`, a call of the original kernel, to call `product`.
  void replace(func::CallOp call, func::FuncOp product, ArrayRef<BlockArgument> arguments) {
    SmallVector<Value> operands(call.getOperands());
    for (BlockArgument argument : arguments) {
      auto type = cast<RankedTensorType>(argument.getType());
      Value &operand = operands[argument.getArgNumber()];
      operand = copies.copyOf(call.getLoc(), operand, alignedType(type), [&] { return makeCopy(type, product); });
    }
    redirectCall(call, product, operands);
  }

  ModuleOp module;
  SymbolTable symbols;
  const Arch &arch;
  OpBuilder builder;
  OperandCopies copies;
};

} // namespace

void alignRows(ModuleOp module, const Arch &arch) {
  if (arch.groupFlops > 0)
    RowAligner(module, arch).run();
}

} // namespace tilewright::gpu
