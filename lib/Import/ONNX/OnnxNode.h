//===- OnnxNode.h - one ONNX node under import, with methods that emit tw ops --------===//
//
// The import functions of the table (OnnxTable.h) have an OnnxNode as their argument. They read inputs and attributes,
// check failed(), and emit ops with the methods of Node, which infer the result types. call() imports an operator by
// the import function of an ATen operator:
//
//   Results mish(OnnxNode &n) {
//     Value x = n.in(0);
//     if (n.failed())
//       return n.refused();
//     return n.call("aten.mish.default", {n.ref(x)}, n.typeOf(x));
//   }
//
// After a refusal, the methods that read inputs and attributes return dummy values, so a function may read all of them
// before it checks failed().
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_IMPORT_ONNX_ONNXNODE_H
#define TILEWRIGHT_LIB_IMPORT_ONNX_ONNXNODE_H

#include "lib/Import/Builder/Node.h"
#include "lib/Import/ONNX/OnnxGraph.h"

namespace tilewright {

/// Empty lists of ATen arguments, to which the base class Node refers. An ONNX node has no such arguments. The lists
/// are in a separate base class, so that they are constructed before Node.
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
  int64_t version; ///< version of the operator set that the model imports for the node's domain

  //===--- inputs ---===//
  unsigned inputCount() const { return node.inputs.size(); }
  bool given(unsigned index) const { return index < node.inputs.size() && !node.inputs[index].empty(); }
  /// Returns the input as a tensor. Refuses the node if the input is not given, or if its type is narrow
  /// (OnnxNarrow.h).
  Value in(unsigned index);
  /// Like in(), but the input may have a narrow type, whose elements are returned as bytes. narrowOf() returns this
  /// type.
  Value anyIn(unsigned index);
  onnx::ElementType narrowOf(unsigned index);
  /// Returns the input, converted to f32 if its type is narrow (OnnxNarrow.h).
  Value numbersOf(unsigned index);
  Value optionalIn(unsigned index) { return given(index) ? in(index) : Value(); }
  SmallVector<Value> allIn(unsigned first = 0);
  /// Returns the elements of an input if they are known at compile time, otherwise null.
  const KnownElements *known(unsigned index);
  /// Returns the type of an input without adding the input to the module, or null after a refusal.
  RankedTensorType typeIn(unsigned index);
  /// Return the elements of an input that must be known at compile time: integersIn() as constants, sizesFrom() as
  /// expressions over the symbols, and numbersIn() as floats. `what` is the name of the input in the error.
  SmallVector<int64_t> integersIn(unsigned index, llvm::StringRef what);
  SmallVector<AffineExpr> sizesFrom(unsigned index, llvm::StringRef what);
  SmallVector<double> numbersIn(unsigned index, llvm::StringRef what);
  /// Returns the attribute `name` in versions before `since`, and the input `index` from version `since` on. Returns
  /// nullopt if the attribute or input is not given.
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
  /// Returns the ONNX type whose number is the attribute `name`. elementNamed() returns its MLIR type.
  onnx::ElementType typeNamed(llvm::StringRef name, std::optional<onnx::ElementType> otherwise = std::nullopt) {
    return onnx::ElementType(integer(name, otherwise ? std::optional<int64_t>(int64_t(*otherwise)) : std::nullopt));
  }
  Type elementNamed(llvm::StringRef name, std::optional<onnx::ElementType> otherwise = std::nullopt);
  /// Returns a dimension; negative numbers count from the end.
  int64_t axis(int64_t value, int64_t rank);

  //===--- writing ---===//
  /// Imports a node of the ATen operator `target`. `types` are the types of its results.
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
  /// Takes rows of `value` at `indices` (any rank) along `dim`; negative indices count from the end.
  Value take(Value value, Value indices, int64_t dim);
  Value meanOf(Value value, ArrayRef<int64_t> dims, bool keepdim);
  /// Returns a constant tensor of rank 1.
  Value vector(ArrayRef<int64_t> values, Type element);
  Value vector(ArrayRef<double> values, Type element);
  bool isStatic(Value value) { return typeOf(value).hasStaticShape(); }
  int64_t staticSize(Value value, int64_t dim);
  SmallVector<Value> many(std::initializer_list<Value> values) { return SmallVector<Value>(values); }

  /// Elements of results that are known at compile time; set by folding.
  SmallVector<std::optional<KnownElements>> knownResults;
  /// The ONNX type of the results if it is narrow (OnnxNarrow.h), otherwise Undefined.
  onnx::ElementType narrowResult = onnx::ElementType::Undefined;
  const onnx::Tensor *constantResult = nullptr; ///< the value of a Constant node

private:
  OnnxValue *slot(unsigned index);
};

/// Returns the matrix product by the rule of numpy.matmul: batch dimensions are broadcast, and vectors are treated as
/// matrices of one row or column.
Value onnxProduct(OnnxNode &n, Value a, Value b);

} // namespace tilewright

#endif
