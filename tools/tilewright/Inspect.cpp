//===- Inspect.cpp - tilewright inspect model.so: describe a library --------------------===//
//
// This command prints the contents of a library's manifest: inputs, outputs, symbolic sizes, weights, kernels and the
// required CPU. It reports whether this CPU can run the library, and checks that the files next to the manifest belong
// to the same compilation.
//
// Test: test/Tools/inspect.test
//
//===----------------------------------------------------------------------===//
#include "Commands.h"
#include "tilewright/LoadedLibrary.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

namespace cl = llvm::cl;

namespace tilewright::driver {
namespace {

struct InspectFlags {
  cl::OptionCategory category{"Flags of inspect"};
  cl::opt<std::string> input{cl::Positional, cl::desc("<model.so or model.json>"), cl::Required, cl::cat(category)};
  cl::opt<bool> kernels{"kernels", cl::desc("print one line for each kernel"), cl::cat(category)};
};

int failInspect(llvm::Error error) {
  llvm::errs() << "tilewright inspect: " << llvm::toString(std::move(error)) << "\n";
  return 1;
}

void printTensors(llvm::StringRef what, llvm::ArrayRef<LibraryManifest::Tensor> tensors) {
  for (const LibraryManifest::Tensor &tensor : tensors)
    llvm::outs() << llvm::left_justify(what, 9) << tensor.name << ": " << tensor.dtype << "["
                 << llvm::join(tensor.sizes, ", ") << "]" << (tensor.written ? ", written by a call" : "") << "\n";
}

void printVariant(const LibraryManifest::Variant &variant, const LibraryManifest &manifest, bool kernels) {
  llvm::raw_ostream &out = llvm::outs();
  std::vector<std::string> missing = missingInstructionSets(variant.instructionSets);
  out << "cpu      " << variant.cpu << ": " << llvm::join(variant.instructionSets, " ") << "\n";
  out << "         " << (missing.empty() ? "this CPU has all of them" : "this CPU lacks " + llvm::join(missing, " "))
      << (manifest.weightBytes == 0 ? ""
          : variant.weightsPacked   ? "; the weights are stored in packed form"
                                    : "; the weights are packed when an instance is created")
      << "\n";
  int64_t calls = 0;
  for (const LibraryManifest::Kernel &kernel : variant.kernels)
    calls += kernel.calls;
  out << "kernels  " << variant.kernels.size() << ", called " << calls << " times, planned for " << manifest.threads
      << " threads\n";
  if (kernels)
    for (const LibraryManifest::Kernel &kernel : variant.kernels)
      out << "  " << kernel.name << "  " << kernel.calls << " x  " << kernel.operations
          << (kernel.schedule.empty() ? "" : "  [" + kernel.schedule + "]") << "\n";
}

void printManifest(const LibraryManifest &manifest, bool kernels) {
  llvm::raw_ostream &out = llvm::outs();
  out << "model    " << manifest.model << ", for the target " << manifest.target << ", by tilewright "
      << manifest.tilewrightVersion << " on LLVM " << manifest.llvmVersion << "\n";
  printTensors("input", manifest.inputs);
  printTensors("output", manifest.outputs);
  for (const LibraryManifest::Symbol &symbol : manifest.symbols)
    out << "size     " << symbol.name << ": " << symbol.min << " or more"
        << (symbol.max ? ", at most " + std::to_string(*symbol.max) : "") << "\n";
  out << "weights  " << manifest.weightBytes << " bytes\n";
  for (const LibraryManifest::Variant &variant : manifest.variants)
    printVariant(variant, manifest, kernels);
  for (const LibraryManifest::File &file : manifest.files)
    out << llvm::left_justify(file.role, 9) << file.name << ", " << file.bytes << " bytes\n";
}

} // namespace

int runInspect(int argc, const char *const *argv) {
  cl::ResetCommandLineParser();
  InspectFlags flags;
  cl::HideUnrelatedOptions(flags.category);
  if (!cl::ParseCommandLineOptions(argc, argv, "Prints the manifest of a library.\n", &llvm::errs()))
    return 2;
  llvm::Expected<LibraryManifest> manifest = readManifest(flags.input);
  if (!manifest)
    return failInspect(manifest.takeError());
  printManifest(*manifest, flags.kernels);
  if (llvm::Error damaged = verifyFiles(*manifest, llvm::sys::path::parent_path(flags.input)))
    return failInspect(std::move(damaged));
  return 0;
}

} // namespace tilewright::driver
