//===- Entries.cpp - the functions of the fake driver ---------------------------------------===//
//
// The signatures follow NVIDIA's "CUDA Driver API" reference.
//
//===----------------------------------------------------------------------===//
#include "test/FakeCuda/Fake.h"
#include "tilewright/PtxTensorMap.h"

#include <cstdio>
#include <cstring>
#include <optional>

using namespace fake;
namespace ptx = tilewright::ptx;

namespace {
uintptr_t streamOf(void *stream) { return reinterpret_cast<uintptr_t>(stream); }
void *pointer(uint64_t address) { return reinterpret_cast<void *>(address); }

/// Returns true if a device of `capability` can run PTX text for the target that its .target directive names.
bool runsOn(const std::string &text, int capability) {
  const size_t at = text.find(".target sm_");
  if (at == std::string::npos)
    return false;
  int of = 0;
  char only = 0;
  std::sscanf(text.c_str() + at + 11, "%d%c", &of, &only);
  return only == 'a' ? of == capability : of <= capability;
}
} // namespace

ENTRY const char *fakeCudaReport() {
  static thread_local std::string text;
  std::lock_guard lock(Driver::get().mutex);
  return (text = Driver::get().report()).c_str();
}

ENTRY void fakeCudaSet(const char *settings) {
  Driver &driver = Driver::get();
  std::lock_guard lock(driver.mutex);
  driver.forgetCalls();
  driver.set(settings);
}

ENTRY Code cuInit(unsigned flags) {
  Call call("cuInit", false);
  if (call.code == success && call.driver.devices == 0)
    return noDevice;
  call.driver.initialized |= call.code == success && flags == 0;
  return call.code;
}

ENTRY Code cuDriverGetVersion(int *version) {
  *version = Driver::get().version;
  return success;
}

ENTRY Code cuDeviceGetCount(int *count) {
  Call call("cuDeviceGetCount", false);
  *count = call.driver.devices;
  return call.code;
}

ENTRY Code cuDeviceGet(int *device, int ordinal) {
  Call call("cuDeviceGet", false);
  if (ordinal < 0 || ordinal >= call.driver.devices)
    return invalidDevice;
  *device = ordinal;
  return call.code;
}

ENTRY Code cuDeviceGetName(char *name, int bytes, int) {
  std::snprintf(name, size_t(bytes), "%s", Driver::get().name.c_str());
  return success;
}

ENTRY Code cuDeviceGetAttribute(int *value, int attribute, int) {
  Call call("cuDeviceGetAttribute", false);
  Driver &driver = call.driver;
  switch (attribute) {
  case 75:
    *value = driver.major;
    return call.code;
  case 76:
    *value = driver.minor;
    return call.code;
  case 97: // CUDA C++ Programming Guide, technical specifications per compute capability
    *value = (driver.major >= 9 ? 227 : driver.minor == 0 ? 163 : 99) * 1024;
    return call.code;
  case 38: // the size of the L2 cache, which is less than the smallest buffer that DriverTimer writes
    *value = 1 << 20;
    return call.code;
  case 115:
    *value = driver.pools;
    return call.code;
  default:
    return invalidValue;
  }
}

ENTRY Code cuDevicePrimaryCtxRetain(Context **context, int device) {
  Call call("cuDevicePrimaryCtxRetain", false);
  if (call.code != success)
    return call.code;
  Context &primary = call.driver.contexts[device];
  primary.ordinal = device;
  ++primary.users;
  *context = &primary;
  return success;
}

ENTRY Code cuDevicePrimaryCtxRelease_v2(int device) {
  Call call("cuDevicePrimaryCtxRelease_v2", false);
  if (call.driver.contexts[device].users == 0)
    return invalidContext;
  --call.driver.contexts[device].users;
  return success;
}

ENTRY Code cuCtxGetCurrent(Context **context) {
  Call call("cuCtxGetCurrent", false);
  *context = call.driver.current();
  return call.code;
}

