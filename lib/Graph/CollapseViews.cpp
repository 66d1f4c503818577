//===- CollapseViews.cpp - --tw-collapse-views: one rank from matmul to matmul ---===//
//
// Before:
//   %1 = tw.matmul %x, %w : tensor<34x64xf32>
//   %2 = tw.reshape %1 : tensor<34x64xf32> -> tensor<2x17x64xf32>
//   %3 = tw.add %2, %r : (tensor<2x17x64xf32>, tensor<2x17x64xf32>) -> tensor<2x17x64xf32>
//   %4, %m, %s = tw.layer_norm %3 {rank = 1} : tensor<2x17x64xf32>
//   %5 = tw.reshape %4 : tensor<2x17x64xf32> -> tensor<34x64xf32>
// After:
//   %1 = tw.matmul %x, %w : tensor<34x64xf32>
//   %2 = tw.reshape %r : tensor<2x17x64xf32> -> tensor<34x64xf32>
//   %3 = tw.add %1, %2 : (tensor<34x64xf32>, tensor<34x64xf32>) -> tensor<34x64xf32>
//   %4, %m, %s = tw.layer_norm %3 {rank = 1} : tensor<34x64xf32>
//
// If an op reads a reshape that increases the rank, and the op's other operands can be reshaped to the rank of the
// reshape's input, the pass computes the op in this lower rank and reshapes its result. This applies to elementwise
// ops, normalizations, softmax, reductions and indexed reads. A reshape of a dense tensor needs no copy. A first walk,
// from producers to consumers, moves reshapes after the ops that read them. A second walk, from consumers to producers,
// moves the remaining reshapes before the ops that produce their inputs. A third walk, like the first, cancels adjacent
// reshapes that are inverse to each other. The pass does not change permutes and slices, because their results are not
// dense.
//
// Test: test/Graph/collapse-views.mlir
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/Graph.h"
#include "dialects/Graph/Sizes.h"
#include "mlir/IR/IRMapping.h"
#include "tilewright/Passes.h"
#include "tilewright/StageContract.h"
#include "llvm/ADT/TypeSwitch.h"

namespace tilewright {
#define GEN_PASS_DEF_COLLAPSEVIEWS
#include "tilewright/Passes.h.inc"
} // namespace tilewright

using namespace mlir;

namespace tilewright::graph {
namespace {

using Sizes = SmallVector<AffineExpr>;

RankedTensorType collapsibleType(Value value) { return cast<RankedTensorType>(value.getType()); }

/// Describes how the dimensions of the shape `from` merge into the dimensions of `to`, a shape of lower rank.
struct Collapse {
  Sizes from, to;
  SmallVector<ReshapeGroup> groups; // one for each dimension of `to`

  static std::optional<Collapse> of(ArrayRef<AffineExpr> from, ArrayRef<AffineExpr> to) {
    if (to.empty() || to.size() >= from.size())
      return std::nullopt;
    Collapse c{Sizes(from), Sizes(to), reshapeGroups(from, to)};
    if (c.groups.size() != to.size() || llvm::any_of(c.groups, [](auto &g) { return g.to.size() != 1; }))
      return std::nullopt;
    return c;
  }

  /// Returns the dimension of `to` into which only `dim` is merged. Returns std::nullopt if there is none.
  std::optional<int64_t> alone(int64_t dim) const {
    for (auto [t, group] : llvm::enumerate(groups))
      if (group.from.size() == 1 && group.from[0] == dim)
        return t;
    return std::nullopt;
  }
};

class ViewCollapser {
public:
  explicit ViewCollapser(MLIRContext *context) : builder(context) {}

  void run(Block &block) {
    walkDown(block);
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      moveUp(&op);
    walkDown(block); // reshapes that were moved up may cancel with earlier reshapes
  }

private:
  OpBuilder builder;
  DenseMap<std::pair<Value, Type>, Value> reshapes; // the reshapes emitted in this walk, to reuse equal ones

  void walkDown(Block &block) {
    reshapes.clear();
    for (Operation &op : llvm::make_early_inc_range(block))
      moveDown(&op);
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (isa<TWDialect>(op.getDialect()) && op.use_empty())
        op.erase();
  }

