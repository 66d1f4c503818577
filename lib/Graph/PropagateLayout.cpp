//===- PropagateLayout.cpp - --tw-propagate-layout: channels-last convolutions ===//
//
// Before:
//   %1 = tw.convolution %x, %w : (tensor<1x4x8x8xf32>, tensor<16x4x3x3xf32>) -> tensor<1x16x6x6xf32>
//   %2 = tw.add %1, %b : (tensor<1x16x6x6xf32>, tensor<16x1x1xf32>) -> tensor<1x16x6x6xf32>
//   %3 = tw.convolution %2, %v : ...
// After:
//   %0 = tw.permute %x {0, 2, 3, 1}          %w' = tw.permute %w {2, 3, 1, 0}
//   %1 = tw.convolution %0, %w' {tw.channels_last} : -> tensor<1x6x6x16xf32>
//   %2 = tw.add %1, tw.reshape %b : (tensor<1x6x6x16xf32>, tensor<16xf32>) -> tensor<1x6x6x16xf32>
//   %3 = tw.convolution %2, %v' {tw.channels_last} : ...
//
// Every convolution of 1 to 3 dimensions is converted to channels-last, and a permute of its result restores the user's
// order. An argument that is stored in channels-last memory has such a permute, too. Many ops can be computed in the
// permuted order: elementwise ops, pooling, reductions, pads, slices, flips, concatenations, softmax, reshapes and
// indexing. The permute is moved after each such op, until it reaches the permute in front of the next convolution and
// cancels with it. A final walk, from consumers to producers, computes elementwise ops in the order of the permutes
// that read them. 1-D convolutions become 2-D convolutions of height 1.
//
// Test: test/Graph/propagate-layout.mlir
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/Graph.h"
#include "dialects/Graph/Sizes.h"
#include "tilewright/Passes.h"
#include "tilewright/StageContract.h"
#include "llvm/ADT/TypeSwitch.h"

namespace tilewright {
#define GEN_PASS_DEF_PROPAGATELAYOUT
#include "tilewright/Passes.h.inc"
} // namespace tilewright

using namespace mlir;

namespace tilewright::graph {
namespace {

using Order = SmallVector<int64_t>;
using LayoutSizes = SmallVector<AffineExpr>;

RankedTensorType laidOutType(Value value) { return cast<RankedTensorType>(value.getType()); }
LayoutSizes laidOutSizes(Value value) { return sizesOf(laidOutType(value)); }

Order inverseOf(ArrayRef<int64_t> order) {
  Order inverse(order.size());
  for (auto [i, from] : llvm::enumerate(order))
    inverse[from] = i;
  return inverse;
}

/// Returns sizes[order[0]], sizes[order[1]], ...
LayoutSizes reordered(ArrayRef<AffineExpr> sizes, ArrayRef<int64_t> order) {
  return llvm::map_to_vector(order, [&](int64_t from) { return sizes[from]; });
}

class LayoutPropagator {
public:
  explicit LayoutPropagator(MLIRContext *context) : builder(context), one(getAffineConstantExpr(1, context)) {}

  void run(Block &block) {
    for (auto permute : block.getOps<PermuteOp>())
      if (isChannelsLastArgument(permute))
        ours.insert(permute);
    for (Operation &op : llvm::make_early_inc_range(block)) {
      builder.setInsertionPoint(&op);
      if (isa<ConvolutionOp, ConvolutionWeightGradOp>(op))
        turnConvolution(&op);
      else
        sink(&op);
    }
    eraseDead(block);
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      raise(&op);
    eraseDead(block);
  }

private:
  OpBuilder builder;
  AffineExpr one;
  // The permutes that restore the user's order: those of channels-last arguments, and those that this pass emitted.
  DenseSet<Operation *> ours;

  void eraseDead(Block &block) {
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (isa<TWDialect>(op.getDialect()) && op.use_empty())
        op.erase();
  }

  //===-- values in another order -------------------------------------------===//

  bool isUnit(AffineExpr size) const { return size == one; }

  /// Returns true if `permute` converts an argument that is stored in channels-last memory to the user's order.
  static bool isChannelsLastArgument(PermuteOp permute) {
    return isa<BlockArgument>(permute.getInput()) && isChannelsLast(permute.getPermutation());
  }

  /// Returns true if this order maps memory N x spatial x C to the dimensions N x C x spatial.
  static bool isChannelsLast(ArrayRef<int64_t> order) {
    if (order.size() < 3 || order[0] != 0 || order[1] != int64_t(order.size()) - 1)
      return false;
    return llvm::is_sorted(order.drop_front(2));
  }

