//===- Node.h - a node under import, with methods that emit tw ops --------------===//
//
// The import functions of the table (lib/Import/ATen/Table.h) have a Node as their argument. They read the node's
// arguments by position and name, because fx omits defaults and passes keyword-only arguments by name. Then they check
// failed(), and emit ops with the methods below, which infer the result types:
//
//   Results silu(Node &n) {
//     Value x = n.tensor(0, "self");
//     if (n.failed())
//       return n.refused();
//     return n.op<SiluOp>({n.cast(x, n.element())});
//   }
//
// After a refusal, the methods that read arguments return dummy values, so a function may read all arguments before it
// checks failed().
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_IMPORT_BUILDER_NODE_H
#define TILEWRIGHT_LIB_IMPORT_BUILDER_NODE_H

#include "lib/Import/Builder/Importer.h"
#include "llvm/ADT/Twine.h"

namespace tilewright {

using namespace mlir;
using namespace tilewright::graph;

/// The values of a node's results; a null value is a result that must not be used.
class Results {
public:
  Results(Value value) : values{value} {}
  Results(std::initializer_list<Value> list) : values(list) {}
  Results(SmallVector<Value> list) : values(list.begin(), list.end()) {}
  static Results none() { return Results(SmallVector<Value>{}); }
  SmallVector<Value, 4> values;
};

/// Specifies whether eager rounds a number operand of an op on f16 or bf16 tensors to the type of the tensors. Eager
/// rounds the number in sums, comparisons, remainders and powers, but not in products and quotients. The test
/// test/Python/ops/test_scalars_with_half_precision.py compares each op, because ATen's CPU kernels differ from op to
/// op.
enum class Numbers { Rounded, Unrounded };

class Node {
public:
  Node(Importer &importer, llvm::StringRef target, const ArgList &args,
       const std::vector<std::pair<std::string, Arg>> &kwargs, ArrayRef<RankedTensorType> types, Location loc)
      : importer(importer), builder(importer.builder), loc(loc), target(target), args(args), kwargs(kwargs),
        types(types) {}

  Importer &importer;
  OpBuilder &builder;
  Location loc;
  llvm::StringRef target;

  //===--- refusing ---===//
  bool failed() const { return !reason.empty(); }
  /// Refuses the node if `holds` is false. Returns true if the node has not been refused so far. torch has checked the
  /// calls in its own graphs, but a file may contain any call. Every function must therefore check the ranges of the
  /// arguments that it reads.
  bool demand(bool holds, const llvm::Twine &why) {
    if (!holds)
      refuse(why);
    return !failed();
  }
  Results refuse(const llvm::Twine &why) {
    if (reason.empty())
      reason = why.str();
    return Results::none();
  }
  Results refused() { return Results::none(); }
  mutable std::string reason;

  //===--- reading arguments ---===//
  const Arg *find(unsigned index, llvm::StringRef name) const;
  bool has(unsigned index, llvm::StringRef name) const; ///< given and not None
  bool isTensor(unsigned index, llvm::StringRef name) const;
  bool isNumber(unsigned index, llvm::StringRef name) const; ///< bool, int, float or symbolic
  Value tensor(unsigned index, llvm::StringRef name);
  Value optionalTensor(unsigned index, llvm::StringRef name); ///< null if None
  SmallVector<Value> tensors(unsigned index, llvm::StringRef name);
  SmallVector<Value> optionalTensors(unsigned index, llvm::StringRef name);
  int64_t integer(unsigned index, llvm::StringRef name, std::optional<int64_t> otherwise = std::nullopt);
  double number(unsigned index, llvm::StringRef name, std::optional<double> otherwise = std::nullopt);
  bool flag(unsigned index, llvm::StringRef name, bool otherwise = false);
  std::string text(unsigned index, llvm::StringRef name, llvm::StringRef otherwise = "");
  SmallVector<int64_t> integers(unsigned index, llvm::StringRef name); ///< empty if None
  SmallVector<bool> flags(unsigned index, llvm::StringRef name);
  AffineExpr size(unsigned index, llvm::StringRef name);
  SmallVector<AffineExpr> sizes(unsigned index, llvm::StringRef name);
  /// Returns a dimension of a tensor of `rank`; negative numbers count from the end.
  int64_t dim(unsigned index, llvm::StringRef name, int64_t rank, std::optional<int64_t> otherwise = std::nullopt);
  /// Returns dimensions, sorted; all of them if none are given.
  SmallVector<int64_t> dims(unsigned index, llvm::StringRef name, int64_t rank);
  int64_t wrapDim(int64_t dim, int64_t rank);
  /// Returns an argument that is a tensor or a number, as a tensor with the element type `element`.
  Value operand(unsigned index, llvm::StringRef name, Type element);

