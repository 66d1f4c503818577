//===- DecomposeTile.cpp - --tw-decompose-tile: lower tw_tile ops to plain loops ---===//
//
// Before:
//   %r = tw_tile.scan sum {dim = 1} ins(%x) outs(%empty)
// After:
//   %r = scf.for %i ... iter_args(%out = %empty) { scf.for %j ... {
//     %p = tensor.extract %out[%i, max(%j - 1, 0)]
//     ... tensor.insert
//
// Attention becomes generics over the whole score matrix. The emitted loops are slow, and define the semantics of the
// ops. The loops of a scatter check the indices with tw_tile.place. The pass does not change tw_tile.matmul,
// convolution, pack, place and report. It changes divisor and require only with the option `divisors`.
//
// Test: test/Codegen/Reference/decompose-tile.mlir
//
//===----------------------------------------------------------------------===//
#include "lib/Kernels/DecomposeTile.h"
#include "dialects/Graph/Decisions.h"
#include "dialects/Tile/Combiner.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "tilewright/AttributeNames.h"
#include "tilewright/Passes.h"
#include "llvm/ADT/TypeSwitch.h"

namespace tilewright {
#define GEN_PASS_DEF_DECOMPOSETILE
#include "tilewright/Passes.h.inc"
} // namespace tilewright

using namespace mlir;

namespace tilewright::reference {
namespace {

using IntPredicate = arith::CmpIPredicate;
using FloatPredicate = arith::CmpFPredicate;

/// Helper functions with short names, which create the ops of loop bodies.
struct Emitter {
  OpBuilder &b;
  Location loc;

  Value index(int64_t value) { return arith::ConstantIndexOp::create(b, loc, value); }
  Value size(Value tensor, int64_t dim) { return tensor::DimOp::create(b, loc, tensor, dim); }
  Value select(Value c, Value x, Value y) { return arith::SelectOp::create(b, loc, c, x, y); }
  Value cmp(IntPredicate p, Value x, Value y) { return arith::CmpIOp::create(b, loc, p, x, y); }
  Value cmp(FloatPredicate p, Value x, Value y) { return arith::CmpFOp::create(b, loc, p, x, y); }
  Value extract(Value tensor, ValueRange at) { return tensor::ExtractOp::create(b, loc, tensor, at); }
  Value insert(Value x, Value tensor, ValueRange at) { return tensor::InsertOp::create(b, loc, x, tensor, at); }

  /// Emits loops over the elements of `shape`, with tensors as iteration arguments.
  SmallVector<Value> loops(Value shape, ValueRange carried,
                           function_ref<SmallVector<Value>(Emitter, ValueRange at, ValueRange carried)> body) {
    int64_t rank = cast<RankedTensorType>(shape.getType()).getRank();
    if (rank == 0)
      return body(*this, {}, carried);
    SmallVector<Value> low(rank, index(0)), step(rank, index(1)), high;
    for (int64_t i = 0; i < rank; ++i)
      high.push_back(size(shape, i));
    scf::LoopNest nest = scf::buildLoopNest(b, loc, low, high, step, carried,
                                            [&](OpBuilder &inner, Location at, ValueRange ivs, ValueRange args) {
                                              SmallVector<Value> results = body(Emitter{inner, at}, ivs, args);
                                              return scf::ValueVector(results.begin(), results.end());
                                            });
    return SmallVector<Value>(nest.results);
  }