  Value reshaped(Location loc, Value value, ArrayRef<AffineExpr> sizes) {
    while (auto inner = value.getDefiningOp<ReshapeOp>())
      value = inner.getInput();
    RankedTensorType type = tensorWithSizes(sizes, laidOutType(value).getElementType());
    return value.getType() == type ? value : ReshapeOp::create(builder, loc, type, value).getResult();
  }

  /// Returns true if a permutation of `sizes` by `order` moves only unit dimensions.
  bool movesUnitsOnly(ArrayRef<AffineExpr> sizes, ArrayRef<int64_t> order) {
    int64_t last = -1;
    for (int64_t from : order) {
      if (isUnit(sizes[from]))
        continue;
      if (from < last)
        return false;
      last = from;
    }
    return true;
  }

  /// Permutes a value: dimension i of the result is dimension order[i] of the value.
  Value permuted(Location loc, Value value, ArrayRef<int64_t> order) {
    if (auto inner = value.getDefiningOp<PermuteOp>()) {
      Order combined = llvm::map_to_vector(order, [&](int64_t d) { return inner.getPermutation()[d]; });
      return permuted(loc, inner.getInput(), combined);
    }
    LayoutSizes sizes = laidOutSizes(value), result = reordered(sizes, order);
    if (llvm::is_sorted(order))
      return value;
    if (movesUnitsOnly(sizes, order))
      return reshaped(loc, value, result);
    return PermuteOp::create(builder, loc, tensorWithSizes(result, laidOutType(value).getElementType()), value,
                             builder.getDenseI64ArrayAttr(order));
  }

  /// Permutes a transposed value to the user's order, and records the permute as one that this pass may move or cancel.
  Value seenByUser(Location loc, Value permutedValue, ArrayRef<int64_t> order) {
    Value value = permuted(loc, permutedValue, order);
    if (auto permute = value.getDefiningOp<PermuteOp>())
      ours.insert(permute);
    return value;
  }

  PermuteOp ourPermute(Value value) {
    auto permute = value.getDefiningOp<PermuteOp>();
    return permute && ours.contains(permute) ? permute : PermuteOp();
  }

  /// Returns `operand`, which broadcasts to rank `order.size()` by NumPy's rules, in the permuted order. A permute by
  /// `order` restores the user's order. If `cost` is set, emits nothing, returns an operand in the user's order, and
  /// adds 1 to `cost` if a permute of the whole tensor would be needed.
  Value inOrder(Location loc, Value operand, ArrayRef<int64_t> order, unsigned *cost) {
    if (auto permute = operand.getDefiningOp<PermuteOp>(); permute && permute.getPermutation() == order)
      return cost ? operand : permute.getInput();
    if (auto broadcast = operand.getDefiningOp<BroadcastOp>())
      operand = broadcast.getInput();
    LayoutSizes sizes = laidOutSizes(operand);
    if (sizes.empty())
      return operand;
    LayoutSizes whole(order.size() - sizes.size(), one);
    llvm::append_range(whole, sizes);
    Order inverse = inverseOf(order);
    if (!movesUnitsOnly(whole, inverse)) {
      if (cost) {
        ++*cost;
        return operand;
      }
      return permuted(loc, reshaped(loc, operand, whole), inverse);
    }
    if (cost)
      return operand;
    LayoutSizes result = reordered(whole, inverse);
    auto first = llvm::find_if(result, [&](AffineExpr size) { return !isUnit(size); });
    return reshaped(loc, operand, ArrayRef<AffineExpr>(first, result.end()));
  }

  Operation *rebuilt(Operation *op, ArrayRef<Value> operands, ArrayRef<int64_t> order) {
    Operation *copy = builder.clone(*op);
    copy->setOperands(operands);
    Order inverse = inverseOf(order);
    for (Value result : copy->getResults())
      result.setType(tensorWithSizes(reordered(laidOutSizes(result), inverse), laidOutType(result).getElementType()));
    return copy;
  }

  /// Replaces `op` by `copy`, which computes the same result in the permuted order, followed by a permute by `order`,
  /// which restores the user's order.
  void replace(Operation *op, Operation *copy, ArrayRef<int64_t> order) {
    for (auto [from, to] : llvm::zip_equal(op->getResults(), copy->getResults()))
      if (!from.use_empty())
        from.replaceAllUsesWith(seenByUser(op->getLoc(), to, order));
  }

