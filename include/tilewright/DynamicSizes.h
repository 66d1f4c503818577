//===- DynamicSizes.h - sizes that the user declares to vary from call to call ------===//
//
//   auto size = parseDynamicSize("ids:0,mask:0=2..512");   // one size, of two inputs, from 2 to 512
//   auto size = parseDynamicSize("batch=1..4");            // the size named batch in the model
//   auto size = parseDynamicSize("x:0=4");                 // fixed: the code supports only this size
//   auto module = (*onnx)->import(context, *size);         // constant sizes become symbols
//   llvm::Error bad = narrowSizes(*module, *size);         // symbols of any module get the range
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_DYNAMICSIZES_H
#define TILEWRIGHT_DYNAMICSIZES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <string>
#include <vector>

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace tilewright {

/// A size, and the dimensions of inputs that share it.
struct DynamicSize {
  struct InputDim {
    std::string input; ///< name of the input or, if `dim` is `named`, of a size of the model
    int64_t dim = 0;

    static constexpr int64_t named = -1;
    std::string text() const { return dim == named ? input : input + ":" + std::to_string(dim); }
  };
  std::vector<InputDim> dims; ///< at least one
  int64_t min = 1, max = INT64_MAX;

  bool isFixed() const { return min == max; }
};

/// Parses the declaration of a size:
///   "input:dim=min..max"     a dimension of an input
///   "a:0,b:1=min..max"       several dimensions with the same size
///   "batch=min..max"         a size that has a name in the model
///   "a:0=2..", "a:0=4"       a size without an upper bound; a size fixed to one number
/// Names may contain colons. The error states what is wrong, and the expected form.
llvm::Expected<DynamicSize> parseDynamicSize(llvm::StringRef text);

/// Sets the ranges of the symbolic sizes of @main's inputs, which have names (tw.name). A size that is fixed to a
/// number becomes a constant of the module. Returns an error if the input, dimension or name does not exist, if the
/// size is static in the model or computed from other sizes, if the dimensions have different symbols, or if the range
/// is not within the model's range.
llvm::Error narrowSizes(mlir::ModuleOp module, llvm::ArrayRef<DynamicSize> sizes);

} // namespace tilewright

#endif