ENTRY Code cuCtxPushCurrent_v2(Context *context) {
  Call call("cuCtxPushCurrent_v2", false);
  if (!context)
    return invalidContext;
  call.driver.contextStack().push_back(context);
  return success;
}

ENTRY Code cuCtxPopCurrent_v2(Context **context) {
  Call call("cuCtxPopCurrent_v2", false);
  if (call.driver.contextStack().empty())
    return invalidContext;
  *context = call.driver.contextStack().back();
  call.driver.contextStack().pop_back();
  return success;
}

ENTRY Code cuModuleLoadDataEx(Module **module, const void *image, unsigned count, int *options, void **values) {
  Call call("cuModuleLoadDataEx");
  if (call.code != success)
    return call.code;
  std::string text(static_cast<const char *>(image)), error;
  // The tests' ptxas writes a cubin as this first line followed by the PTX.
  if (const std::string cubin = "fake cubin\n"; text.starts_with(cubin))
    text.erase(0, cubin.size());
  auto fresh = std::make_unique<Module>();
  if (!runsOn(text, call.driver.major * 10 + call.driver.minor))
    error = "the PTX is for another chip";
  else
    fresh->code = ptx::Module::read(text, "module.ptx", error);
  fresh->text = text;
  if (!fresh->code) {
    char *log = nullptr;
    size_t capacity = 0;
    for (unsigned i = 0; i < count; ++i)
      if (options[i] == 5)
        log = static_cast<char *>(values[i]);
      else if (options[i] == 6)
        capacity = reinterpret_cast<uintptr_t>(values[i]);
    if (log && capacity)
      std::snprintf(log, capacity, "%s", error.c_str());
    return invalidPtx;
  }
  fresh->context = call.driver.current();
  static size_t loaded = 0;
  fresh->number = loaded++;
  *module = fresh.get();
  call.driver.modules[*module] = std::move(fresh);
  return success;
}

ENTRY Code cuModuleUnload(Module *module) {
  Call call("cuModuleUnload");
  call.driver.drainAll();
  if (!call.driver.modules.count(module))
    return invalidHandle;
  std::erase_if(call.driver.functions, [&](auto &entry) { return entry.second->module == module; });
  call.driver.modules.erase(module);
  return call.code;
}

ENTRY Code cuModuleGetFunction(Function **function, Module *module, const char *name) {
  Call call("cuModuleGetFunction");
  if (call.code != success)
    return call.code;
  if (!call.driver.modules.count(module))
    return invalidHandle;
  if (!module->code->parameters(name))
    return notFound;
  auto fresh = std::make_unique<Function>();
  fresh->module = module;
  fresh->name = name;
  *function = fresh.get();
  call.driver.functions[*function] = std::move(fresh);
  return success;
}

ENTRY Code cuFuncSetAttribute(Function *function, int attribute, int value) {
  Call call("cuFuncSetAttribute");
  if (call.code != success)
    return call.code;
  int most = 0;
  cuDeviceGetAttribute(&most, 97, 0);
  if (!call.driver.functions.count(function))
    return invalidHandle;
  if (attribute != 8 || value < 0 || value > most)
    return invalidValue;
  function->dynamicShared = value;
  return success;
}

ENTRY Code cuLaunchKernel(Function *function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX,
                          unsigned blockY, unsigned blockZ, unsigned shared, void *stream, void **parameters,
                          void **extra) {
  Call call("cuLaunchKernel");
  if (call.code != success)
    return call.code;
  Work work;
  if (extra)
    return invalidValue;
  Code code = call.driver.prepare(function, {gridX, gridY, gridZ}, {blockX, blockY, blockZ}, shared, parameters, work);
  if (code == success)
    call.driver.put(streamOf(stream), std::move(work));
  return code;
}

ENTRY Code cuMemAlloc_v2(uint64_t *address, size_t bytes) {
  Call call("cuMemAlloc_v2");
  return call.code != success ? call.code : call.driver.allocate(bytes, call.driver.current()->ordinal, *address);
}

