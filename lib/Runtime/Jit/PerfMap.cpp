//===- PerfMap.cpp - names of generated code for perf ---------------------===//
#include "lib/Runtime/Jit/PerfMap.h"

#include "llvm/ExecutionEngine/JITLink/JITLink.h"

#include <cinttypes>
#include <cstdio>
#include <fcntl.h>
#include <unistd.h>

namespace tilewright::runtime {

static llvm::Error writePerfLines(llvm::jitlink::LinkGraph &graph) {
  std::string path = "/tmp/perf-" + std::to_string(getpid()) + ".map";
  // Any user may write to /tmp, so do not follow a symbolic link there.
  int descriptor = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0644);
  FILE *file = descriptor >= 0 ? fdopen(descriptor, "a") : nullptr;
  if (!file)
    return llvm::Error::success();
  for (llvm::jitlink::Symbol *symbol : graph.defined_symbols())
    if (symbol->isCallable() && symbol->hasName())
      fprintf(file, "%" PRIx64 " %" PRIx64 " %s\n", symbol->getAddress().getValue(), uint64_t(symbol->getSize()),
              (*symbol->getName()).str().c_str());
  fclose(file);
  return llvm::Error::success();
}

void PerfMapPlugin::modifyPassConfig(llvm::orc::MaterializationResponsibility &, llvm::jitlink::LinkGraph &,
                                     llvm::jitlink::PassConfiguration &config) {
  config.PostFixupPasses.push_back(writePerfLines);
}

} // namespace tilewright::runtime
