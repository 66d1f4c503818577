//===- OnnxInputSizes.h - symbolic sizes of a model's inputs ------------------------===//
#ifndef TILEWRIGHT_LIB_IMPORT_ONNX_ONNXINPUTSIZES_H
#define TILEWRIGHT_LIB_IMPORT_ONNX_ONNXINPUTSIZES_H

#include "lib/Import/Builder/Complaints.h"
#include "lib/Import/ONNX/OnnxGraph.h"
#include "lib/Import/ONNX/Reader/Model.h"
#include "tilewright/DynamicSizes.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include <map>

namespace tilewright {

/// The inputs of a model, with the symbolic sizes of the file and those that the user requested.
///
/// Each size that varies has the name of its symbol. Names of the file become identifiers: `batch-size` becomes
/// `batch_size`, or `batch_size_2` if another size has that name. A size without a name is named after its input and
/// dimension: `image_0`.
class OnnxInputSizes {
public:
  explicit OnnxInputSizes(const onnx::Graph &graph);

  /// All inputs without an initializer. An initializer is a default value and stays constant. A size is a number or the
  /// name of its symbol.
  const std::vector<onnx::ValueInfo> &inputs() const { return found; }

  /// Replaces the sizes at the positions in `dynamic` by one symbol: that of the first symbolic size, else a new one.
  /// Adds to `complaints` if the model lacks a position.
  void makeDynamic(const DynamicSize &dynamic, Complaints &complaints);

  /// Declares one symbol for each name of a symbolic size, with the range that the user gave.
  void addSymbols(OnnxGraph &graph, Complaints &complaints) const;

private:
  std::string newSymbol(llvm::StringRef name);
  std::vector<onnx::Size *> sizesNamed(llvm::StringRef name);
  std::string namesOfSizes() const;

  std::vector<onnx::ValueInfo> found;
  std::map<std::string, std::string> symbolOf; ///< by the name of a size in the file
  llvm::StringSet<> symbols;
  llvm::StringMap<std::pair<int64_t, int64_t>> ranges; ///< by symbol, if the user gave one
};

} // namespace tilewright

#endif
