//===- FakeDriver.h - test interface of the fake CUDA driver -----------------------------------===//
#ifndef TILEWRIGHT_TEST_UNIT_DRIVER_FAKEDRIVER_H
#define TILEWRIGHT_TEST_UNIT_DRIVER_FAKEDRIVER_H

#include "mlir/Parser/Parser.h"
#include "tilewright/Compiler.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "gtest/gtest.h"
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <string>
#include <vector>

namespace tilewright {

class FakeDriver {
public:
  /// Returns the driver that this process loads, with two devices.
  static FakeDriver &get() {
    static FakeDriver driver;
    return driver;
  }

  /// Changes settings; the syntax is that of TILEWRIGHT_FAKE_CUDA.
  void set(const std::string &settings) { entry<void (*)(const char *)>("fakeCudaSet")(settings.c_str()); }

  int64_t count(const char *function) { return report().getObject("calls")->getInteger(function).value_or(0); }
  int64_t launches(const char *kernel) { return report().getObject("launches")->getInteger(kernel).value_or(0); }

  /// Returns the resources that have not been released, as JSON.
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
    entry<int (*)(void *)>("cuCtxPushCurrent_v2")(contexts[0]); // torch does the same
  }
  template <class F> F entry(const char *name) { return reinterpret_cast<F>(dlsym(library, name)); }
  llvm::json::Object report() {
    return std::move(*llvm::cantFail(llvm::json::parse(entry<const char *(*)()>("fakeCudaReport")())).getAsObject());
  }

  void *library = nullptr, *contexts[2] = {};
};

/// A tensor in device memory, which is host memory in the fake driver.
template <class T> class DeviceTensor {
public:
  DeviceTensor(FakeDriver &fake, const std::vector<T> &values, int ordinal = 0)
      : fake(fake), address(fake.allocate(values.size() * sizeof(T), ordinal)), count(values.size()) {
    std::memcpy(data(), values.data(), count * sizeof(T));
  }
  ~DeviceTensor() { fake.free(address); }
  DeviceTensor(const DeviceTensor &) = delete;

  T *data() { return reinterpret_cast<T *>(address); }
  void set(const std::vector<T> &values) { std::memcpy(data(), values.data(), count * sizeof(T)); }
  std::vector<T> now() { return std::vector<T>(data(), data() + count); }
  /// Returns the elements after all work of the default stream has finished.
  std::vector<T> wait() {
    fake.synchronize(0);
    return now();
  }

private:
  FakeDriver &fake;
  uint64_t address;
  size_t count;
};

inline std::vector<float> numbers(size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i)
    values[i] = float(i) - 3;
  return values;
}

/// The caller of a program. The caller provides the stream and the scratch memory.
struct Caller final : CallersMemory {
  explicit Caller(FakeDriver &fake) : slab(fake, std::vector<float>(1 << 16, 0)) {}
  bool take(const std::vector<int32_t> &, RunError &) override { return true; }
  void release(const std::vector<int32_t> &) override {}
  uint64_t stream() override { return 0x10; }
  void *scratch(int64_t bytes) override {
    asked = bytes;
    return slab.data();
  }
  DeviceTensor<float> slab;
  int64_t asked = 0;
};

/// Runs programs of the target `cuda` on the fake driver.
class DriverTest : public ::testing::Test {
protected:
  void SetUp() override { fake.set("mended"); }
  void TearDown() override { fake.set("mended"); }

  std::shared_ptr<Program> compile(const char *graph, const std::string &device = "cuda", bool cudaGraph = false) {
    auto module = mlir::parseSourceString<mlir::ModuleOp>(graph, &session.context());
    EXPECT_TRUE(module);
    Options options;
    options.target = "cuda";
    options.own.set("device", device);
    options.own.setFlag("cuda_graph", cudaGraph);
    options.cache = false;
    llvm::Expected<std::shared_ptr<Program>> program = session.compile(*module, options);
    if (!program) {
      refusal = llvm::toString(program.takeError());
      return nullptr;
    }
    return *program;
  }

  bool run(Program &program, std::vector<const void *> inputs, std::vector<void *> outputs,
           CallersMemory *memory = nullptr, const uint64_t *versions = nullptr) {
    error = {};
    return program.run(inputs.data(), outputs.data(), nullptr, versions, 1, error, memory);
  }

  FakeDriver &fake = FakeDriver::get();
  Session session;
  RunError error;
  std::string refusal;
};

} // namespace tilewright

#endif
