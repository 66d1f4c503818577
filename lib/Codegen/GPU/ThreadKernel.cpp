//===- ThreadKernel.cpp - a kernel while it is converted to the code of one thread -----===//
#include "lib/Codegen/GPU/ThreadKernel.h"
#include "dialects/Tile/Sizes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "tilewright/AttributeNames.h"

using namespace mlir;

namespace tilewright::gpu {

SmallVector<std::pair<Value, BlockArgument>> ThreadKernel::results() {
  SmallVector<std::pair<Value, BlockArgument>> all;
  auto terminator = cast<func::ReturnOp>(from.getBody().front().getTerminator());
  unsigned first = from.getNumArguments() - terminator.getNumOperands();
  for (auto [number, value] : llvm::enumerate(terminator.getOperands()))
    if (number >= firstResult && number - firstResult < numResults)
      all.push_back({value, from.getArgument(first + number)});
  return all;
}

Value ThreadKernel::allocateShared(int64_t bytes) {
  int64_t offset = sharedBytes;
  sharedBytes += (bytes + 15) / 16 * 16;
  auto type = LLVM::LLVMPointerType::get(builder.getContext(), sharedSpace);
  Value base = LLVM::AddressOfOp::create(builder, loc(), type, (from.getName() + "_shared").str());
  return LLVM::GEPOp::create(builder, loc(), type, builder.getI8Type(), base, ArrayRef<LLVM::GEPArg>{int32_t(offset)});
}

Value ThreadKernel::dynamicShared(int64_t bytes) {
  dynamicBytes = std::max(dynamicBytes, bytes);
  auto type = LLVM::LLVMPointerType::get(builder.getContext(), sharedSpace);
  return LLVM::AddressOfOp::create(builder, loc(), type, (from.getName() + "_dynamic").str());
}

void ThreadKernel::setGrid(AffineExpr blocks) {
  unsigned symbols = tile::indexArguments(from).size();
  to->setAttr(gridAttrName, AffineMapAttr::get(AffineMap::get(0, symbols, blocks)));
}

} // namespace tilewright::gpu