  Value reshaped(Location loc, Value value, ArrayRef<AffineExpr> sizes, bool share = true) {
    while (auto inner = value.getDefiningOp<ReshapeOp>())
      value = inner.getInput();
    RankedTensorType type = tensorWithSizes(sizes, collapsibleType(value).getElementType());
    if (value.getType() == type)
      return value;
    if (!share)
      return ReshapeOp::create(builder, loc, type, value);
    Value &known = reshapes[{value, type}];
    if (!known)
      known = ReshapeOp::create(builder, loc, type, value);
    return known;
  }

  /// Returns an operand in the lower rank, with NumPy's broadcasting. Returns null if a copy would be needed.
  Value operandIn(Location loc, Value operand, const Collapse &c) {
    if (auto broadcast = operand.getDefiningOp<BroadcastOp>())
      operand = broadcast.getInput();
    Sizes own = sizesOf(collapsibleType(operand)), lower;
    int64_t missing = int64_t(c.from.size()) - int64_t(own.size());
    AffineExpr one = getAffineConstantExpr(1, builder.getContext());
    for (auto [group, size] : llvm::zip_equal(c.groups, c.to)) {
      bool full = true, unit = true;
      for (int64_t d : group.from) {
        AffineExpr extent = d < missing ? one : own[d - missing];
        full &= extent == c.from[d];
        unit &= extent == one;
      }
      if (!full && !unit)
        return {};
      if (lower.empty() && group.from.back() < missing)
        continue; // the operand does not have these leading dimensions
      lower.push_back(full ? size : one);
    }
    if (lower == own)
      return operand;
    if (operand.getDefiningOp<PermuteOp>() || operand.getDefiningOp<SliceOp>() || operand.getDefiningOp<BroadcastOp>())
      return {};
    return reshaped(loc, operand, lower);
  }

  /// Returns the operand in the lower rank, like operandIn(), but broadcast to all sizes of this rank, for ops that do
  /// not broadcast their operands.
  Value wholeOperandIn(Location loc, Value operand, const Collapse &c) {
    Value lower = operandIn(loc, operand, c);
    if (!lower || sizesOf(collapsibleType(lower)) == c.to)
      return lower;
    return BroadcastOp::create(builder, loc, tensorWithSizes(c.to, collapsibleType(lower).getElementType()), lower);
  }

  /// Computes the op in the lower rank and returns its results. Returns an empty list if that is impossible.
  SmallVector<Value> inLowerRank(Operation *op, const Collapse &c) {
    if (op->hasTrait<Elementwise>())
      return elementwise(op, c);
    return TypeSwitch<Operation *, SmallVector<Value>>(op)
        .Case<LayerNormOp, RMSNormOp>([&](auto norm) { return normalization(norm, norm.getRank(), c); })
        .Case<SoftmaxOp>([&](SoftmaxOp softmax) -> SmallVector<Value> {
          std::optional<int64_t> dim = c.alone(softmax.getDim());
          Value input = dim ? wholeOperandIn(op->getLoc(), softmax.getInput(), c) : Value();
          if (!input)
            return {};
          auto copy = cast<SoftmaxOp>(rebuilt(op, {input}, {c.to}));
          copy.setDim(*dim);
          return {copy};
        })
        .Case<ReduceOp, VarMeanOp>([&](auto reduce) { return reduction(reduce, c); })
        .Case<TakeOp>([&](TakeOp take) { return indexed(take, c); })
        .Default([](Operation *) { return SmallVector<Value>(); });
  }

  Operation *rebuilt(Operation *op, ArrayRef<Value> operands, ArrayRef<Sizes> results) {
    Operation *copy = builder.clone(*op);
    copy->setOperands(operands);
    for (auto [result, sizes] : llvm::zip(copy->getResults(), results))
      result.setType(tensorWithSizes(sizes, collapsibleType(result).getElementType()));
    return copy;
  }

  SmallVector<Value> elementwise(Operation *op, const Collapse &c) {
    SmallVector<Value> operands;
    for (Value operand : op->getOperands()) {
      operands.push_back(operandIn(op->getLoc(), operand, c));
      if (!operands.back())
        return {};
    }
    return {rebuilt(op, operands, {c.to})->getResult(0)};
  }

  SmallVector<Value> normalization(Operation *op, int64_t normalized, const Collapse &c) {
    int64_t rank = c.from.size(), lower = c.to.size();
    for (int64_t i = 1; i <= normalized; ++i) // the normalized dimensions may not change
      if (c.alone(rank - i) != lower - i)
        return {};
    SmallVector<Value> operands(op->getOperands());
    operands[0] = wholeOperandIn(op->getLoc(), operands[0], c);
    if (!operands[0])
      return {};
    Sizes rows(c.to);
    std::fill(rows.end() - normalized, rows.end(), getAffineConstantExpr(1, builder.getContext()));
    SmallVector<Sizes> results(op->getNumResults(), rows);
    results[0] = c.to;
    return SmallVector<Value>(rebuilt(op, operands, results)->getResults());
  }

