//===- PairProducts.cpp - one kernel for two products whose results are combined ------------===//
//
// Before (SwiGLU):
//   %gate = call @kernel_0(%x, %wg, %into)                    // x wg
//   %r = call @kernel_1(%x, %wu, %gate, %into)                // silu(gate) * (x wu)
// After:
//   %r = call @kernel_1_paired(%x, %wg, %wu, %into)           // silu(x wg) * (x wu)
//
// The kernel contains both products, and computes the same rows and columns of both in one block. Each thread then has
// the sums of both products for the same elements (EmitWgmma.cpp). The blocks read x once for both products, and the
// gate is neither stored nor loaded. If other kernels read the gate, the kernel also returns it. The weights are not
// copied.
//
// Two products form a pair if warp groups can compute them (the schedule `wgmma`), and both have the same first operand
// and the same static sizes. The second kernel must read the result of the first elementwise, after its product,
// at the indices of its own result (matchContractions() tests this). The second kernel must not depend on other users
// of the result.
//
// Tests: test/Codegen/GPU/Schedule/pair-products.mlir, test/Python/test_cuda_pair_products.py
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/GPU/Schedule/PairProducts.h"
#include "lib/Codegen/GPU/Schedule/NewKernel.h"
#include "lib/Codegen/GPU/Schedule/PaddedImage.h"
#include "lib/Codegen/GPU/Schedule/WgmmaSpace.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Transforms/CSE.h"
#include "tilewright/AttributeNames.h"

using namespace mlir;

namespace tilewright::gpu {
namespace {

/// A kernel whose product may be a part of a pair.
struct Half {
  func::FuncOp kernel;
  unsigned shared;    ///< number of the argument that is the product's first operand
  double nanoseconds; ///< predicted time of the kernel alone
};

/// The arguments of a kernel of a pair, as operands of the two calls.
struct Arguments {
  SmallVector<Value> inputs;           ///< without duplicates
  SmallVector<unsigned> first, second; ///< numbers of the inputs of each kernel in `inputs`
  SmallVector<std::optional<unsigned>>
      gates;                  ///< for each input of the second kernel, the first kernel's result that it is
  SmallVector<unsigned> kept; ///< numbers of the results of the first kernel that other ops read
};

class ProductPairs {
public:
  ProductPairs(ModuleOp module, const Arch &arch) : module(module), symbols(module), arch(arch), builder(module) {}

  void run() {
    for (auto function : llvm::to_vector(module.getOps<func::FuncOp>()))
      if (!function->hasAttr(kernelAttrName) && !function.isExternal())
        for (Block &block : function)
          for (auto call : llvm::to_vector(block.getOps<func::CallOp>()))
            pairWithProducer(call);
    eraseUncalled(module, symbols, replaced.getArrayRef());
  }

private:
  /// Returns the callee if its product may be a part of a pair, or std::nullopt.
  std::optional<Half> halfOf(func::CallOp call) {
    auto kernel = symbols.lookup<func::FuncOp>(call.getCallee());
    if (!kernel || !kernel->hasAttr(kernelAttrName) || call->hasAttr(onceAttrName) || !sizesAreKnown(kernel) ||
        hasScheduleExcept(kernel, Schedule::Kind::Wgmma))
      return std::nullopt;
    auto [known, isNew] = halves.try_emplace(kernel);
    if (isNew)
      known->second = describe(kernel);
    return known->second;
  }

  std::optional<Half> describe(func::FuncOp kernel) {
    std::string reason;
    std::optional<Contraction> product = matchContraction(kernel, reason);
    if (!product || !product->rowSums.empty() || isDotProducts(*product))
      return std::nullopt;
    std::optional<Schedule> schedule = wgmmaFor(*product, arch);
    if (!schedule)
      return std::nullopt;
    return Half{kernel, imageOf(product->op.getDpsInputOperand(0)->get()).getArgNumber(),
                nanosecondsOfWgmma(*schedule, *product, arch)};
  }

  /// Replaces `second` and a call whose result it reads by one call, if they form a pair.
  void pairWithProducer(func::CallOp second) {
    const std::optional<Half> half = halfOf(second);
    if (!half)
      return;
    for (Value operand : second.getOperands().take_front(inputsOf(half->kernel))) {
      auto first = operand.getDefiningOp<func::CallOp>();
      if (!first)
        continue;
      const std::optional<Half> other = halfOf(first);
      if (!other || first.getOperand(other->shared) != second.getOperand(half->shared))
        continue;
      const std::optional<SmallVector<Operation *>> between = opsBetween(first, second);
      if (between && replace(first, second, *between))
        return;
    }
  }

