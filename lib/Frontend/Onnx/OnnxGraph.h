//===- OnnxGraph.h - the values of an ONNX graph while it is imported ---------------===//
//
// A value of the model is one or more of: an initializer in the file, elements known when the model is compiled (what
// shapes are computed with), and a value of the module being built. Only what a node reads as a tensor is written into
// the module; an initializer becomes a parameter then.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_FRONTEND_ONNX_ONNXGRAPH_H
#define TILEWRIGHT_LIB_FRONTEND_ONNX_ONNXGRAPH_H

#include "lib/Frontend/Importer.h"
#include "lib/Frontend/OnnxModel/Model.h"
#include <list>

namespace tilewright {

/// Elements that the importer knows: integers and booleans as expressions over the symbolic sizes, floats as numbers
/// (already rounded to their type).
struct KnownElements {
  mlir::Type element;
  llvm::SmallVector<int64_t> sizes;
  std::vector<mlir::AffineExpr> integers; ///< of integer and boolean types
  std::vector<double> numbers;            ///< of float types

  bool isFloat() const { return llvm::isa<mlir::FloatType>(element); }
  size_t count() const { return isFloat() ? numbers.size() : integers.size(); }
  /// The integers where none is symbolic.
  std::optional<llvm::SmallVector<int64_t>> constants() const;
};

/// More elements are not computed with when the model is compiled.
constexpr int64_t mostKnown = 1 << 16;

struct OnnxValue {
  mlir::Value value;                    ///< null: not written yet
  const onnx::Tensor *tensor = nullptr; ///< an initializer, or the value of a Constant
  std::optional<KnownElements> known;
  mlir::RankedTensorType type;
  /// Its elements' type where that is narrow: they are bytes in the module then, one each (OnnxNarrow.h).
  onnx::ElementType narrow = onnx::ElementType::Undefined;
  bool refused = false; ///< the result of a node that cannot be imported, or of one that follows from such
};

/// The names that nodes see: those of a graph, and behind them those of the graph around it.
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

/// True for 8-bit floats and what is narrower than a byte; the types that hold them in the module.
bool isNarrow(onnx::ElementType type);
ScalarType storageOf(onnx::ElementType narrow);

/// The element type of an ONNX type; null: Tilewright has none such, or it is narrow.
mlir::Type elementTypeOf(onnx::ElementType type, mlir::MLIRContext *context);
/// The same as GraphBuilder names it.
std::optional<ScalarType> scalarTypeOf(onnx::ElementType type);
/// `number` as `type` has it.
double roundedTo(double number, mlir::FloatType type);

/// The module being built and the memory of its parameters.
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
  /// The elements, where they are known or can be read; null otherwise.
  const KnownElements *known(OnnxValue &value);
  /// The value in the module, written there where it is not yet.
  llvm::Expected<mlir::Value> materialize(OnnxValue &value, llvm::StringRef name);
  /// A tensor argument that the caller gives.
  llvm::Expected<mlir::Value> addInput(llvm::StringRef name, const TensorMeta &meta);
  /// The name by which GraphBuilder knows a value.
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