  //===-- convolutions ------------------------------------------------------===//

  void turnConvolution(Operation *op) {
    int64_t rank = laidOutType(op->getOperand(0)).getRank();
    if (op->hasAttr(channelsLastAttrName) || rank < 3 || rank > 5)
      return;
    if (rank == 3)
      op = inPlane(op);
    builder.setInsertionPoint(op);
    Location loc = op->getLoc();
    const bool inSpace = rank == 5;
    const Order toLast = inSpace ? Order{0, 2, 3, 4, 1} : Order{0, 2, 3, 1}, toFirst = inverseOf(toLast);
    bool gradient = isa<ConvolutionWeightGradOp>(op);
    auto convolution = dyn_cast<ConvolutionOp>(op);
    bool transposed = convolution && convolution.getTransposed();
    Order weightOrder = inSpace ? Order{2, 3, 4} : Order{2, 3}; // K K C F
    weightOrder.append(transposed ? Order{0, 1} : Order{1, 0});
    Value first = permuted(loc, op->getOperand(0), toLast);
    Value second = permuted(loc, op->getOperand(1), gradient ? toLast : weightOrder);
    const Order resultOrder = gradient ? inverseOf(weightOrder) : toFirst;
    Operation *copy = rebuilt(op, {first, second}, resultOrder);
    copy->setAttr(channelsLastAttrName, builder.getUnitAttr());
    Value seen =
        gradient ? permuted(loc, copy->getResult(0), resultOrder) : seenByUser(loc, copy->getResult(0), resultOrder);
    op->getResult(0).replaceAllUsesWith(seen);
  }

  /// Converts a 1-D convolution to a 2-D convolution of height 1.
  Operation *inPlane(Operation *op) {
    auto raised = [&](Value value) {
      LayoutSizes sizes = laidOutSizes(value);
      sizes.insert(sizes.begin() + 2, one);
      return sizes;
    };
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(reshaped(op->getLoc(), operand, raised(operand)));
    Operation *copy = builder.clone(*op);
    copy->setOperands(operands);
    Value result = copy->getResult(0);
    result.setType(tensorWithSizes(raised(result), laidOutType(result).getElementType()));
    auto with = [&](ArrayRef<int64_t> values, int64_t height) {
      Order both{height};
      llvm::append_range(both, values);
      return both;
    };
    auto update = [&](auto convolution) {
      convolution.setStride(with(convolution.getStride(), 1));
      convolution.setPadding(with(convolution.getPadding(), 0));
      convolution.setDilation(with(convolution.getDilation(), 1));
    };
    if (auto convolution = dyn_cast<ConvolutionOp>(copy)) {
      update(convolution);
      convolution.setOutputPadding(with(convolution.getOutputPadding(), 0));
    } else {
      update(cast<ConvolutionWeightGradOp>(copy));
    }
    op->getResult(0).replaceAllUsesWith(reshaped(op->getLoc(), result, laidOutSizes(op->getResult(0))));
    return copy;
  }

  //===-- move permutes toward consumers -------------------------------------===//

  void sink(Operation *op) {
    if (!isa<TWDialect>(op->getDialect()))
      return;
    PermuteOp permute;
    for (Value operand : op->getOperands())
      if ((permute = ourPermute(operand)))
        break;
    if (!permute)
      return;
    Order order(permute.getPermutation());
    if (op->hasTrait<Elementwise>())
      return sinkElementwise(op, order);
    TypeSwitch<Operation *>(op)
        .Case<MaxPoolOp, AvgPoolOp>([&](Operation *pool) {
          if (isChannelsLast(order) && !pool->hasAttr(channelsLastAttrName)) {
            Operation *copy = rebuilt(pool, {permute.getInput()}, order);
            copy->setAttr(channelsLastAttrName, builder.getUnitAttr());
            replace(pool, copy, order);
          }
        })
        .Case<MaxPoolGradOp>([&](MaxPoolGradOp pool) {
          if (isChannelsLast(order) && !pool->hasAttr(channelsLastAttrName)) {
            SmallVector<Value> operands;
            for (Value operand : pool->getOperands())
              operands.push_back(permuted(op->getLoc(), operand, inverseOf(order)));
            Operation *copy = rebuilt(pool, operands, order);
            copy->setAttr(channelsLastAttrName, builder.getUnitAttr());
            replace(pool, copy, order);
          }
        })
        .Case<PermuteOp>([&](PermuteOp other) { // two consecutive permutes are one
          other.getResult().replaceAllUsesWith(seenByUser(op->getLoc(), permute, other.getPermutation()));
        })
        .Default([&](Operation *) { sinkOther(op, permute, order); });
  }