  /// Returns the ops before `second` that depend on `first`, in the order of the block. They can be moved after
  /// `second` if they are calls and views. Returns std::nullopt if there are other ops, or if `second` depends on one
  /// of these ops.
  static std::optional<SmallVector<Operation *>> opsBetween(func::CallOp first, func::CallOp second) {
    SmallVector<Operation *> between;
    for (Operation *op = first->getNextNode(); op; op = op->getNextNode()) {
      auto reads = [&](auto isSource) { // also in the regions of `op`
        return op
            ->walk([&](Operation *inner) {
              const bool found = llvm::any_of(inner->getOperands(), [&](Value operand) {
                Operation *from = operand.getDefiningOp();
                return from && isSource(from);
              });
              return found ? WalkResult::interrupt() : WalkResult::advance();
            })
            .wasInterrupted();
      };
      const bool depends = reads([&](Operation *from) { return llvm::is_contained(between, from); });
      if (op == second)
        return depends ? std::nullopt : std::optional(between);
      if (!depends && !reads([&](Operation *from) { return from == first; }))
        continue;
      if (!isa<func::CallOp, tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op))
        return std::nullopt;
      between.push_back(op);
    }
    return std::nullopt; // `second` is not in this block
  }

  Arguments argumentsOf(func::CallOp first, func::CallOp second) {
    Arguments made;
    auto number = [&](Value operand) {
      auto *known = llvm::find(made.inputs, operand);
      const auto at = unsigned(known - made.inputs.begin());
      if (known == made.inputs.end())
        made.inputs.push_back(operand);
      return at;
    };
    for (Value operand : first.getOperands().take_front(inputsOf(halfOf(first)->kernel)))
      made.first.push_back(number(operand));
    for (Value operand : second.getOperands().take_front(inputsOf(halfOf(second)->kernel))) {
      const bool isGate = operand.getDefiningOp() == first;
      made.gates.push_back(isGate ? std::optional(cast<OpResult>(operand).getResultNumber()) : std::nullopt);
      made.second.push_back(isGate ? 0 : number(operand));
    }
    for (OpResult result : first->getResults())
      if (llvm::any_of(result.getUsers(), [&](Operation *user) { return user != second; }))
        made.kept.push_back(result.getResultNumber());
    return made;
  }

  /// Replaces both calls, and moves the ops `between` after the new call. Returns false, without a change, if the
  /// kernels do not form a pair or one kernel is predicted to take more time.
  bool replace(func::CallOp first, func::CallOp second, ArrayRef<Operation *> between) {
    const Arguments arguments = argumentsOf(first, second);
    func::FuncOp kernel = kernelFor(first, second, arguments);
    if (!kernel)
      return false;
    builder.setInsertionPoint(second);
    func::CallOp made = callWithNewBuffers(builder, second.getLoc(), kernel, arguments.inputs);
    for (auto [result, kept] : llvm::enumerate(arguments.kept))
      first.getResult(kept).replaceAllUsesExcept(made.getResult(unsigned(result)), second);
    second->replaceAllUsesWith(made.getResults().drop_front(arguments.kept.size()));
    for (Operation *op : llvm::reverse(between))
      op->moveAfter(made);
    for (func::CallOp call : {second, first}) {
      replaced.insert(call.getCalleeAttr().getAttr());
      call.erase();
    }
    return true;
  }

  /// Returns the kernel that replaces both callees, or null. Layers of a model call the same kernels, so the result for
  /// two callees is kept.
  func::FuncOp kernelFor(func::CallOp first, func::CallOp second, const Arguments &arguments) {
    std::string key = first.getCallee().str() + " " + second.getCallee().str();
    auto append = [&](unsigned number) { key += " " + std::to_string(number); };
    for (ArrayRef<unsigned> numbers :
         {ArrayRef(arguments.first), ArrayRef(arguments.second), ArrayRef(arguments.kept)}) {
      key += ",";
      llvm::for_each(numbers, append);
    }
    for (std::optional<unsigned> gate : arguments.gates)
      key += gate ? " g" + std::to_string(*gate) : " -";
    auto [known, isNew] = paired.try_emplace(key);
    if (isNew)
      known->second = make(first, second, arguments);
    return known->second;
  }

