//===- CompilerPages.cpp - release memory that only compiling needs ----------------===//
//
// If the code of a loaded image has no relocations, the segments without write permission equal the contents of the
// file, so the operating system can discard their pages at any time. This file requests that with madvise() for the
// images of LLVM, MLIR and Tilewright. Writable segments contain relocated pointers, and are not discarded.
//
// Test: test/Unit/Driver/CompilerPagesTest.cpp
//
//===----------------------------------------------------------------------===//
#include "tilewright/Compiler.h"
#include "llvm/ADT/StringRef.h"
#include <cstdlib>
#include <fstream>
#include <link.h>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace tilewright {
namespace {

bool isTraced() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (llvm::StringRef pid = line; pid.consume_front("TracerPid:"))
      return pid.trim() != "0";
  return true; // unknown
}

/// Returns true if the image has relocations in its code segment (DT_TEXTREL).
bool hasTextRelocations(const dl_phdr_info &image, const ElfW(Phdr) & segment) {
  for (auto *entry = reinterpret_cast<const ElfW(Dyn) *>(image.dlpi_addr + segment.p_vaddr); entry->d_tag != DT_NULL;
       ++entry)
    if (entry->d_tag == DT_TEXTREL || (entry->d_tag == DT_FLAGS && (entry->d_un.d_val & DF_TEXTREL)))
      return true;
  return false;
}

int dropImage(dl_phdr_info *image, size_t, void *) {
  llvm::StringRef path = image->dlpi_name, file = path.substr(path.rfind('/') + 1);
  if (!file.starts_with("libLLVM") && !file.starts_with("libMLIR") && !file.starts_with("libTilewright"))
    return 0;
  for (int i = 0; i < image->dlpi_phnum; ++i)
    if (image->dlpi_phdr[i].p_type == PT_DYNAMIC && hasTextRelocations(*image, image->dlpi_phdr[i]))
      return 0;
  auto page = uintptr_t(sysconf(_SC_PAGESIZE));
  for (int i = 0; i < image->dlpi_phnum; ++i) {
    const ElfW(Phdr) &segment = image->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W))
      continue;
    uintptr_t begin = (image->dlpi_addr + segment.p_vaddr + page - 1) / page * page;
    uintptr_t end = (image->dlpi_addr + segment.p_vaddr + segment.p_filesz) / page * page;
    if (begin < end)
      madvise(reinterpret_cast<void *>(begin), end - begin, MADV_DONTNEED); // a hint, whose failure is ignored
  }
  return 0;
}
} // namespace

void releaseCompilerMemory() {
  if (!isTraced())
    dl_iterate_phdr(dropImage, nullptr);
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

} // namespace tilewright
