//===- JoinProducts.cpp - one kernel for products that read the same operand ----------------===//
//
// Before (queries, keys and values of attention):
//   %q = call @kernel_0(%x, %wq, %bq, %into)
//   %k = call @kernel_0(%x, %wk, %bk, %into)
//   %v = call @kernel_1(%x, %wv, %into)
// After:
//   %q, %k, %v = call @kernel_0_joined(%x, %wq, %bq, %wk, %bk, %wv, %into0, %into1, %into2)
//
// The joined kernel contains the ops of all kernels, and the attribute tw_gpu.joined_results = [1, 1, 1]. The first
// blocks of its grid compute the first product, the next blocks the second product. One launch takes less time than
// three, and the tiles of all products fill the multiprocessors together. The weights are not copied.
//
// Products are joined if they have the schedule `wgmma`, known sizes, and the same numbers of rows and terms. All
// operands of the later calls must be available at the first call, or be results of views and elementwise kernels that
// can be moved before it. Products that are computed once for each version of the parameters are not joined.
//
// Tests: test/Codegen/GPU/Schedule/join-products.mlir, test/Codegen/GPU/Schedule/join-products-order.mlir,
// test/Python/test_cuda_join_products.py
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/GPU/Schedule/JoinProducts.h"
#include "lib/Codegen/GPU/Schedule/NewKernel.h"
#include "lib/Codegen/GPU/Schedule/PaddedImage.h"
#include "lib/Codegen/GPU/Schedule/WgmmaSpace.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"
#include "tilewright/AttributeNames.h"

using namespace mlir;

namespace tilewright::gpu {
namespace {

/// The maximum number of products of a joined kernel. The size of a kernel's parameters, which include two tensor maps
/// for each product, is limited.
constexpr size_t mostProducts = 8;

/// A kernel that may be joined with others.
struct Candidate {
  func::FuncOp kernel;
  Contraction product;
  double nanoseconds; ///< predicted time of the kernel alone
};

class ProductJoiner {
public:
  ProductJoiner(ModuleOp module, const Arch &arch) : module(module), symbols(module), arch(arch), builder(module) {}

  void run() {
    for (auto function : llvm::to_vector(module.getOps<func::FuncOp>()))
      if (!function->hasAttr(kernelAttrName) && !function.isExternal())
        for (Block &block : function)
          joinCallsOf(block);
    eraseUncalled(module, symbols, replaced.getArrayRef());
  }

private:
  void joinCallsOf(Block &block) {
    // Calls whose products read the same first operand and have the same numbers of rows and terms, in the order of the
    // block.
    llvm::MapVector<std::pair<Value, std::pair<int64_t, int64_t>>, SmallVector<func::CallOp>> groups;
    for (auto call : block.getOps<func::CallOp>())
      if (Candidate *candidate = call->hasAttr(onceAttrName) ? nullptr : candidateOf(call)) {
        Contraction &product = candidate->product;
        Value shared = call.getOperand(imageOf(product.lhs()->get()).getArgNumber());
        groups[{shared, {product.sizeOf(product.rows), product.sizeOf(product.depth)}}].push_back(call);
      }
    for (auto &[key, calls] : groups)
      while (calls.size() > 1) {
        func::CallOp first = calls.front();
        SmallVector<func::CallOp> members, others;
        for (func::CallOp call : calls)
          (members.size() < mostProducts && canMoveTo(call, first) ? members : others).push_back(call);
        if (members.size() > 1)
          join(members);
        calls = std::move(others);
      }
  }

  /// Returns the callee if it may be joined with other kernels, or null.
  Candidate *candidateOf(func::CallOp call) {
    auto kernel = symbols.lookup<func::FuncOp>(call.getCallee());
    if (!kernel || !kernel->hasAttr(kernelAttrName) || !sizesAreKnown(kernel))
      return nullptr;
    // Passes that create kernels for wgmma have already set the schedules of these kernels.
    if (hasScheduleExcept(kernel, Schedule::Kind::Wgmma))
      return nullptr;
    auto [known, isNew] = candidates.try_emplace(kernel);
    if (isNew)
      known->second = describe(kernel);
    return known->second ? &*known->second : nullptr;
  }

  std::optional<Candidate> describe(func::FuncOp kernel) {
    std::string reason;
    std::optional<Contraction> product = matchContraction(kernel, reason);
    if (!product || !product->rowSums.empty() || isDotProducts(*product) || product->sizeOf(product->batches) != 1)
      return std::nullopt;
    std::optional<Schedule> schedule = wgmmaFor(*product, arch);
    if (!schedule)
      return std::nullopt;
    return Candidate{kernel, *product, nanosecondsOfWgmma(*schedule, *product, arch)};
  }

  /// Returns true if the operands of `call` are available at `first`, an earlier call of the same block or `call`
  /// itself.
  bool canMoveTo(func::CallOp call, func::CallOp first) {
    return call == first || llvm::all_of(call.getOperands(), [&](Value operand) { return canMoveTo(operand, first); });
  }

  /// Returns true if `value` is defined before `first`, or if the op that defines it can be moved there: this op is a
  /// view or a call without a reduction (such as a permutation of a weight), and the condition holds for its operands.
  /// Products are not moved, so their order remains, and no member of a group depends on another member.
  bool canMoveTo(Value value, func::CallOp first) {
    Operation *op = value.getDefiningOp();
    if (!op || op->getBlock() != first->getBlock() || op->isBeforeInBlock(first) || isa<tensor::EmptyOp>(op))
      return true;
    auto call = dyn_cast<func::CallOp>(op);
    if (call ? !isElementwise(call) : !isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op))
      return false;
    return llvm::all_of(op->getOperands(), [&](Value operand) { return canMoveTo(operand, first); });
  }

