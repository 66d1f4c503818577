//===- GuardSizes.cpp - --tw-guard-sizes: checks sizes that only the call determines ---===//
//
// Before:
//   func @main(%n: index {tw.symbol = "n", ...}, %x: tensor<?x8xf32, (s0, 8)>, %w: tensor<17x8xf32>) {
//     tw.concat %x, %w {dim = 1} ...
// After, on the function:
//   tw.guards = [{sizes = affine_map<()[s0] -> (s0, 17)>, text = "tw.concat at model.mlir:4: n must be 17"}]
//
// An op requires relations between sizes (SizeRules.h): two sizes are equal, or one is at least the other. If the sizes
// are symbolic, the op's verifier cannot decide some of these relations. If the ranges of the symbols prove such a
// relation, the pass emits nothing. If they contradict it, the pass reports an error. Otherwise the relation becomes a
// guard: the two sizes in `sizes` must be equal or, with `at_least`, the first must be at least the second. Guards are
// part of the plan, and the runtime evaluates them once for each set of sizes. Graphs from torch.compile do not need
// this pass, because torch checks their guards.
//
// Test: test/Graph/guard-sizes.mlir
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/Graph.h"
#include "dialects/Graph/SizeRules.h"
#include "dialects/Graph/Sizes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "tilewright/Passes.h"
#include "tilewright/SourceLine.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;

namespace tilewright {
#define GEN_PASS_DEF_GUARDSIZES
#include "tilewright/Passes.h.inc"
namespace graph {
namespace {

class SizeGuarder {
public:
  explicit SizeGuarder(func::FuncOp function)
      : function(function), builder(function.getContext()), symbols(symbolicSizesOf(function)) {}

  LogicalResult run() {
    if (symbols.empty())
      return success();
    if (auto given = function->getAttrOfType<ArrayAttr>(guardsAttrName))
      for (Attribute guard : given) // guards of the importer, or guards that were saved with the graph
        add(guard);
    WalkResult result = function.walk([&](Operation *op) {
      if (!isa<TWDialect>(op->getDialect()) || isStatic(op))
        return WalkResult::advance();
      SmallVector<SizeRule> rules;
      if (failed(openSizeRules(op, rules)))
        return WalkResult::interrupt();
      for (const SizeRule &rule : rules)
        if (failed(settle(op, rule)))
          return WalkResult::interrupt();
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      return failure();
    if (!guards.empty())
      function->setAttr(guardsAttrName, builder.getArrayAttr(guards));
    return success();
  }

private:
  static bool isStatic(Operation *op) {
    auto fixed = [](Type type) {
      return !isa<RankedTensorType>(type) || cast<RankedTensorType>(type).hasStaticShape();
    };
    return llvm::all_of(op->getOperandTypes(), fixed) && llvm::all_of(op->getResultTypes(), fixed) && !isa<SliceOp>(op);
  }

  LogicalResult settle(Operation *op, const SizeRule &rule) {
    if (!seen.insert({rule.lhs, rule.rhs, int(rule.atLeast)}).second)
      return success();
    auto [low, high] = rangeOf(canonicalSize(rule.lhs - rule.rhs), [&](unsigned symbol) {
      constexpr double infinity = std::numeric_limits<double>::infinity();
      if (symbol >= symbols.size())
        return std::pair(-infinity, infinity);
      return std::pair(double(symbols[symbol].min),
                       symbols[symbol].max == INT64_MAX ? infinity : double(symbols[symbol].max));
    });
    if (rule.atLeast ? low >= 0 : low == 0 && high == 0)
      return success();
    AffineExpr lhs = rule.lhs, rhs = rule.rhs;
    if (isa<AffineConstantExpr>(lhs) && !rule.atLeast)
      std::swap(lhs, rhs);
    const std::string text = where(op) + ": " + sizeText(lhs, symbols) + " must be " +
                             (rule.atLeast ? "at least " : "") + sizeText(rhs, symbols);
    if (high < 0 || (!rule.atLeast && low > 0))
      return op->emitOpError() << "has sizes that are never valid within the ranges of the symbolic sizes: " << text;
    add(guardAttr({lhs, rhs, rule.atLeast}, symbols.size(), text));
    return success();
  }

  void add(Attribute guard) {
    if (known.insert(guard).second)
      guards.push_back(guard);
  }

  /// Returns the name and source line of an op: "Concat cat_1" if an importer has named the node, otherwise
  /// "tw.concat".
  static std::string where(Operation *op) {
    std::string text = op->getName().getStringRef().str();
    if (auto name = op->getLoc()->findInstanceOf<NameLoc>())
      text = name.getName().str();
    const std::string line = sourceLine(op->getLoc());
    return text + (line.empty() ? "" : " at " + line);
  }

  func::FuncOp function;
  Builder builder;
  SmallVector<SymbolicSize> symbols;
  llvm::DenseSet<std::tuple<AffineExpr, AffineExpr, int>> seen;
  llvm::DenseSet<Attribute> known;
  SmallVector<Attribute> guards;
};

struct GuardSizes : impl::GuardSizesBase<GuardSizes> {
  void runOnOperation() override {
    if (failed(SizeGuarder(getOperation()).run()))
      signalPassFailure();
  }
};

} // namespace
} // namespace graph
} // namespace tilewright
