//===- VerifyStage.cpp - --tw-verify-stage: the contract of a stage -------------------===//
//
// The pass checks IR at the end of a stage. With stage=structured:
//
//   func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
//     %0 = tw.exp %x : (tensor<4xf32>) -> tensor<4xf32>   // error: may not remain after stage 'structured'
//     return %0 : tensor<4xf32>
//   }
//
// The pass checks:
//   every stage            only ops of the stage's dialects remain
//   structured and tiled   the only functions that are called are kernels, and a kernel calls no function
//   vector and target      the module has one plan, each launch names a symbol of the module, and no tensor remains
//                          outside of the plan
//
// Targets that write source text have no plan after the stage target. TILEWRIGHT_VERIFY=1 runs the pass after every
// stage.
//
// Tests: test/Verify/verify-stage.mlir, test/Verify/verify-stage-plan.mlir
//
//===----------------------------------------------------------------------===//
#include "dialects/Plan/PlanDialect.h"
#include "lib/Verify/StageDialects.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"
#include "tilewright/AttributeNames.h"
#include "tilewright/Passes.h"
#include "tilewright/StageContract.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace tilewright {
#define GEN_PASS_DEF_VERIFYSTAGE
#include "tilewright/Passes.h.inc"

ArrayRef<StageDialects> stageDialects() {
  static constexpr StageDialects table[] = {
      {"graph", " tw func "},
      {"structured", " linalg tw_tile tensor arith math affine func "},
      {"tiled", " linalg tw_tile tensor arith math affine func scf "},
      {"vector", " memref vector scf arith math affine ub func tw_plan tw_tile "},
      {"target", " llvm tw_plan "},
  };
  return table;
}

const StageDialects *dialectsOf(StringRef stage) {
  const auto *found = llvm::find_if(stageDialects(), [&](const StageDialects &each) { return each.stage == stage; });
  return found == stageDialects().end() ? nullptr : found;
}

bool verifiesStages() {
  if (const char *value = std::getenv("TILEWRIGHT_VERIFY"))
    return StringRef(value) != "0";
  return TILEWRIGHT_VERIFY_BY_DEFAULT;
}

namespace {

struct VerifyStage : impl::VerifyStageBase<VerifyStage> {
  using Base::Base;

  void runOnOperation() override {
    const StageDialects *contract = dialectsOf(stage);
    if (!contract) {
      getOperation()->emitOpError() << "cannot be verified: there is no stage '" << stage << "'";
      return signalPassFailure();
    }
    // Targets that write source text have no plan at the end of the last stage.
    const bool planned = dialects.empty() ? contract->has("tw_plan") : llvm::is_contained(dialects, "tw_plan");
    if (failed(checkDialects(*contract)) || failed(planned ? checkPlan() : checkCalls()))
      signalPassFailure();
  }

private:
  LogicalResult checkDialects(const StageDialects &contract) {
    const bool given = !dialects.empty();
    auto may = [&](StringRef dialect) {
      return dialect == "builtin" || (given ? llvm::is_contained(dialects, dialect) : contract.has(dialect));
    };
    WalkResult result = getOperation()->walk([&](Operation *op) {
      if (may(op->getName().getDialectNamespace()))
        return WalkResult::advance();
      SmallVector<StringRef> names;
      contract.dialects.split(names, ' ', -1, /*KeepEmpty=*/false);
      if (given)
        names.assign(dialects.begin(), dialects.end());
      op->emitOpError() << "may not remain after stage '" << stage << "': only ops of " << llvm::join(names, ", ")
                        << " may";
      return WalkResult::interrupt();
    });
    return failure(result.wasInterrupted());
  }

  /// Checks, for stages between kernel formation and the creation of the plan, that @main calls only kernels, and that
  /// a kernel calls no function.
  LogicalResult checkCalls() {
    if (stage != "structured" && stage != "tiled")
      return success();
    SymbolTableCollection symbols;
    WalkResult result = getOperation()->walk([&](func::CallOp call) {
      auto callee = symbols.lookupNearestSymbolFrom<func::FuncOp>(call, call.getCalleeAttr());
      if (!callee || !callee->hasAttr(kernelAttrName))
        call.emitOpError() << "calls @" << call.getCallee() << ", which is not a kernel";
      else if (call->getParentOfType<func::FuncOp>()->hasAttr(kernelAttrName))
        call.emitOpError() << "is in a kernel, but kernels must not contain calls";
      else
        return WalkResult::advance();
      return WalkResult::interrupt();
    });
    return failure(result.wasInterrupted());
  }

  LogicalResult checkPlan() {
    auto programs = llvm::to_vector(getOperation().getOps<plan::ProgramOp>());
    if (programs.size() != 1)
      return getOperation()->emitOpError()
             << "has " << programs.size() << " plans after stage '" << stage << "'; expected one";
    const SymbolTable symbols(getOperation());
    WalkResult launches = programs.front().walk([&](plan::LaunchOp launch) {
      if (symbols.lookup(launch.getKernel()))
        return WalkResult::advance();
      launch.emitOpError() << "launches " << launch.getKernelAttr() << ", which the module does not contain";
      return WalkResult::interrupt();
    });
    if (launches.wasInterrupted())
      return failure();
    WalkResult tensors = getOperation()->walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (isa<plan::ProgramOp>(op))
        return WalkResult::skip();
      auto isTensor = [](Type type) { return isa<TensorType>(type); };
      auto function = dyn_cast<func::FuncOp>(op);
      const auto types = function ? TypeRange(function.getArgumentTypes()) : TypeRange(op->getResultTypes());
      if (llvm::none_of(types, isTensor))
        return WalkResult::advance();
      op->emitOpError() << (function ? "has an argument" : "has a result") << " of tensor type after stage '" << stage
                        << "', from which on kernels use memrefs";
      return WalkResult::interrupt();
    });
    return failure(tensors.wasInterrupted());
  }
};

} // namespace
} // namespace tilewright
