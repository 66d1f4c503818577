//===- InstructionSets.h - the instruction sets of this CPU -----------------===//
#ifndef TILEWRIGHT_LIB_RUNTIME_HOST_INSTRUCTIONSETS_H
#define TILEWRIGHT_LIB_RUNTIME_HOST_INSTRUCTIONSETS_H

#include <cstdint>

namespace tilewright::runtime {

/// Instruction sets that the CPU has and the operating system has enabled.
struct InstructionSets {
  bool avx2 = false, fma = false, f16c = false;
  bool bmi = false, bmi2 = false, lzcnt = false, movbe = false, popcnt = false;
  bool avx512f = false, avx512bw = false, avx512dq = false, avx512vl = false, avx512cd = false;
  bool avx512bf16 = false, avx512vnni = false, avx512fp16 = false, avx512vbmi = false;
  bool avxvnni = false;
  bool amxTile = false, amxBf16 = false, amxInt8 = false, amxFp16 = false;
};

/// An instruction set and its name in LLVM.
struct InstructionSet {
  bool InstructionSets::*member;
  const char *name;
};

/// All instruction sets, in a fixed order.
struct InstructionSetList {
  const InstructionSet *first;
  int count;
  const InstructionSet *begin() const { return first; }
  const InstructionSet *end() const { return first + count; }
};
InstructionSetList instructionSets();

/// Returns the sets as a bit mask, in the order of instructionSets().
uint64_t maskOf(const InstructionSets &sets);

/// Returns the host's instruction sets, from CPUID and XCR0.
InstructionSets hostInstructionSets();

/// Requests the permission of the Linux kernel to use AMX tile data in this process, which is required before the first
/// tile instruction. Returns true if the permission was granted by this or an earlier call. Returns false on CPUs and
/// Linux kernels without AMX.
bool requestAmxPermission();

} // namespace tilewright::runtime

#endif
