//===- SplitChains.cpp - split kernels that reduce the results of another reduction ---------===//
//
// Before (an average pool and a layer norm of the channels):
//   %r = call @kernel_0(%x, %into)      // x: 32 x 49 x 768; p = mean of x over dimension 1; r = layer_norm(p)
// After:
//   %p = call @kernel_0_reduced(%x, %empty)     // 32 x 768
//   %r = call @kernel_0(%p, %into)
//
// The two reductions have different rows, so the schedule `rows` cannot compute both. With the schedule `elements`,
// each thread of the second reduction would compute the first reduction for all elements of its row. The kernel is
// split again if it still has the schedule `elements`.
//
// Tests: test/Codegen/GPU/Schedule/split-chains.mlir, test/Codegen/GPU/Schedule/split-chains-again.mlir,
// test/Python/test_cuda_kernel_table.py (chain-*)
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/GPU/Schedule/SplitChains.h"
#include "dialects/Tile/Rows.h"
#include "lib/Codegen/GPU/Contraction.h"
#include "lib/Codegen/GPU/Schedule/NewKernel.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "tilewright/AttributeNames.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace tilewright::gpu {
namespace {

bool reduces(Operation *op) {
  auto structured = dyn_cast<linalg::LinalgOp>(op);
  return structured && structured.getNumReductionLoops() > 0;
}

/// A kernel is cut after `last`: the ops `first` move to another kernel, and the ops `rest` read the result of `last`.
struct Cut {
  linalg::LinalgOp last;
  SetVector<Operation *> first;
};

/// Returns the buffer that `op` writes if it is not an argument of the kernel, or null.
tensor::EmptyOp bufferOf(linalg::LinalgOp op) {
  Value buffer = op.getDpsInits()[0];
  if (auto fill = buffer.getDefiningOp<linalg::FillOp>())
    buffer = fill.getDpsInits()[0];
  return buffer.getDefiningOp<tensor::EmptyOp>();
}

/// The rest after a cut may need this number of further cuts.
constexpr unsigned mostCuts = 3;

/// Returns the cut after `last`, or std::nullopt if the kernel should not be cut there. `members` are its structured
/// ops, except those of earlier cuts. The schedule `rows` must be able to compute the rest, after at most `furtherCuts`
/// further cuts.
std::optional<Cut> cutAfter(linalg::LinalgOp last, ArrayRef<Operation *> members, unsigned furtherCuts = mostCuts) {
  if (last->getNumResults() != 1 || !bufferOf(last))
    return std::nullopt;
  Cut cut{last, opsNeededFor(last)};
  SmallVector<Operation *> rest;
  bool isReducedAgain = false;
  unsigned reductions = 0; // of the first part
  SetVector<Operation *> users;
  getForwardSlice(last.getOperation(), &users);
  for (Operation *member : members) {
    if (cut.first.contains(member)) {
      reductions += reduces(member);
      // The rest computes elementwise values of the first part again, but it should not reduce again.
      if (member != last && reduces(member) &&
          llvm::any_of(member->getUsers(), [&](Operation *user) { return !cut.first.contains(user); }))
        return std::nullopt;
      continue;
    }
    rest.push_back(member);
    isReducedAgain |= reduces(member) && users.contains(member);
  }
  if (!isReducedAgain || reductions != 1 ||
      llvm::any_of(last->getUsers(), [](Operation *user) { return isa<func::ReturnOp>(user); }))
    return std::nullopt;
  std::string reason;
  const bool isPossible = tile::computeRows(rest, reason) ||
                          (furtherCuts > 0 && llvm::any_of(rest, [&](Operation *op) {
                             return cutAfter(cast<linalg::LinalgOp>(op), rest, furtherCuts - 1).has_value();
                           }));
  return isPossible ? std::optional(cut) : std::nullopt;
}

/// Returns the number of steps in which a thread with the schedule `elements` computes all reductions of the kernel for
/// one element of its result.
int64_t stepsOf(ArrayRef<Operation *> members) {
  int64_t steps = 1;
  for (Operation *member : members) {
    auto op = cast<linalg::LinalgOp>(member);
    int64_t terms = 1;
    for (auto [range, kind] : llvm::zip_equal(op.getStaticLoopRanges(), op.getIteratorTypesArray()))
      terms *= kind == utils::IteratorType::reduction ? range : 1;
    if (llvm::MulOverflow(steps, terms, steps))
      return INT64_MAX;
  }
  return steps;
}

/// Returns the last cut of the kernel whose stored values take the fewest bytes.
std::optional<Cut> chooseCut(func::FuncOp kernel, llvm::function_ref<bool(func::FuncOp)> computesElements) {
  // Fewer steps of all threads, and of each thread, take less time than a second kernel.
  constexpr int64_t leastWork = int64_t(1) << 20, leastSteps = 256;
  const SmallVector<Operation *> members = structuredOpsOf(kernel);
  // To choose a schedule takes more time than the other conditions.
  if (llvm::count_if(members, reduces) < 2 || !sizesAreKnown(kernel))
    return std::nullopt;
  const int64_t steps = stepsOf(members);
  const int64_t elements = std::max<int64_t>(cast<ShapedType>(kernel.getResultTypes()[0]).getNumElements(), 1);
  if ((steps < leastSteps && steps < leastWork / elements) || !computesElements(kernel))
    return std::nullopt;
  std::optional<Cut> best;
  int64_t least = INT64_MAX;
  for (Operation *member : members) {
    std::optional<Cut> cut = cutAfter(cast<linalg::LinalgOp>(member), members);
    if (!cut)
      continue;
    auto type = cast<RankedTensorType>(member->getResult(0).getType());
    const int64_t bits = type.getNumElements() * int64_t(type.getElementTypeBitWidth());
    if (bits <= least) {
      least = bits;
      best = std::move(cut);
    }
  }
  return best;
}

/// Returns the names of the user's ops that `ops` compute, for the attribute tw.ops. If the ops have no names, returns
/// the attribute of the kernel.
template <class Ops> Attribute namesOf(Ops &&ops, func::FuncOp kernel) {
  SmallVector<StringRef> names;
  for (Operation *op : ops)
    if (auto name = op->template getAttrOfType<StringAttr>(opAttrName))
      names.push_back(name.getValue());
  return names.empty() ? kernel->getAttr(opsAttrName) : StringAttr::get(kernel.getContext(), llvm::join(names, "+"));
}

/// Returns the first kernel. Its inputs are the arguments `inputs` of the original kernel.
func::FuncOp makeFirst(OpBuilder &builder, func::FuncOp kernel, Cut &cut, ArrayRef<unsigned> inputs) {
  SmallVector<Type> types = llvm::map_to_vector(inputs, [&](unsigned i) { return kernel.getArgument(i).getType(); });
  Type result = cut.last->getResult(0).getType();
  types.push_back(result);
  func::FuncOp made = makeKernel(builder, kernel, "_reduced", types, result, namesOf(cut.first, kernel));
  IRMapping mapping;
  for (auto [number, input] : llvm::enumerate(inputs))
    mapping.map(kernel.getArgument(input), made.getArgument(unsigned(number)));
  tensor::EmptyOp buffer = bufferOf(cut.last);
  Value destination = made.getArgument(unsigned(inputs.size()));
  // The buffer may have other users in the first part, so only `last`, and the op that fills it, write the result.
  Operation *fill = cut.last.getDpsInits()[0].getDefiningOp<linalg::FillOp>();
  for (Operation &op : kernel.getBody().front()) {
    if (!cut.first.contains(&op))
      continue;
    Operation *clone = builder.clone(op, mapping);
    if (&op == fill || (!fill && &op == cut.last))
      clone->replaceUsesOfWith(mapping.lookup(buffer.getResult()), destination);
  }
  func::ReturnOp::create(builder, kernel.getLoc(), mapping.lookup(cut.last->getResult(0)));
  return made;
}

void split(func::FuncOp kernel, Cut cut, ModuleOp module, SymbolTable &symbols) {
  SmallVector<unsigned> inputs;
  for (BlockArgument argument : kernel.getArguments())
    if (llvm::any_of(argument.getUsers(), [&](Operation *user) { return cut.first.contains(user); }))
      inputs.push_back(argument.getArgNumber());
  OpBuilder builder(kernel);
  func::FuncOp first = makeFirst(builder, kernel, cut, inputs);
  symbols.insert(first);

  Value stored = cut.last->getResult(0);
  (void)kernel.insertArgument(0, stored.getType(), {}, kernel.getLoc());
  setSizes(kernel, 0);
  stored.replaceAllUsesWith(kernel.getArgument(0));
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(kernel.getBody().front())))
    if (cut.first.contains(&op) && op.use_empty())
      op.erase();
  if (Attribute names = namesOf(structuredOpsOf(kernel), kernel))
    kernel->setAttr(opsAttrName, names);
  passNewFirst(module, kernel, inputs, [&](OpBuilder &inner, func::CallOp call) {
    SmallVector<Value> operands = llvm::map_to_vector(inputs, [&](unsigned i) { return call.getOperand(i); });
    return callWithNewBuffers(inner, call.getLoc(), first, operands).getResult(0);
  });
}

} // namespace

void splitChains(ModuleOp module, llvm::function_ref<bool(func::FuncOp)> computesElements) {
  SymbolTable symbols(module);
  for (auto kernel : llvm::to_vector(module.getOps<func::FuncOp>()))
    if (kernel->hasAttr(kernelAttrName) && !kernel.isExternal() && !kernel->hasAttr(scheduleAttrName))
      while (std::optional<Cut> cut = chooseCut(kernel, computesElements))
        split(kernel, std::move(*cut), module, symbols);
}

} // namespace tilewright::gpu
