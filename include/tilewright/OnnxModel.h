//===- OnnxModel.h - an .onnx file in, a tw module and its weights out ------------===//
//
// Reads an ONNX model (protobuf; operator sets 7 to 28 of ai.onnx) without the onnx package or protobuf's library:
//
//   auto model = OnnxModel::open("model.onnx");
//   auto module = (*model)->import(session.context());
//   // program->run: (*model)->weights()[i], where it is not null, is the tensor argument i of @main.
//
// @main takes the symbolic sizes, then tensors, row-major: the model's inputs under their names (tw.name) and the
// initializers (tw.static). Results are row-major and have the names of the model's outputs. A size with a name
// (dim_param) becomes a symbolic size of at least 1, and one of which nothing is known a symbol of its own. What cannot
// be compiled is refused: the error lists every such node with its operator, operator set and name.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_ONNXMODEL_H
#define TILEWRIGHT_ONNXMODEL_H

#include "tilewright/DynamicSizes.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <memory>

namespace mlir {
class MLIRContext;
class ModuleOp;
template <typename OpTy> class OwningOpRef;
} // namespace mlir

namespace tilewright {

class OnnxModel {
public:
  ~OnnxModel();

  /// Maps `path` and the files of external data beside it. Errors name the file, and what is wrong with it.
  static llvm::Expected<std::unique_ptr<OnnxModel>> open(llvm::StringRef path);

  /// The module, verified. weights() are then those of its arguments. Sizes of inputs that are among `dynamic` become
  /// symbolic, though the file has a number or another range for them.
  llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>> import(mlir::MLIRContext &context,
                                                           llvm::ArrayRef<DynamicSize> dynamic = {});

  /// Per tensor argument of the imported @main its elements, dense and row-major in the argument's type; null: the
  /// caller gives it. They live as long as the model.
  llvm::ArrayRef<const void *> weights() const;

  /// True when a file of this name and these first bytes is an ONNX model: protobuf has no mark of its own, so that the
  /// name counts, and the first field where the name says nothing.
  static bool looksOnnx(llvm::StringRef path, llvm::StringRef bytes);

private:
  struct State;
  explicit OnnxModel(std::unique_ptr<State> state);
  std::unique_ptr<State> state;
};

} // namespace tilewright

#endif