  Value extended(Value x, Type element) {
    return x.getType() == element ? x : arith::ExtFOp::create(b, loc, element, x).getResult();
  }
  /// Returns sum + term() if `inside` is true, otherwise `sum`.
  Value addInside(Value inside, Value sum, function_ref<Value(Emitter)> term) {
    auto branch = scf::IfOp::create(b, loc, sum.getType(), inside, /*withElse=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(b, loc, add(sum, term(*this)));
    b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(b, loc, sum);
    return branch.getResult(0);
  }

  Value combine(tile::Combiner combiner, Value x, Value y) { return tile::combine(b, loc, combiner, x, y); }
  Value add(Value x, Value y) { return combine(tile::Combiner::Sum, x, y); }
  Value mul(Value x, Value y) { return combine(tile::Combiner::Product, x, y); }
  Value larger(Value x, Value y) { return combine(tile::Combiner::Maximum, x, y); }
  Value smaller(Value x, Value y) { return combine(tile::Combiner::Minimum, x, y); }
};

SmallVector<Value> decomposeScan(Emitter e, tile::ScanOp op) {
  Value input = op.getInputs()[0];
  return e.loops(input, op.getOutputs(), [&](Emitter e, ValueRange at, ValueRange carried) {
    SmallVector<Value> before(at);
    Value here = at[op.getDim()];
    before[op.getDim()] = e.larger(arith::SubIOp::create(e.b, e.loc, here, e.index(1)), e.index(0));
    Value x = e.extract(input, at), last = e.extract(carried[0], before);
    Value combined = e.combine(tile::combinerOf(op.getKind()), last, x);
    combined = e.select(e.cmp(IntPredicate::eq, here, e.index(0)), x, combined);
    return SmallVector<Value>{e.insert(combined, carried[0], at)};
  });
}

/// Returns true if x precedes y in the requested order; positions decide between equal elements. NaN is the largest.
Value standsBefore(Emitter e, Value x, Value xAt, Value y, Value yAt, bool descending, bool isUnsigned) {
  Value before, equal;
  if (isa<FloatType>(x.getType())) {
    Value xNaN = e.cmp(FloatPredicate::UNO, x, x), yNaN = e.cmp(FloatPredicate::UNO, y, y);
    Value less = e.cmp(descending ? FloatPredicate::OGT : FloatPredicate::OLT, x, y);
    Value bothNaN = arith::AndIOp::create(e.b, e.loc, xNaN, yNaN);
    Value oneNaN = arith::XOrIOp::create(e.b, e.loc, xNaN, yNaN);
    before =
        arith::OrIOp::create(e.b, e.loc, less, arith::AndIOp::create(e.b, e.loc, oneNaN, descending ? xNaN : yNaN));
    equal = arith::OrIOp::create(e.b, e.loc, e.cmp(FloatPredicate::OEQ, x, y), bothNaN);
  } else {
    IntPredicate p = descending ? (isUnsigned ? IntPredicate::ugt : IntPredicate::sgt)
                                : (isUnsigned ? IntPredicate::ult : IntPredicate::slt);
    before = e.cmp(p, x, y);
    equal = e.cmp(IntPredicate::eq, x, y);
  }
  Value earlier = e.cmp(IntPredicate::slt, xAt, yAt);
  return arith::OrIOp::create(e.b, e.loc, before, arith::AndIOp::create(e.b, e.loc, equal, earlier));
}

/// Stores each element and its position at the element's rank, which is the number of elements that precede it in the
/// sorted order. If the results are shorter than the input (top-k), elements with higher ranks are not stored.
SmallVector<Value> decomposeSort(Emitter e, tile::SortOp op) {
  Value input = op.getInputs()[0];
  uint64_t dim = op.getDim();
  bool isUnsigned = op->hasAttr("tw.unsigned");
  return e.loops(input, op.getOutputs(), [&](Emitter e, ValueRange at, ValueRange carried) {
    Value x = e.extract(input, at), here = at[dim];
    auto count = scf::ForOp::create(e.b, e.loc, e.index(0), e.size(input, dim), e.index(1), e.index(0),
                                    [&](OpBuilder &b, Location loc, Value i, ValueRange sum) {
                                      Emitter in{b, loc};
                                      SmallVector<Value> other(at);
                                      other[dim] = i;
                                      Value y = in.extract(input, other);
                                      Value before = standsBefore(in, y, i, x, here, op.getDescending(), isUnsigned);
                                      Value more = in.add(sum[0], in.index(1));
                                      scf::YieldOp::create(b, loc, in.select(before, more, sum[0]));
                                    });
    Value slot = count.getResult(0), kept = e.size(carried[0], dim);
    Value fits = e.cmp(IntPredicate::slt, slot, kept);
    SmallVector<Value> to(at);
    to[dim] = e.smaller(slot, arith::SubIOp::create(e.b, e.loc, kept, e.index(1)));
    Value position = arith::IndexCastOp::create(e.b, e.loc, e.b.getI64Type(), here);
    Value value = e.select(fits, x, e.extract(carried[0], to));
    position = e.select(fits, position, e.extract(carried[1], to));
    return SmallVector<Value>{e.insert(value, carried[0], to), e.insert(position, carried[1], to)};
  });
}

SmallVector<Value> decomposeScatter(Emitter e, tile::ScatterOp op) {
  Value source = op.getInputs()[0];
  AffineMap dest = op.getDestMap();
  return e.loops(source, op.getOutputs(), [&](Emitter e, ValueRange at, ValueRange carried) {
    SmallVector<Value> operands(at);
    for (auto [index, map] :
         llvm::zip_equal(op.getInputs().drop_front(), op.getIndexMaps().getAsValueRange<AffineMapAttr>())) {
      SmallVector<Value> where;
      for (AffineExpr result : map.getResults())
        where.push_back(affine::AffineApplyOp::create(e.b, e.loc, AffineMap::get(map.getNumDims(), 0, result), at));
      operands.push_back(arith::IndexCastOp::create(e.b, e.loc, e.b.getIndexType(), e.extract(index, where)));
    }
    SmallVector<Value> to;
    for (auto [i, result] : llvm::enumerate(dest.getResults())) {
      if (auto loop = dyn_cast<AffineDimExpr>(result)) {
        to.push_back(operands[loop.getPosition()]);
        continue;
      }
      Value index = operands[dest.getNumDims() + cast<AffineSymbolExpr>(result).getPosition()];
      to.push_back(tile::PlaceOp::create(e.b, e.loc, index, e.size(carried[0], i),
                                         /*from_end=*/!op->hasAttr(fromStartAttrName)));
    }
    Value x = e.extract(source, at), old = e.extract(carried[0], to);
    if (std::optional<tile::Combiner> combiner = tile::combinerOf(op.getKind()))
      x = e.combine(*combiner, old, x);
    return SmallVector<Value>{e.insert(x, carried[0], to)};
  });
}

