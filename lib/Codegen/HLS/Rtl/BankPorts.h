//===- BankPorts.h - banks that accesses use, and accesses that can share a port ------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_HLS_RTL_BANKPORTS_H
#define TILEWRIGHT_LIB_CODEGEN_HLS_RTL_BANKPORTS_H

#include "lib/Codegen/HLS/Rtl/PipelineNest.h"
#include <map>

namespace tilewright::hls {

/// The banks and words that one load or store of a nest accesses in all iterations, and its port. If there are too many
/// iterations to enumerate, `banks` may contain all banks, and `words` contains the sizes of the banks.
struct BankUse {
  std::vector<int64_t> banks; ///< the banks, in ascending order
  std::vector<int64_t> words; ///< number of accessed words of each of these banks
  size_t port = 0;            ///< the port; accesses with the same port never access the same bank in the same cycle
};

/// Returns the bank of the element at `indices`, and its word within the bank, both numbered in row-major order.
std::pair<int64_t, int64_t> bankAndWord(llvm::ArrayRef<int64_t> indices, llvm::ArrayRef<int64_t> banks,
                                        llvm::ArrayRef<int64_t> inBank);

/// Returns the banks and ports of the steps `numbers` of `nest`, which are the loads or the stores of one array. For
/// each dimension of the array, `banks` is the number of banks, and `inBank` is the number of words per bank.
std::map<size_t, BankUse> bankUses(const PipelineNest &nest, llvm::ArrayRef<size_t> numbers,
                                   llvm::ArrayRef<int64_t> banks, llvm::ArrayRef<int64_t> inBank);

} // namespace tilewright::hls

#endif
