//===- FuseSiblings.cpp - fuses consecutive elementwise kernels that are independent -===//
//
// Before:  %a = call @kernel_0(%x, %p)                 // relu
//          %b = call @kernel_1(%y, %q)                 // exp
// After:   %ab:2 = call @kernel_0_and_kernel_1(%x, %y, %p, %q)
//
// %p and %q are the tensors into which the kernels write their results.
//
// The fusion saves one barrier and one round of tasks. All results of both kernels must have the same type, with a
// static shape, so that one schedule tiles the fused kernel. The fused kernel may be fused with a third kernel, etc.
//
// Test: test/Python/test_research.py
//
//===-----------------------------------------------------------------------------------------===//
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Tools/Plugins/PassPlugin.h"
#include "llvm/Config/llvm-config.h"

using namespace mlir;

namespace {

struct FuseSiblings : PassWrapper<FuseSiblings, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(FuseSiblings)

  StringRef getArgument() const override { return "fuse-siblings"; }
  StringRef getDescription() const override { return "Fuse independent elementwise kernels"; }

  void runOnOperation() override {
    auto main = getOperation().lookupSymbol<func::FuncOp>("main");
    func::CallOp first;
    for (Operation &op : llvm::make_early_inc_range(main.getBody().front())) {
      auto second = dyn_cast<func::CallOp>(op);
      if (!second) {
        if (first && llvm::is_contained(first->getUsers(), &op)) // `op` uses the result before the second call
          first = {};
        continue;
      }
      first = first && areSiblings(first, second) ? fuse(first, second) : second;
    }
  }

private:
  func::FuncOp kernelOf(func::CallOp call) { return getOperation().lookupSymbol<func::FuncOp>(call.getCallee()); }

  /// Returns the kernel's op if the kernel consists of one elementwise op on its arguments, and null otherwise.
  linalg::GenericOp genericOf(func::FuncOp kernel) {
    auto ops = kernel.getBody().front().without_terminator();
    auto generic = llvm::hasSingleElement(ops) ? dyn_cast<linalg::GenericOp>(*ops.begin()) : nullptr;
    // The loops follow the result's dimensions in order, so two kernels with equal result types have the same loops.
    bool plain = generic && generic.getNumReductionLoops() == 0 &&
                 llvm::all_of(generic.getDpsInitsMutable(), [&](OpOperand &operand) {
                   return generic.getMatchingIndexingMap(&operand).isIdentity();
                 });
    return plain ? generic : nullptr;
  }

  bool areSiblings(func::CallOp first, func::CallOp second) {
    auto type = dyn_cast<RankedTensorType>(first.getResultTypes().front());
    if (!type || !type.hasStaticShape() || llvm::is_contained(first->getUsers(), second))
      return false;
    for (func::CallOp call : {first, second})
      if (llvm::any_of(call.getOperandTypes(), llvm::IsaPred<IndexType>) || !llvm::all_equal(call.getResultTypes()) ||
          call.getResultTypes().front() != type || !genericOf(kernelOf(call)))
        return false;
    return true;
  }