ENTRY Code cuMemFree_v2(uint64_t address) {
  Call call("cuMemFree_v2");
  call.driver.drainAll();
  Code code = call.driver.release(address, call.driver.current() ? call.driver.current()->ordinal : 0);
  return call.code != success ? call.code : code;
}

ENTRY Code cuMemAllocAsync(uint64_t *address, size_t bytes, void *) {
  Call call("cuMemAllocAsync");
  return call.code != success ? call.code : call.driver.allocate(bytes, call.driver.current()->ordinal, *address);
}

ENTRY Code cuMemFreeAsync(uint64_t address, void *stream) {
  Call call("cuMemFreeAsync");
  Driver &driver = call.driver;
  const int ordinal = driver.current() ? driver.current()->ordinal : 0;
  driver.put(streamOf(stream), [&driver, address, ordinal] { return driver.release(address, ordinal); });
  return call.code;
}

ENTRY Code cuDeviceGetDefaultMemPool(void **pool, int) {
  *pool = &Driver::get();
  return success;
}

ENTRY Code cuMemPoolSetAttribute(void *, int attribute, void *) { return attribute == 4 ? success : invalidValue; }

ENTRY Code cuMemHostAlloc(void **data, size_t bytes, unsigned) {
  Call call("cuMemHostAlloc");
  uint64_t address = 0;
  Code code = call.code != success ? call.code : call.driver.allocate(bytes, -1, address);
  *data = pointer(address);
  return code;
}

ENTRY Code cuMemFreeHost(void *data) {
  Call call("cuMemFreeHost");
  call.driver.drainAll();
  return call.driver.release(reinterpret_cast<uint64_t>(data), -1);
}

static bool isPinned(const Driver &driver, const void *data, size_t bytes) {
  const Allocation *allocation = driver.find(reinterpret_cast<uint64_t>(data), bytes);
  return allocation && allocation->ordinal < 0;
}

ENTRY Code cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *stream) {
  Call call("cuMemcpyHtoDAsync_v2");
  Driver &driver = call.driver;
  if (call.code != success)
    return call.code;
  if (!onDevice(driver, to, bytes))
    return invalidValue;
  if (isPinned(driver, from, bytes)) {
    driver.put(streamOf(stream), [=] {
      std::memcpy(pointer(to), from, bytes);
      return success;
    });
    return success;
  }
  const auto *data = static_cast<const uint8_t *>(from);
  driver.put(streamOf(stream), [to, staged = std::vector<uint8_t>(data, data + bytes)] {
    std::memcpy(pointer(to), staged.data(), staged.size());
    return success;
  });
  return success;
}

ENTRY Code cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *stream) {
  Call call("cuMemcpyDtoHAsync_v2");
  Driver &driver = call.driver;
  if (call.code != success)
    return call.code;
  if (!onDevice(driver, from, bytes))
    return invalidValue;
  const bool late = isPinned(driver, to, bytes);
  driver.put(streamOf(stream), [=] {
    std::memcpy(to, pointer(from), bytes);
    return success;
  });
  return late ? success : driver.drain(streamOf(stream));
}

ENTRY Code cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, void *stream) {
  Call call("cuMemcpyDtoDAsync_v2");
  Driver &driver = call.driver;
  if (call.code != success)
    return call.code;
  if (!onDevice(driver, to, bytes) || !onDevice(driver, from, bytes) || (to < from + bytes && from < to + bytes))
    return invalidValue;
  driver.put(streamOf(stream), [=] {
    std::memcpy(pointer(to), pointer(from), bytes);
    return success;
  });
  return success;
}

ENTRY Code cuMemsetD8Async(uint64_t to, unsigned char value, size_t bytes, void *stream) {
  Call call("cuMemsetD8Async");
  if (call.code != success)
    return call.code;
  if (!onDevice(call.driver, to, bytes))
    return invalidValue;
  // Large buffers are only written to replace the contents of caches, and tests do not read them. Write only a part of
  // such a buffer.
  constexpr size_t mostBytes = size_t(1) << 20;
  call.driver.put(streamOf(stream), [=] {
    std::memset(pointer(to), value, std::min(bytes, mostBytes));
    return success;
  });
  return success;
}

