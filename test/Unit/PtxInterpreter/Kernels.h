//===- Kernels.h - builds and runs small kernels for tests --------------------------===//
#ifndef TILEWRIGHT_TEST_UNIT_PTXCHECK_KERNELS_H
#define TILEWRIGHT_TEST_UNIT_PTXCHECK_KERNELS_H

#include "tilewright/PtxChecker.h"

#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

namespace tilewright::ptx::test {

/// Returns a kernel `k` with the pointers `out` and `in` in %rd30 and %rd31. It declares predicates %p, and registers
/// %h, %r and %rd of 16, 32 and 64 bits.
inline std::string kernel(const std::string &body, const std::string &before = "") {
  return ".version 8.0\n.target sm_80\n.address_size 64\n" + before +
         "\n.visible .entry k(.param .u64 out, .param .u64 in) {\n"
         ".reg .pred %p<8>;\n.reg .b16 %h<16>;\n.reg .b32 %r<64>;\n.reg .b64 %rd<32>;\n"
         "ld.param.b64 %rd30, [out];\nld.param.b64 %rd31, [in];\n" +
         body + "\nret;\n}\n";
}

struct Outcome {
  Report report;
  std::vector<uint32_t> out;
  std::string error; ///< the reason why the kernel could not be run

  uint64_t count(Kind kind) const {
    uint64_t found = 0;
    for (const Finding &finding : report.findings)
      found += finding.kind == kind;
    return found;
  }
};

inline Outcome runText(const std::string &text, Launch launch = {}, size_t outWords = 1024,
                       std::vector<uint32_t> in = {}) {
  Outcome outcome;
  launch.kernel = "k";
  std::unique_ptr<Module> module = Module::read(text, "test.ptx", outcome.error);
  if (!module)
    return outcome;
  outcome.out.assign(outWords, 0);
  in.resize(std::max<size_t>(in.size(), 1));
  // Both buffers are aligned to 16 bytes, which vector accesses need.
  Memory memory;
  memory.add(outcome.out.data(), outcome.out.size() * 4, "out");
  memory.add(in.data(), in.size() * 4, "in");
  std::optional<Report> report =
      run(*module, memory, launch, {argument(outcome.out.data()), argument(in.data())}, outcome.error);
  if (report)
    outcome.report = *report;
  return outcome;
}
inline Outcome runBody(const std::string &body, Launch launch = {}, size_t outWords = 1024,
                       std::vector<uint32_t> in = {}, const std::string &before = "") {
  return runText(kernel(body, before), launch, outWords, std::move(in));
}
inline Launch threads(uint32_t count, uint32_t blocks = 1, uint64_t seed = 0) {
  Launch launch;
  launch.block = {count, 1, 1};
  launch.grid = {blocks, 1, 1};
  launch.seed = seed;
  return launch;
}
inline std::string readInput(const std::string &name) {
  std::ifstream file(std::string(TILEWRIGHT_PTX_INPUTS) + "/" + name);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

} // namespace tilewright::ptx::test

#endif
