//===- GraphBuilder.h - nodes of a torch graph in, a tw module out -----------===//
//
// Whoever reads a graph (the fx walker in Python, the .pt2 reader) hands its nodes over as they are: target
// ("aten.add.Tensor"), arguments, what is known of the results, and the user's line. One table (lib/Frontend)
// turns them into `tw`.
//
//   GraphBuilder builder(context);
//   builder.addSymbol("s0", 2, 4096);
//   auto x = builder.addInput("x", {ScalarType::F32, {"s0", 768}}, strides, /*isStatic=*/false);
//   auto y = builder.addNode("aten.relu.default", {x->value}, {}, {meta}, frames);
//   builder.setOutputs({{*y, strides}});
//   auto module = builder.finish();
//
// A node that cannot be imported is refused with a reason; its results then are placeholders, so that the rest of
// the graph can still be asked about, and finish() refuses too.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_GRAPHBUILDER_H
#define TILEWRIGHT_GRAPHBUILDER_H

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

/// torch's dtypes that a graph may name. Complex and quantized ones are refused where they appear.
enum class ScalarType : uint8_t { Bool, U8, I8, I16, I32, I64, U16, U32, U64, F16, BF16, F32, F64, F8E4M3FN, F8E5M2 };

/// "float32" for F32 and so on, as torch prints them; and back (nullopt: not supported).
llvm::StringRef scalarTypeName(ScalarType type);
std::optional<ScalarType> scalarTypeFromName(llvm::StringRef name);
/// Bytes of one element.
unsigned scalarTypeSize(ScalarType type);

/// A size: a number, or an expression over the symbols as sympy prints it ("2*s0 + 1", "s0//2").
using Size = std::variant<int64_t, std::string>;

struct TensorMeta {
  ScalarType dtype;
  std::vector<Size> sizes;
};

/// Result `result` of input or node `id`.
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
/// None, bool, int, float, a name (string, device, layout, memory format), dtype, tensor, symbolic int or a list.
struct Arg
    : std::variant<std::monostate, bool, int64_t, double, std::string, ScalarType, ValueRef, SymbolicInt, ArgList> {
  using variant::variant;
};

/// One frame of the user's program.
struct Frame {
  std::string file;
  int line = 0;
  std::string function;
};

/// How a tensor lies in memory: dense once its dimensions are permuted. `order[i]` is the logical dimension at
/// physical position i, outermost first.
struct DenseLayout {
  std::vector<unsigned> order;
  bool dense = true; ///< false: the strides are not those of a dense tensor, and row-major order is assumed instead
};

struct BuiltInput {
  ValueRef value;
  DenseLayout layout;
};

/// One result of the graph and the strides it shall have.
struct OutputSpec {
  ValueRef value;
  std::vector<Size> strides; ///< empty: row-major
  int64_t into = -1;         ///< the input whose memory it is written into; such outputs come last
};

class GraphBuilder {
public:
  explicit GraphBuilder(mlir::MLIRContext &context);
  ~GraphBuilder();

  /// A symbolic size with its range; all symbols come before they are used.
  llvm::Error addSymbol(llvm::StringRef name, int64_t min, int64_t max);

  /// A tensor argument. `strides` may be empty (row-major). Not dense: see DenseLayout.
  llvm::Expected<BuiltInput> addInput(llvm::StringRef name, const TensorMeta &meta, const std::vector<Size> &strides,
                                      bool isStatic);

  /// A node. `results` has one entry per result, nullopt where the result is None or not a tensor. `frames` is the
  /// user's stack, innermost last.
  llvm::Expected<int64_t> addNode(llvm::StringRef target, const ArgList &args,
                                  const std::vector<std::pair<std::string, Arg>> &kwargs,
                                  const std::vector<std::optional<TensorMeta>> &results,
                                  const std::vector<Frame> &frames);

  /// The target of a node whose first argument is MLIR: a function of tw ops, which takes the tensors of the list that
  /// is its second argument, and whose ops take the node's place.
  static constexpr llvm::StringLiteral loweringTarget = "tilewright.lowering";

  /// The type of a value, or of a tensor that is not there yet, as MLIR has it.
  llvm::Expected<std::string> typeText(ValueRef value) const;
  llvm::Expected<std::string> typeText(const TensorMeta &meta);

  /// The id that a refused node's placeholders have: the last one given.
  int64_t lastId() const;

  /// The graph's results, and for each how it lies in memory.
  llvm::Expected<std::vector<DenseLayout>> setOutputs(const std::vector<OutputSpec> &outputs);

  /// True when a random op was imported: the function has one more argument, `seed`: tensor<1xi64>, the last.
  bool needsSeed() const;

  /// An expression as a normal form, e.g. to compare two sizes.
  llvm::Expected<std::string> normalize(llvm::StringRef expression);

  /// What has been built so far, for readers in lib/Frontend that write `tw` themselves (lib/Frontend/Importer.h).
  Importer &importer();

  /// The verified module. The builder is empty afterwards.
  llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>> finish();

  /// True when the table has `target`, e.g. "aten.add.Tensor".
  static bool knows(llvm::StringRef target);
  /// All targets of the table, sorted.
  static std::vector<std::string> knownTargets();
  /// Those that only files of torch.export have, besides, sorted.
  static std::vector<std::string> compositeTargets();

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace tilewright

#endif
