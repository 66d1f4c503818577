//===- ExportedGuards.h - torch.export's assumptions about the sizes of inputs -------===//
#ifndef TILEWRIGHT_LIB_IMPORT_TORCHEXPORT_EXPORTEDGUARDS_H
#define TILEWRIGHT_LIB_IMPORT_TORCHEXPORT_EXPORTEDGUARDS_H

#include "dialects/Graph/SizeRules.h"
#include "lib/Import/Builder/SizeExpression.h"
#include <vector>

namespace tilewright {

/// Returns the size of dimension `dim` of the model's input `name`, as text for parseSize(). Returns nullopt if there
/// is no such input or dimension.
using InputSize = llvm::function_ref<std::optional<std::string>(llvm::StringRef name, unsigned dim)>;

/// Adds the comparisons in `guard` that do not follow from the ranges of the symbols to `rules`, with their text.
/// Returns the first comparison that a rule cannot express, or "" if there is none. A guard is Python text that
/// torch.export writes, such as "L['x'].size()[0] <= 40". Comparisons that exclude the size 0 or 1 are ignored, because
/// torch also runs such sizes. Comparisons of values other than sizes are also ignored.
std::string readGuard(llvm::StringRef guard, const llvm::StringMap<SizeSymbol> &symbols, InputSize sizeOf,
                      mlir::MLIRContext *context, std::vector<std::pair<graph::SizeRule, std::string>> &rules);

} // namespace tilewright

#endif
