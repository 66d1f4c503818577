//===- SingleLaneStores.cpp - masked stores of one lane become stores --------------===//
//
// Before: call void @llvm.masked.store(<16 x i8> %v, ptr align 1 %p, <16 x i1> <i1 false, i1 true, i1 false, ...>)
// After:  %e = extractelement <16 x i8> %v, i64 1
//         %q = getelementptr i8, ptr %p, i64 1
//         store i8 %e, ptr %q, align 1
//
// Tests: test/Unit/Runtime/Jit/SingleLaneStores.cpp, test/Python/ops/test_as_strided.py
//
//===----------------------------------------------------------------------------===//
#include "lib/Runtime/Jit/SingleLaneStores.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"

#include <optional>

namespace tilewright::runtime {

/// Returns the lane that is set in a constant mask with exactly one lane set.
static std::optional<unsigned> onlyLane(const llvm::Value *mask) {
  auto *constant = llvm::dyn_cast<llvm::Constant>(mask);
  auto *type = llvm::dyn_cast<llvm::FixedVectorType>(mask->getType());
  std::optional<unsigned> lane;
  for (unsigned i = 0; constant && type && i < type->getNumElements(); ++i) {
    auto *bit = llvm::dyn_cast_or_null<llvm::ConstantInt>(constant->getAggregateElement(i));
    if (!bit || (bit->isOne() && lane))
      return std::nullopt;
    if (bit->isOne())
      lane = i;
  }
  return lane;
}

static void storeScalar(llvm::IntrinsicInst &store, unsigned lane) {
  llvm::IRBuilder<> builder(&store);
  llvm::Value *vector = store.getArgOperand(0);
  llvm::Type *element = vector->getType()->getScalarType();
  const uint64_t bytes = store.getDataLayout().getTypeStoreSize(element);
  const llvm::Align whole = store.getParamAlign(1).valueOrOne();
  llvm::Value *address = builder.CreateConstInBoundsGEP1_64(element, store.getArgOperand(1), lane);
  builder.CreateAlignedStore(builder.CreateExtractElement(vector, lane), address,
                             llvm::commonAlignment(whole, lane * bytes));
  store.eraseFromParent();
}

void storeOneLaneAsScalars(llvm::Module &module) {
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
      auto *store = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
      if (!store || store->getIntrinsicID() != llvm::Intrinsic::masked_store)
        continue;
      llvm::Type *element = store->getArgOperand(0)->getType()->getScalarType();
      const bool inBytes = element->isPointerTy() || element->getScalarSizeInBits() % 8 == 0;
      if (std::optional<unsigned> lane = onlyLane(store->getArgOperand(store->arg_size() - 1)); lane && inBytes)
        storeScalar(*store, *lane);
    }
}

} // namespace tilewright::runtime
