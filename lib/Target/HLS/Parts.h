//===- Parts.h - devices and what they have -----------------------------------------===//
#ifndef TILEWRIGHT_TARGET_HLS_PARTS_H
#define TILEWRIGHT_TARGET_HLS_PARTS_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <string>

namespace tilewright::hls {

/// What a design uses, or may use: multipliers (DSP slices), block memories of 18 kbit and of 288 kbit.
struct Resources {
  int64_t dsp = 0, bram = 0, uram = 0;
};

/// A device that vendors' tools know.
struct Part {
  llvm::StringLiteral name;   ///< in --part
  llvm::StringLiteral device; ///< as the vendor's tool calls it
  Resources has;
  int64_t lut; ///< lookup tables
};

/// The part of that name; the error lists those that are known.
llvm::Expected<const Part *> findPart(llvm::StringRef name);

/// "dsp=2560,bram=2016" over what the part has. Errors name the word that is wrong.
llvm::Expected<Resources> readBudget(llvm::StringRef text, const Part &part);

} // namespace tilewright::hls

#endif
