//===- BrokenTarget.cpp - the target cpu with one bug, for tests of check=reference -------------===//
//
// TILEWRIGHT_TEST_BREAK selects the bug: "sign" replaces the last addition with a subtraction; "element" stores one
// wrong element into the first result. Only kernels whose op list ends with TILEWRIGHT_TEST_BREAK_OPS have the bug.
//
//===----------------------------------------------------------------------===//
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "tilewright/Target.h"

using namespace mlir;

namespace {

struct BreakKernel : PassWrapper<BreakKernel, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(BreakKernel)

  StringRef getArgument() const override { return "test-break-kernel"; }

  void runOnOperation() override {
    const char *what = std::getenv("TILEWRIGHT_TEST_BREAK"), *where = std::getenv("TILEWRIGHT_TEST_BREAK_OPS");
    auto ops = getOperation()->getAttrOfType<StringAttr>("tw.ops");
    if (!what || !where || !ops || !ops.getValue().ends_with(where))
      return;
    if (StringRef(what) == "sign")
      flipLastAddition();
    else if (StringRef(what) == "element")
      changeElement();
  }

  void flipLastAddition() {
    arith::AddFOp last;
    getOperation()->walk([&](arith::AddFOp add) { last = add; });
    OpBuilder builder(last);
    last.replaceAllUsesWith(arith::SubFOp::create(builder, last.getLoc(), last.getLhs(), last.getRhs()).getResult());
    last.erase();
  }

  /// Adds 2^-6 to the element of the first result whose indices are all 3.
  void changeElement() {
    auto result = getOperation().getBody().front().getTerminator()->getOperand(0);
    auto generic = cast<linalg::GenericOp>(result.getDefiningOp());
    Operation *yield = generic.getBlock()->getTerminator();
    OpBuilder builder(yield);
    Location loc = yield->getLoc();
    Value here = arith::ConstantOp::create(builder, loc, builder.getBoolAttr(true));
    for (unsigned dim = 0; dim < generic.getNumLoops(); ++dim) {
      Value three = arith::ConstantIndexOp::create(builder, loc, 3);
      Value index = linalg::IndexOp::create(builder, loc, dim);
      here = arith::AndIOp::create(builder, loc, here,
                                   arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, index, three));
    }
    Value value = yield->getOperand(0);
    Value little = arith::ConstantOp::create(builder, loc, builder.getFloatAttr(value.getType(), 0.015625));
    Value wrong = arith::AddFOp::create(builder, loc, value, little);
    yield->setOperand(0, arith::SelectOp::create(builder, loc, here, wrong, value));
  }
};

class BrokenTarget final : public tilewright::Target {
public:
  llvm::StringRef name() const override { return "broken"; }
  llvm::Error configure(tilewright::Options &options) override { return cpu->configure(options); }
  std::string machineKey(const tilewright::Options &options) override {
    const char *what = std::getenv("TILEWRIGHT_TEST_BREAK");
    return cpu->machineKey(options) + "|broken: " + (what ? what : "nothing");
  }
  void buildTiled(OpPassManager &pm, const tilewright::Options &options) override {
    pm.addNestedPass<func::FuncOp>(std::make_unique<BreakKernel>());
    cpu->buildTiled(pm, options);
  }
  void buildVector(OpPassManager &pm, const tilewright::Options &options) override { cpu->buildVector(pm, options); }
  void buildLowering(OpPassManager &pm, const tilewright::Options &options) override {
    cpu->buildLowering(pm, options);
  }
  llvm::Expected<std::string> emit(ModuleOp module, const tilewright::Options &options) override {
    return cpu->emit(module, options);
  }
  llvm::Expected<std::shared_ptr<tilewright::Program>> load(llvm::StringRef artifact,
                                                            const tilewright::Options &options) override {
    return cpu->load(artifact, options);
  }
  llvm::Expected<std::string> print(ModuleOp module, const tilewright::Options &options) override {
    return cpu->print(module, options);
  }

private:
  std::unique_ptr<tilewright::Target> cpu = tilewright::createCpuTarget();
};

} // namespace

extern "C" void tilewrightRegisterTarget() { tilewright::registerTarget(std::make_unique<BrokenTarget>()); }
