//===- GraphBuilder.h - builds a tw module from the nodes of a torch graph ---===//
//
// The importers of graphs (the fx walker in Python, the importer of .pt2 files) pass each node unchanged: its target
// ("aten.add.Tensor"), its arguments, the known metadata of its results, and the user's line. One table
// (lib/Import/ATen) maps nodes to `tw` ops.
//
//   GraphBuilder builder(context);
//   builder.addSymbol("s0", 2, 4096);
//   auto x = builder.addInput("x", {ScalarType::F32, {"s0", 768}}, strides, /*isStatic=*/false);
//   auto y = builder.addNode("aten.relu.default", {x->value}, {}, {meta}, frames);
//   builder.setOutputs({{{*y}, strides}});
//   auto module = builder.finish();
//
// A node that cannot be imported is rejected with a reason. Its results are then placeholders, so that the remaining
// nodes can still be checked, and finish() fails.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_GRAPHBUILDER_H
#define TILEWRIGHT_GRAPHBUILDER_H

#include "dialects/Graph/Dtype.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace mlir {
class MLIRContext;
class ModuleOp;
template <typename OpTy> class OwningOpRef;
} // namespace mlir

namespace tilewright {

struct Importer;

/// A size: a constant, or an expression over symbols as sympy prints it ("2*s0 + 1", "s0//2").
using Size = std::variant<int64_t, std::string>;

struct TensorMeta {
  ScalarType dtype;
  std::vector<Size> sizes;
};

/// Refers to result `result` of the input or node `id`.
struct ValueRef {
  int64_t id = -1;
  unsigned result = 0;
};

/// A symbolic integer argument.
struct SymbolicInt {
  std::string expression;
};

struct Arg;
using ArgList = std::vector<Arg>;
/// None, bool, int, float, a name (string, device, layout, memory format), dtype, tensor, symbolic int or a list of
/// these.
struct Arg
    : std::variant<std::monostate, bool, int64_t, double, std::string, ScalarType, ValueRef, SymbolicInt, ArgList> {
  using variant::variant;
};

/// A stack frame of the user's program.
struct Frame {
  std::string file;
  int line = 0;
  std::string function;
};

/// The memory layout of a tensor that is dense after a permutation of its dimensions. `order[i]` is the logical
/// dimension at physical position i, outermost first.
struct DenseLayout {
  std::vector<unsigned> order;
  bool dense = true; ///< false: the strides are not those of a dense tensor, so row-major order is assumed
};

struct BuiltInput {
  ValueRef value;
  DenseLayout layout;
};

/// A result of the graph and its required strides.
struct OutputSpec {
  ValueRef value;
  std::vector<Size> strides; ///< required strides; empty: row-major
  int64_t into = -1;         ///< index of the input whose memory the result overwrites, or -1; such outputs come last
};

/// A row of the table of ATen operators: how an overload is imported, and the memory of its results in eager. The
/// names of kinds and aliasings are those of the enumerators in lib/Import/ATen/Table.h, in lower case.
struct OperatorRow {
  std::string target; ///< "aten.add.Tensor"
  llvm::StringRef kind;
  llvm::StringRef aliasing;
  llvm::StringRef family; ///< the title of its family in docs/reference/operators.md
};

class GraphBuilder {
public:
  explicit GraphBuilder(mlir::MLIRContext &context);
  ~GraphBuilder();

  /// Adds a symbolic size with its range. All symbols must be added before the first input.
  llvm::Error addSymbol(llvm::StringRef name, int64_t min, int64_t max);

  /// Adds a tensor argument. All inputs must be added before the first node that draws random numbers. `strides` may be
  /// empty (row-major). For strides that are not dense, see DenseLayout.
  llvm::Expected<BuiltInput> addInput(llvm::StringRef name, const TensorMeta &meta, const std::vector<Size> &strides,
                                      bool isStatic);

  /// Adds a node and returns its id (ValueRef::id). `results` has one entry per result, which is nullopt if the result
  /// is None or not a tensor. `frames` is the user's stack, innermost last.
  llvm::Expected<int64_t> addNode(llvm::StringRef target, const ArgList &args,
                                  const std::vector<std::pair<std::string, Arg>> &kwargs,
                                  const std::vector<std::optional<TensorMeta>> &results,
                                  const std::vector<Frame> &frames);

  /// The target of a node that is replaced by tw ops. The node's first argument is the MLIR text of a function, whose
  /// arguments are the tensors in the list that is the node's second argument.
  static constexpr llvm::StringLiteral loweringTarget = "tilewright.lowering";

  /// Returns the MLIR type, as text, of a value, or of a tensor with the metadata `meta`.
  llvm::Expected<std::string> typeText(ValueRef value) const;
  llvm::Expected<std::string> typeText(const TensorMeta &meta);

  /// Returns the id of the last input or node. If a node was rejected, this is the id of its placeholders.
  int64_t lastId() const;

  /// Sets the graph's results, and returns the memory layout of each.
  llvm::Expected<std::vector<DenseLayout>> setOutputs(const std::vector<OutputSpec> &outputs);

  /// Returns true if a random op was imported. The function then has an additional last argument, `seed`:
  /// tensor<1xi64>.
  bool needsSeed() const;

  /// Returns the normal form of an expression, for example to compare two sizes.
  llvm::Expected<std::string> normalize(llvm::StringRef expression);

  /// Returns the module under construction, for code in lib/Import/ATen that creates `tw` ops directly
  /// (lib/Import/Builder/Importer.h).
  Importer &importer();

  /// Returns the verified module. The builder is empty afterwards.
  llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>> finish();

  /// Returns true if `target`, such as "aten.add.Tensor", is imported for every caller, so that it need not be
  /// decomposed.
  static bool knows(llvm::StringRef target);
  /// Returns all rows of the table, in the order of its families.
  static std::vector<OperatorRow> operators();

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace tilewright

#endif
