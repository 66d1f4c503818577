//===- LoadedLibrary.h - a library of a model, read and called -----------------------===//
//
//   llvm::Expected<LibraryManifest> manifest = readManifest("model.so");
//   auto library = LoadedLibrary::load("model.so", *manifest);
//
// What is loaded is code. It has to be the file that its manifest names: a truncated or damaged library is refused
// before the system's loader sees it.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LOADEDLIBRARY_H
#define TILEWRIGHT_LOADEDLIBRARY_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tilewright {

/// <model>.json.
struct LibraryManifest {
  struct Symbol {
    std::string name;
    int64_t min = 0;
    std::optional<int64_t> max;
  };
  struct Tensor {
    std::string name, dtype;        ///< dtype by numpy's name, or "bfloat16"
    std::vector<std::string> sizes; ///< numbers, and names of symbols or expressions of them
    bool written = false;           ///< an input that a call writes
  };
  struct Kernel {
    std::string name, operations, schedule;
    int64_t calls = 0; ///< in a run of the model
  };
  struct Variant {
    std::string cpu; ///< that the code is for
    std::vector<std::string> instructionSets;
    std::vector<Kernel> kernels;
    bool weightsPacked = false;
  };
  struct File {
    std::string role, name, blake3; ///< role: "library", "header" or "weights"; blake3: 64 hexadecimal digits
    int64_t bytes = 0;
  };

  std::string model, target;
  std::string tilewrightVersion, llvmVersion;
  int64_t threads = 0, weightBytes = 0;
  std::vector<Symbol> symbols;
  std::vector<Tensor> inputs, outputs;
  std::vector<Variant> variants; ///< an instance takes the first that its CPU can run
  std::vector<File> files;
};

/// Reads the manifest of the library at `path`, or the one that `path` itself is (.json). Errors name the file, and the
/// place in it.
llvm::Expected<LibraryManifest> readManifest(llvm::StringRef path);

/// Whether the files of the manifest are beside it and have its bytes.
llvm::Error verifyFiles(const LibraryManifest &manifest, llvm::StringRef folder);

/// Of `sets`, those that this machine lacks.
std::vector<std::string> missingInstructionSets(llvm::ArrayRef<std::string> sets);

/// A tensor of a call: dense, row-major. `dtype` by its number in the generated header.
struct LibraryTensor {
  void *data = nullptr;
  int32_t dtype = 0;
  std::vector<int64_t> sizes;
};

/// A shared library of a model in this process, and one instance of the model.
class LoadedLibrary {
public:
  /// Verifies the files of `manifest`, loads `path` and makes an instance that runs on up to `threads` threads (0:
  /// all) the code for `cpu` (empty: the best that this CPU can run).
  static llvm::Expected<std::unique_ptr<LoadedLibrary>> load(llvm::StringRef path, const LibraryManifest &manifest,
                                                             int threads = 0, const std::string &cpu = "");
  ~LoadedLibrary();

  /// Dtypes and sizes of the outputs for inputs of these dtypes and sizes.
  llvm::Expected<std::vector<LibraryTensor>> shape(llvm::ArrayRef<LibraryTensor> inputs);

  /// Computes `outputs`, whose memory the caller has made.
  llvm::Error run(llvm::ArrayRef<LibraryTensor> inputs, llvm::ArrayRef<LibraryTensor> outputs);

private:
  struct Functions;
  LoadedLibrary();
  std::unique_ptr<Functions> functions;
};

} // namespace tilewright

#endif
