//===- MatchAttention.cpp - --tw-match-attention: attention that is written as products and a softmax ---===//
//
// Before (%c is the constant 0.125):
//   %t = tw.permute %k {permutation = [0, 1, 3, 2]} : tensor<2x4x16x64xbf16> -> tensor<2x4x64x16xbf16>
//   %s = tw.matmul %q, %t : (tensor<2x4x8x64xbf16>, tensor<2x4x64x16xbf16>) -> tensor<2x4x8x16xbf16>
//   %a = tw.mul %s, %c      %b = tw.add %a, %mask      %p = tw.softmax %b {dim = 3}
//   %o = tw.matmul %p, %v : (tensor<2x4x8x16xbf16>, tensor<2x4x16x64xbf16>) -> tensor<2x4x8x64xbf16>
// After:
//   %o, %l = tw.attention %q, %k, %v mask(%mask) {scale = 0.125, nan_rows} : ... -> tensor<2x4x8x64xbf16>, ...
//
// Models that do not call scaled_dot_product_attention then also compute attention without storing the scores. The
// following ops may be between the products: casts between float types; reshapes that preserve rows and columns;
// multiplications and divisions by constants next to the first product; additions of masks; and tw.where that replaces
// scores by -inf, or by a number so low (at most -1e30) that adding a score does not change it. Each of these values
// must have only one user. A row whose scores are all -inf has NaN results, as after the softmax (`nan_rows`), unless
// the softmax is `safe`.
//
// With the option `tensor-cores-only`, the pass changes only attention of bf16 and f16 whose head sizes are multiples
// of 8 up to 256. The target cuda computes other attention as the original products and softmax. If the pass finds
// products around a softmax that it does not change, a decision of the kind "fusion" states the reason
// (dialects/Graph/Decisions.h).
//
// Test: test/Graph/match-attention.mlir, test/Python/test_written_attention.py
//
//===----------------------------------------------------------------------===//
#include "dialects/Graph/Decisions.h"
#include "dialects/Graph/Values.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "tilewright/Passes.h"
#include "tilewright/StageContract.h"

using namespace mlir;

