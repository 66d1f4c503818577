//===- ScaledProducts.cpp - scaled products of 8-bit floats -------------------------------===//
//
// _scaled_mm(a, b, scale_a, scale_b) is a product that accumulates in f32. The sums are multiplied by the scales, a
// bias is added, and the result is rounded once. There is one scale per operand, or one per row of `a` and one per
// column of `b`.
//
// Test: test/Python/test_float8.py
//
//===----------------------------------------------------------------------===//
#include "lib/Import/ATen/Table.h"
#include "lib/Import/Builder/Node.h"

namespace tilewright {
namespace {

/// Returns true if `scale` has one element. It may have any rank.
bool isOne(Node &n, Value scale) {
  return llvm::all_of(n.sizesIn(scale), [&](AffineExpr size) { return size == n.constantSize(1); });
}

Results scaledProduct(Node &n) {
  Value a = n.tensor(0, "self"), b = n.tensor(1, "mat2"), ofA = n.tensor(2, "scale_a"), ofB = n.tensor(3, "scale_b");
  Value bias = n.optionalTensor(4, "bias"), ofResult = n.optionalTensor(5, "scale_result");
  if (n.failed())
    return n.refused();
  if (n.rankOf(a) != 2 || n.rankOf(b) != 2)
    return n.refuse("operands of rank " + llvm::Twine(n.rankOf(a)) + " and " + llvm::Twine(n.rankOf(b)) +
                    "; give two matrices");
  if (!isFloat8(n.elementOf(a)) || !isFloat8(n.elementOf(b)))
    return n.refuse("operands of " + dtypeName(n.elementOf(a)) + " and " + dtypeName(n.elementOf(b)) +
                    "; both must be float8_e4m3fn or float8_e5m2");
  if (!n.elementOf(ofA).isF32() || !n.elementOf(ofB).isF32())
    return n.refuse("scales of " + dtypeName(n.elementOf(ofA)) + " and " + dtypeName(n.elementOf(ofB)) +
                    "; both must be float32");
  if (!isa<FloatType>(n.element()) || n.element().isF64())
    return n.refuse("a result of " + dtypeName(n.element()) + "; give out_dtype bfloat16, float16 or float32");
  // torch's CPU kernel divides by scale_result, and its GPU kernel multiplies by it. For results that are not 8-bit
  // floats, the kernels ignore scale_result.
  if (ofResult && isFloat8(n.element()))
    return n.refuse("scale_result, by which eager divides on a CPU and multiplies on a GPU; scale in float32 and cast");
  const AffineExpr one = n.constantSize(1);
  if (isOne(n, ofA) && isOne(n, ofB)) {
    ofA = n.reshape(ofA, ArrayRef<AffineExpr>{});
    ofB = n.reshape(ofB, ArrayRef<AffineExpr>{});
  } else if (n.sizesIn(ofA) != SmallVector<AffineExpr>{n.sizesIn(a)[0], one} ||
             n.sizesIn(ofB) != SmallVector<AffineExpr>{one, n.sizesIn(b)[1]}) {
    return n.refuse("scales " + tensorName(n.typeOf(ofA)) + " and " + tensorName(n.typeOf(ofB)) + " for " +
                    tensorName(n.typeOf(a)) + " x " + tensorName(n.typeOf(b)) +
                    "; give one number for each operand, or one for each row of the first (M x 1) and each column of "
                    "the second (1 x N)");
  }
  Value result = n.op<MulOp>({n.matmul(a, b, n.f32()), ofA});
  result = n.op<MulOp>({result, ofB});
  if (bias)
    result = n.op<AddOp>({result, n.cast(bias, n.f32())});
  return isFloat8(n.element()) ? n.convert(result, n.element()) : n.cast(result, n.element());
}

} // namespace

void registerScaledProducts(Table &t) { t["aten._scaled_mm.default"] = scaledProduct; }

} // namespace tilewright
