//===- LoadedLibrary.h - loads and calls a library of a model ------------------------===//
//
//   llvm::Expected<LibraryManifest> manifest = readManifest("model.so");
//   auto library = LoadedLibrary::load("model.so", *manifest);
//
// Loading a library executes code. Therefore the file must be the one that the manifest describes: a truncated or
// damaged library is rejected before the system's loader reads it.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LOADEDLIBRARY_H
#define TILEWRIGHT_LOADEDLIBRARY_H

#include "dialects/Graph/Dtype.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tilewright {

/// The contents of <model>.json.
struct LibraryManifest {
  struct Symbol {
    std::string name;
    int64_t min = 0;
    std::optional<int64_t> max;
  };
  struct Tensor {
    std::string name, dtype;        ///< `dtype` is numpy's name, or "bfloat16"
    std::vector<std::string> sizes; ///< numbers, symbols, or expressions of symbols
    bool written = false;           ///< true if a call writes this input
  };
  struct Kernel {
    std::string name, operations, schedule;
    int64_t calls = 0; ///< number of launches of the kernel in one run of the model
  };
  struct Variant {
    std::string cpu; ///< the CPU that the code was compiled for
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
  std::vector<Variant> variants; ///< by default, an instance uses the first one that its CPU supports
  std::vector<File> files;
};

/// Reads the manifest of the library at `path`; `path` may also be the manifest (.json). Errors name the file, and the
/// position in it.
llvm::Expected<LibraryManifest> readManifest(llvm::StringRef path);

/// Returns an error unless `folder` has all files of the manifest with the recorded contents.
llvm::Error verifyFiles(const LibraryManifest &manifest, llvm::StringRef folder);

/// Returns the names in `sets` of instruction sets that this machine does not support.
std::vector<std::string> missingInstructionSets(llvm::ArrayRef<std::string> sets);

/// A tensor of a call, dense and row-major. Its dtype must be a TW_LIBRARY_DTYPE of Dtypes.def; these dtypes have the
/// same numbers in ScalarType and in the generated C header.
struct LibraryTensor {
  void *data = nullptr;
  ScalarType dtype = ScalarType::F32;
  std::vector<int64_t> sizes;
};

/// A shared library of a model, loaded into this process, and one instance of the model.
class LoadedLibrary {
public:
  /// Verifies the files of `manifest`, loads `path` and creates an instance that uses up to `threads` threads (0: all)
  /// and the code for `cpu` (empty: the first variant that this CPU supports).
  static llvm::Expected<std::unique_ptr<LoadedLibrary>> load(llvm::StringRef path, const LibraryManifest &manifest,
                                                             int threads = 0, const std::string &cpu = "");
  ~LoadedLibrary();

  /// Returns the dtypes and sizes of the outputs for inputs with these dtypes and sizes.
  llvm::Expected<std::vector<LibraryTensor>> shape(llvm::ArrayRef<LibraryTensor> inputs);

  /// Starts to measure the time of each step of run(). Returns an error if an older version of Tilewright wrote the
  /// library.
  llvm::Error profile();

  /// A step of a run: a kernel or a copy.
  struct Step {
    std::string operations; ///< operations of the model that the step computes, with their lines
    double seconds = 0;     ///< sum of the times on all threads and in all runs since profile()
  };
  std::vector<Step> steps();

  /// Computes `outputs`, whose memory the caller has allocated.
  llvm::Error run(llvm::ArrayRef<LibraryTensor> inputs, llvm::ArrayRef<LibraryTensor> outputs);

private:
  struct Functions;
  LoadedLibrary();
  std::unique_ptr<Functions> functions;
};

} // namespace tilewright

#endif
