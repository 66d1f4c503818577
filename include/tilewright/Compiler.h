//===- Compiler.h - Session: a module and options in, a Program out ----------===//
//
// The way in is a module whose function @main speaks `tw` (include/tilewright/GraphBuilder.h makes one from torch's
// nodes). Its arguments are, first, the symbolic sizes (`index`, attributes tw.symbol, tw.min, tw.max), then the
// tensors; tensors marked tw.static are parameters and buffers. Every tensor is dense and row-major in its type's
// dimension order: a caller whose tensor is a permutation of a dense one passes the permuted type and a tw.permute.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_COMPILER_H
#define TILEWRIGHT_COMPILER_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "tilewright/CallersMemory.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace tilewright {

/// Everything a caller may choose. Names are those of `options=` in torch.compile and of the CLI's flags.
struct Options {
  std::string target = "cpu";     ///< a registered target: cpu, reference, hls, or a plug-in's
  std::string cpu = "native";     ///< as TILEWRIGHT_CPU
  std::string arch;               ///< of cuda: sm_80, sm_86, sm_89 or sm_90a; empty: the device's own, else sm_80
  std::string device;             ///< of cuda: "cuda", "cuda:1"; "emulated": on ptx-check's interpreter; empty: "cuda"
  bool cudaGraph = false;         ///< of cuda: repeated calls are put into a stream as one CUDA graph
  std::string rounding = "fused"; ///< "fused": no rounding between fused ops; "eager": as eager rounds
  std::string dumpDirectory;      ///< every stage's IR is written there, further graphs' into graph-1, ...; empty: no
  std::string
      scheduleFile;    ///< the user's schedules, JSON (lib/Tiled/OverrideSchedules.cpp) or .mlir (ApplyScripts.cpp)
  bool cache = true;   ///< look into the object cache on disk, and store there
  std::string startAt; ///< the module has been lowered to the end of this stage, which is not run; empty: it is a graph
  std::string check;   ///< "reference": every call compares each kernel with the reference; empty: no
  int threads = 0;     ///< to plan for; 0: as many as the process may use
  std::string part;    ///< of target hls: the device, as xcu280
  std::string budget;  ///< of target hls: what a design may use, as "dsp=2560,bram=2016"; empty: the device's
  std::string ports;   ///< of target hls: protocols of ports, as "x=stream s=axi_lite"; the others are axi_master
  bool rtl = false;    ///< of target hls: a design is Verilog, too
  /// Measured schedules (Tuner.h): "records" takes those of `records`, "strict" makes a kernel without one an error,
  /// "off" takes none, "stamp" is the tuner's own: kernels are told their spaces and keys.
  std::string tune = "records";
  std::string records;        ///< their folder; empty: defaultRecordsFolder()
  bool deterministic = false; ///< tuned schedules sum in the default's order: no bit of a result changes
  std::string weights; ///< of target hls: "embedded" in the design, "external" as its ports; empty: by their size
  /// Sizes of the graph are known to fit at every call (torch.compile's guards say so): none are checked.
  bool sizesHold = false;
  bool portable = false; ///< code for every CPU with the machine's instruction sets, and not for the host alone
};

/// One decision of kernel formation or scheduling, for people.
struct Decision {
  bool fused = false;
  std::string subject; ///< the ops it is about
  std::string reason;
  std::string where; ///< the user's file:line
};

struct CompileReport {
  int64_t operations = 0, kernels = 0, distinctKernels = 0, cachedKernels = 0;
  std::vector<std::pair<std::string, double>> stageMilliseconds; ///< in order
  std::vector<Decision> decisions;
  std::vector<std::string> stepLines; ///< the user's file:line of each step that may fail at a call; else ""
  std::string cache;                  ///< "hit: ...", "miss: ..." or "off: ...", with the reason
  std::vector<std::string> warnings;  ///< for the user, each told once per process
};

/// A step of a compiled graph in a profile.
struct KernelTime {
  std::string kernel;      ///< its name in the object code; "" for a copy
  std::string operations;  ///< what it computes
  std::string schedule;    ///< its tile sizes
  int64_t nanoseconds = 0; ///< of all threads together, of all calls
  int64_t flops = 0;       ///< of its contractions
  int64_t bytes = 0;       ///< of the buffers it reads or writes
  int64_t kept = 0;        ///< of those, what no step of the call made: weights, constants, arguments
};

/// Told by a program that input `input`, at `data`, has been packed and that nothing else of the program reads it.
/// True: the caller has released the memory. It then passes a null pointer and `number` as the version at every call,
/// and holds `packs` as long as the input lives.
using ReleaseInput = std::function<bool(size_t input, const void *data, uint64_t number,
                                        std::vector<std::shared_ptr<const void>> packs)>;

