//===- NvtxRanges.cpp - calls and kernels as ranges of NVIDIA's profilers ----------===//
//
// Test: test/Python/test_nvtx.py
//
//===----------------------------------------------------------------------===//
#include "python/module/NvtxRanges.h"

#include <dlfcn.h>
#include <map>
#include <mutex>
#include <stdexcept>

namespace tilewright::python {

const NvtxLibrary *NvtxLibrary::open(const std::string &path) {
  static std::mutex mutex;
  static std::map<std::string, NvtxLibrary> opened;
  std::lock_guard lock(mutex);
  if (auto found = opened.find(path); found != opened.end())
    return &found->second;
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *why = dlerror();
    throw std::runtime_error("tilewright: the NVTX library cannot be opened: " + std::string(why ? why : path.c_str()));
  }
  NvtxLibrary made;
  made.push = reinterpret_cast<int (*)(const char *)>(dlsym(library, "nvtxRangePushA"));
  made.pop = reinterpret_cast<int (*)()>(dlsym(library, "nvtxRangePop"));
  if (!made.push || !made.pop)
    throw std::runtime_error("tilewright: '" + path +
                             "' is not an NVTX library: it has no functions nvtxRangePushA and nvtxRangePop");
  return &opened.emplace(path, made).first->second;
}

} // namespace tilewright::python
