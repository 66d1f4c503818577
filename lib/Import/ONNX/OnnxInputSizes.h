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

/// The inputs of a model. A size is symbolic if the file does not specify it as a number, or if the user makes it
/// symbolic.
///
/// A symbolic size has the name of its symbol. Names in the file are converted to identifiers: `batch-size` becomes
/// `batch_size`, or `batch_size_2` if another size has that name. The name of a size without a name consists of its
/// input and dimension, such as `image_0`.
class OnnxInputSizes {
public:
  explicit OnnxInputSizes(const onnx::Graph &graph);

  /// Returns all inputs without an initializer. An initializer of an input is its default value, and is treated as a
  /// constant. Each size of the inputs is a number or the name of a symbol.
  const std::vector<onnx::ValueInfo> &inputs() const { return found; }

  /// Replaces the sizes that `dynamic` lists, and all sizes with the same symbols, by one symbol: the symbol of the
  /// first size in the list that is symbolic, or a new symbol. If `dynamic` specifies a fixed size, replaces them by
  /// this number. Adds a problem to `complaints` if the model lacks one of the sizes.
  void makeDynamic(const DynamicSize &dynamic, Complaints &complaints);

  /// Adds one symbol to `graph` for each name of a symbolic size, with the range that the user has specified. The
  /// default range begins at 1.
  void addSymbols(OnnxGraph &graph, Complaints &complaints) const;

private:
  std::string newSymbol(llvm::StringRef name);
  std::vector<onnx::Size *> sizesNamed(llvm::StringRef name);
  std::string namesOfSizes() const;

  std::vector<onnx::ValueInfo> found;
  std::map<std::string, std::string> symbolOf; ///< for each name of a size in the file: its symbol
  llvm::StringSet<> symbols;
  llvm::StringMap<std::pair<int64_t, int64_t>> ranges; ///< for each symbol: its range, if the user has specified one
};

} // namespace tilewright

#endif
