//===- LibraryCall.h - call a library on given or random tensors --------------------------===//
#ifndef TILEWRIGHT_TOOLS_TILEWRIGHT_LIBRARYCALL_H
#define TILEWRIGHT_TOOLS_TILEWRIGHT_LIBRARYCALL_H

#include "NpyFile.h"
#include "ProfileTable.h"
#include "mlir/IR/MLIRContext.h"
#include "tilewright/LoadedLibrary.h"

namespace tilewright::driver {

/// The sources of the inputs of a call. makeInputs() describes the fields.
struct LibraryInputs {
  std::vector<std::string> files; ///< "NAME=x.npy" for each input; if empty, elements are random
  std::vector<int64_t> sizes;     ///< values of the symbolic sizes, for random elements
  uint64_t seed = 0;
};

class LibraryCall {
public:
  /// Loads the library at `path` and creates its inputs. `cpu` selects one of the CPUs for which the library contains
  /// code. If `cpu` is empty, the code of the first variant that this CPU supports is used. An error that an input
  /// causes names the input.
  static llvm::Expected<std::unique_ptr<LibraryCall>> prepare(llvm::StringRef path, const LibraryInputs &inputs,
                                                              int threads, const std::string &cpu);
  llvm::Error run();

  /// Starts to measure the times of steps in run().
  llvm::Error profile() { return library->profile(); }
  std::vector<ProfiledStep> steps();

  llvm::ArrayRef<HostTensor> outputs() const { return results; }
  llvm::ArrayRef<std::string> names() const { return resultNames; }

private:
  LibraryCall();
  llvm::Error readInputs(const LibraryInputs &inputs);
  llvm::Error makeOutputs();

  mlir::MLIRContext context; ///< owns the element types of the tensors
  LibraryManifest manifest;
  std::unique_ptr<LoadedLibrary> library;
  std::vector<HostTensor> tensors, results; ///< in the model's order
  std::vector<LibraryTensor> passedTensors, passedResults;
  std::vector<std::string> resultNames;
};

} // namespace tilewright::driver

#endif