/// Writes to `indices` the line and the column of the input pixel that the tap `tap` of the window at `window` reads.
/// Returns an i1 that is true if this pixel is inside of the input.
template <typename Op>
Value windowIndices(Emitter e, Op op, ValueRange window, ValueRange tap, Value input, SmallVectorImpl<Value> &indices) {
  Value inside;
  for (int64_t i = 0; i < 2; ++i) {
    Value start = e.mul(window[i], e.index(op.getStrides()[i]));
    Value reach = e.add(start, e.mul(tap[i], e.index(op.getDilations()[i])));
    indices[1 + i] = arith::SubIOp::create(e.b, e.loc, reach, e.index(op.getPadding()[i]));
    Value fits = e.cmp(IntPredicate::ult, indices[1 + i], e.size(input, 1 + i));
    inside = inside ? arith::AndIOp::create(e.b, e.loc, inside, fits).getResult() : fits;
  }
  return inside;
}

/// Computes each result as a sum over the input channels of its group and the taps that are inside the input.
SmallVector<Value> decomposeGroupedConvolution(Emitter e, tile::GroupedConvolutionOp op) {
  Value input = op.getInputs()[0], weight = op.getInputs()[1];
  auto weightType = cast<RankedTensorType>(weight.getType());
  Type element = weightType.getElementType();
  int64_t perGroup = weightType.getDimSize(2), filters = weightType.getDimSize(3) / op.getGroups();
  return e.loops(op.getOutputs()[0], op.getOutputs(), [&](Emitter e, ValueRange at, ValueRange carried) {
    Value group = arith::DivUIOp::create(e.b, e.loc, at[3], e.index(filters));
    Value channel = e.mul(group, e.index(perGroup));
    SmallVector<Value> low(3, e.index(0)), step(3, e.index(1)), high;
    for (int64_t dim = 0; dim < 3; ++dim)
      high.push_back(e.index(weightType.getDimSize(dim)));
    Value zero = arith::ConstantOp::create(e.b, e.loc, e.b.getZeroAttr(element));
    scf::LoopNest nest = scf::buildLoopNest(
        e.b, e.loc, low, high, step, zero, [&](OpBuilder &b, Location loc, ValueRange tap, ValueRange sum) {
          Emitter in{b, loc};
          SmallVector<Value> indices{at[0], Value(), Value(), in.add(channel, tap[2])};
          Value inside = windowIndices(in, op, at.slice(1, 2), tap, input, indices);
          return scf::ValueVector{in.addInside(inside, sum[0], [&](Emitter then) {
            Value w = then.extract(weight, {tap[0], tap[1], tap[2], at[3]});
            return then.mul(then.extended(then.extract(input, indices), element), w);
          })};
        });
    return SmallVector<Value>{e.insert(nest.results[0], carried[0], at)};
  });
}

