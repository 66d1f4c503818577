//===- planted.h - which bug of test/Conformance/fuzz/planted is on -------===//
//
// Only code that bugs.patch adds includes this file. No build for users applies this patch.
#pragma once

#include <cstdlib>
#include <cstring>

inline bool planted(const char *name) {
  const char *chosen = std::getenv("FUZZ_PLANTED");
  return chosen && std::strcmp(chosen, name) == 0;
}
