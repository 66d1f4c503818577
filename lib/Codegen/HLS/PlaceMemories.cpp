//===- PlaceMemories.cpp - --tw-hls-place-memories: move large arrays to URAM ---------------===//
//
// Before (the arrays of the design need more block memories than the budget has):
//   %h = tw_hls.buffer "h" : memref<4x8192xf32, #tw_hls.partition<cyclic 4, none>, #tw_hls.memory<bram>>
// After:
//   %h = tw_hls.buffer "h" : memref<4x8192xf32, #tw_hls.partition<cyclic 4, none>, #tw_hls.memory<uram>>
//
// An UltraRAM has 4096 words of 72 bits (AMD UG573), which is sixteen times the size of a block memory of 18 kbit. The
// initial content of an UltraRAM is zero, so ROMs are not moved. The pass first moves the arrays that free the most
// block memories per UltraRAM, and stops when the remaining arrays meet the budget. An array and the task arguments to
// which it is passed are one memory.
//
// If every access uses the same index in all banks, the banks need no separate addresses. In this case, the elements of
// all banks are concatenated into words (memory<uram_words>, array_reshape in C++). For example, nine bytes share a
// word of 72 bits. Block memories can also have such words (memory<bram_words>). Before it moves arrays to UltraRAMs,
// the pass forms words in block memories if this saves block memories.
//
// Tests: test/Codegen/HLS/place-memories.mlir, test/Codegen/HLS/place-words.mlir
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/HLS/Banks.h"
#include "lib/Codegen/HLS/Cost.h"
#include "lib/Codegen/HLS/Names.h"
#include "lib/Codegen/HLS/Words.h"
#include "tilewright/Passes.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace tilewright {
#define GEN_PASS_DEF_HLSPLACEMEMORIES
#include "tilewright/Passes.h.inc"
} // namespace tilewright

namespace tilewright::hls {
namespace {

/// Values that are the same memory: an array inside a task, or a channel and the arguments of the tasks to which it is
/// passed.
struct Group {
  SmallVector<Value> values;
  int64_t blocks = 0, blockWords = 0; ///< block memories: with separate banks, and with words
  int64_t banks = 0, words = 0;       ///< UltraRAMs: with separate banks, and with words
  bool mayMove = true;
  bool mayBeWords = false;
  int64_t ultra = 0; ///< UltraRAMs in the form that needs fewer of them
};

MemRefType movedType(MemRefType type, Memory memory) { return withMemory(type, banksOf(type), memory); }

llvm::MapVector<const void *, Group> groupsOf(func::FuncOp top) {
  auto module = top->getParentOfType<ModuleOp>();
  llvm::EquivalenceClasses<const void *> same;
  llvm::MapVector<const void *, Group> groups;
  llvm::MapVector<Operation *, int64_t> calls; // number of tasks that call the function
  auto isArray = [](Value value) {
    auto type = dyn_cast<MemRefType>(value.getType());
    return type && memoryOf(type) == Memory::Bram;
  };
  top.walk([&](TaskOp task) {
    auto function = module.lookupSymbol<func::FuncOp>(task.getCallee());
    ++calls[function];
    for (auto [operand, argument] : llvm::zip(task->getOperands(), function.getArguments()))
      if (isArray(operand))
        same.unionSets(operand.getAsOpaquePointer(), Value(argument).getAsOpaquePointer());
  });
  auto add = [&](Value value, int64_t times, bool mayMove) {
    if (!isArray(value))
      return;
    const void *key = value.getAsOpaquePointer();
    if (auto leader = same.findLeader(key); leader != same.member_end())
      key = *leader;
    Group &group = groups[key];
    group.values.push_back(value);
    auto type = cast<MemRefType>(value.getType());
    group.blocks += times * blockMemories(type);
    group.blockWords += times * blockMemories(movedType(type, Memory::BramWords));
    group.banks += times * ultraMemories(movedType(type, Memory::Uram));
    group.words += times * ultraMemories(movedType(type, Memory::UramWords));
    group.mayMove &= mayMove;
  };
  // An array between two tasks is implemented as two arrays. An array inside a function exists once per task that calls
  // the function.
  top.walk([&](BufferOp buffer) { add(buffer.getMemory(), 2, !buffer.getValue()); });
  for (auto [operation, times] : calls) {
    auto function = cast<func::FuncOp>(operation);
    for (BlockArgument argument : function.getArguments())
      add(argument, 0, true);
    function.walk([&, times = times](BufferOp buffer) { add(buffer.getMemory(), times, !buffer.getValue()); });
  }
  return groups;
}

struct HlsPlaceMemories : impl::HlsPlaceMemoriesBase<HlsPlaceMemories> {
  using HlsPlaceMemoriesBase::HlsPlaceMemoriesBase;

  void runOnOperation() override {
    llvm::Expected<const Part *> device = findPart(part);
    llvm::Expected<Resources> resources = device ? readBudget(budget, **device) : device.takeError();
    if (!resources) {
      emitError(UnknownLoc::get(&getContext())) << llvm::toString(resources.takeError());
      return signalPassFailure();
    }
    for (auto top : getOperation().getOps<func::FuncOp>())
      if (top->hasAttr(topAttrName))
        place(top, *resources);
  }

private:
  static void move(Group &group, Memory memory) {
    for (Value value : group.values)
      value.setType(movedType(cast<MemRefType>(value.getType()), memory));
  }

  static void place(func::FuncOp top, const Resources &budget) {
    int64_t over = estimateDesign(top).total.bram - budget.bram, left = budget.uram;
    if (over <= 0)
      return;
    auto groups = groupsOf(top);
    SmallVector<Group *> order;
    for (auto &[key, group] : groups) {
      if (!group.mayMove || group.blocks <= 0)
        continue;
      group.mayBeWords = llvm::all_of(group.values, takesWholeWords);
      if (group.mayBeWords && group.blockWords < group.blocks) {
        over -= group.blocks - group.blockWords;
        group.blocks = group.blockWords;
        move(group, Memory::BramWords);
      }
      group.ultra = group.mayBeWords ? std::min(group.words, group.banks) : group.banks;
      order.push_back(&group);
    }
    llvm::stable_sort(order,
                      [](const Group *a, const Group *b) { return a->blocks * b->ultra > b->blocks * a->ultra; });
    for (Group *group : order) {
      if (over <= 0)
        break;
      if (group->ultra > left)
        continue;
      left -= group->ultra;
      over -= group->blocks;
      move(*group, group->ultra < group->banks ? Memory::UramWords : Memory::Uram);
    }
    auto module = top->getParentOfType<ModuleOp>();
    for (auto function : module.getOps<func::FuncOp>())
      if (!function.isDeclaration())
        function.setType(FunctionType::get(function.getContext(), function.getBody().getArgumentTypes(),
                                           function.getFunctionType().getResults()));
  }
};

} // namespace
} // namespace tilewright::hls
