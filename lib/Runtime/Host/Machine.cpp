//===- Machine.cpp - what this CPU can do ---------------------------------===//
#include "lib/Runtime/Host/Machine.h"
#include "lib/Runtime/Host/Caches.h"

#include <cpuid.h>
#include <cstdlib>
#include <sys/syscall.h>
#include <unistd.h>

namespace tilewright::runtime {
namespace {

bool hasBit(unsigned word, int bit) { return (word >> bit) & 1; }

/// One row per instruction set: LLVM's name of the feature.
struct FeatureRow {
  bool InstructionSets::*member;
  const char *name;
};

constexpr FeatureRow featureRows[] = {
    {&InstructionSets::avx2, "avx2"},
    {&InstructionSets::fma, "fma"},
    {&InstructionSets::f16c, "f16c"},
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

struct NamedMachine {
  const char *name;
  InstructionSets sets;
  bool bf16DotFullRate;
};

std::vector<NamedMachine> namedMachines() {
  InstructionSets v3;
  v3.avx2 = v3.fma = v3.f16c = true;
  InstructionSets v4 = v3;
  v4.avx512f = v4.avx512bw = v4.avx512dq = v4.avx512vl = v4.avx512cd = true;
  InstructionSets zen5 = v4;
  zen5.avx512bf16 = zen5.avx512vnni = zen5.avx512vbmi = zen5.avxvnni = true;
  InstructionSets rapids = zen5;
  rapids.avx512fp16 = rapids.amxTile = rapids.amxBf16 = rapids.amxInt8 = true;
  InstructionSets granite = rapids;
  granite.amxFp16 = true;
  return {{"x86-64-v3", v3, false},
          {"x86-64-v4", v4, false},
          {"znver5", zen5, true},
          {"sapphirerapids", rapids, false},
          {"graniterapids", granite, false}};
}

std::string featureString(const InstructionSets &sets) {
  std::string text;
  for (const FeatureRow &row : featureRows)
    if (sets.*row.member)
      text += (text.empty() ? "+" : ",+") + std::string(row.name);
  // A CPU's name promises LLVM more than the sets that covers() asks for: SSE4A, which AMD alone has, is of no use
  // here.
  text += (text.empty() ? "" : ",") + std::string("-sse4a");
  // Kernels choose their vectors' width themselves; LLVM's tuning for some CPUs would rather see 256 bits.
  return sets.avx512f ? text + ",-prefer-256-bit" : text;
}

bool covers(const InstructionSets &host, const InstructionSets &wanted) {
  for (const FeatureRow &row : featureRows)
    if (wanted.*row.member && !(host.*row.member))
      return false;
  return true;
}

int vectorBytesOf(const InstructionSets &sets) { return sets.avx512f && sets.avx512vl ? 64 : sets.avx2 ? 32 : 16; }

} // namespace

InstructionSets hostInstructionSets() {
  InstructionSets sets;
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !hasBit(c, 27)) // without OSXSAVE there is no AVX to speak of
    return sets;
  unsigned xcr0 = 0, xcr0High = 0;
  __asm__ volatile("xgetbv" : "=a"(xcr0), "=d"(xcr0High) : "c"(0));
  bool avx = (xcr0 & 0x6) == 0x6, avx512 = avx && (xcr0 & 0xE0) == 0xE0, amx = (xcr0 & 0x60000) == 0x60000;
  sets.fma = avx && hasBit(c, 12);
  sets.f16c = avx && hasBit(c, 29);
  unsigned leaves = 0;
  if (!__get_cpuid_count(7, 0, &leaves, &b, &c, &d))
    return sets;
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

std::vector<std::string> machineNames() {
  std::vector<std::string> names{"native"};
  for (const NamedMachine &machine : namedMachines())
    names.push_back(machine.name);
  return names;
}

bool describeMachine(const char *name, MachineDescription &machine, std::string &error) {
  error.clear();
  machine = MachineDescription();
  describeCaches(machine);
  describeCpus(machine);
  machine.name = name && *name ? name : "native";
  InstructionSets host = hostInstructionSets();
  if (machine.name == "native") {
    machine.sets = host;
    bool v4 = host.avx512f && host.avx512bw && host.avx512dq && host.avx512vl && host.avx512cd;
    machine.llvmCpu = v4 ? "x86-64-v4" : host.avx2 && host.fma ? "x86-64-v3" : "x86-64";
    machine.features = featureString(host);
    machine.bf16DotFullRate = bf16DotRate() > 0.8;
    machine.vectorBytes = vectorBytesOf(host);
    return true;
  }
  for (const NamedMachine &known : namedMachines()) {
    if (machine.name != known.name)
      continue;
    machine.native = false;
    machine.sets = known.sets;
    machine.llvmCpu = known.name;
    machine.features = featureString(known.sets);
    machine.bf16DotFullRate = known.bf16DotFullRate;
    machine.runsHere = covers(host, known.sets);
    machine.vectorBytes = vectorBytesOf(known.sets);
    return true;
  }
  error = "unknown CPU '" + machine.name + "'; TILEWRIGHT_CPU may be one of:";
  for (const std::string &known : machineNames())
    error += " " + known;
  return false;
}

bool describeMachineFromEnvironment(MachineDescription &machine, std::string &error) {
  return describeMachine(getenv("TILEWRIGHT_CPU"), machine, error);
}

bool requestAmxPermission() {
  constexpr long requestPermission = 0x1023, tileData = 18; // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  return hostInstructionSets().amxTile && syscall(SYS_arch_prctl, requestPermission, tileData) == 0;
}

} // namespace tilewright::runtime