/// A compiled graph. Thread-safe: any number of calls may run at once.
class Program {
public:
  virtual ~Program() = default;

  /// Runs on `inputs` (the tensors, in order) into `outputs`, which the caller has allocated dense and row-major.
  /// `symbols` has one value per symbolic size; `versions`, when not null, one version counter per input.
  /// `threads` is the most to use. `memory`, when not null, is a caller that makes results and gives back arguments
  /// while the program runs: pointers of outputs are read after memory->take() has set them. Returns false and says why
  /// in `error`.
  virtual bool run(const void *const *inputs, void *const *outputs, const int64_t *symbols, const uint64_t *versions,
                   int threads, std::string &error, CallersMemory *memory) = 0;

  /// Forget all packed parameters; they are packed anew at the next call.
  virtual void repack() = 0;

  /// Begins to pack parameters in a thread of its own; the first run() goes on from there. A null input is not known
  /// yet. What `inputs` point to has to stay until endPackAhead() or a run() has returned.
  virtual void packAhead(const void *const *inputs, const uint64_t *versions) {}
  virtual void endPackAhead() {}

  /// From now on calls are timed step by step (true), or no longer. Not while a call is under way. A target that
  /// cannot leaves times() empty.
  virtual void profile(bool) {}
  /// What the steps took since profile(true); flops and bytes are of one call with these symbols.
  virtual std::vector<KernelTime> times(const int64_t *symbols) { return {}; }

  /// Per input: it is packed, and no kernel reads it otherwise. Empty: this program packs nothing.
  virtual std::vector<bool> packedInputs() const { return {}; }

  /// Set before the first call; only inputs of which packedInputs() is true are asked about.
  virtual void onPacked(ReleaseInput release) { (void)release; }

  /// Bytes of packed parameters now held.
  virtual int64_t packedBytes() { return 0; }

  CompileReport report;
};

/// The compiler met a fatal signal, an assertion or the end of memory, a mistake of Tilewright's. Its thread stands
/// still with what it held: what it was given (the module, and the session) must be leaked, not destroyed.
class CompilerCrash : public llvm::ErrorInfo<CompilerCrash> {
public:
  static char ID;
  explicit CompilerCrash(std::string what) : what(std::move(what)) {}
  void log(llvm::raw_ostream &os) const override;
  std::error_code convertToErrorCode() const override { return llvm::inconvertibleErrorCode(); }

  std::string what; ///< "signal 11 (segmentation fault) in stage structured"
};

/// Whether a compiler of this process has crashed: none compiles any more, compile() and lowerTo() fail at once.
bool compilerHasCrashed();

/// Called with a crash's message before compile() or lowerTo() returns it: a program that ends then anyway ends here.
void onCompilerCrash(std::function<void(const std::string &message)> handler);

/// Runs a whole program's work like that: what it returns, or after a crash and its handler a number that is not 0.
int runCaughtProgram(llvm::function_ref<int()> work);

/// A compiler with its MLIR context. Not thread-safe; make one per thread.
class Session {
public:
  Session();
  ~Session();
  mlir::MLIRContext &context();

  /// False in a child that was forked from the process that made it: the threads that passes run on stayed in the
  /// parent. There it neither compiles nor may be destroyed; the child makes one of its own.
  bool isOfThisProcess() const;

  /// Compiles @main of `module`, which is consumed stage by stage. Errors name the op, its types and the user's line.
  llvm::Expected<std::shared_ptr<Program>> compile(mlir::ModuleOp module, const Options &options);

  /// Lowers `module` to the end of `stage` (graph, structured, tiled, vector, target, runtime) in place. `after` is
  /// told of each stage that has run.
  llvm::Error lowerTo(mlir::ModuleOp module, llvm::StringRef stage, const Options &options,
                      llvm::function_ref<void(llvm::StringRef stage)> after = {});

private:
  llvm::Expected<std::shared_ptr<Program>> compileHere(mlir::ModuleOp module, const Options &options);
  llvm::Error lowerHere(mlir::ModuleOp module, llvm::StringRef stage, const Options &options,
                        llvm::function_ref<void(llvm::StringRef stage)> after);

  struct State;
  std::unique_ptr<State> state;
};

/// What tells one build of the shared library around `address` from another: its build id, else its size and time.
std::string buildIdentity(const void *address);

/// Gives back what compiling took and running does not need: freed heap memory, and the pages of LLVM's, MLIR's and
/// this library's code and constants, some 100 MiB, which come back from their files when something is compiled again.
/// The pages stay under a debugger, whose breakpoints would be lost.
void releaseCompilerMemory();

} // namespace tilewright

#endif
