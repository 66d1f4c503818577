//===- Jit.h - machine code in this process -------------------------------===//
//
//   LLVM module --compileToObject--> object code --Jit::addObject--> linked --lookup--> function pointer
//
// Object code is plain ELF and goes through the disk cache; compiling and loading are therefore apart. A Jit holds
// the code of one artifact: kernels of two models may have the same names. Names are visible to perf with
// TILEWRIGHT_PERF_MAP=1 and to gdb with TILEWRIGHT_DEBUGGER=1.
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

/// A function or datum of the host that generated code may refer to by name.
struct HostSymbol {
  std::string name;
  void *address = nullptr;
};

class Jit {
public:
  ~Jit();

  /// An empty Jit. Generated code finds `symbols`, the math and memory functions of kernelSymbols(), then whatever
  /// the process exports.
  static llvm::Expected<std::unique_ptr<Jit>> create(llvm::ArrayRef<HostSymbol> symbols = {});

  /// Adds an ELF object for the host. It is linked at the first lookup of one of its names.
  llvm::Error addObject(std::unique_ptr<llvm::MemoryBuffer> object);

  /// The address of an exported symbol, valid as long as this Jit lives. The error says which name is missing, and
  /// who refers to it.
  llvm::Expected<void *> lookup(llvm::StringRef name);

  /// The same for several names at once, in their order; much cheaper than one by one.
  llvm::Expected<std::vector<void *>> lookupAll(llvm::ArrayRef<std::string> names);

private:
  Jit();
  struct Session;
  std::unique_ptr<Session> session;
};

/// What kernels may call besides each other: memcpy and its kin, single and double precision math, and the
/// conversions of half and bfloat16 that LLVM leaves to a library.
llvm::ArrayRef<HostSymbol> kernelSymbols();

} // namespace tilewright::runtime

#endif
