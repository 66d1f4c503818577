//===- Parts.h - devices and their resources ----------------------------------------===//
#ifndef TILEWRIGHT_LIB_CODEGEN_HLS_PARTS_H
#define TILEWRIGHT_LIB_CODEGEN_HLS_PARTS_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <string>

namespace tilewright::hls {

/// Resources that a design uses or may use: multipliers (DSP slices), block memories of 18 kbit, and UltraRAMs of 288
/// kbit.
struct Resources {
  int64_t dsp = 0, bram = 0, uram = 0;
};

/// A device that the vendor's tool supports.
struct Part {
  llvm::StringLiteral name;   ///< the name for the option --part
  llvm::StringLiteral device; ///< the name in the vendor's tool
  Resources has;
  int64_t lut; ///< lookup tables
};

/// Returns the part whose `name` or `device` is this name. The error lists the known parts.
llvm::Expected<const Part *> findPart(llvm::StringRef name);

/// Returns the resources of the part, except that `text` (such as "dsp=2560,bram=2016") limits some of them. An error
/// quotes the invalid word of `text`, or the name of a resource that occurs twice.
llvm::Expected<Resources> readBudget(llvm::StringRef text, const Part &part);

} // namespace tilewright::hls

#endif
