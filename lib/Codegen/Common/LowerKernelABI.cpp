//===- LowerKernelABI.cpp - lower kernels to the runtime's five arguments ---------===//
//
// Before:
//   func @kernel_0(%n: index, %a: memref<?x768xf32>, %out: memref<?x768xf32>, %begin: index, %end: index,
//                  %scratch: memref<?xi8>)
// After (RuntimeABI.h):
//   func @kernel_0(%buffers: !llvm.ptr, %sizes: !llvm.ptr, %begin: i64, %end: i64, %scratch: !llvm.ptr)
//
// Buffer i is the i-th memref argument, and size i is the i-th index argument. The attribute tw.sizes of a memref
// argument specifies its sizes. --tw-host-lower-to-llvm later lowers the other ops of the module.
//
// Tests: test/Codegen/Common/lower-kernel-abi.mlir, test/Codegen/Common/lower-kernel-abi-invalid.mlir
//
//===----------------------------------------------------------------------===//
#include "dialects/Tile/Sizes.h"
#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "tilewright/AttributeNames.h"
#include "tilewright/Passes.h"
#include "tilewright/StageContract.h"

using namespace mlir;

namespace tilewright {
#define GEN_PASS_DEF_LOWERKERNELABI
#include "tilewright/Passes.h.inc"
namespace host {
namespace {

/// Returns a dense memref of `type` at `pointer`, as the descriptor that the conversion to LLVM expects.
Value denseMemref(OpBuilder &builder, Location loc, MemRefType type, Value pointer, ArrayRef<Value> sizes,
                  const LLVMTypeConverter &converter) {
  Type descriptorType = converter.convertType(type);
  auto descriptor = MemRefDescriptor::poison(builder, loc, descriptorType);
  descriptor.setAllocatedPtr(builder, loc, pointer);
  descriptor.setAlignedPtr(builder, loc, pointer);
  descriptor.setConstantOffset(builder, loc, 0);
  Value stride = LLVM::ConstantOp::create(builder, loc, builder.getI64Type(), builder.getI64IntegerAttr(1));
  for (int64_t dim = type.getRank() - 1; dim >= 0; --dim) {
    Value size = arith::IndexCastOp::create(builder, loc, builder.getI64Type(), sizes[dim]);
    descriptor.setSize(builder, loc, dim, size);
    descriptor.setStride(builder, loc, dim, stride);
    if (dim > 0)
      stride = LLVM::MulOp::create(builder, loc, stride, size);
  }
  Value value = descriptor;
  return UnrealizedConversionCastOp::create(builder, loc, type, value).getResult(0);
}

/// Returns true if the last three arguments are begin and end of the grid, and scratch memory.
bool hasGridAndScratch(func::FuncOp kernel) {
  ArrayRef<Type> types = kernel.getArgumentTypes();
  auto *scratch = types.size() < 3 ? nullptr : types.end() - 1;
  auto bytes = scratch ? dyn_cast<MemRefType>(*scratch) : MemRefType();
  return bytes && bytes.getRank() == 1 && !kernel.isDeclaration() && isa<IndexType>(scratch[-1]) &&
         isa<IndexType>(scratch[-2]);
}

/// Checks that each buffer of `kernel` with dynamic sizes has the attribute tw.sizes, which specifies its sizes as
/// expressions of the index arguments.
LogicalResult checkSizes(func::FuncOp kernel) {
  ArrayRef<Type> types = kernel.getArgumentTypes().drop_back(3); // begin, end and scratch
  const auto indices = static_cast<unsigned>(llvm::count_if(types, llvm::IsaPred<IndexType>));
  for (auto [number, type] : llvm::enumerate(types)) {
    auto buffer = dyn_cast<MemRefType>(type);
    if (!buffer || buffer.hasStaticShape())
      continue;
    auto sizes = kernel.getArgAttrOfType<AffineMapAttr>(number, tile::sizesAttrName);
    if (!sizes || sizes.getValue().getNumDims() != 0 || sizes.getValue().getNumSymbols() > indices ||
        sizes.getValue().getNumResults() != buffer.getRank())
      return kernel.emitError("argument ")
             << number << " is a " << buffer << ": " << tile::sizesAttrName << " must be a map of at most " << indices
             << " symbols, the kernel's index arguments, to " << buffer.getRank() << " sizes";
  }
  return success();
}

void lowerKernel(func::FuncOp kernel) {
  MLIRContext *context = kernel.getContext();
  LowerToLLVMOptions options(context);
  LLVMTypeConverter converter(context, options);
  OpBuilder builder(context);
  Location loc = kernel.getLoc();
  Block &body = kernel.getBody().front();
  unsigned old = body.getNumArguments();
  Type pointerType = LLVM::LLVMPointerType::get(context), i64 = builder.getI64Type();
  SmallVector<Value> arguments;
  for (Type type : {pointerType, pointerType, i64, i64, pointerType})
    arguments.push_back(body.addArgument(type, loc));
  builder.setInsertionPointToStart(&body);
  auto loadFrom = [&](Value base, int64_t index, Type type) -> Value {
    Value at = LLVM::GEPOp::create(builder, loc, pointerType, type, base, ArrayRef<LLVM::GEPArg>{index});
    auto load = LLVM::LoadOp::create(builder, loc, type, at);
    load.setInvariant(true);
    return load;
  };
  // The last three arguments are begin, end and scratch.
  SmallVector<Value> sizes;
  for (BlockArgument argument : body.getArguments().take_front(old - 3))
    if (isa<IndexType>(argument.getType())) {
      Value size = loadFrom(arguments[1], sizes.size(), i64);
      sizes.push_back(arith::IndexCastOp::create(builder, loc, builder.getIndexType(), size));
      argument.replaceAllUsesWith(sizes.back());
    }
  int64_t buffer = 0;
  for (BlockArgument argument : body.getArguments().take_front(old - 3)) {
    auto type = dyn_cast<MemRefType>(argument.getType());
    if (!type)
      continue;
    SmallVector<Value> dims;
    auto known = kernel.getArgAttrOfType<AffineMapAttr>(argument.getArgNumber(), tile::sizesAttrName);
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      dims.push_back(type.isDynamicDim(dim)
                         ? getValueOrCreateConstantIndexOp(
                               builder, loc, tile::materialize(builder, loc, known.getValue().getResult(dim), sizes))
                         : arith::ConstantIndexOp::create(builder, loc, type.getDimSize(dim)).getResult());
    Value pointer = loadFrom(arguments[0], buffer++, pointerType);
    argument.replaceAllUsesWith(denseMemref(builder, loc, type, pointer, dims, converter));
  }
  for (int64_t i = 0; i < 2; ++i)
    body.getArgument(old - 3 + i)
        .replaceAllUsesWith(arith::IndexCastOp::create(builder, loc, builder.getIndexType(), arguments[2 + i]));
  Value unknown = arith::ConstantIndexOp::create(builder, loc, 0);
  body.getArgument(old - 1).replaceAllUsesWith(denseMemref(
      builder, loc, cast<MemRefType>(body.getArgument(old - 1).getType()), arguments[4], {unknown}, converter));
  body.eraseArguments(0, old);
  kernel.setAllArgAttrs(ArrayRef<DictionaryAttr>());
  kernel.setFunctionType(builder.getFunctionType(body.getArgumentTypes(), {}));
  kernel.setPublic();
}

struct LowerKernelABI : impl::LowerKernelABIBase<LowerKernelABI> {
  void runOnOperation() override {
    if (failed(requireForm(getOperation(), IRForm::Buffers, getArgument())))
      return signalPassFailure();
    for (auto kernel : getOperation().getOps<func::FuncOp>())
      if (kernel->hasAttr(kernelAttrName)) {
        if (!hasGridAndScratch(kernel)) {
          kernel.emitError("--tw-host-lower-kernel-abi expects kernels whose last arguments are begin, end and "
                           "scratch; run --tw-flatten-grid and --tw-place-scratch first");
          return signalPassFailure();
        }
        if (failed(checkSizes(kernel)))
          return signalPassFailure();
        lowerKernel(kernel);
      }
  }
};
} // namespace
} // namespace host
} // namespace tilewright
