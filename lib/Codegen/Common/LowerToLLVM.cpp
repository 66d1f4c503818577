//===- LowerToLLVM.cpp - convert kernels to LLVM functions --------------------------===//
//
// All remaining dialects except tw_plan are converted at once, because several partial conversions would leave casts
// between them. Vector reductions may be reassociated. LLVM's code generator later fuses multiplications and additions
// to FMAs. With rounding=eager, it fuses two ops only if both allow contraction.
//
// Test: test/Codegen/Common/lower-kernel-abi.mlir
//
//===----------------------------------------------------------------------===//
#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/IndexToLLVM/IndexToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MathToLibm/MathToLibm.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/AMX/AMXDialect.h"
#include "mlir/Dialect/AMX/Transforms.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Vector/Transforms/LoweringPatterns.h"
#include "mlir/Dialect/Vector/Transforms/VectorRewritePatterns.h"
#include "mlir/Dialect/X86Vector/Transforms.h"
#include "mlir/Dialect/X86Vector/X86VectorDialect.h"
#include "tilewright/Passes.h"

using namespace mlir;

namespace tilewright {
#define GEN_PASS_DEF_LOWERTOLLVM
#include "tilewright/Passes.h.inc"
namespace host {
namespace {

struct LowerToLLVM : impl::LowerToLLVMBase<LowerToLLVM> {
  void runOnOperation() override {
    MLIRContext *context = &getContext();
    // First lower vector ops that have no direct LLVM form to other vector ops.
    {
      RewritePatternSet patterns(context);
      vector::populateVectorMaskOpLoweringPatterns(patterns);
      vector::populateVectorMaskMaterializationPatterns(patterns, /*force32BitVectorIndices=*/false);
      vector::populateVectorStepLoweringPatterns(patterns);
      vector::populateVectorMaskMaterializationPatterns(patterns, /*force32BitVectorIndices=*/true);
      vector::populateVectorBroadcastLoweringPatterns(patterns);
      arith::populateCeilFloorDivExpandOpsPatterns(patterns);
      if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
        return signalPassFailure();
    }
    LowerToLLVMOptions options(context);
    LLVMTypeConverter converter(context, options);
    RewritePatternSet patterns(context);
    LLVMConversionTarget target(*context);
    target.addIllegalOp<UnrealizedConversionCastOp>();
    target.addLegalDialect<plan::PlanDialect>();
    target.addLegalOp<ModuleOp>();
    target.addLegalOp<UnrealizedConversionCastOp>();
    populateAffineToStdConversionPatterns(patterns);
    populateVectorToLLVMConversionPatterns(converter, patterns, /*reassociateFPReductions=*/true,
                                           /*force32BitVectorIndices=*/false);
    vector::populateVectorInsertExtractStridedSliceTransforms(patterns);
    populateFinalizeMemRefToLLVMConversionPatterns(converter, patterns);
    arith::populateArithToLLVMConversionPatterns(converter, patterns);
    index::populateIndexToLLVMConversionPatterns(converter, patterns);
    populateMathToLLVMConversionPatterns(converter, patterns);
    populateMathToLibmConversionPatterns(patterns, /*benefit=*/0);
    cf::populateControlFlowToLLVMConversionPatterns(converter, patterns);
    ub::populateUBToLLVMConversionPatterns(converter, patterns);
    populateFuncToLLVMConversionPatterns(converter, patterns);
    populateAMXLegalizeForLLVMExportPatterns(converter, patterns);
    populateX86VectorLegalizeForLLVMExportPatterns(converter, patterns);
    if (failed(applyFullConversion(getOperation(), target, std::move(patterns))))
      return signalPassFailure();
    // Remove pairs of inverse casts between descriptors and memrefs.
    SmallVector<UnrealizedConversionCastOp> casts;
    getOperation().walk([&](UnrealizedConversionCastOp cast) { casts.push_back(cast); });
    SmallVector<UnrealizedConversionCastOp> left;
    reconcileUnrealizedCasts(casts, &left);
    for (UnrealizedConversionCastOp cast : left)
      if (!cast->use_empty()) {
        cast.emitOpError("is left after the conversion to LLVM");
        return signalPassFailure();
      }
  }
};
} // namespace
} // namespace host
} // namespace tilewright