  void sinkElementwise(Operation *op, ArrayRef<int64_t> order) {
    if (laidOutType(op->getResult(0)).getRank() != int64_t(order.size()))
      return;
    unsigned cost = 0, gain = 0;
    for (Value operand : op->getOperands()) {
      inOrder(op->getLoc(), operand, order, &cost);
      if (auto permute = ourPermute(operand))
        gain += permute.getPermutation() == order;
    }
    if (cost > gain)
      return;
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(inOrder(op->getLoc(), operand, order, nullptr));
    replace(op, rebuilt(op, operands, order), order);
  }

  void sinkOther(Operation *op, PermuteOp permute, ArrayRef<int64_t> order) {
    Order inverse = inverseOf(order);
    auto inInputOrder = [&](ArrayRef<int64_t> values) { // `values` has one entry per dimension
      return llvm::map_to_vector(inverse, [&](int64_t from) { return values[from]; });
    };
    auto simply = [&](auto change) {
      auto copy = rebuilt(op, {permute.getInput()}, order);
      change(copy);
      replace(op, copy, order);
    };
    TypeSwitch<Operation *>(op)
        .Case<SoftmaxOp>([&](SoftmaxOp softmax) {
          simply([&](Operation *copy) { cast<SoftmaxOp>(copy).setDim(order[softmax.getDim()]); });
        })
        .Case<PadOp>([&](PadOp pad) {
          simply([&](Operation *copy) {
            cast<PadOp>(copy).setLow(inInputOrder(pad.getLow()));
            cast<PadOp>(copy).setHigh(inInputOrder(pad.getHigh()));
          });
        })
        .Case<SliceOp>([&](SliceOp slice) {
          simply([&](Operation *copy) {
            AffineMap offsets = slice.getOffsets();
            cast<SliceOp>(copy).setOffsets(
                AffineMap::get(0, offsets.getNumSymbols(), reordered(offsets.getResults(), inverse), op->getContext()));
            cast<SliceOp>(copy).setStrides(inInputOrder(slice.getStrides()));
          });
        })
        .Case<FlipOp>([&](FlipOp flip) {
          simply([&](Operation *copy) {
            cast<FlipOp>(copy).setDims(llvm::map_to_vector(flip.getDims(), [&](int64_t d) { return order[d]; }));
          });
        })
        .Case<ConcatOp>([&](ConcatOp concat) {
          unsigned same = llvm::count_if(concat.getInputs(), [&](Value input) {
            PermuteOp other = ourPermute(input);
            return other && other.getPermutation() == order;
          });
          if (2 * same < concat.getInputs().size())
            return;
          SmallVector<Value> inputs;
          for (Value input : concat.getInputs())
            inputs.push_back(permuted(op->getLoc(), input, inverse));
          Operation *copy = rebuilt(op, inputs, order);
          cast<ConcatOp>(copy).setDim(order[concat.getDim()]);
          replace(op, copy, order);
        })
        .Case<ReduceOp, VarMeanOp>([&](auto reduce) { sinkReduction(reduce, permute.getInput(), order); })
        .Case<TakeOp>([&](TakeOp take) {
          if (permute == take.getInput().getDefiningOp())
            sinkTake(take, permute.getInput(), order);
        })
        .Case<ReshapeOp>([&](ReshapeOp reshape) { sinkReshape(reshape, permute.getInput(), order); });
  }

  template <typename OpTy> void sinkReduction(OpTy op, Value input, ArrayRef<int64_t> order) {
    SmallVector<int64_t> dims = llvm::map_to_vector(op.getDims(), [&](int64_t d) { return order[d]; });
    llvm::sort(dims);
    LayoutSizes space = laidOutSizes(input), kept;
    Order positions(space.size(), -1); // the position in the new result of each dimension of the input
    for (int64_t d = 0; d < int64_t(space.size()); ++d) {
      bool reduced = llvm::is_contained(dims, d);
      if (reduced && !op.getKeepdim())
        continue;
      positions[d] = kept.size();
      kept.push_back(reduced ? one : space[d]);
    }
    Operation *copy = builder.clone(*op.getOperation());
    copy->setOperands({input});
    cast<OpTy>(copy).setDims(dims);
    for (Value result : copy->getResults())
      result.setType(tensorWithSizes(kept, laidOutType(result).getElementType()));
    Order back; // the permutation that restores the user's order of the kept dimensions
    for (int64_t d : order)
      if (positions[d] >= 0)
        back.push_back(positions[d]);
    for (auto [from, to] : llvm::zip_equal(op->getResults(), copy->getResults()))
      if (!from.use_empty())
        from.replaceAllUsesWith(seenByUser(op.getLoc(), to, back));
  }

