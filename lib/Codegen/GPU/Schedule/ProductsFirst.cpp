//===- ProductsFirst.cpp - order the ops of kernels with a product --------------------------===//
//
// Before (a training step keeps the rounded gate of a SwiGLU):
//   %c = linalg.generic(%gate)           // cast, also a result of the kernel
//   %p = linalg.contract(%x, %w)
//   %r = linalg.generic(%c, %p)
// After:
//   %p = linalg.contract(%x, %w)
//   %c = linalg.generic(%gate)
//   %r = linalg.generic(%c, %p)
//
// matchContraction() accepts only elementwise ops after the product, so without this order the kernel would not be
// computed on tensor cores.
//
// Tests: test/Codegen/GPU/Schedule/products-first.mlir, test/Python/test_cuda_pair_products.py
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/GPU/Schedule/ProductsFirst.h"
#include "lib/Codegen/GPU/Contraction.h"
#include "tilewright/AttributeNames.h"

using namespace mlir;

namespace tilewright::gpu {

void placeProductsFirst(ModuleOp module) {
  for (auto kernel : module.getOps<func::FuncOp>()) {
    if (!kernel->hasAttr(kernelAttrName) || kernel.isExternal())
      continue;
    auto ops = kernel.getOps<linalg::LinalgOp>();
    auto product = llvm::find_if(ops, [](linalg::LinalgOp op) { return isProduct(op); });
    if (product == ops.end())
      continue;
    const SetVector<Operation *> needed = opsNeededFor(*product);
    Operation *last = *product;
    for (Operation &op : llvm::make_early_inc_range(kernel.getBody().front())) {
      if (&op == (*product).getOperation())
        break;
      if (needed.contains(&op))
        continue;
      op.moveAfter(last);
      last = &op;
    }
  }
}

} // namespace tilewright::gpu
