//===- ptx-check.cpp - run a kernel of a PTX file without a GPU, and check it --------------===//
//
// The exit status is 0 if the kernel ran without errors, 1 if the interpreter found errors, and 2 if the kernel could
// not be run or a file could not be written.
//
//===----------------------------------------------------------------------===//
#include "tools/ptx-check/LaunchFile.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sstream>

using namespace tilewright::ptx;

namespace {

constexpr const char *kUsage =
    "usage: ptx-check KERNEL.ptx --args LAUNCH.json [--seed N] [--json]\n"
    "       ptx-check KERNEL.ptx --list\n"
    "Runs a kernel on this machine's CPU and reports races, accesses out of bounds and similar errors.\n"
    "  --args FILE  describes the launch: grid, block, buffers, arguments (docs/targets/ptx-check.md)\n"
    "  --seed N     selects another execution order of blocks and warps\n"
    "  --json       prints the report as JSON\n"
    "  --list       lists the kernels of the file with their parameters\n"
    "Exit status: 0 if no errors were found, 1 if errors were found, 2 if the kernel could not be run or a "
    "file could not be written.\n";

int refuse(const std::string &why) {
  fprintf(stderr, "ptx-check: %s\n", why.c_str());
  return 2;
}

int list(const Module &module) {
  for (const std::string &kernel : module.kernels()) {
    printf("%s\n", kernel.c_str());
    const auto parameters = *module.parameters(kernel);
    for (const Parameter &parameter : parameters)
      printf("  %s: %llu bytes\n", parameter.name.c_str(), static_cast<unsigned long long>(parameter.bytes));
  }
  return 0;
}

} // namespace

int main(int count, char **values) {
  std::string file, args, seed;
  bool json = false, listed = false;
  for (int i = 1; i < count; ++i) {
    std::string word = values[i];
    if (word == "--help" || word == "-h") {
      fputs(kUsage, stdout);
      return 0;
    }
    if (word == "--json")
      json = true;
    else if (word == "--list")
      listed = true;
    else if (word == "--args" || word == "--seed") {
      if (++i == count)
        return refuse(word + " needs a value\n" + kUsage);
      (word == "--args" ? args : seed) = values[i];
    } else if (word[0] == '-' || !file.empty())
      return refuse("unknown argument '" + word + "'\n" + kUsage);
    else
      file = word;
  }
  if (file.empty() || (args.empty() && !listed))
    return refuse(std::string("a PTX file and --args are required\n") + kUsage);
  std::ifstream stream(file);
  if (!stream)
    return refuse(file + ": cannot be read");
  std::stringstream text;
  text << stream.rdbuf();
  std::string error;
  std::unique_ptr<Module> module = Module::read(text.str(), file, error);
  if (!module)
    return refuse(error);
  if (listed)
    return list(*module);
  LaunchFile launch;
  if (!readLaunchFile(args, launch, error))
    return refuse(error);
  if (!seed.empty()) {
    char *end = nullptr;
    launch.launch.seed = strtoull(seed.c_str(), &end, 10);
    if (*end)
      return refuse("--seed must be a number, not '" + seed + "'");
  }
  if (launch.launch.kernel.empty()) {
    if (module->kernels().size() != 1)
      return refuse(args + ": 'kernel' is missing, but the PTX file does not contain exactly one kernel");
    launch.launch.kernel = module->kernels()[0];
  }
  std::optional<Report> report = run(*module, launch.memory, launch.launch, launch.arguments, error);
  if (!report)
    return refuse(error);
  fputs(json ? (report->json() + "\n").c_str() : report->text().c_str(), stdout);
  for (LaunchFile::Buffer &buffer : launch.buffers) {
    std::copy_n(buffer.data(), buffer.array.bytes.size(), buffer.array.bytes.begin());
    if (!buffer.out.empty() && !writeNpy(buffer.out, buffer.array, error))
      return refuse(error);
  }
  return report->findings.empty() && report->finished ? 0 : 1;
}
