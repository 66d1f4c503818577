//===- ExportedGuards.h - torch.export's assumptions about the sizes of inputs -------===//
#ifndef TILEWRIGHT_LIB_IMPORT_TORCHEXPORT_EXPORTEDGUARDS_H
#define TILEWRIGHT_LIB_IMPORT_TORCHEXPORT_EXPORTEDGUARDS_H

#include "dialects/Graph/SizeRules.h"
#include "lib/Import/Builder/SizeExpression.h"
#include <vector>

namespace tilewright {

/// Returns the text of size `dim` of the user's input `name`, for parseSize(), or nullopt if it does not exist.
using InputSize = llvm::function_ref<std::optional<std::string>(llvm::StringRef name, unsigned dim)>;

/// Adds the comparisons in `guard` that do not follow from the ranges of the symbols to `rules`, with their text.
/// Returns a part that no rule can express, or "". A guard is Python text as torch.export writes it: "L['x'].size()[0]
/// <= 40". Comparisons that exclude the size 0 or 1 count as proven, as in torch, which also runs such sizes; so do
/// comparisons of anything other than sizes.
std::string readGuard(llvm::StringRef guard, const llvm::StringMap<SizeSymbol> &symbols, InputSize sizeOf,
                      mlir::MLIRContext *context, std::vector<std::pair<graph::SizeRule, std::string>> &rules);

} // namespace tilewright

#endif
