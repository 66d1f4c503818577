//===- DynamicSizes.h - sizes that may vary from call to call, by the user's word ---===//
//
//   auto size = parseDynamicSize("ids:0,mask:0=2..512");   // one size, of two inputs, from 2 to 512
//   auto module = (*onnx)->import(context, *size);          // numbers of the file become symbols
//   llvm::Error bad = narrowSizes(*module, *size);          // symbols of any module get the range
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

/// A size that all its places share.
struct DynamicSize {
  struct Place {
    std::string input;
    int64_t dim = 0;
  };
  std::vector<Place> places; ///< one at least
  int64_t min = 1, max = INT64_MAX;
};

/// Reads "input:dim=min..max", with several places "a:0,b:1=min..max", without an upper bound "a:0=2..". Names may hold
/// colons. The error says what is wrong, and the form.
llvm::Expected<DynamicSize> parseDynamicSize(llvm::StringRef text);

/// Gives the symbolic sizes of @main's inputs, which have names (tw.name), these ranges. Errors: there is no such input
/// or dimension; the size is a number, which compiled code is for; places are different symbols; the range leaves the
/// model's own.
llvm::Error narrowSizes(mlir::ModuleOp module, llvm::ArrayRef<DynamicSize> sizes);

} // namespace tilewright

#endif
