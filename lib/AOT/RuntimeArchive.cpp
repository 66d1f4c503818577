//===- RuntimeArchive.cpp - the embedded runtime of libraries ----------------------===//
//
// The static archive with the runtime of ahead-of-time libraries is embedded in libTilewright, so that it is always
// available. CMake passes the path of the archive in TILEWRIGHT_RUNTIME_ARCHIVE.
//
//===----------------------------------------------------------------------===//
#include "lib/AOT/Link.h"

__asm__(".pushsection .rodata\n"
        ".balign 64\n"
        ".hidden tilewright_runtime_archive\n"
        ".hidden tilewright_runtime_archive_end\n"
        ".globl tilewright_runtime_archive\n"
        ".globl tilewright_runtime_archive_end\n"
        "tilewright_runtime_archive:\n"
        ".incbin \"" TILEWRIGHT_RUNTIME_ARCHIVE "\"\n"
        "tilewright_runtime_archive_end:\n"
        ".byte 0\n"
        ".popsection\n");

extern "C" __attribute__((visibility("hidden"))) const char tilewright_runtime_archive[];
extern "C" __attribute__((visibility("hidden"))) const char tilewright_runtime_archive_end[];

namespace tilewright::library {

llvm::StringRef runtimeArchive() {
  return {tilewright_runtime_archive, size_t(tilewright_runtime_archive_end - tilewright_runtime_archive)};
}

} // namespace tilewright::library
