//===- InterleavedLoops.cpp - ops whose innermost loop has few iterations ---------===//
//
// Before:
//   linalg.generic {select(linalg.index 1 == 0, %x, %y)} ins(%a, %b: memref<64xf32>) outs(%c: memref<64x2xf32>)
// After:
//   scf.for %i = 0 to 64 step 16 {
//     the body with j = 0 and with j = 1, each on 16 elements of %i: two vectors
//     their elements interleaved: two vectors, which are stored one after the other }
//
// If the trip count of the loop over %i is not a multiple of the vector length, a masked remainder follows. Complex
// numbers and rotary embeddings have innermost loops of two iterations. Colors and coordinates have innermost loops of
// three iterations. A vector along such a loop would use only two or three of sixteen lanes. Instead, the body is
// copied for each iteration of the innermost loop. In each copy, the index of this loop is a constant, so that
// selections by this index are folded. BodyEmitter::readStrided() deinterleaves inputs whose elements along %i have a
// small stride (isSmallStride()).
//
// Test: test/Codegen/CPU/Vectorize/interleaved-loops.mlir
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/CPU/Vectorize/InterleavedLoops.h"
#include "lib/Codegen/CPU/Vectorize/LineLoops.h"

using namespace mlir;

namespace tilewright::vector_stage {
namespace {

/// The maximum total number of ops in all copies of a body.
constexpr int64_t mostBodyOps = 96;

class PairEmitter : LineLoops {
public:
  PairEmitter(linalg::LinalgOp op, unsigned along, unsigned inner, int64_t count, int64_t lanes)
      : LineLoops(op, along, lanes), inner(inner), count(count) {}

  void run() {
    overOthers(inner, [&] {
      overAlong([&](Value first, int64_t, Value mask) {
        body.ivs[along] = first;
        vectors(mask);
      });
    });
    op->erase();
  }

private:
  void vectors(Value mask) {
    SmallVector<SmallVector<Value>> made(op.getNumDpsInits());
    for (int64_t position = 0; position < count; ++position) {
      body.ivs[inner] = constant(position);
      SmallVector<Value> before;
      for (unsigned number = 0; number < op.getNumDpsInits(); ++number)
        before.push_back(body.readBefore(builder, number, mask));
      for (auto [number, value] : llvm::enumerate(body.emitStep(builder, IRMapping(), before, mask)))
        made[number].push_back(body.asVector(builder, value));
    }
    body.ivs[inner] = zero;
    for (auto [output, parts] : llvm::zip_equal(op.getDpsInitsMutable(), made))
      store(output, parts, mask);
  }

  /// Interleaves the elements of the vectors `parts`. Returns the same number of vectors.
  SmallVector<Value> interleaved(ArrayRef<Value> parts) {
    SmallVector<Value> vectors;
    for (int64_t piece = 0; piece < count; ++piece) {
      Value result = parts[0];
      for (int64_t part = 0; part < count; ++part) {
        SmallVector<int64_t> from;
        for (int64_t lane = 0; lane < lanes; ++lane) {
          const int64_t element = piece * lanes + lane;
          from.push_back(element % count == part ? lanes + element / count : part == 0 ? 0 : lane);
        }
        result = vector::ShuffleOp::create(builder, loc, result, parts[part], from);
      }
      vectors.push_back(result);
    }
    return vectors;
  }

  void store(OpOperand &output, ArrayRef<Value> parts, Value mask) {
    Value elements = body.lineAt(builder, output.get(), body.indicesOf(builder, output), count * lanes);
    Value left;
    if (mask) {
      OpFoldResult rest = apply(builder.getAffineDimExpr(0) % lanes * count, sizes[along]);
      left = valueOf(rest);
    }
    for (auto [piece, vector] : llvm::enumerate(interleaved(parts))) {
      const int64_t at = int64_t(piece) * lanes;
      if (mask)
        vector::MaskedStoreOp::create(builder, loc, elements, constant(at), firstLanes(plus(left, -at)), vector);
      else
        vector::StoreOp::create(builder, loc, vector, elements, constant(at));
    }
  }

  const unsigned inner;
  const int64_t count;
};

/// Returns true if loop `inner` indexes the last dimension of the output, which has `count` elements, loop `along`
/// indexes the previous dimension, and the two dimensions are contiguous.
bool liesInPairs(linalg::LinalgOp op, OpOperand &output, unsigned along, unsigned inner, int64_t count) {
  AffineMap map = op.getMatchingIndexingMap(&output);
  auto type = cast<MemRefType>(output.get().getType());
  const int64_t rank = type.getRank();
  if (rank < 2 || !map.isProjectedPermutation() ||
      map.getResult(rank - 1) != getAffineDimExpr(inner, op.getContext()) ||
      map.getResult(rank - 2) != getAffineDimExpr(along, op.getContext()))
    return false;
  SmallVector<int64_t> strides = type.getStridesAndOffset().first;
  return strides[rank - 1] == 1 && strides[rank - 2] == count;
}

} // namespace

bool emitInterleavedLoops(linalg::LinalgOp op, int64_t lanes) {
  if (op.getNumReductionLoops() > 0 || op.getNumDpsInits() == 0 || op.getNumLoops() < 2)
    return false;
  OpOperand &first = *op.getDpsInitOperand(0);
  AffineMap map = op.getMatchingIndexingMap(&first);
  if (map.getNumResults() < 2)
    return false;
  auto inner = dyn_cast<AffineDimExpr>(map.getResult(map.getNumResults() - 1)),
       along = dyn_cast<AffineDimExpr>(map.getResult(map.getNumResults() - 2));
  if (!inner || !along)
    return false;
  const SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  const int64_t count = sizes[inner.getPosition()];
  lanes = lanesFor(sizes[along.getPosition()], lanes);
  // If the innermost loop has more than a quarter as many iterations as a vector has lanes, vectors along it suffice.
  if (count < 2 || count * 4 > lanes || !bodyHasVectorForm(op) ||
      count * std::distance(op.getBlock()->begin(), op.getBlock()->end()) > mostBodyOps)
    return false;
  for (OpOperand &output : op.getDpsInitsMutable())
    if (!isa<MemRefType>(output.get().getType()) ||
        !liesInPairs(op, output, along.getPosition(), inner.getPosition(), count))
      return false;
  PairEmitter(op, along.getPosition(), inner.getPosition(), count, lanes).run();
  return true;
}

} // namespace tilewright::vector_stage