  template <typename OpTy> SmallVector<Value> reduction(OpTy op, const Collapse &c) {
    SmallVector<int64_t> dims;
    Sizes kept;
    for (auto [t, group] : llvm::enumerate(c.groups)) {
      int64_t reduced = llvm::count_if(group.from, [&](int64_t d) { return llvm::is_contained(op.getDims(), d); });
      if (reduced == int64_t(group.from.size()))
        dims.push_back(t);
      else if (reduced)
        return {};
      else
        kept.push_back(c.to[t]);
    }
    Value input = wholeOperandIn(op.getLoc(), op.getInput(), c);
    if (!input)
      return {};
    Operation *copy = rebuilt(op, {input}, SmallVector<Sizes>(op->getNumResults(), kept));
    cast<OpTy>(copy).setDims(dims);
    cast<OpTy>(copy).setKeepdim(false);
    return SmallVector<Value>(copy->getResults());
  }

  /// The dimensions of the result that come from the indices may be merged with each other, but not with other
  /// dimensions. Returns the results like inLowerRank().
  SmallVector<Value> indexed(TakeOp op, const Collapse &c) {
    int64_t dim = op.getDim(), count = op.getIndices().size();
    int64_t end = dim + int64_t(c.from.size()) + count - collapsibleType(op.getInput()).getRank();
    Collapse index;
    index.from.assign(c.from.begin() + dim, c.from.begin() + end);
    for (auto [group, size] : llvm::zip_equal(c.groups, c.to)) {
      bool inside = llvm::all_of(group.from, [&](int64_t d) { return d >= dim && d < end; });
      if (!inside && group.from.size() > 1)
        return {};
      if (!inside)
        continue;
      ReshapeGroup moved = group;
      for (int64_t &d : moved.from)
        d -= dim;
      index.groups.push_back(moved);
      index.to.push_back(size);
    }
    SmallVector<Value> operands{op.getInput()};
    for (Value operand : op.getIndices()) {
      operands.push_back(operandIn(op.getLoc(), operand, index));
      if (!operands.back())
        return {};
    }
    // At least one of the index tensors must have the whole merged shape.
    if (llvm::none_of(ArrayRef(operands).drop_front(),
                      [&](Value v) { return sizesOf(collapsibleType(v)) == index.to; }))
      return {};
    return {rebuilt(op, operands, {c.to})->getResult(0)};
  }

  /// Returns the merge of the dimensions of a reduction's input. `c` is the merge of the dimensions of its result, with
  /// or without the reduced dimensions. Returns std::nullopt if a reduced dimension is between dimensions that merge.
  template <typename OpTy> std::optional<Collapse> spaceOfReduction(OpTy op, const Collapse &c) {
    Sizes space = sizesOf(collapsibleType(op.getInput()));
    SmallVector<int64_t> spaceDim; // the dimension of the input for each dimension of the result
    for (int64_t d = 0; d < int64_t(space.size()); ++d)
      if (op.getKeepdim() || !llvm::is_contained(op.getDims(), d))
        spaceDim.push_back(d);
    Collapse result;
    result.from = space;
    int64_t next = 0;
    auto push = [&](ReshapeGroup group) {
      AffineExpr size = getAffineConstantExpr(1, builder.getContext());
      for (int64_t d : group.from)
        size = size * space[d];
      group.to = {int64_t(result.to.size())};
      result.to.push_back(canonicalSize(size));
      result.groups.push_back(std::move(group));
    };
    auto pushReduced = [&](int64_t end) { // reduced dimensions that the result does not have
      for (; next < end; ++next)
        push({{next}, {}});
    };
    for (const ReshapeGroup &group : c.groups) {
      ReshapeGroup moved;
      for (int64_t d : group.from)
        moved.from.push_back(spaceDim[d]);
      pushReduced(moved.from.front());
      if (moved.from.back() - moved.from.front() + 1 != int64_t(moved.from.size()))
        return std::nullopt; // a reduced dimension is between the kept dimensions
      next = moved.from.back() + 1;
      push(std::move(moved));
    }
    pushReduced(space.size());
    return result;
  }

