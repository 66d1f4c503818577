//===- OnnxModel.h - imports an .onnx file as a tw module and its weights ---------===//
//
// OnnxModel reads an ONNX model (protobuf; operator sets 1 to 28 of ai.onnx) without the onnx package or protobuf's
// library:
//
//   auto model = OnnxModel::open("model.onnx");
//   auto module = (*model)->import(session.context());
//   // program->run: (*model)->weights()[i], where it is not null, is the tensor argument i of @main.
//
// The arguments of @main are the symbolic sizes, followed by row-major tensors: first the model's inputs, whose names
// are in tw.name, and then the initializers and computed constants that the code reads as tensors (tw.static).
// Initializers of one element are usually constants in the IR. Results are row-major and have the names of the model's
// outputs. A size with a name (dim_param) becomes a symbolic size of at least 1; a size without any information becomes
// a separate symbol. If nodes cannot be compiled, the error lists each of them with its operator, operator set and
// name.
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

  /// Maps `path` and the files of external data next to it into memory. Errors name the file and the problem.
  static llvm::Expected<std::unique_ptr<OnnxModel>> open(llvm::StringRef path);

  /// Imports the model and returns the verified module. After the import, weights() returns the data of the module's
  /// arguments. Sizes of inputs that are in `dynamic` become symbolic, even if the file has a constant or another range
  /// for them.
  llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>> import(mlir::MLIRContext &context,
                                                           llvm::ArrayRef<DynamicSize> dynamic = {});

  /// Returns, for each tensor argument of the imported @main, a pointer to its elements, dense and row-major in the
  /// argument's type, or null for an input of the user. The pointers are valid as long as the model exists.
  llvm::ArrayRef<const void *> weights() const;

  /// Returns true if a file with this name and these first bytes is an ONNX model. Protobuf has no magic number, so
  /// the name decides, or the first field if the name is inconclusive.
  static bool looksOnnx(llvm::StringRef path, llvm::StringRef bytes);

private:
  struct State;
  explicit OnnxModel(std::unique_ptr<State> state);
  std::unique_ptr<State> state;
};

} // namespace tilewright

#endif