ENTRY Code cuStreamSynchronize(void *stream) {
  Call call("cuStreamSynchronize");
  return call.code != success ? call.code : call.driver.drain(streamOf(stream));
}

ENTRY Code cuStreamWaitEvent(void *stream, Event *event, unsigned) {
  Call call("cuStreamWaitEvent");
  Driver &driver = call.driver;
  if (call.code != success)
    return call.code;
  if (!driver.events.count(event))
    return invalidHandle;
  if (event->ticket)
    driver.put(streamOf(stream),
               [&driver, of = event->stream, ticket = event->ticket] { return driver.drain(of, ticket); });
  return success;
}

ENTRY Code cuEventCreate(Event **event, unsigned) {
  Call call("cuEventCreate");
  if (call.code != success)
    return call.code;
  auto fresh = std::make_unique<Event>();
  *event = fresh.get();
  call.driver.events[*event] = std::move(fresh);
  return success;
}

ENTRY Code cuEventDestroy_v2(Event *event) {
  Call call("cuEventDestroy_v2");
  return call.driver.events.erase(event) ? success : invalidHandle;
}

ENTRY Code cuEventRecord(Event *event, void *stream) {
  Call call("cuEventRecord");
  if (call.code != success)
    return call.code;
  if (!call.driver.events.count(event))
    return invalidHandle;
  event->stream = streamOf(stream);
  event->when = -1;
  event->ticket = call.driver.put(event->stream, [&driver = call.driver, event] {
    if (driver.events.count(event))
      event->when = driver.clock;
    return success;
  });
  event->asked = false;
  return success;
}

/// Reports an event whose work has not been executed as not ready at the first query. The second query executes the
/// work.
ENTRY Code cuEventQuery(Event *event) {
  Call call("cuEventQuery");
  if (call.code != success)
    return call.code;
  if (!call.driver.events.count(event))
    return invalidHandle;
  if (call.driver.streams[event->stream].done >= event->ticket)
    return success;
  if (!event->asked) {
    event->asked = true;
    return notReady;
  }
  return call.driver.drain(event->stream, event->ticket);
}

ENTRY Code cuEventSynchronize(Event *event) {
  Call call("cuEventSynchronize");
  if (!call.driver.events.count(event))
    return invalidHandle;
  Code code = call.driver.drain(event->stream, event->ticket);
  return call.code != success ? call.code : code;
}

ENTRY Code cuEventElapsedTime(float *milliseconds, Event *from, Event *to) {
  Call call("cuEventElapsedTime");
  if (call.code != success)
    return call.code;
  if (!call.driver.events.count(from) || !call.driver.events.count(to))
    return invalidHandle;
  if (from->when < 0 || to->when < 0)
    return notReady;
  *milliseconds = float((to->when - from->when) / 1e6);
  return success;
}

ENTRY Code cuPointerGetAttributes(unsigned count, int *attributes, void **values, uint64_t address) {
  Call call("cuPointerGetAttributes");
  if (call.code != success)
    return call.code;
  const Allocation *allocation = call.driver.find(address, 1);
  for (unsigned i = 0; i < count; ++i)
    if (attributes[i] == 2)
      *static_cast<uint32_t *>(values[i]) = !allocation ? 0 : allocation->ordinal < 0 ? 1 : 2;
    else if (attributes[i] == 9)
      *static_cast<int *>(values[i]) = allocation ? std::max(allocation->ordinal, 0) : 0;
    else
      return invalidValue;
  return success;
}

