//===- SingleLaneStores.h - masked stores of one lane become stores ----------------===//
#ifndef TILEWRIGHT_LIB_RUNTIME_JIT_SINGLELANESTORES_H
#define TILEWRIGHT_LIB_RUNTIME_JIT_SINGLELANESTORES_H

namespace llvm {
class Module;
} // namespace llvm

namespace tilewright::runtime {

/// Replaces each masked store whose constant mask has exactly one lane set by a scalar store of that element, unless
/// the size of an element is not a whole number of bytes. LLVM's X86 backend does the same later, but if the stored
/// vector was truncated, it writes the untruncated element, which has too many bytes (LLVM issue 179489, in LLVM
/// 22.1).
void storeOneLaneAsScalars(llvm::Module &module);

} // namespace tilewright::runtime

#endif
