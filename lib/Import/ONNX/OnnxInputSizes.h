//===- OnnxInputSizes.h - symbolic sizes of a model's inputs ------------------------===//
#ifndef TILEWRIGHT_LIB_IMPORT_ONNX_ONNXINPUTSIZES_H
#define TILEWRIGHT_LIB_IMPORT_ONNX_ONNXINPUTSIZES_H

#include "lib/Import/Builder/Complaints.h"
#include "lib/Import/ONNX/OnnxGraph.h"
#include "lib/Import/ONNX/Reader/Model.h"
#include "tilewright/DynamicSizes.h"
#include "llvm/ADT/StringMap.h"

namespace tilewright {

/// Returns a symbol name for `size` of an input: the model's name, or one made of the input and the dimension.
std::string symbolOf(const onnx::Size &size, const std::string &input, size_t dim);

/// The inputs of a model, with the symbolic sizes of the file and those that the user requested.
class OnnxInputSizes {
public:
  explicit OnnxInputSizes(const onnx::Graph &graph);

  /// All inputs but those that have an initializer: that is a default value, and it stays constant.
  const std::vector<onnx::ValueInfo> &inputs() const { return found; }

  /// Makes the sizes at the positions in `dynamic` one symbol: that of the first symbolic size, otherwise a new one.
  /// Adds to `complaints` if the model lacks a position.
  void makeDynamic(const DynamicSize &dynamic, Complaints &complaints);

  /// Declares one symbol for each name of a symbolic size, with the range that the user gave.
  void addSymbols(OnnxGraph &graph, Complaints &complaints) const;

private:
  std::vector<onnx::Size *> sizesNamed(llvm::StringRef name);
  std::string namesOfSizes() const;

  std::vector<onnx::ValueInfo> found;
  llvm::StringMap<std::pair<int64_t, int64_t>> ranges; ///< by symbol, if the user gave one
};

} // namespace tilewright

#endif
