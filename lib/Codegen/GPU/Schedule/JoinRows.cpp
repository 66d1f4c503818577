//===- JoinRows.cpp - fuse a norm with the product before it --------------===//
//
// Before:
//   %h = call @kernel_0(%x, %w, %r, %into)       // h = x w' + r: rows of 256
//   %n = call @kernel_1(%h, %g, %to)             // h / sqrt(mean of h * h) * g
// After:
//   %h, %n = call @kernel_0_rows(%x, %w, %r, %g, %into, %to)
//
// A tile of the joined kernel has all columns of its rows, so the registers of four lanes contain the sums of a row and
// the values computed from them. h is not read from memory, and is stored only if another op reads it. Kernels are
// joined only if a tile can have all columns (at most 256), all sizes are known, and the cost model predicts more time
// for two kernels. Wider rows have separate kernels (docs/decisions/0036-norms-after-products.md).
//
// Tests: test/Codegen/GPU/Schedule/join-rows.mlir, test/Python/test_cuda_join_rows.py
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/GPU/Schedule/JoinRows.h"
#include "dialects/Tile/Sizes.h"
#include "lib/Codegen/GPU/Schedule/NewKernel.h"
#include "lib/Codegen/GPU/Schedule/ProductSpace.h"
#include "lib/Codegen/GPU/Schedule/WgmmaSpace.h"
#include "lib/Codegen/GPU/ThreadKernel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"
#include "tilewright/AttributeNames.h"

using namespace mlir;

namespace tilewright::gpu {
namespace {

/// Returns the chosen wgmma schedule with its predicted time if it can be emitted for the kernel, otherwise the chosen
/// mma schedule. Returns nullopt if neither can be emitted.
std::optional<TimedSchedule> fastest(Contraction product, const Arch &arch) {
  std::optional<TimedSchedule> best;
  auto take = [&](Schedule schedule, double nanoseconds) {
    if (!best || nanoseconds < best->nanoseconds)
      best = TimedSchedule{schedule, nanoseconds};
  };
  if (std::optional<Schedule> schedule = wgmmaFor(product, arch))
    take(*schedule, nanosecondsOfWgmma(*schedule, product, arch));
  if (!best && whyNotOnTensorCores(product, arch.formats()).empty())
    if (Schedule schedule = chooseMma(product, arch); whyNotMma(schedule, product, arch.sharedBytes).empty())
      take(schedule, nanosecondsOfMma(schedule, product, arch));
  return best;
}

class Join {
public:
  Join(func::CallOp first, func::CallOp second, SymbolTable &symbols)
      : first(first), second(second), symbols(symbols), builder(first.getContext()) {}

  /// Returns true if the two kernels may be joined. Both calls must be in one block, and the kernels must have known
  /// sizes and no schedules yet. The first kernel must have one result, and matchContraction() must accept it. The
  /// second kernel must have reductions and no products, and may contain only linalg ops, constants and tensor.empty.
  /// Each op between the calls that reads the result of the first call must be a reshape that can be moved after the
  /// second call.
  bool possible() {
    product = symbols.lookup<func::FuncOp>(first.getCallee());
    rows = symbols.lookup<func::FuncOp>(second.getCallee());
    std::string reason;
    if (first->getBlock() != second->getBlock() || first->getNumResults() != 1 || !isKernel(product) ||
        !isKernel(rows) || !matchContraction(product, reason))
      return false;
    auto plain = [](Operation &op) {
      auto structured = dyn_cast<linalg::LinalgOp>(op);
      return isa<arith::ConstantOp, tensor::EmptyOp, func::ReturnOp>(op) || (structured && !isProduct(structured));
    };
    bool reduces = llvm::any_of(rows.getOps<linalg::LinalgOp>(),
                                [](linalg::LinalgOp op) { return op.getNumReductionLoops() > 0; });
    return reduces && llvm::all_of(rows.getBody().front(), plain) &&
           llvm::all_of(first.getResult(0).getUsers(), [&](Operation *user) { return waits(user); });
  }

