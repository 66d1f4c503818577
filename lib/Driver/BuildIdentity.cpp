//===- BuildIdentity.cpp - identify the build of a loaded library -----------===//
//
// The identity of a build is the linker's build id, a hash of the library in a note of the loaded image. If the image
// has no build id, the file's size and modification time are used.
//
// Test: test/Unit/Driver/BuildIdentityTest.cpp
//
//===----------------------------------------------------------------------===//
#include "lib/Driver/CompileCache.h"
#include "llvm/ADT/StringExtras.h"
#include <dlfcn.h>
#include <link.h>
#include <sys/stat.h>

namespace tilewright {
namespace {

struct BuildIdSearch {
  uintptr_t address;
  std::string id;
};

/// Returns the build id that the notes of an ELF segment contain, or an empty string.
std::string buildIdIn(const char *notes, size_t size) {
  auto padded = [](size_t n) { return (n + 3) / 4 * 4; };
  for (size_t at = 0; at + sizeof(ElfW(Nhdr)) <= size;) {
    auto *note = reinterpret_cast<const ElfW(Nhdr) *>(notes + at);
    size_t name = at + sizeof *note, value = name + padded(note->n_namesz);
    if (value + note->n_descsz > size)
      break;
    if (note->n_type == NT_GNU_BUILD_ID && llvm::StringRef(notes + name, note->n_namesz) == llvm::StringRef("GNU\0", 4))
      return llvm::toHex(llvm::StringRef(notes + value, note->n_descsz), /*LowerCase=*/true);
    at = value + padded(note->n_descsz);
  }
  return "";
}

int visitImage(dl_phdr_info *image, size_t, void *data) {
  auto &search = *static_cast<BuildIdSearch *>(data);
  bool inside = false;
  std::string id;
  for (int i = 0; i < image->dlpi_phnum; ++i) {
    const ElfW(Phdr) &segment = image->dlpi_phdr[i];
    uintptr_t begin = image->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD)
      inside |= search.address >= begin && search.address < begin + segment.p_memsz;
    else if (segment.p_type == PT_NOTE && id.empty())
      id = buildIdIn(reinterpret_cast<const char *>(begin), segment.p_memsz);
  }
  if (inside)
    search.id = id;
  return inside;
}
} // namespace

std::string buildIdentity(const void *address) {
  BuildIdSearch search{reinterpret_cast<uintptr_t>(address), ""};
  dl_iterate_phdr(visitImage, &search);
  if (!search.id.empty())
    return search.id;
  Dl_info info;
  struct stat status;
  if (!dladdr(address, &info) || !info.dli_fname || stat(info.dli_fname, &status) != 0)
    return "unknown";
  return std::to_string(status.st_size) + "@" + std::to_string(status.st_mtim.tv_sec) + "." +
         std::to_string(status.st_mtim.tv_nsec);
}

} // namespace tilewright