  func::CallOp fuse(func::CallOp first, func::CallOp second) {
    func::CallOp calls[] = {first, second};
    func::FuncOp kernels[] = {kernelOf(first), kernelOf(second)};
    OpBuilder builder(kernels[0]);
    // The fused kernel has the inputs of both kernels, followed by the outputs of both kernels.
    SmallVector<Value> operands;
    SmallVector<std::pair<func::FuncOp, unsigned>> arguments;
    auto take = [&](bool written) {
      for (auto [call, kernel] : llvm::zip_equal(calls, kernels)) {
        unsigned inputs = call.getNumOperands() - call.getNumResults();
        for (unsigned i = written ? inputs : 0, e = written ? call.getNumOperands() : inputs; i < e; ++i) {
          operands.push_back(call.getOperand(i));
          arguments.push_back({kernel, i});
        }
      }
    };
    take(false);
    take(true);

    SmallVector<Type> results(first.getResultTypes());
    llvm::append_range(results, second.getResultTypes());
    auto fused = func::FuncOp::create(builder, kernels[0].getLoc(),
                                      (kernels[0].getName() + "_and_" + kernels[1].getName()).str(),
                                      builder.getFunctionType(ValueRange(operands).getTypes(), results));
    fused.setPrivate();
    fused->setAttr("tw.kernel", builder.getUnitAttr());
    auto ops = builder.getStringAttr(llvm::Twine(opsOf(kernels[0])) + "|" + opsOf(kernels[1]));
    fused->setAttr("tw.ops", ops);
    Block *body = fused.addEntryBlock();
    IRMapping mapping;
    for (auto [number, argument] : llvm::enumerate(arguments)) {
      auto &[kernel, position] = argument;
      mapping.map(kernel.getArgument(position), body->getArgument(number));
      fused.setArgAttrs(number, kernel.getArgAttrDict(position));
    }
    builder.setInsertionPointToStart(body);
    func::ReturnOp::create(builder, fused.getLoc(), join(builder, kernels, mapping)->getResults());

    builder.setInsertionPoint(second);
    auto call = func::CallOp::create(builder, builder.getFusedLoc({first.getLoc(), second.getLoc()}), fused, operands);
    call->setAttr("tw.ops", ops);
    first.replaceAllUsesWith(call.getResults().take_front(first.getNumResults()));
    second.replaceAllUsesWith(call.getResults().drop_front(first.getNumResults()));
    first.erase();
    second.erase();
    for (func::FuncOp kernel : kernels)
      if (SymbolTable::symbolKnownUseEmpty(kernel, getOperation()))
        kernel.erase();
    return call;
  }

  /// Returns one op that computes the ops of both kernels. The two ops have the same loops, so their bodies are
  /// concatenated.
  linalg::GenericOp join(OpBuilder &builder, ArrayRef<func::FuncOp> kernels, IRMapping &mapping) {
    linalg::GenericOp parts[] = {genericOf(kernels[0]), genericOf(kernels[1])};
    SmallVector<Value> inputs, outputs;
    SmallVector<AffineMap> maps;
    for (linalg::GenericOp part : parts)
      for (OpOperand *operand : part.getDpsInputOperands()) {
        inputs.push_back(mapping.lookup(operand->get()));
        maps.push_back(part.getMatchingIndexingMap(operand));
      }
    for (linalg::GenericOp part : parts)
      for (OpOperand &operand : part.getDpsInitsMutable()) {
        outputs.push_back(mapping.lookup(operand.get()));
        maps.push_back(part.getMatchingIndexingMap(&operand));
      }
    auto bodies = [&](OpBuilder &b, Location loc, ValueRange elements) {
      ValueRange in = elements.take_front(inputs.size()), out = elements.drop_front(inputs.size());
      SmallVector<Value> yielded;
      for (linalg::GenericOp part : parts) {
        IRMapping inner;
        inner.map(part.getRegionInputArgs(), in.take_front(part.getNumDpsInputs()));
        inner.map(part.getRegionOutputArgs(), out.take_front(part.getNumDpsInits()));
        in = in.drop_front(part.getNumDpsInputs());
        out = out.drop_front(part.getNumDpsInits());
        for (Operation &op : part.getBody()->without_terminator())
          b.clone(op, inner);
        for (Value value : part.getBody()->getTerminator()->getOperands())
          yielded.push_back(inner.lookupOrDefault(value));
      }
      linalg::YieldOp::create(b, loc, yielded);
    };
    auto generic = linalg::GenericOp::create(builder, builder.getFusedLoc({parts[0].getLoc(), parts[1].getLoc()}),
                                             ValueRange(outputs).getTypes(), inputs, outputs, maps,
                                             parts[0].getIteratorTypesArray(), bodies);
    generic->setAttr("tw.op", builder.getStringAttr(llvm::Twine(opsOf(kernels[0])) + "|" + opsOf(kernels[1])));
    return generic;
  }

  static StringRef opsOf(func::FuncOp kernel) { return kernel->getAttrOfType<StringAttr>("tw.ops").getValue(); }
};

} // namespace

extern "C" PassPluginLibraryInfo mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "FuseSiblings", LLVM_VERSION_STRING, [] { PassRegistration<FuseSiblings>(); }};
}