  /// Finds the joined kernel's arguments. Returns a key of the joined kernel; equal layers of a model have the same
  /// key.
  std::string layOut() {
    std::string name = product.getName().str() + " " + rows.getName().str();
    keeps = llvm::any_of(first.getResult(0).getUsers(), [&](Operation *user) { return user != second; });
    const unsigned inputsOfRows = inputsOf(rows);
    const unsigned inputsOfProduct = product.getNumArguments() - 1;
    for (BlockArgument argument : product.getArguments().take_front(inputsOfProduct))
      taken.push_back(argument);
    operands.assign(first.operand_begin(), first.operand_begin() + inputsOfProduct);
    for (unsigned number = 0; number < inputsOfRows; ++number)
      if (second.getOperand(number) != first.getResult(0)) {
        taken.push_back(rows.getArgument(number));
        operands.push_back(second.getOperand(number));
        name += " " + std::to_string(number);
      }
    if (keeps) {
      taken.push_back(product.getArgument(inputsOfProduct));
      operands.push_back(first.getOperand(inputsOfProduct));
    }
    for (unsigned number = inputsOfRows; number < rows.getNumArguments(); ++number) {
      taken.push_back(rows.getArgument(number));
      operands.push_back(second.getOperand(number));
    }
    return keeps ? name + " and between" : name;
  }

  /// Returns the joined kernel, which is not called yet.
  func::FuncOp make() {
    const unsigned inputsOfRows = inputsOf(rows);
    const unsigned inputsOfProduct = product.getNumArguments() - 1;
    SmallVector<Type> results;
    if (keeps)
      results.push_back(product.getResultTypes()[0]);
    llvm::append_range(results, rows.getResultTypes());
    SmallVector<Type> types = llvm::map_to_vector(taken, [](BlockArgument each) { return each.getType(); });
    func::FuncOp made = makeKernel(builder, product, "_rows", types, results,
                                   builder.getStringAttr(opsOf(first) + "+" + opsOf(second)));
    IRMapping mapping;
    for (auto [number, argument] : llvm::enumerate(taken))
      mapping.map(argument, made.getArgument(unsigned(number)));
    if (!keeps) {
      auto type = cast<RankedTensorType>(product.getResultTypes()[0]);
      mapping.map(product.getArgument(inputsOfProduct),
                  tensor::EmptyOp::create(builder, made.getLoc(), type.getShape(), type.getElementType()).getResult());
    }
    Value between = cloneBody(builder, product, mapping)[0];
    for (unsigned number = 0; number < inputsOfRows; ++number)
      if (second.getOperand(number) == first.getResult(0))
        mapping.map(rows.getArgument(number), between);
    SmallVector<Value> returned;
    if (keeps)
      returned.push_back(between);
    llvm::append_range(returned, cloneBody(builder, rows, mapping));
    func::ReturnOp::create(builder, made.getLoc(), returned);
    symbols.insert(made);
    return made;
  }

  /// Returns the number of bytes of memory traffic between the two kernels that the joined kernel avoids.
  int64_t bytesSpared() {
    auto type = cast<RankedTensorType>(product.getResultTypes()[0]);
    return type.getNumElements() * std::max<int64_t>(1, type.getElementTypeBitWidth() / 8) * (keeps ? 1 : 2);
  }

