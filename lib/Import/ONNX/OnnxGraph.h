//===- OnnxGraph.h - values of an ONNX graph during the import ----------------------===//
//
// A value of the model has up to three representations: an initializer in the file, elements that are known at compile
// time, and a value in the module under construction. Shapes are computed from known elements. A value is added to the
// module when a node reads it as a tensor. An initializer then becomes a parameter, or a constant if it has one
// element and its type is not narrow (OnnxNarrow.h).
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_IMPORT_ONNX_ONNXGRAPH_H
#define TILEWRIGHT_LIB_IMPORT_ONNX_ONNXGRAPH_H

#include "lib/Import/Builder/Importer.h"
#include "lib/Import/ONNX/Reader/Model.h"
#include <list>

namespace tilewright {

/// The elements of a tensor that are known at compile time. Integers and booleans are expressions over the symbolic
/// sizes. Floats are numbers that are rounded to their type.
struct KnownElements {
  mlir::Type element;
  llvm::SmallVector<int64_t> sizes;
  std::vector<mlir::AffineExpr> integers; ///< elements of integer and boolean types
  std::vector<double> numbers;            ///< of float types

  bool isFloat() const { return llvm::isa<mlir::FloatType>(element); }
  size_t count() const { return isFloat() ? numbers.size() : integers.size(); }
  /// Returns the integers, or nullopt if one of them is symbolic or if the elements are floats.
  std::optional<llvm::SmallVector<int64_t>> constants() const;
};

/// The maximum number of elements of a tensor that is folded at compile time.
constexpr int64_t mostKnown = 1 << 16;

struct OnnxValue {
  mlir::Value value;                    ///< null: not in the module yet
  const onnx::Tensor *tensor = nullptr; ///< an initializer, or the value of a Constant
  std::optional<KnownElements> known;
  /// The element type if it is an 8-bit float or has less than 8 bits. In the module, each element is then one byte
  /// (OnnxNarrow.h). Undefined for other types.
  onnx::ElementType narrow = onnx::ElementType::Undefined;
  bool refused = false; ///< result of a node that cannot be imported, or that depends on such a node
};

/// Maps names to values. Nodes can refer to names of their own graph, and to names of the enclosing graphs.
struct OnnxScope {
  const OnnxScope *around = nullptr;
  llvm::StringMap<OnnxValue *> values;
  OnnxValue *find(llvm::StringRef name) const {
    for (const OnnxScope *scope = this; scope; scope = scope->around)
      if (auto found = scope->values.find(name); found != scope->values.end())
        return found->second;
    return nullptr;
  }
};

/// Returns true for 8-bit floats and types of less than a byte; storageOf() is the type that stores them in the module.
bool isNarrow(onnx::ElementType type);
ScalarType storageOf(onnx::ElementType narrow);

/// Returns the MLIR element type of an ONNX type. Returns null if Tilewright does not support the type, or if
/// isNarrow().
mlir::Type elementTypeOf(onnx::ElementType type, mlir::MLIRContext *context);
/// Returns the ScalarType of GraphBuilder for an ONNX type, or nullopt if elementTypeOf() returns null.
std::optional<ScalarType> scalarTypeOf(onnx::ElementType type);
/// Returns `number` rounded to `type`.
double roundedTo(double number, mlir::FloatType type);

/// Builds the module of a model, and records the addresses of its parameters.
class OnnxGraph {
public:
  OnnxGraph(mlir::MLIRContext &context, std::vector<const void *> &weights, std::list<std::vector<uint8_t>> &copies)
      : builder(context), importer(builder.importer()), weights(weights), copies(copies) {}

  GraphBuilder builder;
  Importer &importer;

  OnnxValue *make() {
    storage.emplace_back();
    return &storage.back();
  }
  /// Returns the elements of `value` if they are known at compile time, or if `value` is a tensor in the file with at
  /// most `mostKnown` elements of a supported type. Otherwise returns null.
  const KnownElements *known(OnnxValue &value);
  /// Returns the value in the module. Adds it to the module if necessary.
  llvm::Expected<mlir::Value> materialize(OnnxValue &value, llvm::StringRef name);
  /// Adds an argument to the module for a tensor that the caller passes.
  llvm::Expected<mlir::Value> addInput(llvm::StringRef name, const TensorMeta &meta);
  /// Returns a new reference to `value`, which can be passed to GraphBuilder.
  ValueRef refOf(mlir::Value value) {
    ValueRef ref{importer.nextId++, 0};
    importer.values[ref.id] = {value};
    return ref;
  }

private:
  llvm::Expected<mlir::Value> addParameter(llvm::StringRef name, mlir::Type element, llvm::ArrayRef<int64_t> sizes,
                                           const void *elements);

  std::vector<const void *> &weights;
  std::list<std::vector<uint8_t>> &copies;
  std::list<OnnxValue> storage;
  unsigned constants = 0;
};

} // namespace tilewright

#endif