namespace tilewright {
#define GEN_PASS_DEF_MATCHATTENTION
#include "tilewright/Passes.h.inc"
namespace graph {
namespace {

using Shape = SmallVector<AffineExpr>;

/// Returns the number that all elements of the constant `value` have. Returns std::nullopt if `value` is not such a
/// constant.
std::optional<double> constantNumber(Value value) {
  while (isa_and_nonnull<CastOp, ReshapeOp, BroadcastOp>(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  auto constant = value.getDefiningOp<ConstantOp>();
  auto elements = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : DenseElementsAttr();
  if (!elements || !elements.isSplat())
    return std::nullopt;
  if (isa<FloatType>(elements.getElementType()))
    return elements.getSplatValue<APFloat>().convertToDouble();
  if (!elements.getElementType().isSignlessInteger() || elements.getElementType().isInteger(1))
    return std::nullopt;
  return double(elements.getSplatValue<APInt>().getSExtValue());
}

/// Returns true if `reshape` preserves the sizes of the last two dimensions. Otherwise, or if its input or its result
/// has a rank below 2, returns false.
bool preservesMatrices(ReshapeOp reshape) {
  Shape before = sizesOf(reshape.getInput()), after = sizesOf(reshape);
  return before.size() >= 2 && after.size() >= 2 && ArrayRef(before).take_back(2) == ArrayRef(after).take_back(2);
}

/// Two products, the softmax between them, and the steps from the first product to the softmax in the order of
/// execution.
struct WrittenAttention {
  /// A step adds `tensor` to the scores. If `number` is set, the step instead replaces scores by `number` where the
  /// boolean `tensor` is equal to `where`.
  struct Step {
    Value tensor;
    std::optional<double> number;
    bool where = true;
    Value scores; ///< the scores after the step
  };
  MatmulOp scores, result;
  SoftmaxOp softmax;
  double scale = 1;
  SmallVector<Step> steps;
};

/// Finds the first product and the steps after it, by following the operands of the second product backwards.
class WrittenAttentionFinder {
public:
  /// Returns the attention whose second product is `result`. Otherwise returns std::nullopt, and sets `reason` if the
  /// ops are two products around a softmax.
  std::optional<WrittenAttention> find(MatmulOp result, std::string &reason) {
    found.result = result;
    found.softmax = beforeViews(result.getLhs()).getDefiningOp<SoftmaxOp>();
    if (!found.softmax || found.softmax.getLog() || int64_t(found.softmax.getDim()) != rankOf(found.softmax) - 1)
      return std::nullopt;
    chain.push_back(found.softmax);
    Value value = beforeViews(found.softmax.getInput());
    if (!leadsToProduct(value))
      return std::nullopt;
    while (!value.getDefiningOp<MatmulOp>()) {
      value = beforeStep(value, reason);
      if (!value)
        return std::nullopt;
      value = beforeViews(value);
    }
    chain.push_back(value);
    found.scores = value.getDefiningOp<MatmulOp>();
    std::reverse(found.steps.begin(), found.steps.end());
    if (!llvm::all_of(chain, [](Value each) { return each.hasOneUse(); })) {
      reason = "the scores or the weights have other users";
      return std::nullopt;
    }
    return found;
  }

private:
  /// Returns the value from which `value` is computed by casts of floats and by reshapes that preserve matrices.
  Value beforeViews(Value value) {
    while (true) {
      Operation *op = value.getDefiningOp();
      auto reshape = dyn_cast_or_null<ReshapeOp>(op);
      auto cast = dyn_cast_or_null<CastOp>(op);
      if (!(reshape && preservesMatrices(reshape)) && !(cast && isa<FloatType>(elementOf(cast->getOperand(0)))))
        return value;
      chain.push_back(value);
      value = op->getOperand(0);
    }
  }

  /// Returns true if a product can be reached from `value` through ops that may be between the products.
  static bool leadsToProduct(Value value, int64_t mostOps = 10) {
    Operation *op = value.getDefiningOp();
    if (isa_and_nonnull<MatmulOp>(op))
      return true;
    return isa_and_nonnull<CastOp, ReshapeOp, MulOp, DivOp, AddOp, WhereOp>(op) && mostOps > 0 &&
           llvm::any_of(op->getOperands(), [&](Value each) { return leadsToProduct(each, mostOps - 1); });
  }

  /// Returns true if `value` can be the scores before a step with the result `after`.
  static bool canBeScores(Value value, Value after) {
    return sizesOf(value) == sizesOf(after) && isa<FloatType>(elementOf(value)) && leadsToProduct(value);
  }

  /// Records the step that computes `value`, and returns the scores before this step. Returns null and sets `reason` if
  /// the step is not supported.
  Value beforeStep(Value value, std::string &reason) {
    Operation *op = value.getDefiningOp();
    chain.push_back(value);
    WrittenAttention::Step step{{}, {}, true, value};
    Value scores;
    if (auto where = dyn_cast<WhereOp>(op)) {
      std::optional<double> left = constantNumber(where.getLhs());
      step.tensor = where.getCondition();
      step.number = left ? left : constantNumber(where.getRhs());
      step.where = left.has_value();
      scores = left ? where.getRhs() : where.getLhs();
      if (step.number && !(*step.number <= -1e30)) {
        reason = "masked scores are replaced by a number above -1e30";
        return {};
      }
    } else if (isa<AddOp>(op)) {
      const bool isLeft = canBeScores(op->getOperand(0), value);
      scores = op->getOperand(isLeft ? 0 : 1);
      step.tensor = op->getOperand(isLeft ? 1 : 0);
    } else if (isa<MulOp, DivOp>(op)) {
      const bool isLeft = isa<DivOp>(op) || !constantNumber(op->getOperand(0));
      scores = op->getOperand(isLeft ? 0 : 1);
      step.number = constantNumber(op->getOperand(isLeft ? 1 : 0));
      if (step.number)
        found.scale *= isa<DivOp>(op) ? 1 / *step.number : *step.number;
    }
    if (!scores || !canBeScores(scores, value) || (!step.number && !isa<AddOp>(op))) {
      reason = ("a " + op->getName().getStringRef() + " between the products is not a mask or a constant scale").str();
      return {};
    }
    if (step.tensor && found.scale != 1) {
      reason = "the scores are scaled after they are masked";
      return {};
    }
    if (step.tensor)
      found.steps.push_back(step);
    return scores;
  }

  WrittenAttention found;
  SmallVector<Value> chain; ///< all values between the two products
};

/// Replaces the ops of an attention by tw.attention.
class AttentionWriter {
public:
  explicit AttentionWriter(WrittenAttention attention)
      : written(std::move(attention)), builder(written.result), loc(written.result.getLoc()) {}

  /// Returns the reason why the attention is not replaced, or an empty string if it was replaced.
  std::string run(bool tensorCoresOnly) {
    MatmulOp scores = written.scores, result = written.result;
    Value query = scores.getLhs(), value = result.getRhs();
    const Type element = elementOf(query);
    if (elementOf(value) != element || !isa<FloatType>(element) || element.getIntOrFloatBitWidth() < 16)
      return "the query, the key and the value do not have the same float type of 16, 32 or 64 bits";
    if (elementOf(result).isF64() != element.isF64() || elementOf(written.softmax).isF64() != element.isF64())
      return "only a part of the ops computes in f64";
    Shape q = sizesOf(query), k = sizesOf(scores.getRhs()), v = sizesOf(value);
    if (auto keys = dyn_cast<AffineConstantExpr>(k.back()); keys && keys.getValue() == 0)
      return "there are no keys";
    if (tensorCoresOnly) {
      if (element.getIntOrFloatBitWidth() != 16)
        return "tensor cores compute attention of bf16 and f16 only";
      for (AffineExpr size : {q.back(), v.back()})
        if (auto known = dyn_cast<AffineConstantExpr>(size); !known || known.getValue() % 8 || known.getValue() > 256)
          return "the size of a head is not a multiple of 8 up to 256";
    }
    if (!chooseHeads())
      return "the batch dimensions of the products are not two dimensions of the masks or operands";

    Value key = withHeads(scores.getRhs());
    key = permuted(key, {0, 1, 3, 2});
    query = withHeads(query);
    value = withHeads(value);
    Shape results = sizesOf(query), rows(results.begin(), results.end() - 1);
    results.back() = v.back();
    Type sums = element.isF64() ? Type(builder.getF64Type()) : Type(builder.getF32Type());
    Value mask = combinedMask();
    auto attention = AttentionOp::create(
        builder, loc, TypeRange{tensorWithSizes(results, elementOf(result)), tensorWithSizes(rows, sums)}, query, key,
        value, mask, builder.getF64FloatAttr(written.scale), /*causal=*/UnitAttr(),
        written.softmax.getSafe() ? UnitAttr() : builder.getUnitAttr());
    Value made = attention.getResult();
    if (rankOf(result) != 4)
      made = ReshapeOp::create(builder, loc, result.getType(), made);
    result.replaceAllUsesWith(made);
    result.erase();
    return "";
  }

private:
  /// Sets `batch` and `heads`, whose product is the number of matrices of each product. Returns false if masks refer to
  /// other dimensions.
  bool chooseHeads() {
    Shape of = sizesOf(written.scores);
    auto take = [&](Value value) { // the result is false if the batch dimensions of `value` differ
      Shape shape = sizesOf(value);
      if (shape.size() == 4 && !batch) {
        batch = shape[0];
        heads = shape[1];
      }
      return shape.size() <= 4 && (shape.size() != 4 || (shape[0] == batch && shape[1] == heads));
    };
    auto one = getAffineConstantExpr(1, builder.getContext());
    for (const WrittenAttention::Step &step : written.steps)
      if (!take(step.scores))
        return false;
    if (!take(written.softmax) || !take(written.scores) || !take(written.result))
      return false;
    for (Value operand : {written.scores.getLhs(), written.scores.getRhs(), written.result.getRhs()})
      if (auto reshape = operand.getDefiningOp<ReshapeOp>(); reshape && preservesMatrices(reshape) && !batch)
        if (rankOf(reshape.getInput()) == 4)
          take(reshape.getInput());
    if (!batch) {
      batch = of.size() == 3 ? of[0] : one;
      heads = one;
    }
    return true;
  }

  /// Returns the matrices of a product's operand as batch x heads x rows x columns.
  Value withHeads(Value value) {
    Shape shape = sizesOf(value);
    Shape wanted{batch, heads, shape[shape.size() - 2], shape.back()};
    if (shape == wanted)
      return value;
    if (auto reshape = value.getDefiningOp<ReshapeOp>(); reshape && sizesOf(reshape.getInput()) == wanted)
      return reshape.getInput();
    return ReshapeOp::create(builder, loc, tensorWithSizes(wanted, elementOf(value)), value);
  }

  Value permuted(Value value, ArrayRef<int64_t> permutation) {
    Shape shape = sizesOf(value), sizes;
    for (int64_t dim : permutation)
      sizes.push_back(shape[dim]);
    return PermuteOp::create(builder, loc, tensorWithSizes(sizes, elementOf(value)), value,
                             builder.getDenseI64ArrayAttr(permutation));
  }

  /// Returns the tensor of a step in a shape that broadcasts to batch x heads x rows x columns.
  Value aligned(const WrittenAttention::Step &step) {
    Shape own = sizesOf(step.tensor);
    if (rankOf(step.scores) != 3 || own.size() != 3 || isUnitSize(own[0]))
      return step.tensor;
    return ReshapeOp::create(builder, loc, tensorWithSizes({batch, heads, own[1], own[2]}, elementOf(step.tensor)),
                             step.tensor);
  }

  Value scalar(Type element, double number) {
    auto type = RankedTensorType::get({}, element);
    APFloat value(number);
    bool inexact;
    value.convert(cast<FloatType>(element).getFloatSemantics(), APFloat::rmNearestTiesToEven, &inexact);
    return ConstantOp::create(builder, loc, type, cast<TypedAttr>(DenseElementsAttr::get(type, value)));
  }

  /// Returns the shape to which tensors of the shapes `a` and `b` are broadcast.
  static Shape broadcastShape(Shape a, Shape b) {
    if (a.size() < b.size())
      std::swap(a, b);
    for (size_t i = 0; i < b.size(); ++i)
      if (AffineExpr &size = a[a.size() - b.size() + i]; isUnitSize(size))
        size = b[i];
    return a;
  }

  Value combinedMask() {
    // If -inf replaces scores and nothing is added, the mask is boolean: true where a row attends to a key.
    if (written.steps.size() == 1 && written.steps[0].number && std::isinf(*written.steps[0].number)) {
      Value condition = aligned(written.steps[0]);
      return written.steps[0].where ? LogicalNotOp::create(builder, loc, condition.getType(), condition).getResult()
                                    : condition;
    }
    Value mask;
    for (const WrittenAttention::Step &step : written.steps) {
      Value tensor = aligned(step);
      const Type element = elementOf(step.scores);
      if (!step.number) {
        tensor = inType(tensor, element);
        if (mask)
          tensor = AddOp::create(builder, loc, tensorWithSizes(broadcastShape(sizesOf(mask), sizesOf(tensor)), element),
                                 inType(mask, element), tensor);
        mask = tensor;
        continue;
      }
      Value number = scalar(element, *step.number), other = mask ? inType(mask, element) : scalar(element, 0);
      auto type = tensorWithSizes(broadcastShape(sizesOf(tensor), sizesOf(other)), element);
      mask = WhereOp::create(builder, loc, type, tensor, step.where ? number : other, step.where ? other : number);
    }
    return mask;
  }

  Value inType(Value value, Type element) {
    if (elementOf(value) == element)
      return value;
    return CastOp::create(builder, loc, tensorWithSizes(sizesOf(value), element), value);
  }

  WrittenAttention written;
  OpBuilder builder;
  Location loc;
  AffineExpr batch, heads;
};

struct MatchAttention : impl::MatchAttentionBase<MatchAttention> {
  using impl::MatchAttentionBase<MatchAttention>::MatchAttentionBase;
  void runOnOperation() final {
    if (failed(requireForm(getOperation(), IRForm::Graph, getArgument())))
      return signalPassFailure();
    SmallVector<MatmulOp> products;
    getOperation().walk([&](MatmulOp op) { products.push_back(op); });
    DecisionList decisions;
    for (MatmulOp product : products) {
      std::string reason;
      Location loc = product.getLoc();
      std::optional<WrittenAttention> written = WrittenAttentionFinder().find(product, reason);
      if (written)
        reason = AttentionWriter(*written).run(tensorCoresOnly);
      if (!reason.empty())
        decisions.add(loc, {"MatchAttention", "fusion", /*done=*/false, "products around a softmax", reason});
    }
    decisions.store(getOperation());
  }
};

} // namespace
} // namespace graph
} // namespace tilewright
