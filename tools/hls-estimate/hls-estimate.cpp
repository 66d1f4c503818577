//===- hls-estimate.cpp - estimates designs that JSON files describe -----===//
//
// The program prints one line of JSON for each design. The exit status is 0 if all designs were estimated, and 2 if no
// file is given or a file could not be read.
//
// Test: test/Python/test_hls_estimate.py
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/HLS/Estimate/Estimate.h"
#include "tools/hls-estimate/ReadFacts.h"
#include <cstdio>
#include <string_view>

using namespace tilewright::hls;

int main(int argc, char **argv) {
  const bool asked = argc == 2 && (std::string_view(argv[1]) == "--help" || std::string_view(argv[1]) == "-h");
  if (argc < 2 || asked) {
    fprintf(asked ? stdout : stderr, "usage: hls-estimate DESIGNS.json...\nEstimates the cycles and resources of each "
                                     "design, and prints one line of JSON per design.\n");
    return asked ? 0 : 2;
  }
  for (int number = 1; number < argc; ++number) {
    std::vector<DesignFacts> designs;
    std::string error;
    if (!readFacts(argv[number], designs, error)) {
      fprintf(stderr, "hls-estimate: %s\n", error.c_str());
      return 2;
    }
    for (const DesignFacts &design : designs) {
      FactsEstimate its = estimateFacts(design);
      printf("{\"name\":\"%s\",\"cycles\":%lld,\"dsp\":%lld,\"bram\":%lld,\"uram\":%lld,\"lut\":%lld,\"ff\":%lld,"
             "\"operators\":{",
             design.name.c_str(), static_cast<long long>(its.cycles), static_cast<long long>(its.dsp),
             static_cast<long long>(its.bram), static_cast<long long>(its.uram), static_cast<long long>(its.lut),
             static_cast<long long>(its.ff));
      const char *comma = "";
      for (const auto &[name, count] : its.operators) {
        printf("%s\"%s\":%lld", comma, name.c_str(), static_cast<long long>(count));
        comma = ",";
      }
      printf("}}\n");
    }
  }
  return 0;
}
