//===- KnobNames.h - former names of knobs ----------------------------------------------===//
//
// Schedule files, tuning records and tables of measurements that were written before 28 November 2026 (CHANGELOG.md)
// may use the former names of knobs. The functions that read such files convert the names with the functions below. All
// other code uses the present names.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_DIALECTS_SCHEDULE_KNOBNAMES_H
#define TILEWRIGHT_DIALECTS_SCHEDULE_KNOBNAMES_H

#include "llvm/ADT/StringRef.h"
#include <string>

namespace tilewright::schedule {

/// Returns the present name of the knob `name`, for example "k_block" for "depth". Returns other names unchanged.
llvm::StringRef presentKnobName(llvm::StringRef name);

/// Returns the text of a point, such as "tile0=64 depth=128", with the present names of its knobs.
std::string withPresentKnobNames(llvm::StringRef point);

} // namespace tilewright::schedule

#endif