  //===--- types ---===//
  unsigned resultCount() const { return types.size(); }
  /// Returns the type of a result, or null if the result is not a tensor.
  RankedTensorType type(unsigned result = 0) const { return result < types.size() ? types[result] : missingType(); }
  Type element(unsigned result = 0) const {
    RankedTensorType of = type(result);
    return of ? of.getElementType() : f32();
  }
  Type f32() const { return Float32Type::get(&importer.context); }
  Type f64() const { return Float64Type::get(&importer.context); }
  Type i64() const { return IntegerType::get(&importer.context, 64); }
  Type i1() const { return IntegerType::get(&importer.context, 1); }
  /// Returns f32 for f16 and bf16, and `element` for other types.
  Type accumulator(Type element) const { return isa<Float16Type, BFloat16Type>(element) ? f32() : element; }
  /// Returns a type to which `element` can be converted without changing the order of values. The type is signed unless
  /// `element` is uint64.
  Type ordered(Type element);
  /// Returns the type in which eager computes an elementwise op with the result type `result`. With Numbers::Unrounded,
  /// it is f32 for an f16 or bf16 result if an operand after the first is a wider 0-d tensor, or is a number that f16
  /// or bf16 cannot represent exactly. It is f64 for a 0-d f32 result with an operand that was computed in f64
  /// (isWide).
  Type computeType(Type result, ArrayRef<std::pair<unsigned, llvm::StringRef>> operands, Numbers numbers) const;
  /// Returns true for a 0-d f32 value that was computed in f64. Values that depend on it are also computed in f64. An
  /// example is the expression 1 - 0.999 ** step of an optimizer, which eager computes with Python's floats. In f32 it
  /// would have only four correct digits.
  static bool isWide(Value value);
  /// Returns the type that torch.result_type returns for these arguments.
  Type promoted(ArrayRef<std::pair<unsigned, llvm::StringRef>> operands);
  AffineExpr constantSize(int64_t value) const { return getAffineConstantExpr(value, &importer.context); }

