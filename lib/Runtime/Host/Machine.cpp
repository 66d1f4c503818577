//===- Machine.cpp - description of the CPU -------------------------------===//
#include "lib/Runtime/Host/Machine.h"
#include "lib/Runtime/Host/Caches.h"

#include <cstdlib>

namespace tilewright::runtime {
namespace {

struct NamedMachine {
  const char *name;
  InstructionSets sets;
  bool bf16DotFullRate;
};

std::vector<NamedMachine> namedMachines() {
  InstructionSets v3;
  v3.avx2 = v3.fma = v3.f16c = true;
  v3.bmi = v3.bmi2 = v3.lzcnt = v3.movbe = v3.popcnt = true;
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
  for (const InstructionSet &row : instructionSets())
    if (sets.*row.member)
      text += (text.empty() ? "+" : ",+") + std::string(row.name);
  // In LLVM, the name of a CPU implies more features than covers() checks. SSE4A is such a feature. Only CPUs of AMD
  // support it, and kernels do not need it, so disable it.
  text += (text.empty() ? "" : ",") + std::string("-sse4a");
  // Kernels choose the vector width themselves; LLVM's tuning for some CPUs prefers 256 bits.
  return sets.avx512f ? text + ",-prefer-256-bit" : text;
}

bool covers(const InstructionSets &host, const InstructionSets &wanted) {
  return (maskOf(wanted) & ~maskOf(host)) == 0;
}

int vectorBytesOf(const InstructionSets &sets) { return sets.avx512f && sets.avx512vl ? 64 : sets.avx2 ? 32 : 16; }

} // namespace

std::vector<std::string> machineNames() {
  std::vector<std::string> names{"native"};
  for (const NamedMachine &machine : namedMachines())
    names.push_back(machine.name);
  return names;
}

/// Returns a description with the caches of this host. The caches are read once, because CPUID is slow in a virtual
/// machine.
static const MachineDescription &hostCaches() {
  static const MachineDescription read = [] {
    MachineDescription machine;
    describeCaches(machine);
    return machine;
  }();
  return read;
}

bool describeMachine(const char *name, MachineDescription &machine, std::string &error) {
  error.clear();
  machine = hostCaches();
  describeCpus(machine);
  machine.name = name && *name ? name : "native";
  static const InstructionSets host = hostInstructionSets(); // read once, because CPUID is slow in a virtual machine
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

} // namespace tilewright::runtime
