//===- DriverApi.cpp - the NVIDIA driver, loaded at run time ----------------------------===//
//
// Test: test/Unit/Runtime/CUDA/DriverTest.cpp
//
//===----------------------------------------------------------------------===//
#include "lib/Runtime/CUDA/DriverApi.h"

#include <cstdlib>
#include <dlfcn.h>

namespace tilewright::runtime::driver {
namespace {

constexpr const char *remedy =
    "; without a GPU, use device \"emulated\", which runs the kernels on the CPU and checks them "
    "(options={\"device\": \"emulated\"}, --device=emulated)";

struct Opened {
  Api api = {};
  std::string error; ///< empty: `api` is complete
};

template <class F> bool find(void *library, const char *name, F &function) {
  function = reinterpret_cast<F>(dlsym(library, name));
  return function != nullptr;
}

Opened open() {
  Opened result;
  Api &api = result.api;
  const char *chosen = std::getenv("TILEWRIGHT_LIBCUDA");
  const std::string name = chosen && *chosen ? chosen : "libcuda.so.1";
  void *library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *why = dlerror();
    result.error = "there is no NVIDIA driver here: " + (why ? std::string(why) : name + " cannot be opened") + remedy;
    return result;
  }
  const char *missing = nullptr;
  auto need = [&](const char *entry, auto &function) {
    if (!find(library, entry, function) && !missing)
      missing = entry;
  };
  // Some functions need a version suffix such as _v2, because cuda.h defines their plain names as macros for later
  // versions.
  need("cuInit", api.init);
  need("cuDriverGetVersion", api.driverVersion);
  need("cuDeviceGetCount", api.deviceCount);
  need("cuDeviceGet", api.deviceGet);
  need("cuDeviceGetName", api.deviceName);
  need("cuDeviceGetAttribute", api.deviceAttribute);
  need("cuDevicePrimaryCtxRetain", api.retainPrimary);
  need("cuDevicePrimaryCtxRelease_v2", api.releasePrimary);
  need("cuCtxGetCurrent", api.currentContext);
  need("cuCtxPushCurrent_v2", api.pushContext);
  need("cuCtxPopCurrent_v2", api.popContext);
  need("cuModuleLoadDataEx", api.loadModule);
  need("cuModuleUnload", api.unloadModule);
  need("cuModuleGetFunction", api.getFunction);
  need("cuFuncSetAttribute", api.setFunctionAttribute);
  need("cuLaunchKernel", api.launchKernel);
  need("cuMemAlloc_v2", api.allocate);
  need("cuMemFree_v2", api.free);
  need("cuMemAllocAsync", api.allocateAsync);
  need("cuMemFreeAsync", api.freeAsync);
  need("cuDeviceGetDefaultMemPool", api.defaultPool);
  need("cuMemPoolSetAttribute", api.setPoolAttribute);
  need("cuMemHostAlloc", api.allocateHost);
  need("cuMemFreeHost", api.freeHost);
  need("cuMemcpyHtoDAsync_v2", api.copyIn);
  need("cuMemcpyDtoHAsync_v2", api.copyOut);
  need("cuMemcpyDtoDAsync_v2", api.copyWithin);
  need("cuMemsetD8Async", api.fill);
  need("cuStreamSynchronize", api.synchronize);
  need("cuStreamWaitEvent", api.waitEvent);
  need("cuEventCreate", api.createEvent);
  need("cuEventDestroy_v2", api.destroyEvent);
  need("cuEventRecord", api.recordEvent);
  need("cuEventQuery", api.queryEvent);
  need("cuEventSynchronize", api.synchronizeEvent);
  need("cuPointerGetAttributes", api.pointerAttributes);
  need("cuGetErrorName", api.errorName);
  need("cuGetErrorString", api.errorString);
  find(library, "cuEventElapsedTime", api.elapsedTime);
  find(library, "cuTensorMapEncodeTiled", api.encodeTensorMap);
  find(library, "cuTensorMapEncodeIm2col", api.encodeWindowMap);
  find(library, "cuGraphCreate", api.createGraph);
  find(library, "cuGraphDestroy", api.destroyGraph);
  // The first version of this function, which every driver has.
  find(library, "cuGraphAddKernelNode", api.addKernelNode);
  find(library, "cuGraphAddMemcpyNode", api.addCopyNode);
  find(library, "cuGraphInstantiateWithFlags", api.instantiateGraph);
  find(library, "cuGraphExecDestroy", api.destroyGraphExec);
  find(library, "cuGraphExecKernelNodeSetParams", api.setKernelNode);
  find(library, "cuGraphExecMemcpyNodeSetParams", api.setCopyNode);
  find(library, "cuGraphLaunch", api.launchGraph);
  int version = 0;
  if (missing) {
    if (api.driverVersion)
      api.driverVersion(&version);
    result.error = "the NVIDIA driver is too old: " + name + " has no " + missing +
                   (version ? " (it supports CUDA " + std::to_string(version / 1000) + "." +
                                  std::to_string(version % 1000 / 10) + ")"
                            : "") +
                   "; Tilewright needs a driver for CUDA 11.2 or newer, and for sm_90a a driver for CUDA 12.0 or newer";
    return result;
  }
  Code code = api.init(0);
  int devices = 0;
  if (code == 0)
    code = api.deviceCount(&devices);
  if (code != 0)
    result.error = "the NVIDIA driver cannot start: " + api.explain(code) + remedy;
  else if (devices == 0)
    result.error = std::string("the NVIDIA driver finds no device (CUDA_VISIBLE_DEVICES?)") + remedy;
  return result;
}
} // namespace

std::string Api::explain(Code code) const {
  const char *name = nullptr, *text = nullptr;
  if (errorName(code, &name) != 0 || !name)
    return "error " + std::to_string(code) + " of the CUDA driver";
  if (errorString(code, &text) != 0 || !text)
    return name;
  return std::string(name) + ": " + text;
}

bool Api::hasGraphs() const {
  return createGraph && destroyGraph && addKernelNode && addCopyNode && instantiateGraph && destroyGraphExec &&
         setKernelNode && setCopyNode && launchGraph;
}

const Api *api(std::string &error) {
  // The driver's library is not closed, and `opened` is not destroyed, so that the functions remain valid for code that
  // runs while the process exits.
  static const Opened &opened = *new Opened(open());
  error = opened.error;
  return error.empty() ? &opened.api : nullptr;
}

} // namespace tilewright::runtime::driver
