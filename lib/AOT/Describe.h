//===- Describe.h - the constants of a library as an LLVM module -------------------===//
#ifndef TILEWRIGHT_LIB_AOT_DESCRIBE_H
#define TILEWRIGHT_LIB_AOT_DESCRIBE_H

#include "lib/AOT/Interface.h"
#include "tilewright/LoadedLibrary.h"
#include "llvm/IR/Module.h"

namespace tilewright::library {

/// The contents of a Variant (lib/Runtime/Library/Description.h), which is the plan and the code for one CPU.
struct VariantContents {
  std::string cpu;
  uint64_t instructionSets = 0;
  std::vector<uint8_t> plan;                    ///< serialized, without constants
  std::vector<LibraryManifest::Kernel> kernels; ///< kernels in the order of the plan
  std::string prefix;                           ///< prefix of the kernels' names in the object code
  std::vector<Weight> weights;
  bool packed = true; ///< true if weights are in the layout that kernels read; else create() packs them
};

/// The contents of a Description (lib/Runtime/Library/Description.h), except for the interface of the model.
struct Contents {
  std::vector<VariantContents> variants; ///< variants in descending order of the number of their instruction sets
  std::vector<uint8_t> weightData;       ///< the weights of all variants
  std::string weightsFile;               ///< empty if the weights are in the library
  std::vector<uint8_t> weightsId;
};

/// Returns a module that defines the functions that the library's header declares, and the Description that some of
/// these functions pass to the runtime.
std::unique_ptr<llvm::Module> describeLibrary(llvm::LLVMContext &context, const Interface &interface,
                                              const Contents &contents);

/// Returns the names of the functions that the library's header declares.
std::vector<std::string> exportedNames(const Interface &interface);

} // namespace tilewright::library

#endif
