//===- BankPorts.h - banks that accesses use, and accesses that can share a port ------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_HLS_RTL_BANKPORTS_H
#define TILEWRIGHT_LIB_CODEGEN_HLS_RTL_BANKPORTS_H

#include "lib/Codegen/HLS/Rtl/PipelineNest.h"
#include <map>

namespace tilewright::hls {

/// The elements that one access of a nest to a banked array uses in all its iterations.
struct BankUse {
  std::vector<int64_t> banks; ///< the banks, in ascending order
  std::vector<int64_t> words; ///< number of words in each bank
  size_t port = 0;            ///< the port; accesses that share a port never access a bank in the same cycle
};

/// Returns the bank of an index and the word in it, both in row-major order.
std::pair<int64_t, int64_t> bankAndWord(llvm::ArrayRef<int64_t> indices, llvm::ArrayRef<int64_t> banks,
                                        llvm::ArrayRef<int64_t> inBank);

/// Returns the uses of the steps with these `numbers`, which are the loads or the stores of one array. For each
/// dimension of the array, `banks` is the number of banks, and `inBank` is the number of words per bank.
std::map<size_t, BankUse> bankUses(const PipelineNest &nest, llvm::ArrayRef<size_t> numbers,
                                   llvm::ArrayRef<int64_t> banks, llvm::ArrayRef<int64_t> inBank);

} // namespace tilewright::hls

#endif
