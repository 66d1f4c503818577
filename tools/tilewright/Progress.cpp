//===- Progress.cpp - report the progress of a command ----------------------------------===//
//
// An example of the progress that a terminal shows:
//
//   [0.1 s] graph (znver5)
//   [0.4 s] structured (znver5)
//   ...
//   [2.9 s] resnet50.so 102.5 MB, resnet50.h 4.6 KB: 58 kernels, called 73 times, for znver5; weights 102.2 MB
//
// Test: test/Python/test_library.py
//
//===----------------------------------------------------------------------===//
#include "Progress.h"
#include "lib/Interfaces/NumberText.h"
#include "tilewright/LoadedLibrary.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"

namespace tilewright::driver {

Progress::Progress() : shown(llvm::sys::Process::StandardErrIsDisplayed()), start(std::chrono::steady_clock::now()) {}

void Progress::done(llvm::StringRef what) const {
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  if (shown)
    llvm::errs() << numberText("[%.1f s] ", seconds.count()) << what << "\n";
}

static std::string sizeText(int64_t bytes) {
  std::string text;
  llvm::raw_string_ostream out(text);
  if (bytes < 1000)
    out << bytes << " bytes";
  else if (bytes < 1000000)
    out << numberText("%.1f KB", double(bytes) / 1e3);
  else
    out << numberText("%.1f MB", double(bytes) / 1e6);
  return text;
}

llvm::Error Progress::summary(llvm::StringRef path) const {
  if (!shown)
    return llvm::Error::success();
  llvm::Expected<LibraryManifest> manifest = readManifest(path);
  if (!manifest)
    return manifest.takeError();
  std::string text;
  for (const LibraryManifest::File &file : manifest->files)
    text += (text.empty() ? "" : ", ") + file.name + " " + sizeText(file.bytes);
  for (const LibraryManifest::Variant &variant : manifest->variants) {
    int64_t calls = 0;
    for (const LibraryManifest::Kernel &kernel : variant.kernels)
      calls += kernel.calls;
    text += (&variant == manifest->variants.data() ? ": " : "; ") + std::to_string(variant.kernels.size()) +
            " kernels, called " + std::to_string(calls) + " times, for " + variant.cpu;
  }
  done(text + "; weights " + sizeText(manifest->weightBytes));
  return llvm::Error::success();
}

} // namespace tilewright::driver
