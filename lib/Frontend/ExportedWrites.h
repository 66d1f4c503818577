//===- ExportedWrites.h - ops in place, as plain exports have them -----------------------===//
#ifndef TILEWRIGHT_LIB_FRONTEND_EXPORTEDWRITES_H
#define TILEWRIGHT_LIB_FRONTEND_EXPORTEDWRITES_H

#include "lib/Frontend/ExportedProgram/Program.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"

namespace tilewright {

/// Follows which tensors of a graph may share memory, so that `relu_(x)` can become `relu(x)` whose result all later
/// nodes read as x. Told of the nodes in their order. Knowing no schemas it is careful: but for ops that are known to
/// make memory of their own, results may share that of every argument.
class ExportedWrites {
public:
  /// The op without a name's last underscore ("aten.relu.default" of "aten.relu_.default"); empty: `target` writes
  /// nothing in place.
  static std::string functional(llvm::StringRef target);

  /// Why `node`, which writes its first argument in place, cannot be a function of it; empty: it can.
  std::string problem(const exported::Node &node) const;

  /// The names of the tensor that `node` writes, its result among them: all of them are the result from here on.
  llvm::SmallVector<std::string> written(const exported::Node &node);

  /// A node that writes nothing.
  void see(const exported::Node &node);

private:
  struct Memory {
    llvm::SmallVector<std::string> names; ///< the same tensor
    bool shared = false;                  ///< others may be parts of it, or it one of theirs
  };
  llvm::StringMap<size_t> memoryOf; ///< of tensors that nodes have made
  std::vector<Memory> memories;
};

} // namespace tilewright

#endif