/// Computes each result as a sum over the pixels of a part of the image. Pixels whose tap is outside the input are
/// omitted.
SmallVector<Value> decomposeDepthwiseGradient(Emitter e, tile::DepthwiseGradientOp op) {
  Value input = op.getInputs()[0], grad = op.getInputs()[1];
  Type element = cast<RankedTensorType>(op.getOutputs()[0].getType()).getElementType();
  return e.loops(op.getOutputs()[0], op.getOutputs(), [&](Emitter e, ValueRange at, ValueRange carried) {
    Value first = e.mul(at[1], e.index(op.getLines()));
    Value end = e.smaller(e.add(first, e.index(op.getLines())), e.size(grad, 1));
    Value zero = arith::ConstantOp::create(e.b, e.loc, e.b.getZeroAttr(element));
    scf::LoopNest nest =
        scf::buildLoopNest(e.b, e.loc, {first, e.index(0)}, {end, e.size(grad, 2)}, {e.index(1), e.index(1)}, zero,
                           [&](OpBuilder &b, Location loc, ValueRange pixel, ValueRange sum) {
                             Emitter in{b, loc};
                             SmallVector<Value> indices{at[0], Value(), Value(), at[4]};
                             Value inside = windowIndices(in, op, pixel, at.slice(2, 2), input, indices);
                             return scf::ValueVector{in.addInside(inside, sum[0], [&](Emitter then) {
                               Value g = then.extended(then.extract(grad, {at[0], pixel[0], pixel[1], at[4]}), element);
                               return then.mul(then.extended(then.extract(input, indices), element), g);
                             })};
                           });
    return SmallVector<Value>{e.insert(nest.results[0], carried[0], at)};
  });
}

/// Returns true for attention or its gradient with elements of `bits` bits.
bool isAttentionOf(Operation *op, unsigned bits) {
  return isa<tile::AttentionOp, tile::AttentionGradientOp>(op) &&
         getElementTypeOrSelf(op->getOperand(0).getType()).getIntOrFloatBitWidth() == bits;
}

struct DecomposeTile : impl::DecomposeTileBase<DecomposeTile> {
  using DecomposeTileBase::DecomposeTileBase;

  void runOnOperation() override {
    SmallVector<Operation *> ops;
    graph::DecisionList decisions;
    getOperation()->walk([&](Operation *op) {
      if (wideAttentionOnly) {
        const bool isSingle = singleAttention && isAttentionOf(op, 32);
        if (!isSingle && !isAttentionOf(op, 64))
          return;
        decisions.add(op->getLoc(),
                      {"DecomposeTile", "fusion", /*done=*/false, isSingle ? "attention in f32" : "attention in f64",
                       isSingle ? "tensor cores need operands of 16 bits; the whole score matrix is computed"
                                : "online softmax needs f32 scores; the whole score matrix is computed"});
        ops.push_back(op);
      } else if (isa<tile::ScanOp, tile::SortOp, tile::ScatterOp, tile::AttentionOp, tile::AttentionGradientOp,
                     tile::GroupedConvolutionOp, tile::DepthwiseGradientOp>(op) ||
                 (divisors && isa<tile::DivisorOp, tile::RequireOp>(op))) {
        ops.push_back(op);
      }
    });
    decisions.store(getOperation());
    for (Operation *op : ops) {
      OpBuilder b(op);
      Emitter e{b, op->getLoc()};
      SmallVector<Value> results =
          TypeSwitch<Operation *, SmallVector<Value>>(op)
              .Case<tile::ScanOp>([&](auto scan) { return decomposeScan(e, scan); })
              .Case<tile::SortOp>([&](auto sort) { return decomposeSort(e, sort); })
              .Case<tile::ScatterOp>([&](auto scatter) { return decomposeScatter(e, scatter); })
              .Case<tile::GroupedConvolutionOp>([&](auto grouped) { return decomposeGroupedConvolution(e, grouped); })
              .Case<tile::DepthwiseGradientOp>([&](auto gradient) { return decomposeDepthwiseGradient(e, gradient); })
              .Case<tile::DivisorOp>(
                  [&](auto divisor) { return SmallVector<Value>{tile::divideByOne(b, e.loc, divisor.getDivisor())}; })
              .Case<tile::RequireOp>([&](auto require) { return SmallVector<Value>{require.getValue()}; })
              .Case<tile::AttentionOp>([&](auto attention) { return decomposeAttention(b, attention); })
              .Case<tile::AttentionGradientOp>([&](auto gradient) { return decomposeAttentionGradient(b, gradient); });
      op->replaceAllUsesWith(results);
      op->erase();
    }
  }
};

} // namespace
} // namespace tilewright::reference
