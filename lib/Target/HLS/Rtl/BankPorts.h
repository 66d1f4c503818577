//===- BankPorts.h - which banks accesses touch, and which of them can share a port ---------===//
#ifndef TILEWRIGHT_TARGET_HLS_RTL_BANKPORTS_H
#define TILEWRIGHT_TARGET_HLS_RTL_BANKPORTS_H

#include "lib/Target/HLS/Rtl/PipelineNest.h"
#include <map>

namespace tilewright::hls {

/// What one access of a nest to an array in banks touches in all its iterations.
struct BankUse {
  std::vector<int64_t> banks; ///< in order
  std::vector<int64_t> words; ///< how many words of each
  size_t port = 0;            ///< accesses of one port never touch a bank in the same cycle
};

/// A place's bank and the word in it, both counted with the last dimension running fastest.
std::pair<int64_t, int64_t> bankAndWord(llvm::ArrayRef<int64_t> place, llvm::ArrayRef<int64_t> banks,
                                        llvm::ArrayRef<int64_t> inBank);

/// Of the steps with these `numbers`, the loads or the stores of one array. `banks` and
/// `inBank` are those of its dimensions.
std::map<size_t, BankUse> bankUses(const PipelineNest &nest, llvm::ArrayRef<size_t> numbers,
                                   llvm::ArrayRef<int64_t> banks, llvm::ArrayRef<int64_t> inBank);

} // namespace tilewright::hls

#endif
