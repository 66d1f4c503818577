//===- Banks.cpp - the number of banks that an array needs ----------------===//
//
// An access x[4 * i + u] in a loop over u that is unrolled by 4 needs 4 cyclic banks; u selects the bank. The number of
// banks along each dimension of an array is the least common multiple of the numbers that the accesses in all tasks
// need, but at most the size of the dimension. If possible, the arrays of a task that copies data also get enough banks
// to transfer a word of at most 512 bits per cycle.
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/HLS/Banks.h"
#include "dialects/HLS/HLS.h"
#include "lib/Codegen/HLS/DataMovers.h"
#include "lib/Codegen/HLS/Names.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"
#include <numeric>

using namespace mlir;

namespace tilewright::hls {
namespace {

using Factors = SmallVector<int64_t>;

/// Returns the number of copies of the body of the loop with counter `iv`; 1 if it is not unrolled.
int64_t copiesOf(Value iv) {
  affine::AffineForOp loop = affine::getForInductionVarOwner(iv);
  auto attribute = loop ? loop->getAttrOfType<LoopAttr>(loopAttrName) : LoopAttr();
  return attribute ? attribute.getUnroll() : 1;
}

/// Returns the coefficient of dimension `position` in a linear expression; 0 if it does not occur.
int64_t coefficientOf(AffineExpr expr, unsigned position) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return dim.getPosition() == position;
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return 0;
  if (expr.getKind() == AffineExprKind::Add)
    return coefficientOf(binary.getLHS(), position) + coefficientOf(binary.getRHS(), position);
  auto factor = dyn_cast<AffineConstantExpr>(binary.getRHS());
  return expr.getKind() == AffineExprKind::Mul && factor ? coefficientOf(binary.getLHS(), position) * factor.getValue()
                                                         : 0;
}

class BankChooser {
public:
  explicit BankChooser(func::FuncOp top) : top(top), module(top->getParentOfType<ModuleOp>()) {}

  LogicalResult run() {
    SmallVector<func::FuncOp> functions;
    top.walk([&](TaskOp task) {
      auto function = module.lookupSymbol<func::FuncOp>(task.getCallee());
      if (!llvm::is_contained(functions, function))
        functions.push_back(function);
      for (auto [operand, argument] : llvm::zip(task->getOperands(), argumentsOf(task, function)))
        if (isa<MemRefType>(operand.getType()) && memoryOf(cast<MemRefType>(operand.getType())) != Memory::Dram)
          same.unionSets(operand.getAsOpaquePointer(), argument.getAsOpaquePointer());
    });
    for (func::FuncOp function : functions)
      function.walk([&](Operation *op) {
        if (auto load = dyn_cast<affine::AffineLoadOp>(op))
          need(load.getMemRef(), load.getAffineMap(), load.getMapOperands());
        else if (auto store = dyn_cast<affine::AffineStoreOp>(op))
          need(store.getMemRef(), store.getAffineMap(), store.getMapOperands());
      });
    for (func::FuncOp function : functions)
      if (function->hasAttr(moverAttrName))
        needForMover(function);
    bool fit = true;
    auto check = [&](BufferOp buffer) { fit &= fitsTools(buffer); };
    for (func::FuncOp function : functions)
      function.walk(check);
    top.walk(check);
    if (!fit)
      return failure();
    for (func::FuncOp function : functions)
      retype(function);
    top.walk([&](BufferOp buffer) { retype(buffer.getMemory()); });
    return success();
  }

  /// Returns the callee's arguments. Their order is that of the task's operands: first the arrays that the task reads,
  /// then the arrays that it writes.
  static SmallVector<Value> argumentsOf(TaskOp task, func::FuncOp function) {
    return SmallVector<Value>(function.getArguments().begin(), function.getArguments().end());
  }

private:
  Factors &factorsOf(Value array) {
    const void *key = array.getAsOpaquePointer();
    const void *leader = same.findLeader(key) == same.member_end() ? key : *same.findLeader(key);
    Factors &factors = needed[leader];
    factors.resize(cast<MemRefType>(array.getType()).getRank(), 1);
    return factors;
  }

  void need(Value array, AffineMap map, OperandRange operands) {
    if (memoryOf(cast<MemRefType>(array.getType())) == Memory::Dram)
      return;
    Factors &factors = factorsOf(array);
    ArrayRef<int64_t> shape = cast<MemRefType>(array.getType()).getShape();
    for (auto [dim, expr] : llvm::enumerate(map.getResults()))
      for (auto [position, operand] : llvm::enumerate(operands.take_front(map.getNumDims())))
        factors[dim] = banksWithCopies(factors[dim], shape[dim], expr, position, copiesOf(operand));
  }