  /// Moves a reshape of an operand after the op.
  void moveDown(Operation *op) {
    if (auto reshape = dyn_cast<ReshapeOp>(op)) {
      builder.setInsertionPoint(op);
      Value simple = reshaped(op->getLoc(), reshape.getInput(), sizesOf(reshape.getType()), /*share=*/false);
      if (simple != reshape.getInput() && simple.getType() == reshape.getType())
        reshape.getResult().replaceAllUsesWith(simple);
      return;
    }
    if (!isa<TWDialect>(op->getDialect()) || op->getNumOperands() == 0)
      return;
    bool shapedByInput = isa<ReduceOp, VarMeanOp>(op); // the iteration space has the operand's shape
    Sizes space = sizesOf(collapsibleType(shapedByInput ? op->getOperand(0) : op->getResult(0)));
    for (Value operand : op->getOperands()) {
      auto reshape = operand.getDefiningOp<ReshapeOp>();
      if (!reshape || sizesOf(reshape.getType()) != space)
        continue;
      std::optional<Collapse> c = Collapse::of(space, sizesOf(collapsibleType(reshape.getInput())));
      if (!c)
        continue;
      builder.setInsertionPoint(op);
      SmallVector<Value> results = inLowerRank(op, *c);
      if (results.empty())
        continue;
      builder.setInsertionPointAfter(results[0].getDefiningOp());
      for (auto [from, to] : llvm::zip_equal(op->getResults(), results))
        if (!from.use_empty())
          from.replaceAllUsesWith(reshaped(op->getLoc(), to, sizesOf(collapsibleType(from)), /*share=*/false));
      return;
    }
  }

  /// Computes the op in the lower rank if reshapes read its result, all of them have the same type, and no op that
  /// needs the higher rank reads it.
  void moveUp(Operation *op) {
    if (!isa<TWDialect>(op->getDialect()) || op->getNumResults() == 0 || isa<ReshapeOp>(op))
      return;
    Value result = op->getResult(0);
    ReshapeOp wanted;
    for (Operation *user : result.getUsers()) {
      auto reshape = dyn_cast<ReshapeOp>(user);
      if (user->hasTrait<Elementwise>() || isa<LayerNormOp, RMSNormOp, SoftmaxOp, ReduceOp, VarMeanOp>(user))
        return;
      if (reshape && wanted && wanted.getType() != reshape.getType())
        return;
      wanted = reshape ? reshape : wanted;
    }
    if (!wanted)
      return;
    std::optional<Collapse> c = Collapse::of(sizesOf(collapsibleType(result)), sizesOf(wanted.getType()));
    if (c && isa<ReduceOp>(op))
      c = spaceOfReduction(cast<ReduceOp>(op), *c);
    if (!c)
      return;
    builder.setInsertionPoint(op);
    reshapes.clear(); // later ops do not dominate this one
    SmallVector<Value> results = inLowerRank(op, *c);
    if (results.empty())
      return;
    builder.setInsertionPointAfter(results[0].getDefiningOp());
    for (Operation *user : llvm::make_early_inc_range(result.getUsers()))
      if (auto reshape = dyn_cast<ReshapeOp>(user))
        reshape.getResult().replaceAllUsesWith(reshaped(op->getLoc(), results[0], sizesOf(reshape.getType())));
    for (auto [from, to] : llvm::zip_equal(op->getResults(), results)) {
      bool onlyReshapes = from == result && llvm::all_of(from.getUsers(), llvm::IsaPred<ReshapeOp>);
      if (!onlyReshapes && !from.use_empty())
        from.replaceUsesWithIf(reshaped(op->getLoc(), to, sizesOf(collapsibleType(from)), /*share=*/false),
                               [](OpOperand &use) { return !isa<ReshapeOp>(use.getOwner()); });
    }
    for (Operation *user : llvm::make_early_inc_range(result.getUsers()))
      if (user->use_empty() && isa<ReshapeOp>(user))
        user->erase();
    if (op->use_empty())
      op->erase(); // otherwise it would still be a user of its operands
  }
};

struct CollapseViews : impl::CollapseViewsBase<CollapseViews> {
  void runOnOperation() override {
    if (failed(requireForm(getOperation(), IRForm::Graph, getArgument())))
      return signalPassFailure();
    for (Block &block : getOperation().getBody())
      ViewCollapser(&getContext()).run(block);
  }
};

} // namespace
} // namespace tilewright::graph
