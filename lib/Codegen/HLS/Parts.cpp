//===- Parts.cpp - devices and their resources --------------------------------------===//
//
// The numbers of DSP slices, block memories, UltraRAMs and lookup tables are from AMD's product tables DS890
// (UltraScale+) and DS190 (Zynq-7000). A block RAM of 36 kbit counts as two block memories of 18 kbit.
//
// Test: test/Tools/hls.test
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/HLS/Parts.h"
#include "tilewright/BudgetError.h"
#include "tilewright/Target.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

namespace tilewright::hls {
namespace {
constexpr Part parts[] = {
    {"xcu280", "xcu280-fsvh2892-2L-e", {9024, 4032, 960}, 1303680},
    {"xcu250", "xcu250-figd2104-2L-e", {12288, 5376, 1280}, 1728000},
    {"xczu9eg", "xczu9eg-ffvb1156-2-e", {2520, 1824, 0}, 274080},
    {"xc7z020", "xc7z020clg400-1", {220, 280, 0}, 53200},
};
} // namespace

llvm::Expected<const Part *> findPart(llvm::StringRef name) {
  std::vector<std::string> known;
  for (const Part &part : parts) {
    if (part.name == name || part.device == name)
      return &part;
    known.push_back(part.name.str());
  }
  return llvm::createStringError("unknown part '" + name + "'" + suggestName(name, known) +
                                 "; known parts: " + llvm::join(known, ", "));
}

llvm::Expected<Resources> readBudget(llvm::StringRef text, const Part &part) {
  Resources budget = part.has;
  llvm::SmallVector<llvm::StringRef> words;
  llvm::StringSet<> given;
  text.split(words, ',', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef word : words) {
    auto [name, count] = word.split('=');
    if (!given.insert(name).second)
      return llvm::createStringError("--budget names '" + name + "' twice; name each resource once");
    int64_t *entry = name == "dsp"    ? &budget.dsp
                     : name == "bram" ? &budget.bram
                     : name == "uram" ? &budget.uram
                                      : nullptr;
    int64_t value = 0;
    if (!entry || count.getAsInteger(10, value) || value < 0)
      return llvm::createStringError("--budget expects dsp=N, bram=N and uram=N, separated by commas, not '" + word +
                                     "'");
    if (value > *entry) {
      auto error = std::make_unique<BudgetError>(
          ("--budget " + name + "=" + count + " is more than " + part.name + " has, which is " + llvm::Twine(*entry))
              .str());
      if (entry == &budget.dsp)
        error->availableDsp = *entry;
      return llvm::Error(std::move(error));
    }
    *entry = value;
  }
  return budget;
}

} // namespace tilewright::hls
