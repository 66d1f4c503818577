//===- DriverApi.h - the NVIDIA driver, loaded at run time ------------------------------===//
//
// This file declares the entry points of the CUDA driver API that Tilewright calls. They are resolved in libcuda.so.1
// with dlsym, so that neither building nor starting Tilewright requires a toolkit or a driver. The numbers and the
// layouts of the types are those of NVIDIA's "CUDA Driver API" reference, whose names are in the comments.
// TILEWRIGHT_LIBCUDA=PATH loads another library instead; the tests provide one that runs kernels in ptx-check.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_RUNTIME_CUDA_DRIVERAPI_H
#define TILEWRIGHT_LIB_RUNTIME_CUDA_DRIVERAPI_H

#include <cstddef>
#include <cstdint>
#include <string>

namespace tilewright::runtime::driver {

using Code = int; ///< CUresult; 0 is success
using Device = int;
using Address = uint64_t; ///< CUdeviceptr
using Context = struct ContextTag *;
using Module = struct ModuleTag *;
using Function = struct FunctionTag *;
using Stream = struct StreamTag *;
using Event = struct EventTag *;
using Pool = struct PoolTag *;
using Graph = struct GraphTag *;
using GraphNode = struct GraphNodeTag *;
using GraphExec = struct GraphExecTag *;

// Error codes that Tilewright handles separately.
constexpr Code kOutOfMemory = 2, kNotReady = 600, kNoBinaryForDevice = 209, kInvalidPtx = 218, kUnsupportedPtx = 222;

// CUdevice_attribute
constexpr int kCapabilityMajor = 75, kCapabilityMinor = 76, kSharedOptIn = 97, kMemoryPools = 115, kCacheBytes = 38;
// Values of CUpointer_attribute, and of CUmemorytype.
constexpr int kPointerMemoryType = 2, kPointerOrdinal = 9;
constexpr uint32_t kHostMemory = 1, kDeviceMemory = 2;
// CUfunction_attribute, CUmemPool_attribute, CUevent_flags
constexpr int kMaxDynamicShared = 8, kReleaseThreshold = 4;
constexpr unsigned kEventWithoutTiming = 2;
// CUjit_option
constexpr int kJitErrorLog = 5, kJitErrorLogBytes = 6;

struct alignas(64) TensorMap {
  uint64_t opaque[16];
};

/// CUDA_KERNEL_NODE_PARAMS_v1
struct KernelNode {
  Function function;
  unsigned gridX, gridY, gridZ, blockX, blockY, blockZ, shared;
  void **parameters, **extra;
};

/// CUDA_MEMCPY3D_v2
struct Copy3D {
  size_t fromX, fromY, fromZ, fromLevel;
  uint32_t fromType;
  const void *fromHost;
  Address fromDevice;
  void *fromArray, *fromReserved;
  size_t fromPitch, fromHeight;
  size_t toX, toY, toZ, toLevel;
  uint32_t toType;
  void *toHost;
  Address toDevice;
  void *toArray, *toReserved;
  size_t toPitch, toHeight;
  size_t bytesOfRow, rows, planes;
};
static_assert(sizeof(KernelNode) == 56 && sizeof(Copy3D) == 200, "as cuda.h has them");

struct Api {
  Code (*init)(unsigned);
  Code (*driverVersion)(int *);
  Code (*deviceCount)(int *);
  Code (*deviceGet)(Device *, int);
  Code (*deviceName)(char *, int, Device);
  Code (*deviceAttribute)(int *, int, Device);
  Code (*retainPrimary)(Context *, Device);
  Code (*releasePrimary)(Device);
  Code (*currentContext)(Context *);
  Code (*pushContext)(Context);
  Code (*popContext)(Context *);
  Code (*loadModule)(Module *, const void *, unsigned, int *, void **);
  Code (*unloadModule)(Module);
  Code (*getFunction)(Function *, Module, const char *);
  Code (*setFunctionAttribute)(Function, int, int);
  Code (*launchKernel)(Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Stream, void **,
                       void **);
  Code (*allocate)(Address *, size_t);
  Code (*free)(Address);
  Code (*allocateAsync)(Address *, size_t, Stream);
  Code (*freeAsync)(Address, Stream);
  Code (*defaultPool)(Pool *, Device);
  Code (*setPoolAttribute)(Pool, int, void *);
  Code (*allocateHost)(void **, size_t, unsigned);
  Code (*freeHost)(void *);
  Code (*copyIn)(Address, const void *, size_t, Stream); ///< host to device
  Code (*copyOut)(void *, Address, size_t, Stream);      ///< device to host
  Code (*copyWithin)(Address, Address, size_t, Stream);  ///< device to device
  Code (*fill)(Address, unsigned char, size_t, Stream);
  Code (*synchronize)(Stream);
  Code (*waitEvent)(Stream, Event, unsigned);
  Code (*createEvent)(Event *, unsigned);
  Code (*destroyEvent)(Event);
  Code (*recordEvent)(Event, Stream);
  Code (*queryEvent)(Event);
  Code (*synchronizeEvent)(Event);
  Code (*elapsedTime)(float *milliseconds, Event from, Event to);
  Code (*pointerAttributes)(unsigned, int *, void **, Address);
  Code (*errorName)(Code, const char **);
  Code (*errorString)(Code, const char **);
  /// cuTensorMapEncodeTiled, or null if the driver is older than CUDA 12.0.
  Code (*encodeTensorMap)(TensorMap *, int element, uint32_t rank, void *base, const uint64_t *sizes,
                          const uint64_t *strides, const uint32_t *box, const uint32_t *elementStrides, int interleave,
                          int swizzle, int promotion, int fill);
  /// cuTensorMapEncodeIm2col, or null if the driver is older than CUDA 12.0. The arrays of the corners begin with the
  /// width.
  Code (*encodeWindowMap)(TensorMap *, int element, uint32_t rank, void *base, const uint64_t *sizes,
                          const uint64_t *strides, const int *lower, const int *upper, uint32_t channels,
                          uint32_t pixels, const uint32_t *elementStrides, int interleave, int swizzle, int promotion,
                          int fill);

  // The functions of CUDA graphs. Some are null if the driver is older than CUDA 11.4.
  Code (*createGraph)(Graph *, unsigned);
  Code (*destroyGraph)(Graph);
  Code (*addKernelNode)(GraphNode *, Graph, const GraphNode *before, size_t, const KernelNode *);
  Code (*addCopyNode)(GraphNode *, Graph, const GraphNode *before, size_t, const Copy3D *, Context);
  Code (*instantiateGraph)(GraphExec *, Graph, unsigned long long);
  Code (*destroyGraphExec)(GraphExec);
  Code (*setKernelNode)(GraphExec, GraphNode, const KernelNode *);
  Code (*setCopyNode)(GraphExec, GraphNode, const Copy3D *, Context);
  Code (*launchGraph)(GraphExec, Stream);
  bool hasGraphs() const;

  /// Returns the name and the description of an error, such as "CUDA_ERROR_OUT_OF_MEMORY: out of memory".
  std::string explain(Code code) const;
};

/// Returns the driver API of the process, which the first call loads and initializes. Returns null with a reason in
/// `error` if there is no driver, if the driver is too old or cannot be initialized, or if it finds no device.
/// Thread-safe.
const Api *api(std::string &error);

} // namespace tilewright::runtime::driver

#endif
