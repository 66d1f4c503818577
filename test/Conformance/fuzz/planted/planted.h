//===- planted.h - which bug of test/Conformance/fuzz/planted is on -------===//
//
// Only the patches in this folder include this file. No build for users applies these patches.
#pragma once

#include <cstdlib>
#include <cstring>

inline bool planted(const char *name) {
  const char *chosen = std::getenv("FUZZ_PLANTED");
  return chosen && std::strcmp(chosen, name) == 0;
}
