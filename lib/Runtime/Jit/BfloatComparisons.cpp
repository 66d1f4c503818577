//===- BfloatComparisons.cpp - comparisons of bf16 vectors are done in f32 ---------===//
//
// Before: %c = fcmp olt <16 x bfloat> %a, %b
// After:  %x = fpext <16 x bfloat> %a to <16 x float>
//         %y = fpext <16 x bfloat> %b to <16 x float>
//         %c = fcmp olt <16 x float> %x, %y
//
// Tests: test/Unit/Runtime/Jit/BfloatComparisons.cpp, test/Python/ops/test_comparisons_of_bfloats.py
//
//===----------------------------------------------------------------------------===//
#include "lib/Runtime/Jit/BfloatComparisons.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"

namespace tilewright::runtime {

void compareBfloatsAsFloats(llvm::Module &module) {
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction : llvm::instructions(function)) {
      auto *compare = llvm::dyn_cast<llvm::FCmpInst>(&instruction);
      auto *type = compare ? llvm::dyn_cast<llvm::VectorType>(compare->getOperand(0)->getType()) : nullptr;
      if (!type || !type->getElementType()->isBFloatTy())
        continue;
      llvm::IRBuilder<> builder(compare);
      llvm::Type *wide = llvm::VectorType::get(builder.getFloatTy(), type->getElementCount());
      for (llvm::Use &operand : compare->operands())
        operand.set(builder.CreateFPExt(operand.get(), wide));
    }
}

} // namespace tilewright::runtime
