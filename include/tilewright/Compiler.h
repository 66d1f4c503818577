//===- Compiler.h - Session: compiles a module with options to a Program -----===//
//
// The input is a module whose function @main consists of `tw` ops. include/tilewright/GraphBuilder.h builds one from
// the nodes of a torch graph. The arguments of @main are the symbolic sizes (`index`, attributes tw.symbol, tw.min,
// tw.max), followed by the tensors. Tensors marked tw.static are parameters and buffers. Every tensor is dense and
// row-major in the dimension order of its type. If a caller's tensor is a permutation of a dense one, the caller passes
// the permuted type and adds a tw.permute.
// permuted type and adds a tw.permute.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_COMPILER_H
#define TILEWRIGHT_COMPILER_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "tilewright/CallersMemory.h"
#include "tilewright/RunError.h"
#include "tilewright/TargetOptions.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace tilewright {

/// Compile options that all targets have. docs/reference/options.md has the corresponding keys of `options=` in
/// torch.compile and flags of the CLI.
struct Options {
  std::string target = "cpu";     ///< a registered target: cpu, cuda, hls, reference, or a plug-in's
  std::string cpu = "native";     ///< a value of TILEWRIGHT_CPU
  TargetValues own;               ///< values of the options that the target declares
  std::string rounding = "fused"; ///< "fused": no rounding between fused ops; "eager": results are rounded as in eager
  std::string dumpDirectory;      ///< folder for the IR of every stage; later graphs: graph-1, ... in it; empty: none
  std::string scheduleFile; ///< the user's schedules, JSON (lib/Codegen/CPU/Schedule/OverrideSchedules.cpp) or .mlir
                            ///< (ApplyScripts.cpp)
  bool cache = true;        ///< use the object cache on disk
  std::string startAt;      ///< stage to whose end the module is already lowered; empty: the module is a graph
  std::string check;        ///< "reference": every call compares each kernel with the reference; empty: no
  int threads = 0;          ///< number of threads to plan for; 0: all threads that the process may use
  /// Use of measured schedules (Tuner.h). "records" uses the schedules in `records`. "strict" makes a kernel that can
  /// be tuned but has no record an error. "off" uses no measured schedules. "stamp", for the tuner itself, annotates
  /// kernels with their spaces and keys.
  std::string tune = "records";
  std::string records;        ///< folder of the records; empty: defaultRecordsFolder()
  bool deterministic = false; ///< true: tuned schedules keep the default's order of sums, so no bit of a result changes
  /// If true, calls do not check sizes: the caller guarantees that the size guards hold (torch.compile checks them).
  bool sizesHold = false;
  /// True: the code uses only the instruction sets of the machine description, no other CPU features.
  bool portable = false;
};

/// A decision of a pass, as text for users.
struct Decision {
  std::string kind; ///< "fusion", "quantize", "pack" or "vectorize" (dialects/Graph/Decisions.h)
  bool done = false;
  std::string subject; ///< the ops that the decision concerns
  std::string reason;  ///< reason why the optimization is not applied
  std::string where;   ///< the user's file:line
};

struct CompileReport {
  int64_t operations = 0, kernels = 0, distinctKernels = 0, cachedKernels = 0;
  std::vector<std::pair<std::string, double>> stageMilliseconds; ///< milliseconds of each stage, in order
  std::vector<Decision> decisions;
  std::vector<std::string> stepLines; ///< the user's file:line of each step that can fail at run time; else empty
  std::string cache;                  ///< "hit: ...", "miss: ..." or "off: ...", with the reason
  std::vector<std::string> warnings;  ///< for the user, each reported once per process
};

/// A step of a compiled graph in a profile.
struct KernelTime {
  std::string kernel;      ///< name of the kernel in the object code; "" for a copy
  std::string operations;  ///< the operations that the kernel computes
  std::string schedule;    ///< the kernel's schedule, such as "tiles 128x48"
  int64_t nanoseconds = 0; ///< sum over all threads and all calls
  int64_t flops = 0;       ///< operations of the kernel's contractions
  int64_t bytes = 0;       ///< bytes of the buffers that the kernel reads or writes
  int64_t kept = 0;        ///< the part of `bytes` that no step of the call writes: weights, constants, arguments
};

/// A program calls this function when it has packed input `input`, whose elements are at `data`, and reads the input
/// only in packed form. The function returns true if it has released the memory of the input. In this case, the caller
/// passes a null pointer and the version `number` for the input in every later call, and keeps the packed copies
/// `packs` alive as long as the input exists.
using ReleaseInput = std::function<bool(size_t input, const void *data, uint64_t number,
                                        std::vector<std::shared_ptr<const void>> packs)>;

/// Memory and a clock of the device on which a program runs, for measurements. Functions that return false or null set
/// the reason in `error`.
class DeviceTimer {
public:
  virtual ~DeviceTimer() = default;
  /// Returns `bytes` bytes of the device's memory, which the DeviceTimer frees when it is destroyed.
  virtual void *allocate(int64_t bytes, RunError &error) = 0;
  virtual bool copyIn(void *to, const void *from, int64_t bytes, RunError &error) = 0;
  virtual bool copyOut(void *to, const void *from, int64_t bytes, RunError &error) = 0;
  /// Replaces the contents of the device's caches, calls `call`, and waits until the device has finished the work of
  /// the call. `nanoseconds` is the time that the device needed for this work.
  virtual bool time(const std::function<bool(RunError &)> &call, double &nanoseconds, RunError &error) = 0;
};

