//===- KernelSignature.cpp - how a record identifies its kernel ------------------------------===//
//
// Test: test/Tuner/tune.test
//
//===----------------------------------------------------------------------===//
#include "lib/Tuner/KernelSignature.h"
#include "dialects/Tile/Tile.h"
#include "lib/Tuner/Digest.h"
#include "lib/Tuner/Epochs.h"
#include "mlir/IR/OpImplementation.h"
#include "tilewright/AttributeNames.h"

using namespace mlir;

namespace tilewright::tuner {

KernelSignature signatureOf(func::FuncOp kernel) {
  // Clone the kernel to remove descriptive attributes; the cost is small compared with printing the body.
  OwningOpRef<func::FuncOp> copy = kernel.clone();
  for (StringRef name : {scheduleAttrName, spaceAttrName, wideSpaceAttrName, predictedAttrName, opsAttrName,
                         flopsAttrName, signatureAttrName, familyAttrName, sizesOfFamilyAttrName, epochAttrName})
    (*copy)->removeAttr(name);
  copy->setName("kernel");
  std::string text;
  llvm::raw_string_ostream out(text);
  copy->getOperation()->print(out, OpPrintingFlags().useLocalScope().printGenericOpForm());
  KernelSignature signature;
  signature.exact = digest(text);
  std::string family;
  for (size_t i = 0; i < text.size(); ++i) {
    if (!llvm::isDigit(text[i]) || (i > 0 && (llvm::isAlpha(text[i - 1]) || text[i - 1] == '%'))) {
      family += text[i];
      continue;
    }
    while (i + 1 < text.size() && llvm::isDigit(text[i + 1]))
      ++i;
    family += '#';
  }
  signature.family = digest(family);
  auto add = [&](TypeRange types) {
    for (Type type : types)
      if (auto shaped = dyn_cast<RankedTensorType>(type))
        for (int64_t size : shaped.getShape())
          signature.sizes.push_back(ShapedType::isDynamic(size) ? -1 : size);
  };
  add(kernel.getArgumentTypes());
  add(kernel.getResultTypes());
  return signature;
}

std::string epochOf(StringRef target, func::FuncOp kernel) {
  bool products = false;
  kernel.walk([&](Operation *op) {
    products |= isa<tile::MatmulOp, tile::ConvolutionOp, tile::GroupedConvolutionOp, tile::DepthwiseGradientOp,
                    tile::AttentionOp, tile::AttentionGradientOp>(op);
  });
  if (target == "cpu")
    return products ? "cpu-products-" TILEWRIGHT_EPOCH_CPU_PRODUCTS : "cpu-rows-" TILEWRIGHT_EPOCH_CPU_ROWS;
  return target.str() + "-" TILEWRIGHT_EPOCH_ALL;
}

} // namespace tilewright::tuner
