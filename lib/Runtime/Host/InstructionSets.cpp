//===- InstructionSets.cpp - the instruction sets of this CPU ---------------===//
#include "lib/Runtime/Host/InstructionSets.h"

#include <cpuid.h>
#include <iterator>
#include <sys/syscall.h>
#include <unistd.h>

namespace tilewright::runtime {
namespace {

bool hasBit(unsigned word, int bit) { return (word >> bit) & 1; }

constexpr InstructionSet instructionSetRows[] = {
    {&InstructionSets::avx2, "avx2"},
    {&InstructionSets::fma, "fma"},
    {&InstructionSets::f16c, "f16c"},
    {&InstructionSets::bmi, "bmi"},
    {&InstructionSets::bmi2, "bmi2"},
    {&InstructionSets::lzcnt, "lzcnt"},
    {&InstructionSets::movbe, "movbe"},
    {&InstructionSets::popcnt, "popcnt"},
    {&InstructionSets::avx512f, "avx512f"},
    {&InstructionSets::avx512cd, "avx512cd"},
    {&InstructionSets::avx512bw, "avx512bw"},
    {&InstructionSets::avx512dq, "avx512dq"},
    {&InstructionSets::avx512vl, "avx512vl"},
    {&InstructionSets::avx512vnni, "avx512vnni"},
    {&InstructionSets::avx512vbmi, "avx512vbmi"},
    {&InstructionSets::avx512bf16, "avx512bf16"},
    {&InstructionSets::avx512fp16, "avx512fp16"},
    {&InstructionSets::avxvnni, "avxvnni"},
    {&InstructionSets::amxTile, "amx-tile"},
    {&InstructionSets::amxBf16, "amx-bf16"},
    {&InstructionSets::amxInt8, "amx-int8"},
    {&InstructionSets::amxFp16, "amx-fp16"},
};

} // namespace

InstructionSetList instructionSets() { return {instructionSetRows, int(std::size(instructionSetRows))}; }

uint64_t maskOf(const InstructionSets &sets) {
  uint64_t mask = 0;
  for (int i = 0; i < int(std::size(instructionSetRows)); ++i)
    mask |= uint64_t(sets.*instructionSetRows[i].member) << i;
  return mask;
}

InstructionSets hostInstructionSets() {
  InstructionSets sets;
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !hasBit(c, 27)) // AVX requires OSXSAVE
    return sets;
  unsigned xcr0 = 0, xcr0High = 0;
  __asm__ volatile("xgetbv" : "=a"(xcr0), "=d"(xcr0High) : "c"(0));
  bool avx = (xcr0 & 0x6) == 0x6, avx512 = avx && (xcr0 & 0xE0) == 0xE0, amx = (xcr0 & 0x60000) == 0x60000;
  sets.fma = avx && hasBit(c, 12);
  sets.f16c = avx && hasBit(c, 29);
  sets.movbe = hasBit(c, 22);
  sets.popcnt = hasBit(c, 23);
  if (__get_cpuid(0x80000001, &a, &b, &c, &d))
    sets.lzcnt = hasBit(c, 5);
  unsigned leaves = 0;
  if (!__get_cpuid_count(7, 0, &leaves, &b, &c, &d))
    return sets;
  sets.bmi = hasBit(b, 3);
  sets.bmi2 = hasBit(b, 8);
  sets.avx2 = avx && hasBit(b, 5);
  sets.avx512f = avx512 && hasBit(b, 16);
  sets.avx512dq = avx512 && hasBit(b, 17);
  sets.avx512cd = avx512 && hasBit(b, 28);
  sets.avx512bw = avx512 && hasBit(b, 30);
  sets.avx512vl = avx512 && hasBit(b, 31);
  sets.avx512vbmi = avx512 && hasBit(c, 1);
  sets.avx512vnni = avx512 && hasBit(c, 11);
  sets.avx512fp16 = avx512 && hasBit(d, 23);
  sets.amxBf16 = amx && hasBit(d, 22);
  sets.amxTile = amx && hasBit(d, 24);
  sets.amxInt8 = amx && hasBit(d, 25);
  if (leaves >= 1 && __get_cpuid_count(7, 1, &a, &b, &c, &d)) {
    sets.avxvnni = avx && hasBit(a, 4);
    sets.avx512bf16 = avx512 && hasBit(a, 5);
    sets.amxFp16 = amx && hasBit(a, 21);
  }
  return sets;
}

bool requestAmxPermission() {
  constexpr long requestPermission = 0x1023, tileData = 18; // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  return hostInstructionSets().amxTile && syscall(SYS_arch_prctl, requestPermission, tileData) == 0;
}

} // namespace tilewright::runtime
