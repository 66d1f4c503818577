//===- BankLimits.cpp - limit schedules to the available number of banks --------------------===//
//
// Example: two loop nests of a kernel access the same array of 4 x 64 x 64 elements. The first nest is unrolled by 4
// along dimension 0 and by 64 along dimension 2, which needs 256 banks. The second nest is unrolled by 64 along
// dimension 1, which needs 64 banks. An array with enough banks for the two nests has 4 * 64 * 64 = 16384 banks, but
// the vendor's tools split an array into at most 4096 banks. The banks for accesses in unrolled loops are computed by
// the same rule as in --tw-hls-build-design (banksWithCopies() in Banks.h), but from the indexing maps of linalg ops,
// because the ops are not lowered to loops yet.
//
// Test: test/Codegen/HLS/bank-limits.mlir
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/HLS/BankLimits.h"
#include "dialects/HLS/HLS.h"
#include "dialects/Plan/PlanDialect.h"
#include "lib/Codegen/HLS/Banks.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace tilewright::hls {
namespace {

/// Groups the two kernel arguments that a channel connects, because they are one array. A channel is a buffer of the
/// plan that exactly one launch writes and exactly one launch reads, with the same type.
llvm::EquivalenceClasses<const void *> channelsOf(ModuleOp module) {
  llvm::EquivalenceClasses<const void *> same;
  llvm::DenseMap<int64_t, SmallVector<BlockArgument>> readers, writers;
  module.walk([&](plan::LaunchOp launch) {
    auto kernel = module.lookupSymbol<func::FuncOp>(launch.getKernel());
    for (auto [argument, buffer] : llvm::enumerate(launch.getBuffers())) {
      auto &its = launch.mayWrite(argument) ? writers[buffer] : readers[buffer];
      its.push_back(kernel.getArgument(argument));
    }
  });
  for (auto &[buffer, written] : writers)
    if (auto read = readers.find(buffer); read != readers.end() && read->second.size() == 1 && written.size() == 1 &&
                                          read->second.front().getType() == written.front().getType())
      same.unionSets(written.front().getAsOpaquePointer(), read->second.front().getAsOpaquePointer());
  return same;
}

} // namespace

BankDemand::BankDemand(ModuleOp module, ArrayRef<linalg::LinalgOp> nests) {
  llvm::EquivalenceClasses<const void *> same = channelsOf(module);
  llvm::MapVector<const void *, size_t> numbers;
  for (auto [nest, op] : llvm::enumerate(nests))
    for (OpOperand &operand : op->getOpOperands()) {
      auto type = dyn_cast<MemRefType>(operand.get().getType());
      if (!type || !type.hasStaticShape())
        continue;
      const void *key = operand.get().getAsOpaquePointer();
      if (same.findLeader(key) != same.member_end())
        key = *same.findLeader(key);
      auto [entry, isNew] = numbers.insert({key, arrays.size()});
      if (isNew)
        arrays.emplace_back().shape.assign(type.getShape().begin(), type.getShape().end());
      Array &array = arrays[entry->second];
      linalg::LinalgOp nestOp = op;
      array.accesses.push_back({nest, nestOp.getMatchingIndexingMap(&operand)});
      if (array.nests.empty() || array.nests.back() != nest)
        array.nests.push_back(nest);
    }
}

int64_t BankDemand::banks(const Array &array, ArrayRef<ArrayRef<int64_t>> unrolls, std::optional<size_t> nest,
                          ArrayRef<int64_t> instead) const {
  SmallVector<int64_t> factors(array.shape.size(), 1);
  for (const Access &access : array.accesses) {
    ArrayRef<int64_t> copies = nest == access.nest ? instead : unrolls[access.nest];
    for (auto [dim, expr] : llvm::enumerate(access.map.getResults()))
      for (auto [loop, by] : llvm::enumerate(copies))
        factors[dim] = banksWithCopies(factors[dim], array.shape[dim], expr, loop, by);
  }
  return ShapedType::getNumElements(factors);
}

std::optional<size_t> BankDemand::overfull(ArrayRef<ArrayRef<int64_t>> unrolls) const {
  for (auto [number, array] : llvm::enumerate(arrays))
    if (banks(array, unrolls, std::nullopt, {}) > mostBanks)
      return number;
  return std::nullopt;
}

bool BankDemand::isOverfull(size_t array, ArrayRef<ArrayRef<int64_t>> unrolls, size_t nest,
                            ArrayRef<int64_t> instead) const {
  return banks(arrays[array], unrolls, nest, instead) > mostBanks;
}

} // namespace tilewright::hls
