//===- BankPorts.cpp - banks that accesses use, and accesses that can share a port ----------===//
//
// Example: a loop that is unrolled by 16 loads 16 adjacent elements from an array with 12 banks. The bank that each of
// the 16 unrolled loads accesses changes from iteration to iteration. If each load had a separate port, each bank would
// need 16 ports, which no memory has. However, most pairs of loads never access the same bank in the same cycle, and
// can share a port. This file enumerates all iterations to find such pairs. If there are too many iterations, or if two
// accesses are in different pipeline stages, it compares the sets of banks that they can use. A bank is connected only
// to the accesses that can use it.
//
// Tests: test/Codegen/HLS/rtl-banks.mlir, test/Conformance/hls (rtl)
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/HLS/Rtl/BankPorts.h"
#include "llvm/ADT/STLExtras.h"
#include <set>

using namespace mlir;

namespace tilewright::hls {

std::pair<int64_t, int64_t> bankAndWord(ArrayRef<int64_t> indices, ArrayRef<int64_t> banks, ArrayRef<int64_t> inBank) {
  int64_t bank = 0, word = 0;
  for (size_t dim = 0; dim < indices.size(); ++dim) {
    bank = bank * banks[dim] + indices[dim] % banks[dim];
    word = word * inBank[dim] + indices[dim] / banks[dim];
  }
  return {bank, word};
}

/// Returns the bank of an access if, in each dimension, the factors of all counters are multiples of the number of
/// banks. Returns std::nullopt otherwise.
static std::optional<int64_t> onlyBank(const Step &step, ArrayRef<int64_t> banks) {
  int64_t bank = 0;
  for (auto [index, its] : llvm::zip(step.at, banks)) {
    if (llvm::any_of(index.factors, [its = its](int64_t factor) { return factor % its != 0; }))
      return std::nullopt;
    bank = bank * its + index.constant % its;
  }
  return bank;
}

std::map<size_t, BankUse> bankUses(const PipelineNest &nest, ArrayRef<size_t> numbers, ArrayRef<int64_t> banks,
                                   ArrayRef<int64_t> inBank) {
  int64_t count = 1, words = 1;
  for (auto [its, inside] : llvm::zip(banks, inBank)) {
    count *= its;
    words *= inside;
  }
  std::vector<std::map<int64_t, std::set<int64_t>>> touched(numbers.size()); // accessed words, by bank
  std::set<std::pair<size_t, size_t>> meet;                                  // pairs that share a bank in an iteration
  std::vector<int64_t> indices(banks.size());
  std::vector<std::vector<size_t>> in(count);
  const bool counted = forEachIteration(nest, [&](ArrayRef<int64_t> counters) {
    std::vector<int64_t> used;
    for (auto [index, number] : llvm::enumerate(numbers)) {
      const Step &step = nest.steps[number];
      for (size_t dim = 0; dim < indices.size(); ++dim)
        indices[dim] = valueOf(step.at[dim], counters);
      const auto [bank, word] = bankAndWord(indices, banks, inBank);
      touched[index][bank].insert(word);
      for (size_t other : in[bank])
        meet.insert({other, index});
      in[bank].push_back(index);
      used.push_back(bank);
    }
    for (int64_t bank : used)
      in[bank].clear();
  });

  std::map<size_t, BankUse> uses;
  for (auto [index, number] : llvm::enumerate(numbers)) {
    BankUse &use = uses[number];
    if (counted)
      for (auto &[bank, words] : touched[index]) {
        use.banks.push_back(bank);
        use.words.push_back(int64_t(words.size()));
      }
    else if (std::optional<int64_t> bank = onlyBank(nest.steps[number], banks))
      use.banks = {*bank};
    else
      for (int64_t bank = 0; bank < count; ++bank)
        use.banks.push_back(bank);
    use.words.resize(use.banks.size(), words);
    // Use the first free port. A port is taken if an earlier access that uses it may access the same bank in the same
    // cycle.
    std::set<size_t> taken;
    for (size_t before = 0; before < index; ++before) {
      const BankUse &other = uses[numbers[before]];
      const bool sameStage = nest.steps[numbers[before]].start == nest.steps[number].start;
      const bool meets =
          counted && sameStage
              ? meet.count({before, index}) > 0
              : llvm::any_of(use.banks, [&](int64_t bank) { return llvm::is_contained(other.banks, bank); });
      if (meets)
        taken.insert(other.port);
    }
    while (taken.count(use.port))
      ++use.port;
  }
  return uses;
}

} // namespace tilewright::hls
