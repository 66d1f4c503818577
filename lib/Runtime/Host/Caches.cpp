//===- Caches.cpp - cache sizes and cores of the host ---------------------===//
#include "lib/Runtime/Host/Caches.h"
#include "lib/Runtime/Host/Affinity.h"

#include <algorithm>
#include <cpuid.h>
#include <cstdio>
#include <cstdlib>
#include <set>

namespace tilewright::runtime {

/// Stores the properties of a data or unified cache in `machine`. `ways` and `line` are 0 if they are unknown.
static void setCacheLevel(MachineDescription &machine, int level, int64_t bytes, int cpus, int64_t ways, int64_t line) {
  if (bytes <= 0)
    return;
  if (level == 1) {
    machine.l1dBytes = bytes;
    if (ways > 0 && line > 0 && bytes % (ways * line) == 0) {
      machine.l1dWays = ways;
      machine.lineBytes = line;
    }
  }
  if (level == 2)
    machine.l2Bytes = bytes;
  if (level == 3) {
    machine.l3Bytes = bytes;
    machine.l3Cpus = std::max(1, cpus);
  }
}

/// Reads the CPUID leaf of the deterministic cache parameters (4 on Intel, 0x8000001D on AMD; the formats are equal).
/// Returns false if the CPU does not have the leaf, or if the leaf lists no data or unified cache.
static bool readCacheLeaf(unsigned leaf, MachineDescription &machine) {
  bool found = false;
  for (unsigned index = 0; index < 16; ++index) {
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (!__get_cpuid_count(leaf, index, &a, &b, &c, &d))
      return found;
    unsigned type = a & 0x1F, level = (a >> 5) & 7;
    if (type == 0)
      return found;
    if (type == 2) // an instruction cache
      continue;
    int64_t ways = (b >> 22) + 1, partitions = ((b >> 12) & 0x3FF) + 1, line = (b & 0xFFF) + 1,
            lineSets = int64_t(c) + 1;
    setCacheLevel(machine, int(level), ways * partitions * line * lineSets, int((a >> 14) & 0xFFF) + 1, ways, line);
    found = true;
  }
  return found;
}

/// Returns the first line of a file in sysfs, or an empty string if the file cannot be read.
static std::string readSystemLine(const std::string &path) {
  char line[256] = "";
  if (FILE *file = fopen(path.c_str(), "re")) {
    if (!fgets(line, sizeof line, file))
      line[0] = 0;
    fclose(file);
  }
  std::string text = line;
  while (!text.empty() && text.back() == '\n')
    text.pop_back();
  return text;
}

static std::string systemCpuFolder(int cpu) { return "/sys/devices/system/cpu/cpu" + std::to_string(cpu); }

static void readSystemCaches(MachineDescription &machine) {
  std::vector<int> cpus = allowedCpus();
  std::string folder = systemCpuFolder(cpus.empty() ? 0 : cpus.front()) + "/cache/index";
  for (int index = 0; index < 8; ++index) {
    std::string prefix = folder + std::to_string(index) + "/";
    std::string size = readSystemLine(prefix + "size"), type = readSystemLine(prefix + "type");
    if (size.empty() || type == "Instruction")
      continue;
    char *unit = nullptr;
    int64_t bytes = strtoll(size.c_str(), &unit, 10);
    bytes *= *unit == 'K' ? 1024 : *unit == 'M' ? 1024 * 1024 : 1;
    auto number = [&](const char *file) { return int(strtol(readSystemLine(prefix + file).c_str(), nullptr, 10)); };
    setCacheLevel(machine, number("level"), bytes, 1, number("ways_of_associativity"), number("coherency_line_size"));
  }
}

void describeCaches(MachineDescription &machine) {
  if (!readCacheLeaf(4, machine) && !readCacheLeaf(0x8000001D, machine))
    readSystemCaches(machine);
}

/// Returns the number of cores to which the CPUs `cpus` belong.
static int coresOf(const std::vector<int> &cpus) {
  std::set<std::string> cores;
  for (int cpu : cpus) {
    std::string topology = systemCpuFolder(cpu) + "/topology/";
    std::string core = readSystemLine(topology + "core_id");
    // A CPU whose topology cannot be read is counted as a separate core.
    cores.insert(core.empty() ? "cpu" + std::to_string(cpu)
                              : readSystemLine(topology + "physical_package_id") + ":" + core);
  }
  return std::max(1, int(cores.size()));
}

void describeCpus(MachineDescription &machine) {
  // Each compilation calls this function several times, and counting the cores reads two files per CPU. Cache the
  // result, which changes only with the affinity.
  thread_local std::vector<int> known;
  thread_local int cores = 0;
  std::vector<int> cpus = allowedCpus();
  if (cores == 0 || cpus != known) {
    cores = coresOf(cpus);
    known = std::move(cpus);
  }
  machine.logicalCpus = allowedCpuCount();
  machine.physicalCores = cores;
}

} // namespace tilewright::runtime
