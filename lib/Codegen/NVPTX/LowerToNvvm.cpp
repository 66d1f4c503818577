//===- LowerToNvvm.cpp - --tw-cuda-lower-to-nvvm: convert thread code to llvm functions --===//
//
// The pass expands rsqrt and the functions of large angles (LargeAngles.h), and reports ops that NVPTX cannot select.
// It then converts scf and affine to cf and arith, and finally all dialects except nvvm to llvm. The width of `index`
// is the kernel's attribute `tw_cuda.index`. It is 32 bits if all of the kernel's indices are in the range of 32-bit
// integers, because an operation on 64-bit integers takes at least two instructions.
//
// Test: test/Codegen/NVPTX/lower-to-nvvm.mlir
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/GPU/LargeAngles.h"
#include "lib/Codegen/GPU/MathWithCode.h"
#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "tilewright/AttributeNames.h"
#include "tilewright/Passes.h"

using namespace mlir;

namespace tilewright {
#define GEN_PASS_DEF_LOWERTONVVM
#include "tilewright/Passes.h.inc"
namespace cuda {
using namespace tilewright::gpu;
namespace {

/// Reports an error for ops that NVPTX cannot select, because NVPTX would end the process.
LogicalResult refuseFunctions(func::FuncOp kernel) {
  bool possible = true;
  kernel.walk([&](Operation *op) {
    if (!isa<arith::RemFOp>(op) && (!isa<math::MathDialect>(op->getDialect()) ||
                                    !isa<FloatType>(op->getOperand(0).getType()) || hasCodeOfItsOwn(op)))
      return;
    op->emitError() << "target cuda: " << op->getName().stripDialect() << " of " << op->getResult(0).getType()
                    << " has no implementation; target cpu computes it";
    possible = false;
  });
  return success(possible);
}

/// Expands rsqrt, because NVPTX has only rsqrt.approx. --tw-expand-math has already expanded rsqrt of f32.
void expandRsqrt(func::FuncOp kernel) {
  SmallVector<math::RsqrtOp> found;
  kernel.walk([&](math::RsqrtOp op) { found.push_back(op); });
  for (math::RsqrtOp op : found) {
    OpBuilder builder(op);
    Value one = arith::ConstantOp::create(builder, op.getLoc(), builder.getFloatAttr(op.getType(), 1));
    Value root = math::SqrtOp::create(builder, op.getLoc(), op.getOperand());
    op.replaceAllUsesWith(arith::DivFOp::create(builder, op.getLoc(), one, root).getResult());
    op.erase();
  }
}

LogicalResult lower(func::FuncOp kernel) {
  MLIRContext *context = kernel.getContext();
  expandLargeAngles(kernel);
  expandRsqrt(kernel);
  if (failed(refuseFunctions(kernel)))
    return failure();
  {
    RewritePatternSet patterns(context);
    populateSCFToControlFlowConversionPatterns(patterns);
    populateAffineToStdConversionPatterns(patterns);
    arith::populateCeilFloorDivExpandOpsPatterns(patterns);
    ConversionTarget target(*context);
    target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
    target.addIllegalDialect<scf::SCFDialect, affine::AffineDialect>();
    target.addIllegalOp<arith::CeilDivSIOp, arith::CeilDivUIOp, arith::FloorDivSIOp>();
    if (failed(applyPartialConversion(kernel, target, std::move(patterns))))
      return failure();
  }
  LowerToLLVMOptions options(context);
  auto width = kernel->getAttrOfType<IntegerAttr>("tw_cuda.index");
  options.overrideIndexBitwidth(width && width.getInt() == 32 ? 32 : 64);
  LLVMTypeConverter converter(context, options);
  RewritePatternSet patterns(context);
  LLVMConversionTarget target(*context);
  target.addLegalDialect<NVVM::NVVMDialect>();
  arith::populateArithToLLVMConversionPatterns(converter, patterns);
  populateMathToLLVMConversionPatterns(converter, patterns);
  populateVectorToLLVMConversionPatterns(converter, patterns);
  cf::populateControlFlowToLLVMConversionPatterns(converter, patterns);
  ub::populateUBToLLVMConversionPatterns(converter, patterns);
  populateFuncToLLVMConversionPatterns(converter, patterns);
  return applyFullConversion(kernel, target, std::move(patterns));
}

struct LowerToNvvm : impl::LowerToNvvmBase<LowerToNvvm> {
  void runOnOperation() override {
    for (auto kernel : llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
      if (kernel->hasAttr(kernelAttrName) && failed(lower(kernel)))
        return signalPassFailure();
    Builder builder(&getContext());
    for (auto kernel : getOperation().getOps<LLVM::LLVMFuncOp>())
      if (auto threads = kernel->getAttrOfType<IntegerAttr>("tw_cuda.threads")) {
        kernel->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(), builder.getUnitAttr());
        kernel->setAttr(NVVM::NVVMDialect::getReqntidAttrName(),
                        builder.getDenseI32ArrayAttr({int32_t(threads.getInt())}));
        if (auto blocks = kernel->getAttrOfType<IntegerAttr>("tw_cuda.cluster"))
          kernel->setAttr(NVVM::NVVMDialect::getClusterDimAttrName(),
                          builder.getDenseI32ArrayAttr({int32_t(blocks.getInt())}));
        // This attribute states that it is sufficient if a multiprocessor can run one block at a time. Without the
        // attribute, ptxas may spill registers so that a multiprocessor can run more blocks at the same time.
        if (kernel->hasAttr("tw_cuda.many_registers"))
          kernel->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(), builder.getI32IntegerAttr(1));
        // Tensor maps must not be copied, because TMA can read only the original parameter.
        for (unsigned i = 0; i < kernel.getNumArguments(); ++i)
          if (kernel.getArgAttr(i, LLVM::LLVMDialect::getByValAttrName()))
            kernel.setArgAttr(i, NVVM::NVVMDialect::getGridConstantAttrName(), builder.getUnitAttr());
      }
  }
};

} // namespace
} // namespace cuda
} // namespace tilewright
