//===- Target.h - what a machine must say to be compiled for ------------------------===//
//
// A tenant implements Target and is registered by name, in the house or by a plug-in. It shares the graph and
// structured stages with all others; from the tiled stage on it may use the house's passes or its own.
//
//   class MyTarget : public tilewright::Target { ... };
//   tilewright::registerTarget(std::make_unique<MyTarget>());
//
// A plug-in is a shared library that exports `tilewrightRegisterTarget`, an extern "C" function of no arguments that
// calls registerTarget; TILEWRIGHT_PLUGINS lists such libraries, separated by colons.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_TARGET_H
#define TILEWRIGHT_TARGET_H

#include "tilewright/Compiler.h"
#include "tilewright/Pipelines.h"

namespace mlir {
class OpPassManager;
}

namespace tilewright {

/// A file of a design folder.
struct DesignFile {
  std::string path; ///< inside the folder, with '/'
  std::string text;
};

class Target {
public:
  virtual ~Target();

  /// The name in options and on the command line.
  virtual llvm::StringRef name() const = 0;

  /// Checks and completes `options` (the machine, for cpu); the error says what is wrong and what is possible.
  virtual llvm::Error configure(Options &options) = 0;

  /// Whether it runs on a device beside the host, which `Options::arch` and `Options::device` choose.
  virtual bool hasDevices() const { return false; }

  /// What the object cache has to know of the machine: two equal keys run each other's code.
  virtual std::string machineKey(const Options &options) = 0;
  /// What measured times depend on: tuning records hold where it is the same.
  virtual std::string recordKey(const Options &options) { return machineKey(options); }
  /// What of machineKey() is in no record: rates that the default schedules follow from. Records stay when they are
  /// measured anew.
  virtual std::string ratesKey(const Options &) { return ""; }

  /// In front of the graph stage: what the target has no code for becomes what it has.
  virtual void buildGraph(mlir::OpPassManager &, const Options &) {}
  /// What a kernel may hold.
  virtual KernelLimits kernelLimits() const { return {}; }
  /// After kernel formation: select and apply schedules.
  virtual void buildTiled(mlir::OpPassManager &pm, const Options &options) = 0;
  /// Memrefs and vectors; @main becomes the plan.
  virtual void buildVector(mlir::OpPassManager &pm, const Options &options) = 0;
  /// Down to what emit() reads.
  virtual void buildLowering(mlir::OpPassManager &pm, const Options &options) = 0;

  /// The lowered module as bytes that load() reads back, maybe in another process.
  virtual llvm::Expected<std::string> emit(mlir::ModuleOp module, const Options &options) = 0;
  /// A program from what emit() gave.
  virtual llvm::Expected<std::shared_ptr<Program>> load(llvm::StringRef artifact, const Options &options) = 0;
  /// Text of the lowered module in the machine's own language (assembly), for people.
  virtual llvm::Expected<std::string> print(mlir::ModuleOp module, const Options &options) = 0;

  /// True for a target that makes source text for another tool instead of a program: it has files(), and emit() and
  /// load() refuse.
  virtual bool makesFiles() const { return false; }
  /// The lowered module as files of a design folder, in no order.
  virtual llvm::Expected<std::vector<DesignFile>> files(mlir::ModuleOp module, const Options &options);
};

/// Adds a target; one of the same name replaces the older.
void registerTarget(std::unique_ptr<Target> target);

/// The target of that name, or null. The house's are there from the first call on, and those of TILEWRIGHT_PLUGINS.
Target *findTarget(llvm::StringRef name, std::string &error);

/// The target of `options`, which it has checked and completed.
llvm::Expected<Target *> configuredTarget(Options &options);

/// " (did you mean 'x'?)" for the name in `known` that is nearest to `name`; empty when none is near.
std::string suggestName(llvm::StringRef name, llvm::ArrayRef<std::string> known);

/// Names of all targets.
std::vector<std::string> targetNames();

/// The house's tenants.
std::unique_ptr<Target> createCpuTarget();
std::unique_ptr<Target> createReferenceTarget();
std::unique_ptr<Target> createHlsTarget();
std::unique_ptr<Target> createCudaTarget();
/// As reference, but in the kernels' own precision; not in the list of targets, see lib/Compiler/CompareKernels.h.
std::unique_ptr<Target> createPlainTarget();

} // namespace tilewright

#endif
