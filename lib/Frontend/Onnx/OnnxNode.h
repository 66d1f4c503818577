//===- OnnxNode.h - one node of an ONNX graph, and what it takes to write it in tw ---===//
//
// The functions of the table (OnnxTable.h) get an OnnxNode. They read inputs and attributes, check failed(), and write
// ops with Node's methods, which infer the result types; what the ATen table has whole goes through call():
//
//   Results softplus(OnnxNode &n) {
//     Value x = n.in(0);
//     if (n.failed())
//       return n.refused();
//     return n.call("aten.softplus.default", {n.ref(x)}, n.typeOf(x));
//   }
//
// After a refusal readers return harmless values, so a function may read everything before it asks failed().
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_FRONTEND_ONNX_ONNXNODE_H
#define TILEWRIGHT_LIB_FRONTEND_ONNX_ONNXNODE_H

#include "lib/Frontend/Node.h"
#include "lib/Frontend/Onnx/OnnxGraph.h"

namespace tilewright {

/// Arguments that Node wants and an ONNX node does not have. A base, so that they are there before Node is.
struct NoArguments {
  ArgList args;
  std::vector<std::pair<std::string, Arg>> kwargs;
};

class OnnxNode : private NoArguments, public Node {
public:
  OnnxNode(OnnxGraph &graph, OnnxScope &scope, const onnx::Node &node, int64_t version, Location loc)
      : Node(graph.importer, node.op, NoArguments::args, NoArguments::kwargs, {}, loc), graph(graph), scope(scope),
        node(node), version(version) {}

  OnnxGraph &graph;
  OnnxScope &scope;
  const onnx::Node &node;
  int64_t version; ///< of the operator set that the node's domain is imported with

  //===--- inputs ---===//
  unsigned inputCount() const { return node.inputs.size(); }
  bool given(unsigned index) const { return index < node.inputs.size() && !node.inputs[index].empty(); }
  /// The input as a tensor; refuses where it is not given.
  Value in(unsigned index);
  /// The same where it may be of a narrow type: bytes then, as narrowOf says.
  Value anyIn(unsigned index);
  onnx::ElementType narrowOf(unsigned index);
  /// As numbers: in f32 where it is narrow.
  Value numbersOf(unsigned index);
  Value optionalIn(unsigned index) { return given(index) ? in(index) : Value(); }
  SmallVector<Value> allIn(unsigned first = 0);
  /// The elements, where they are known when the model is compiled; null otherwise.
  const KnownElements *known(unsigned index);
  /// The type of an input, without writing it into the module; null after a refusal.
  RankedTensorType typeIn(unsigned index);
  /// Integers of an input that must be known: numbers, or with sizes expressions over the symbols.
  SmallVector<int64_t> integersIn(unsigned index, llvm::StringRef what);
  SmallVector<AffineExpr> sizesFrom(unsigned index, llvm::StringRef what);
  SmallVector<double> numbersIn(unsigned index, llvm::StringRef what);
  /// Attribute `name` before version `since`, the input from then on; nullopt: not given.
  std::optional<SmallVector<int64_t>> axes(unsigned index, int64_t since, llvm::StringRef name = "axes");
  bool wantsOutput(unsigned index) const { return index < node.outputs.size() && !node.outputs[index].empty(); }

  //===--- attributes ---===//
  const onnx::Attribute *attribute(llvm::StringRef name) const {
    auto found = node.attributes.find(name.str());
    return found == node.attributes.end() ? nullptr : &found->second;
  }
  int64_t integer(llvm::StringRef name, std::optional<int64_t> otherwise = std::nullopt);
  double number(llvm::StringRef name, std::optional<double> otherwise = std::nullopt);
  std::string text(llvm::StringRef name, llvm::StringRef otherwise = "");
  SmallVector<int64_t> integers(llvm::StringRef name);
  SmallVector<double> numbers(llvm::StringRef name);
  SmallVector<std::string> texts(llvm::StringRef name);
  /// The type that an attribute names by its number, and its element type.
  onnx::ElementType typeNamed(llvm::StringRef name, std::optional<onnx::ElementType> otherwise = std::nullopt) {
    return onnx::ElementType(integer(name, otherwise ? std::optional<int64_t>(int64_t(*otherwise)) : std::nullopt));
  }
  Type elementNamed(llvm::StringRef name, std::optional<onnx::ElementType> otherwise = std::nullopt);
  /// A dimension, counted from the end where negative.
  int64_t axis(int64_t value, int64_t rank);

  //===--- writing ---===//
  /// A node of the ATen table; `types` are those of its results.
  SmallVector<Value> callAll(llvm::StringRef target, const ArgList &args, ArrayRef<RankedTensorType> types);
  Value call(llvm::StringRef target, const ArgList &args, RankedTensorType type) {
    return callAll(target, args, {type})[0];
  }
  Arg ref(Value value) { return value ? Arg(graph.refOf(value)) : Arg(); }
  static Arg list(ArrayRef<int64_t> values) {
    ArgList items;
    for (int64_t value : values)
      items.push_back(value);
    return items;
  }
  Value pad(Value value, ArrayRef<int64_t> low, ArrayRef<int64_t> high, Attribute filler = {});
  /// Rows of `value` at `indices` (any rank) along `dim`; indices may count from the end.
  Value take(Value value, Value indices, int64_t dim);
  Value meanOf(Value value, ArrayRef<int64_t> dims, bool keepdim);
  /// A tensor of constant integers, by one or a few fused ops.
  Value vector(ArrayRef<int64_t> values, Type element);
  Value vector(ArrayRef<double> values, Type element);
  /// The two halves of x * sigmoid-like things need no name; `refuse` names what is wrong.
  bool isStatic(Value value) { return typeOf(value).hasStaticShape(); }
  int64_t staticSize(Value value, int64_t dim);
  SmallVector<Value> many(std::initializer_list<Value> values) { return SmallVector<Value>(values); }

  /// Elements of results that are known when the model is compiled, set by folding.
  SmallVector<std::optional<KnownElements>> knownResults;
  /// Of results that are narrow.
  onnx::ElementType narrowResult = onnx::ElementType::Undefined;
  const onnx::Tensor *constantResult = nullptr; ///< of Constant

private:
  OnnxValue *slot(unsigned index);
};

/// numpy's matmul: batch dimensions broadcast, vectors are rows or columns that leave the result.
Value onnxProduct(OnnxNode &n, Value a, Value b);

} // namespace tilewright

#endif
