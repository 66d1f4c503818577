//===- BfloatComparisons.h - comparisons of bf16 vectors are done in f32 -----------===//
#ifndef TILEWRIGHT_LIB_RUNTIME_JIT_BFLOATCOMPARISONS_H
#define TILEWRIGHT_LIB_RUNTIME_JIT_BFLOATCOMPARISONS_H

namespace llvm {
class Module;
} // namespace llvm

namespace tilewright::runtime {

/// Extends the operands of each comparison of bf16 vectors to f32, which does not change its result. LLVM's X86 backend
/// does this later, but on CPUs with AVX512_BF16 it fails ("Cannot select: X86ISD::CMPP") if the result is extended to
/// 16 bits, or if the number of elements is odd (LLVM 22.1). InstCombine creates such comparisons from comparisons of
/// f32 vectors whose operands are extended bf16 vectors, so this function must run after it.
void compareBfloatsAsFloats(llvm::Module &module);

} // namespace tilewright::runtime

#endif