/// A compiled graph. Thread-safe: calls may run concurrently.
class Program {
public:
  virtual ~Program() = default;

  /// Runs the graph on `inputs` (the tensors, in order) and writes `outputs`, which the caller has allocated dense and
  /// row-major. `symbols` has one value per symbolic size. `versions`, if not null, has one version counter per input.
  /// `threads` is the maximum number of threads. `memory`, if not null, allocates outputs and frees inputs while the
  /// program runs; the pointer of an output is then read after memory->take() has set it. Returns false with the reason
  /// in `error`.
  virtual bool run(const void *const *inputs, void *const *outputs, const int64_t *symbols, const uint64_t *versions,
                   int threads, RunError &error, CallersMemory *memory) = 0;

  /// Returns true if a call packs nothing and launches only one kernel, which runs on one thread and accesses at most a
  /// few kilobytes of memory. A caller that holds a lock, such as Python's GIL, may keep it during such a call.
  virtual bool isBrief() const { return false; }

  /// Makes the next call pack all parameters again, except those whose memory was released.
  virtual void repack() = 0;

  /// Starts to pack parameters in a separate thread; the first run() packs the rest. A null pointer in `inputs` means
  /// that the input is not available yet. The memory of `inputs` must stay valid until endPackAhead() or run() returns.
  virtual void packAhead(const void *const *inputs, const uint64_t *versions) {}
  virtual void endPackAhead() {}

  /// Enables or disables the timing of each step. Must not be called while a call is running. If a target does not
  /// support it, times() stays empty.
  virtual void profile(bool) {}
  /// Returns the times of the steps since profile(true). `flops` and `bytes` are those of one call with these symbols.
  virtual std::vector<KernelTime> times(const int64_t *symbols) { return {}; }

  /// Returns a timer of the device that runs the program. Returns null if the host runs it. Returns null with a reason
  /// in `error` if the device has not enough memory.
  virtual std::unique_ptr<DeviceTimer> deviceTimer(RunError &) { return nullptr; }

  /// Returns, for each input, true if it is packed and read only in packed form. Returns an empty list if the program
  /// packs no inputs.
  virtual std::vector<bool> packedInputs() const { return {}; }

  /// Sets the callback for packed inputs, before the first call. The callback is called only for inputs for which
  /// packedInputs() is true.
  virtual void onPacked(ReleaseInput release) { (void)release; }

  /// Returns the number of bytes of the packed parameters that are now in memory.
  virtual int64_t packedBytes() { return 0; }

  CompileReport report;
};

/// Reports that the compiler received a fatal signal, failed an assertion or ran out of memory, which is a bug in
/// Tilewright. The thread has stopped without releasing anything, and may still access the module. Therefore the
/// caller must leak the module instead of destroying it. The session leaks its own state.
class CompilerCrash : public llvm::ErrorInfo<CompilerCrash> {
public:
  static char ID;
  explicit CompilerCrash(std::string what) : what(std::move(what)) {}
  void log(llvm::raw_ostream &os) const override;
  std::error_code convertToErrorCode() const override { return llvm::inconvertibleErrorCode(); }

  std::string what; ///< "signal 11 (segmentation fault) in stage structured"
};

/// Returns true if a compiler in this process has crashed: compile() and lowerTo() then fail immediately.
bool compilerHasCrashed();

/// Sets a handler that receives the message of a crash before compile() or lowerTo() returns it. A program that exits
/// after a crash can exit in the handler.
void onCompilerCrash(std::function<void(const std::string &message)> handler);

/// Runs `work`, the main function of a program, and handles crashes in it as compile() does. Returns the result of
/// `work`, or a nonzero number after a crash and its handler.
int runCaughtProgram(llvm::function_ref<int()> work);

/// A compiler with its MLIR context. Not thread-safe; create one per thread.
class Session {
public:
  Session();
  ~Session();
  mlir::MLIRContext &context();

  /// Returns false in a forked child of the process that created the session: the threads that run passes exist only in
  /// the parent. The child must neither compile with the session nor destroy it, but may create a new session.
  bool isOfThisProcess() const;

  /// Compiles @main of `module`, which is consumed stage by stage. Errors name the op, its types and the user's line.
  llvm::Expected<std::shared_ptr<Program>> compile(mlir::ModuleOp module, const Options &options);

  /// Lowers `module` in place to the end of `stage` (graph, structured, tiled, vector, target, runtime). `after` is
  /// called after each stage.
  llvm::Error lowerTo(mlir::ModuleOp module, llvm::StringRef stage, const Options &options,
                      llvm::function_ref<void(llvm::StringRef stage)> after = {});

private:
  llvm::Expected<std::shared_ptr<Program>> compileHere(mlir::ModuleOp module, const Options &options);
  llvm::Error lowerHere(mlir::ModuleOp module, llvm::StringRef stage, const Options &options,
                        llvm::function_ref<void(llvm::StringRef stage)> after);

  struct State;
  std::unique_ptr<State> state;
};

/// Returns an identifier of the build of the shared library that contains `address`: its build id, or if it has none,
/// its size and modification time.
std::string buildIdentity(const void *address);

/// Releases memory that compilation needs and execution does not: freed heap memory, and the pages with code and
/// constants of LLVM, MLIR and this library (decision 0009). The next compilation reads these pages from their files
/// again. Under a debugger the pages stay in memory, because otherwise its breakpoints would be lost.
void releaseCompilerMemory();

} // namespace tilewright

#endif
