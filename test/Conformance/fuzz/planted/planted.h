//===- planted.h - which bug of test/Conformance/fuzz/planted is on -------===//
//
// Only the patches beside this file include it, and nothing that is built for users applies them.
#pragma once

#include <cstdlib>
#include <cstring>

inline bool planted(const char *name) {
  const char *chosen = std::getenv("FUZZ_PLANTED");
  return chosen && std::strcmp(chosen, name) == 0;
}
