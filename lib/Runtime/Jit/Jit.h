//===- Jit.h - load machine code into this process ------------------------===//
//
//   LLVM module --compileToObject--> object code --Jit::addObject--> linked --lookup--> function pointer
//
// The disk cache stores object code as ELF files, so compiling and loading are separate. A Jit holds the code of only
// one artifact, because kernels of two models may have the same names. TILEWRIGHT_PERF_MAP=1 makes the names visible to
// perf, and TILEWRIGHT_DEBUGGER=1 makes them visible to gdb.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_RUNTIME_JIT_JIT_H
#define TILEWRIGHT_LIB_RUNTIME_JIT_JIT_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

#include <memory>
#include <string>
#include <vector>

namespace tilewright::runtime {

/// A function or variable of the host process to which generated code may refer by name.
struct HostSymbol {
  std::string name;
  void *address = nullptr;
};

class Jit {
public:
  ~Jit();

  /// Creates an empty Jit. Generated code resolves names in `symbols`, then in the math and memory functions of
  /// kernelSymbols(), then in the symbols that the process exports.
  static llvm::Expected<std::unique_ptr<Jit>> create(llvm::ArrayRef<HostSymbol> symbols = {});

  /// Adds an ELF object for the host. It is linked at the first lookup of one of its names.
  llvm::Error addObject(std::unique_ptr<llvm::MemoryBuffer> object);

  /// Returns the address of an exported symbol, valid during the lifetime of this Jit. The error names the missing
  /// symbol and the code that refers to it.
  llvm::Expected<void *> lookup(llvm::StringRef name);

  /// Looks up several names at once and returns the addresses in their order. This is much cheaper than separate
  /// lookups.
  llvm::Expected<std::vector<void *>> lookupAll(llvm::ArrayRef<std::string> names);

private:
  Jit();
  struct Session;
  std::unique_ptr<Session> session;
};

/// Returns the library functions that kernels may call: memcpy and similar functions, math functions in single and
/// double precision, and the conversions of half and bfloat16 that LLVM lowers to library calls.
llvm::ArrayRef<HostSymbol> kernelSymbols();

} // namespace tilewright::runtime

#endif