  func::FuncOp make(func::CallOp first, func::CallOp second, const Arguments &arguments) {
    func::FuncOp gate = halfOf(first)->kernel, from = halfOf(second)->kernel;
    SmallVector<Type> types = llvm::to_vector(ValueRange(arguments.inputs).getTypes()), results;
    for (unsigned kept : arguments.kept)
      results.push_back(gate.getResultTypes()[kept]);
    llvm::append_range(results, from.getResultTypes());
    llvm::append_range(types, results);
    func::FuncOp kernel =
        makeKernel(builder, from, "_paired", types, results, builder.getStringAttr(opsOf(first) + "+" + opsOf(second)));
    const auto inputs = unsigned(arguments.inputs.size());
    IRMapping ofGate, ofSecond;
    for (auto [number, argument] : llvm::enumerate(arguments.first))
      ofGate.map(gate.getArgument(unsigned(number)), kernel.getArgument(argument));
    for (BlockArgument destination : gate.getArguments().drop_front(arguments.first.size())) {
      const auto result = unsigned(destination.getArgNumber() - arguments.first.size());
      auto *kept = llvm::find(arguments.kept, result);
      auto ranked = cast<RankedTensorType>(destination.getType());
      ofGate.map(destination, kept != arguments.kept.end()
                                  ? Value(kernel.getArgument(inputs + unsigned(kept - arguments.kept.begin())))
                                  : Value(tensor::EmptyOp::create(builder, kernel.getLoc(), ranked.getShape(),
                                                                  ranked.getElementType())));
    }
    const SmallVector<Value> gates = cloneBody(builder, gate, ofGate);
    for (auto [number, argument] : llvm::enumerate(arguments.second)) {
      const std::optional<unsigned> result = arguments.gates[number];
      ofSecond.map(from.getArgument(unsigned(number)), result ? gates[*result] : Value(kernel.getArgument(argument)));
    }
    for (BlockArgument destination : from.getArguments().drop_front(arguments.second.size()))
      ofSecond.map(destination,
                   kernel.getArgument(inputs + unsigned(arguments.kept.size() + destination.getArgNumber() -
                                                        arguments.second.size())));
    SmallVector<Value> returned = llvm::map_to_vector(arguments.kept, [&](unsigned kept) { return gates[kept]; });
    llvm::append_range(returned, cloneBody(builder, from, ofSecond));
    func::ReturnOp::create(builder, kernel.getLoc(), returned);
    DominanceInfo dominance(kernel);
    IRRewriter rewriter(builder);
    eliminateCommonSubExpressions(rewriter, dominance, kernel); // both products of a pair read one padded image
    std::optional<Schedule> schedule = scheduleFor(kernel, halfOf(first)->nanoseconds + halfOf(second)->nanoseconds);
    if (!schedule) {
      kernel.erase();
      return {};
    }
    symbols.insert(kernel);
    setSchedule(kernel, *schedule);
    return kernel;
  }

  /// Returns the schedule of a kernel with a pair of products. Returns std::nullopt if the products are not a pair, or
  /// if the cost model predicts more time than `separate` nanoseconds minus the launch of one kernel.
  std::optional<Schedule> scheduleFor(func::FuncOp kernel, double separate) {
    std::string reason;
    SmallVector<Contraction, 1> products = matchContractions(kernel, reason);
    if (products.size() != 1 || !products.front().second)
      return std::nullopt;
    std::optional<Schedule> schedule = wgmmaFor(products.front(), arch);
    if (!schedule || nanosecondsOfWgmma(*schedule, products.front(), arch) > separate - (kernelLaunch - secondKernel))
      return std::nullopt;
    return schedule;
  }

  ModuleOp module;
  SymbolTable symbols;
  const Arch &arch;
  OpBuilder builder;
  llvm::DenseMap<func::FuncOp, std::optional<Half>> halves;
  /// Kernels of pairs. The key has the names of the two kernels and the numbers of their arguments.
  std::map<std::string, func::FuncOp> paired;
  llvm::SetVector<StringAttr> replaced; ///< names of kernels that may have no calls left
};

} // namespace

void pairProducts(ModuleOp module, const Arch &arch) {
  if (arch.groupFlops > 0)
    ProductPairs(module, arch).run();
}

} // namespace tilewright::gpu
