//===- Target.h - the interface of targets ------------------------------------------===//
//
// A target implements Target and is registered by name, in this project or by a plug-in. The graph and structured
// stages are common to all targets; from the tiled stage on a target may use the project's passes or its own.
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
} // namespace mlir

namespace tilewright {

/// A file of a design folder.
struct DesignFile {
  std::string path; ///< inside the folder, with '/'
  std::string text;
};

class Target {
public:
  virtual ~Target();

  /// Returns the name in options and on the command line.
  virtual llvm::StringRef name() const = 0;

  /// Returns the options that only this target has. A name in Options::own that is not among them is rejected before
  /// configure() is called.
  virtual llvm::SmallVector<TargetOption> options() const { return {}; }

  /// Checks and completes `options` (the machine, for cpu); the error states the problem and the valid values.
  virtual llvm::Error configure(Options &options) = 0;

  /// Returns true if the target runs on a device other than the host.
  virtual bool hasDevices() const { return false; }

  /// Returns true if the tuner can run and measure programs of this target on this machine.
  virtual bool canMeasure(const Options &) { return false; }

  /// Returns the machine's part of the key of the object cache: machines with equal keys can run each other's code.
  virtual std::string machineKey(const Options &options) = 0;
  /// Returns a key of the properties on which measured times depend. Tuning records are valid on all machines with an
  /// equal key.
  virtual std::string recordKey(const Options &options) { return machineKey(options); }
  /// Returns the rates on which the default schedules depend. They are part of machineKey(), but not of recordKey(), so
  /// records stay valid if the rates are measured again.
  virtual std::string ratesKey(const Options &) { return ""; }

  /// Adds passes before the graph stage. They replace ops for which this target cannot generate code by ops for which
  /// it can.
  virtual void buildGraph(mlir::OpPassManager &, const Options &) {}
  /// Returns the workers among which the graph stage divides the keys of attention.
  virtual KeyWorkers keyWorkers(const Options &options) const { return {options.threads}; }
  /// Returns the limits of kernel formation.
  virtual KernelLimits kernelLimits(const Options &) const { return {}; }
  /// Adds passes after kernel formation that select and apply schedules.
  virtual void buildTiled(mlir::OpPassManager &pm, const Options &options) = 0;
  /// Returns true if the passes of buildTiled() do not change kernels that have a schedule. The tuner then takes
  /// kernels from the IR after these passes, which may have created, split and merged kernels, and runs the passes
  /// again with other schedules. Otherwise, the tuner takes kernels from the IR before these passes.
  virtual bool keepsScheduledKernels() const { return false; }
  /// Adds passes that convert to memrefs and vectors, and that turn @main into the plan.
  virtual void buildVector(mlir::OpPassManager &pm, const Options &options) = 0;
  /// Adds passes that lower to the input of emit().
  virtual void buildLowering(mlir::OpPassManager &pm, const Options &options) = 0;

  /// Returns the dialects whose ops may remain after `stage` ("vector" or "target"), for the verifier of stages. An
  /// empty list means the dialects of the target cpu.
  virtual llvm::SmallVector<std::string> dialectsAfter(llvm::StringRef stage) const { return {}; }

  /// Returns the lowered module as bytes that load() reads, possibly in another process.
  virtual llvm::Expected<std::string> emit(mlir::ModuleOp module, const Options &options) = 0;
  /// Does a part of the work of load() in advance, possibly in another process. For example, it assembles the code for
  /// a device.
  virtual llvm::Error prepareToLoad(llvm::StringRef, const Options &) { return llvm::Error::success(); }
  /// Returns the program of an artifact of emit().
  virtual llvm::Expected<std::shared_ptr<Program>> load(llvm::StringRef artifact, const Options &options) = 0;
  /// Returns the lowered module as text in the machine's language (assembly), for users.
  virtual llvm::Expected<std::string> print(mlir::ModuleOp module, const Options &options) = 0;

  /// Returns true for a target that writes source text for another tool instead of a program: it implements files(),
  /// and emit() and load() return errors.
  virtual bool makesFiles() const { return false; }
  /// Returns the lowered module as files of a design folder, in any order.
  virtual llvm::Expected<std::vector<DesignFile>> files(mlir::ModuleOp module, const Options &options);
};

/// Adds a target. If a target of the same name exists, the new target replaces it.
void registerTarget(std::unique_ptr<Target> target);

/// Returns the target of that name, or null with a reason in `error`. The built-in targets and those of
/// TILEWRIGHT_PLUGINS are registered at the first call.
Target *findTarget(llvm::StringRef name, std::string &error);

/// Lets the target check and complete `options`, after a check that it declares all values in Options::own.
llvm::Error configure(Target &target, Options &options);

/// Returns the target of `options` after it has checked and completed them.
llvm::Expected<Target *> configuredTarget(Options &options);

/// Returns " (did you mean 'x'?)" for the name in `known` that is most similar to `name`. Returns "" if none is
/// similar.
std::string suggestName(llvm::StringRef name, llvm::ArrayRef<std::string> known);

/// Returns the names of all targets.
std::vector<std::string> targetNames();

/// An option and the name of the target that declares it.
struct DeclaredOption {
  std::string target;
  TargetOption option;
};
/// Returns the options of all targets, in the order of targetNames().
std::vector<DeclaredOption> targetOptions();

/// The built-in targets.
std::unique_ptr<Target> createCpuTarget();
std::unique_ptr<Target> createReferenceTarget();
std::unique_ptr<Target> createHlsTarget();
std::unique_ptr<Target> createCudaTarget();
/// Creates a target like `reference` that computes in the precision of the kernels. This target is not in the list of
/// targets (lib/Driver/CompareKernels.h).
std::unique_ptr<Target> createPlainTarget();

} // namespace tilewright

#endif