  /// Adds banks along the last dimension of each on-chip array of a task that copies data. The task copies a word of at
  /// most 512 bits per cycle if the array has one bank per two elements of the word, because a bank has two ports. The
  /// number of banks along this dimension is at most twice the larger of two numbers: the banks that the copy needs,
  /// and the banks that the kernels need. If a block memory would be almost empty or a limit would be exceeded, banks
  /// for half of the word are tried, and so on. If no number fits, the array gets no additional banks.
  void needForMover(func::FuncOp function) {
    SmallVector<Value> arrays;
    int64_t width = 0;
    for (BlockArgument argument : function.getArguments()) {
      auto type = cast<MemRefType>(argument.getType());
      if (type.getRank() == 0)
        return;
      width = std::gcd(std::gcd(width, type.getShape().back()), elementsOfWord(type));
      if (memoryOf(type) != Memory::Dram)
        arrays.push_back(argument);
    }
    for (Value array : arrays) {
      auto type = cast<MemRefType>(array.getType());
      ArrayRef<int64_t> shape = type.getShape();
      Factors &factors = factorsOf(array);
      int64_t others = 1;
      for (int64_t factor : ArrayRef<int64_t>(factors).drop_back())
        others *= factor;
      for (int64_t wanted = width / portsOfBank; wanted > 1; wanted /= 2) {
        const int64_t banks = std::lcm(factors.back(), wanted);
        const int64_t inBank = type.getNumElements() / (banks * others);
        const bool isFull = inBank >= 256 || inBank <= 2 * elementsOfWord(type); // a small bank is stored in LUTs
        if (banks > 2 * std::max(factors.back(), wanted) || banks > shape.back() || banks * others > mostBanks ||
            !isFull)
          continue;
        factors.back() = banks;
        break;
      }
    }
  }

  bool fitsTools(BufferOp buffer) {
    const int64_t banks = ShapedType::getNumElements(factorsOf(buffer.getMemory()));
    if (banks <= mostBanks)
      return true;
    buffer.emitError() << "array '" << buffer.getName() << "' of " << buffer.getMemory().getType() << " would need "
                       << banks
                       << " banks for the parallel accesses of the unrolled loops, but vendors' tools support at most "
                       << mostBanks << "; fewer multipliers need fewer banks: lower --budget dsp";
    return false;
  }

  void retype(Value array) {
    auto type = dyn_cast<MemRefType>(array.getType());
    if (!type || memoryOf(type) == Memory::Dram)
      return;
    const Factors &factors = factorsOf(array);
    SmallVector<PartitionKind> kinds;
    SmallVector<int64_t> counts;
    bool whole = type.getRank() > 0;
    for (auto [size, factor] : llvm::zip(type.getShape(), factors)) {
      kinds.push_back(factor == 1      ? PartitionKind::None
                      : factor == size ? PartitionKind::Complete
                                       : PartitionKind::Cyclic);
      counts.push_back(kinds.back() == PartitionKind::Cyclic ? factor : 1);
      whole &= factor == size;
    }
    array.setType(withMemory(type, PartitionAttr::get(type.getContext(), kinds, counts),
                             whole ? Memory::Register : Memory::Bram));
  }

  void retype(func::FuncOp function) {
    for (BlockArgument argument : function.getArguments())
      retype(Value(argument));
    function.walk([&](BufferOp buffer) { retype(buffer.getMemory()); });
    function.setType(FunctionType::get(function.getContext(), function.getBody().getArgumentTypes(), {}));
  }

  func::FuncOp top;
  ModuleOp module;
  llvm::EquivalenceClasses<const void *> same;
  llvm::MapVector<const void *, Factors> needed;
};

} // namespace

int64_t banksWithCopies(int64_t banks, int64_t size, AffineExpr index, unsigned counter, int64_t copies) {
  const int64_t stride = copies > 1 ? std::abs(coefficientOf(index, counter)) : 0;
  return stride ? std::min(size, std::lcm(banks, copies * stride)) : banks;
}

LogicalResult chooseBanks(func::FuncOp top) { return BankChooser(top).run(); }

} // namespace tilewright::hls
