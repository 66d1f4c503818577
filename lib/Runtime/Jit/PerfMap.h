//===- PerfMap.h - names of generated code for perf -----------------------===//
//
// Linux perf reads the names of JIT-compiled functions from /tmp/perf-<pid>.map. Each line has the form "address size
// name".
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_RUNTIME_JIT_PERFMAP_H
#define TILEWRIGHT_LIB_RUNTIME_JIT_PERFMAP_H

#include "llvm/ExecutionEngine/Orc/LinkGraphLinkingLayer.h"

namespace tilewright::runtime {

/// Appends a line to the map for each function that the JIT links. If the file cannot be written, no error is reported,
/// because the map is only a debugging aid, which the user enables with TILEWRIGHT_PERF_MAP=1.
class PerfMapPlugin : public llvm::orc::LinkGraphLinkingLayer::Plugin {
public:
  void modifyPassConfig(llvm::orc::MaterializationResponsibility &responsibility, llvm::jitlink::LinkGraph &graph,
                        llvm::jitlink::PassConfiguration &config) override;
  llvm::Error notifyFailed(llvm::orc::MaterializationResponsibility &) override { return llvm::Error::success(); }
  llvm::Error notifyRemovingResources(llvm::orc::JITDylib &, llvm::orc::ResourceKey) override {
    return llvm::Error::success();
  }
  void notifyTransferringResources(llvm::orc::JITDylib &, llvm::orc::ResourceKey, llvm::orc::ResourceKey) override {}
};

} // namespace tilewright::runtime

#endif
