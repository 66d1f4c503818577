//===- FakeDriver.h - the fake CUDA driver as tests use it -------------------------------------===//
#ifndef TILEWRIGHT_TEST_UNIT_DRIVER_FAKEDRIVER_H
#define TILEWRIGHT_TEST_UNIT_DRIVER_FAKEDRIVER_H

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <string>
#include <vector>

namespace tilewright {

class FakeDriver {
public:
  /// The driver that the process opens, with two devices.
  static FakeDriver &get() {
    static FakeDriver driver;
    return driver;
  }

  /// As TILEWRIGHT_FAKE_CUDA.
  void set(const std::string &settings) { entry<void (*)(const char *)>("fakeCudaSet")(settings.c_str()); }

  int64_t count(const char *function) { return report().getObject("calls")->getInteger(function).value_or(0); }
  int64_t launches(const char *kernel) { return report().getObject("launches")->getInteger(kernel).value_or(0); }

  /// What is not given back.
  std::string held() {
    llvm::json::Object all = report();
    all.erase("calls");
    all.erase("launches");
    return llvm::formatv("{0}", llvm::json::Value(std::move(all))).str();
  }

  void synchronize(uintptr_t stream) { entry<int (*)(uintptr_t)>("cuStreamSynchronize")(stream); }

  uint64_t allocate(size_t bytes, int ordinal) {
    uint64_t address = 0;
    void *popped = nullptr;
    entry<int (*)(void *)>("cuCtxPushCurrent_v2")(contexts[ordinal]);
    entry<int (*)(uint64_t *, size_t)>("cuMemAlloc_v2")(&address, bytes);
    entry<int (*)(void **)>("cuCtxPopCurrent_v2")(&popped);
    return address;
  }
  void free(uint64_t address) { entry<int (*)(uint64_t)>("cuMemFree_v2")(address); }

private:
  FakeDriver() {
    setenv("TILEWRIGHT_LIBCUDA", TILEWRIGHT_FAKE_CUDA_LIBRARY, 1);
    setenv("TILEWRIGHT_FAKE_CUDA", "devices=2", 1);
    setenv("TILEWRIGHT_PTXAS", "off", 1);
    library = dlopen(TILEWRIGHT_FAKE_CUDA_LIBRARY, RTLD_NOW);
    if (!library)
      std::abort();
    entry<int (*)(unsigned)>("cuInit")(0);
    for (int ordinal : {0, 1})
      entry<int (*)(void **, int)>("cuDevicePrimaryCtxRetain")(&contexts[ordinal], ordinal);
    entry<int (*)(void *)>("cuCtxPushCurrent_v2")(contexts[0]); // as torch has it
  }
  template <class F> F entry(const char *name) { return reinterpret_cast<F>(dlsym(library, name)); }
  llvm::json::Object report() {
    return std::move(*llvm::cantFail(llvm::json::parse(entry<const char *(*)()>("fakeCudaReport")())).getAsObject());
  }

  void *library = nullptr, *contexts[2] = {};
};

/// Numbers in a device's memory, which is the host's.
template <class T> class DeviceTensor {
public:
  DeviceTensor(FakeDriver &fake, const std::vector<T> &values, int ordinal = 0)
      : fake(fake), address(fake.allocate(values.size() * sizeof(T), ordinal)), count(values.size()) {
    std::memcpy(data(), values.data(), count * sizeof(T));
  }
  ~DeviceTensor() { fake.free(address); }
  DeviceTensor(const DeviceTensor &) = delete;

  T *data() { return reinterpret_cast<T *>(address); }
  std::vector<T> now() { return std::vector<T>(data(), data() + count); }
  /// After the default stream's work.
  std::vector<T> wait() {
    fake.synchronize(0);
    return now();
  }

private:
  FakeDriver &fake;
  uint64_t address;
  size_t count;
};

} // namespace tilewright

#endif
