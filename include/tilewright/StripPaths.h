//===- StripPaths.h - remove folders from the locations of a model ------------------===//
#ifndef TILEWRIGHT_STRIPPATHS_H
#define TILEWRIGHT_STRIPPATHS_H

#include "mlir/IR/BuiltinOps.h"

namespace tilewright {

/// Replaces the path of every source file by its last component, in locations and in texts that name the file, such as
/// those of size guards. Compiled code, error messages and manifests then do not reveal where the model was written.
void stripPaths(mlir::ModuleOp module);

} // namespace tilewright

#endif