ENTRY Code cuTensorMapEncodeTiled(ptx::TensorMap *map, int element, uint32_t rank, void *base, const uint64_t *sizes,
                                  const uint64_t *strides, const uint32_t *box, const uint32_t *elementStrides,
                                  int interleave, int swizzle, int promotion, int fill) {
  Call call("cuTensorMapEncodeTiled");
  if (call.code != success)
    return call.code;
  if (reinterpret_cast<uintptr_t>(map) % 64 || element < 0 || element > 12 || rank < 1 || rank > 5 || interleave != 0 ||
      swizzle < 0 || swizzle > 3 || promotion < 0 || promotion > 3 || fill != 0)
    return invalidValue;
  for (uint32_t i = 0; i < rank; ++i)
    if (box[i] == 0 || box[i] > 256 || elementStrides[i] != 1 || sizes[i] == 0 || sizes[i] > uint64_t(1) << 32 ||
        (i + 1 < rank && (strides[i] % 16 || strides[i] >= uint64_t(1) << 40)))
      return invalidValue;
  constexpr uint8_t swizzles[] = {0, 32, 64, 128};
  *map = ptx::tensorMap(ptx::TensorMap::Element(element), base, std::vector<uint32_t>(sizes, sizes + rank),
                        std::vector<uint64_t>(strides, strides + rank - 1), std::vector<uint16_t>(box, box + rank),
                        swizzles[swizzle]);
  return map->problem().empty() ? success : invalidValue;
}

ENTRY Code cuTensorMapEncodeIm2col(ptx::TensorMap *map, int element, uint32_t rank, void *base, const uint64_t *sizes,
                                   const uint64_t *strides, const int *lower, const int *upper, uint32_t channels,
                                   uint32_t pixels, const uint32_t *elementStrides, int interleave, int swizzle,
                                   int promotion, int fill) {
  Call call("cuTensorMapEncodeIm2col");
  if (call.code != success)
    return call.code;
  if (reinterpret_cast<uintptr_t>(map) % 64 || element < 0 || element > 12 || rank < 3 || rank > 5 || interleave != 0 ||
      swizzle < 0 || swizzle > 3 || promotion < 0 || promotion > 3 || fill != 0)
    return invalidValue;
  for (uint32_t i = 0; i < rank; ++i)
    if (sizes[i] == 0 || sizes[i] > uint64_t(1) << 32 ||
        (i + 1 < rank && (strides[i] % 16 || strides[i] >= uint64_t(1) << 40)))
      return invalidValue;
  constexpr uint8_t swizzles[] = {0, 32, 64, 128};
  *map = ptx::windowMap(ptx::TensorMap::Element(element), base, std::vector<uint32_t>(sizes, sizes + rank),
                        std::vector<uint64_t>(strides, strides + rank - 1),
                        {std::vector<int>(lower, lower + rank - 2), std::vector<int>(upper, upper + rank - 2),
                         std::vector<uint32_t>(elementStrides, elementStrides + rank), channels, pixels},
                        swizzles[swizzle]);
  return map->problem().empty() ? success : invalidValue;
}

ENTRY Code cuGetErrorName(Code code, const char **name) {
  switch (code) {
#define NAME(number, text)                                                                                             \
  case number:                                                                                                         \
    *name = text;                                                                                                      \
    return success;
    NAME(1, "CUDA_ERROR_INVALID_VALUE")
    NAME(2, "CUDA_ERROR_OUT_OF_MEMORY")
    NAME(3, "CUDA_ERROR_NOT_INITIALIZED")
    NAME(100, "CUDA_ERROR_NO_DEVICE")
    NAME(101, "CUDA_ERROR_INVALID_DEVICE")
    NAME(201, "CUDA_ERROR_INVALID_CONTEXT")
    NAME(218, "CUDA_ERROR_INVALID_PTX")
    NAME(222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION")
    NAME(400, "CUDA_ERROR_INVALID_HANDLE")
    NAME(500, "CUDA_ERROR_NOT_FOUND")
    NAME(700, "CUDA_ERROR_ILLEGAL_ADDRESS")
    NAME(701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES")
#undef NAME
  default:
    return invalidValue;
  }
}

ENTRY Code cuGetErrorString(Code code, const char **text) {
  *text = code == 2     ? "out of memory"
          : code == 700 ? "an illegal memory access was encountered"
                        : "said the fake driver";
  return success;
}