  //===--- writing ops ---===//
  static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }
  static Type elementOf(Value value) { return typeOf(value).getElementType(); }
  static int64_t rankOf(Value value) { return typeOf(value).getRank(); }
  SmallVector<AffineExpr> sizesIn(Value value) const { return sizesOf(typeOf(value)); }
  /// Returns the common shape of the operands by NumPy's rule.
  SmallVector<AffineExpr> broadcastSizes(ValueRange operands);
  /// If calls check sizes (Importer::guardsSizes), returns the operands reshaped so that sizes that must be equal also
  /// have equal expressions. Otherwise returns the operands.
  SmallVector<Value> agreeing(ArrayRef<Value> operands);
  /// Returns `value` reshaped to `sizes`. Adds a guard for each size whose expression differs from that of `value`.
  Value withSizes(Value value, ArrayRef<AffineExpr> sizes);
  /// Returns the expression to use for two sizes other than 1 that must be equal. A constant is preferred to a symbolic
  /// size. Returns null if the sizes differ, or if they must not be assumed to be equal.
  AffineExpr agreed(AffineExpr a, AffineExpr b) const;
  /// Returns true if all sizes of two shapes are equal or may be assumed to be equal.
  bool agree(ArrayRef<AffineExpr> a, ArrayRef<AffineExpr> b) const {
    return a.size() == b.size() &&
           llvm::all_of(llvm::zip(a, b), [&](auto pair) { return bool(agreed(std::get<0>(pair), std::get<1>(pair))); });
  }
  /// Returns the product of sizes.
  AffineExpr product(ArrayRef<AffineExpr> sizes) const { return elementCount(tensorWithSizes(sizes, f32())); }
  /// Returns true if one of the sizes is the constant 0.
  bool isEmpty(RankedTensorType type) const { return elementCount(type) == constantSize(0); }
  bool isEmpty(Value value) const { return isEmpty(typeOf(value)); }
  /// Adds a guard that `lhs` equals `rhs` or, with `atLeast`, is at least `rhs`, unless the ranges of the symbols prove
  /// the condition. Refuses the node if the condition is never true.
  void require(AffineExpr lhs, AffineExpr rhs, bool atLeast = false);
  /// Emits an elementwise op. If `element` is null, the result has the element type of the last operand.
  template <typename OpT> Value op(ArrayRef<Value> operands, Type element = {}) {
    Type resultElement = element ? element : elementOf(operands.back());
    SmallVector<Value> fitted = agreeing(operands);
    auto resultType = tensorWithSizes(broadcastSizes(fitted), resultElement);
    return OpT::create(builder, loc, TypeRange{resultType}, ValueRange(fitted)).getResult();
  }
  /// Emits an elementwise op on a tensor and a number.
  template <typename OpT> Value op(Value lhs, double rhs, Type element = {}) {
    return op<OpT>({lhs, scalar(rhs, elementOf(lhs))}, element ? element : elementOf(lhs));
  }
  template <typename OpT> Value compare(Value lhs, Value rhs) { return op<OpT>({lhs, rhs}, i1()); }
  /// Emits a conversion that is part of the definition of an operator. If the ops before and after the conversion are
  /// fused, the conversion need not round.
  Value cast(Value value, Type element);
  /// Emits a conversion of the user's program, which always rounds.
  Value convert(Value value, Type element);
  Value scalar(double value, Type element);
  Value scalarInt(int64_t value, Type element);
  Value indexScalar(AffineExpr value, Type element);
  /// Returns the number of elements along the dimensions `dims` as a 0-d tensor.
  Value countAlong(Value value, ArrayRef<int64_t> dims, Type element);
  Value reshape(Value value, ArrayRef<AffineExpr> sizes);
  Value reshape(Value value, RankedTensorType like) { return reshape(value, sizesOf(like)); }
  Value permute(Value value, ArrayRef<int64_t> permutation);
  Value transpose(Value value, int64_t a, int64_t b);
  Value broadcast(Value value, ArrayRef<AffineExpr> sizes);
  Value unsqueeze(Value value, int64_t dim);
  /// Reshapes `value`, a tensor of rank 1, to a tensor of rank `rank` whose sizes are 1 except that of dimension `dim`.
  Value alongDim(Value value, int64_t dim, int64_t rank);
  Value reduce(ReduceKind kind, Value value, ArrayRef<int64_t> dims, bool keepdim, Type element = {});
  /// Returns the results of the scan `kind` of `value` along `dim`, such as cumulative sums.
  Value scan(ScanKind kind, Value value, int64_t dim) {
    return ScanOp::create(builder, loc, value.getType(), value, kind, dim);
  }
  Value matmul(Value lhs, Value rhs, Type element = {});
  Value slice(Value value, ArrayRef<AffineExpr> offsets, ArrayRef<int64_t> strides, ArrayRef<AffineExpr> sizes);
  Value sliceDim(Value value, int64_t dim, AffineExpr offset, AffineExpr size, int64_t stride = 1);
  Value concat(ArrayRef<Value> values, int64_t dim);
  Value where(Value condition, Value yes, Value no) { return op<WhereOp>({condition, yes, no}, elementOf(yes)); }

  /// Returns booleans that are true where `value` is in [low, high].
  Value isBetween(Value value, double low, double high) {
    Value above = compare<GeOp>(value, scalar(low, elementOf(value)));
    return op<LogicalAndOp>({above, compare<LeOp>(value, scalar(high, elementOf(value)))}, i1());
  }
  /// Returns `value`, broadcast with the booleans `condition`. A call on a CPU fails with `message` if an element of
  /// `condition` is false, unless the program does not use the returned value.
  Value checked(Value condition, Value value, llvm::StringRef message);
  Value full(Value scalarValue, RankedTensorType like) { return broadcast(scalarValue, sizesOf(like)); }
  /// Returns zeros in the type of a result.
  Value zeros(unsigned result = 0) { return full(scalar(0, element(result)), type(result)); }
  /// Adds low[d] elements before and high[d] elements after those of `value` along each dimension d. The elements are
  /// `filler`, or 0 if it is null.
  Value pad(Value value, ArrayRef<int64_t> low, ArrayRef<int64_t> high, Attribute filler = {});
  Value iota(ArrayRef<AffineExpr> sizes, int64_t dim, Type element);

private:
  Value harmless();
  /// Refuses the node, because its operator has more results than the graph lists for the node.
  RankedTensorType missingType() const {
    if (reason.empty())
      reason = "it has more results than the graph expects";
    return RankedTensorType::get({}, f32());
  }
  const ArgList &args;
  const std::vector<std::pair<std::string, Arg>> &kwargs;
  ArrayRef<RankedTensorType> types;
};

/// Returns the dimensions from 0 to rank - 1.
SmallVector<int64_t> allDims(int64_t rank);

} // namespace tilewright

#endif