  /// Returns true if the callee is a kernel that consists of linalg ops without reductions.
  bool isElementwise(func::CallOp call) {
    auto kernel = symbols.lookup<func::FuncOp>(call.getCallee());
    return kernel && kernel->hasAttr(kernelAttrName) && llvm::all_of(kernel.getBody().front(), [](Operation &op) {
             auto structured = dyn_cast<linalg::LinalgOp>(op);
             return structured ? structured.getNumReductionLoops() == 0
                               : isa<arith::ConstantOp, tensor::EmptyOp, func::ReturnOp>(op);
           });
  }

  /// Moves the op that defines `value`, and the ops that define its operands, before `first`. canMoveTo() must be true
  /// for `value`.
  static void moveTo(Value value, func::CallOp first) {
    Operation *op = value.getDefiningOp();
    if (!op || op->getBlock() != first->getBlock() || op->isBeforeInBlock(first))
      return;
    for (Value operand : op->getOperands())
      moveTo(operand, first);
    op->moveBefore(first);
  }

  void join(ArrayRef<func::CallOp> calls) {
    // Find the arguments of the joined kernel. Equal operands of several calls are one argument.
    SmallVector<Value> operands;
    SmallVector<SmallVector<unsigned>> numbers; // for each call and input, the argument of the joined kernel
    std::string key;
    for (func::CallOp call : calls) {
      key += call.getCallee().str();
      numbers.emplace_back();
      for (Value operand : call.getOperands().take_front(inputsOf(candidateOf(call)->kernel))) {
        auto *known = llvm::find(operands, operand);
        numbers.back().push_back(unsigned(known - operands.begin()));
        if (known == operands.end())
          operands.push_back(operand);
        key += " " + std::to_string(numbers.back().back());
      }
      key += ", ";
    }
    auto [known, isNew] = joined.try_emplace(key);
    if (isNew)
      known->second = make(calls, operands, numbers);
    if (known->second)
      replace(calls, known->second, operands);
  }

  /// Returns the joined kernel, or null if the cost model predicts less time for the single kernels.
  func::FuncOp make(ArrayRef<func::CallOp> calls, ArrayRef<Value> operands, ArrayRef<SmallVector<unsigned>> numbers) {
    SmallVector<Contraction, 1> products;
    double separate = 0;
    for (func::CallOp call : calls) {
      const Candidate &candidate = *candidateOf(call);
      products.push_back(candidate.product);
      separate += candidate.nanoseconds - (products.size() == 1 ? 0 : kernelLaunch - secondKernel);
    }
    std::optional<TimedSchedule> chosen = chooseWgmmaForAll(products, arch);
    if (!chosen || chosen->nanoseconds > separate)
      return {};
    SmallVector<Type> types = llvm::to_vector(ValueRange(operands).getTypes()), results;
    SmallVector<int64_t> counts;
    std::string ops;
    for (func::CallOp call : calls) {
      llvm::append_range(results, call.getResultTypes());
      counts.push_back(call.getNumResults());
      ops += (ops.empty() ? "" : "+") + opsOf(call);
    }
    llvm::append_range(types, results);
    func::FuncOp origin = candidateOf(calls.front())->kernel;
    func::FuncOp kernel = makeKernel(builder, origin, "_joined", types, results, builder.getStringAttr(ops));
    SmallVector<Value> returned;
    for (auto [call, inputs] : llvm::zip_equal(calls, numbers)) {
      func::FuncOp from = candidateOf(call)->kernel;
      IRMapping mapping;
      for (auto [number, argument] : llvm::enumerate(inputs))
        mapping.map(from.getArgument(unsigned(number)), kernel.getArgument(argument));
      for (BlockArgument destination : from.getArguments().drop_front(inputs.size()))
        mapping.map(destination, kernel.getArgument(unsigned(operands.size() + returned.size()) +
                                                    destination.getArgNumber() - unsigned(inputs.size())));
      llvm::append_range(returned, cloneBody(builder, from, mapping));
    }
    func::ReturnOp::create(builder, kernel.getLoc(), returned);
    kernel->setAttr(joinedResultsAttrName, builder.getDenseI64ArrayAttr(counts));
    symbols.insert(kernel);
    setSchedule(kernel, chosen->schedule);
    return kernel;
  }

  void replace(ArrayRef<func::CallOp> calls, func::FuncOp kernel, ArrayRef<Value> operands) {
    func::CallOp first = calls.front();
    for (Value operand : operands)
      moveTo(operand, first);
    builder.setInsertionPoint(first);
    func::CallOp made = callWithNewBuffers(builder, first.getLoc(), kernel, operands);
    size_t result = 0;
    for (func::CallOp call : calls) {
      call->replaceAllUsesWith(made.getResults().slice(result, call.getNumResults()));
      result += call.getNumResults();
      replaced.insert(call.getCalleeAttr().getAttr());
    }
    for (func::CallOp call : calls)
      call.erase();
  }

  ModuleOp module;
  SymbolTable symbols;
  const Arch &arch;
  OpBuilder builder;
  llvm::DenseMap<func::FuncOp, std::optional<Candidate>> candidates;
  /// Joined kernels; the key has the names of the kernels and the numbers of their arguments.
  std::map<std::string, func::FuncOp> joined;
  llvm::SetVector<StringAttr> replaced; ///< names of kernels that may have no calls left
};

} // namespace

void joinProducts(ModuleOp module, const Arch &arch) {
  if (arch.groupFlops > 0)
    ProductJoiner(module, arch).run();
}

} // namespace tilewright::gpu
