//===- ExportedGuards.h - what torch.export assumes of the sizes of inputs -----------===//
#ifndef TILEWRIGHT_LIB_FRONTEND_EXPORTEDGUARDS_H
#define TILEWRIGHT_LIB_FRONTEND_EXPORTEDGUARDS_H

#include "dialects/Graph/SizeRules.h"
#include "lib/Frontend/SizeExpression.h"
#include <vector>

namespace tilewright {

/// The text of size `dim` of the user's input `name`, for parseSize(); nullopt: there is none.
using InputSize = llvm::function_ref<std::optional<std::string>(llvm::StringRef name, unsigned dim)>;

/// What a guard says that does not follow from the ranges of the symbols becomes `rules`, with its text; the result is
/// the part that is no such rule, or "". A guard is Python's text, as torch.export writes it: "L['x'].size()[0] <= 40".
/// That a size is not 0 or 1 counts as proven, as in torch, which runs such sizes; so does what is said of something
/// else than sizes.
std::string readGuard(llvm::StringRef guard, const llvm::StringMap<SizeSymbol> &symbols, InputSize sizeOf,
                      mlir::MLIRContext *context, std::vector<std::pair<graph::SizeRule, std::string>> &rules);

} // namespace tilewright

#endif