  /// Moves the permute after a reshape. The reshape may merge dimensions that are adjacent in both orders, and may
  /// split any dimension.
  void sinkReshape(ReshapeOp op, Value input, ArrayRef<int64_t> order) {
    LayoutSizes from = laidOutSizes(op.getInput()), to = laidOutSizes(op.getResult());
    SmallVector<ReshapeGroup> groups = reshapeGroups(from, to);
    if (groups.empty() || to.empty())
      return;
    SmallVector<std::pair<int64_t, int64_t>> firsts; // the first dimension of the input in each group, and the group
    for (auto [g, group] : llvm::enumerate(groups)) {
      SmallVector<int64_t> dims; // dimensions of the input; the positions of unit dimensions do not matter
      for (int64_t d : group.from)
        if (!isUnit(from[d]))
          dims.push_back(order[d]);
      for (unsigned i = 1; i < dims.size(); ++i) {
        if (dims[i] <= dims[i - 1])
          return;
        for (int64_t between = dims[i - 1] + 1; between < dims[i]; ++between)
          if (!isUnit(laidOutSizes(input)[between]))
            return;
      }
      firsts.push_back({dims.empty() ? order[group.from.front()] : dims.front(), g});
    }
    llvm::sort(firsts);
    LayoutSizes regrouped;
    Order back(to.size());
    for (auto [first, group] : firsts)
      for (int64_t dim : groups[group].to) {
        back[dim] = regrouped.size();
        regrouped.push_back(to[dim]);
      }
    op.getResult().replaceAllUsesWith(seenByUser(op.getLoc(), reshaped(op.getLoc(), input, regrouped), back));
  }

  /// Moves the permute after an indexed read. Indexed dimensions are adjacent in the user's order, and must be
  /// adjacent, in the same sequence, in the permuted order, too.
  void sinkTake(TakeOp op, Value input, ArrayRef<int64_t> order) {
    const int64_t first = op.getDim(), count = op.getIndices().size(), firstInput = order[first];
    const int64_t chosen = laidOutType(op.getResult()).getRank() - (int64_t(order.size()) - count);
    for (int64_t i = 1; i < count; ++i)
      if (order[first + i] != firstInput + i)
        return;
    Order back; // restores the user's order; `chosen` dimensions replace the indexed ones
    for (int64_t dim = 0; dim < int64_t(order.size()); ++dim) {
      if (dim == first)
        for (int64_t i = 0; i < chosen; ++i)
          back.push_back(firstInput + i);
      if (dim < first || dim >= first + count)
        back.push_back(order[dim] < firstInput ? order[dim] : order[dim] - count + chosen);
    }
    SmallVector<Value> operands(op->getOperands());
    operands[0] = input;
    Operation *copy = rebuilt(op, operands, back);
    cast<TakeOp>(copy).setDim(firstInput);
    replace(op, copy, back);
  }

  //===-- move permutes toward producers --------------------------------------===//

  /// If all users of an elementwise op are equal permutes, computes the op in their order.
  void raise(Operation *op) {
    if (!op->hasTrait<Elementwise>() || op->use_empty())
      return;
    PermuteOp permute;
    for (Operation *user : op->getUsers()) {
      auto other = dyn_cast<PermuteOp>(user);
      if (!other || (permute && permute.getPermutation() != other.getPermutation()))
        return;
      permute = other;
    }
    Order order = inverseOf(permute.getPermutation());
    builder.setInsertionPoint(op);
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(inOrder(op->getLoc(), operand, order, nullptr));
    Operation *copy = rebuilt(op, operands, order);
    for (Operation *user : llvm::make_early_inc_range(op->getUsers())) {
      user->getResult(0).replaceAllUsesWith(copy->getResult(0));
      user->erase();
    }
    op->erase();
  }
};

struct PropagateLayout : impl::PropagateLayoutBase<PropagateLayout> {
  void runOnOperation() override {
    if (failed(requireForm(getOperation(), IRForm::Graph, getArgument())))
      return signalPassFailure();
    for (Block &block : getOperation().getBody())
      LayoutPropagator(&getContext()).run(block);
  }
};

} // namespace
} // namespace tilewright::graph