  /// Replaces the two calls by a call of the joined kernel.
  void replace(func::FuncOp made) {
    builder.setInsertionPoint(second);
    const unsigned inputs = inputsOf(made);
    for (Value &destination : MutableArrayRef(operands).drop_front(inputs)) // each destination has a separate buffer
      if (auto empty = destination.getDefiningOp<tensor::EmptyOp>())
        destination = builder.clone(*empty)->getResult(0);
    auto call = func::CallOp::create(builder, second.getLoc(), made, operands);
    call->setAttr(opsAttrName, made->getAttr(opsAttrName));
    for (Operation *user : llvm::to_vector(first.getResult(0).getUsers()))
      if (user != second && user->isBeforeInBlock(second))
        user->moveAfter(call); // the user is a view
    if (keeps)
      first.getResult(0).replaceAllUsesExcept(call.getResult(0), second);
    second->replaceAllUsesWith(call.getResults().drop_front(keeps ? 1 : 0));
    second.erase();
    first.erase();
  }

private:
  /// Returns true if `user`, which reads the product's result, is after the second kernel or can be moved after it.
  bool waits(Operation *user) {
    if (user == second || second->isBeforeInBlock(user))
      return true;
    return isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(user) &&
           llvm::all_of(user->getUsers(), [&](Operation *reader) { return second->isBeforeInBlock(reader); });
  }
  static bool isKernel(func::FuncOp function) {
    return function && function->hasAttr(kernelAttrName) && !function->hasAttr(scheduleAttrName) &&
           sizesAreKnown(function) && function.getNumArguments() > function.getNumResults();
  }

  func::CallOp first, second;
  SymbolTable &symbols;
  OpBuilder builder;
  func::FuncOp product, rows;
  SmallVector<BlockArgument> taken; ///< original argument of each of the joined kernel's arguments
  SmallVector<Value> operands;
  bool keeps = false; ///< other ops read the product's result, so it is also a result of the joined kernel
};

class Joiner {
public:
  Joiner(ModuleOp module, const Arch &arch) : module(module), symbols(module), arch(arch) {}

  void run() {
    for (auto function : llvm::to_vector(module.getOps<func::FuncOp>())) {
      if (function->hasAttr(kernelAttrName) || function.isExternal())
        continue;
      for (auto second : llvm::to_vector(function.getOps<func::CallOp>()))
        for (Value operand : second.getOperands())
          if (auto first = operand.getDefiningOp<func::CallOp>(); first && join(first, second))
            break;
    }
    eraseUncalled(module, symbols, joined.getArrayRef());
  }

private:
  /// Tries to join the two kernels. Returns true if they were joined.
  bool join(func::CallOp first, func::CallOp second) {
    Join both(first, second, symbols);
    if (!both.possible())
      return false;
    auto [known, isNew] = kernels.try_emplace(both.layOut());
    if (isNew)
      known->second = kernelOf(both, symbols.lookup<func::FuncOp>(first.getCallee()));
    if (!known->second)
      return false;
    joined.insert(first.getCalleeAttr().getAttr());
    joined.insert(second.getCalleeAttr().getAttr());
    both.replace(known->second);
    return true;
  }

  /// Returns the joined kernel with its schedule. Returns null if `product` or the joined kernel has no schedule on
  /// tensor cores, or if the cost model predicts less time for the two kernels.
  func::FuncOp kernelOf(Join &both, func::FuncOp product) {
    std::string reason;
    std::optional<TimedSchedule> separate = fastest(*matchContraction(product, reason), arch);
    if (!separate)
      return {};
    func::FuncOp kernel = both.make();
    std::optional<Contraction> whole = matchContraction(kernel, reason);
    std::optional<TimedSchedule> joinedTime = whole ? fastest(*whole, arch) : std::nullopt;
    if (!joinedTime ||
        joinedTime->nanoseconds > separate->nanoseconds + secondKernel + double(both.bytesSpared()) / arch.deviceRate) {
      symbols.erase(kernel);
      return {};
    }
    setSchedule(kernel, joinedTime->schedule);
    return kernel;
  }

  ModuleOp module;
  SymbolTable symbols;
  const Arch &arch;
  std::map<std::string, func::FuncOp> kernels; ///< joined kernels, by their keys
  llvm::SetVector<StringAttr> joined;          ///< names of kernels that may have no calls left
};

} // namespace

void joinRows(ModuleOp module, const Arch &arch) { Joiner(module, arch).run(); }

} // namespace tilewright::gpu
