//===- Structured.h - the passes of the structured stage ---------------------===//
#ifndef TILEWRIGHT_LIB_STRUCTURED_STRUCTURED_H
#define TILEWRIGHT_LIB_STRUCTURED_STRUCTURED_H

#include <memory>

namespace mlir {
class Pass;
}

namespace tilewright::structured {

/// --tw-inline-elementwise: one loop body for chains of elementwise generics.
std::unique_ptr<mlir::Pass> createInlineElementwisePass();
/// --tw-form-kernels: cluster the ops of @main and outline each cluster as a kernel function.
std::unique_ptr<mlir::Pass> createFormKernelsPass();

} // namespace tilewright::structured

#endif
