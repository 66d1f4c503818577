//===- Tensors.h - torch tensors through DLPack's C exchange API ----------------===//
//
// torch.Tensor.__dlpack_c_exchange_api__ is a capsule that contains a table of function pointers. These functions read
// a tensor's address, sizes and strides without calls of Python methods, and create tensors from memory that Tilewright
// owns. The module calls no other C++ functions of torch, and is therefore not linked with torch.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_PYTHON_MODULE_TENSORS_H
#define TILEWRIGHT_PYTHON_MODULE_TENSORS_H

#include "tilewright/GraphBuilder.h"
#include <cstdint>
#include <pybind11/pybind11.h>
#include <string>

namespace tilewright::python {

// The declarations of dlpack.h 1.3 that Tilewright uses.
struct DLDevice {
  int32_t type, id;
};
struct DLDataType {
  uint8_t code, bits;
  uint16_t lanes;
};
struct DLTensor {
  void *data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t *shape, *strides;
  uint64_t byteOffset;
};
struct DLManagedTensorVersioned {
  uint32_t major, minor;
  void *context;
  void (*deleter)(DLManagedTensorVersioned *);
  uint64_t flags;
  DLTensor tensor;
};
struct DLPackExchangeAPI {
  uint32_t major, minor;
  void *previous;
  int (*allocate)(DLTensor *, DLManagedTensorVersioned **, void *, void (*)(void *, const char *, const char *));
  int (*managedFromObject)(void *, DLManagedTensorVersioned **);
  int (*managedToObject)(DLManagedTensorVersioned *, void **);
  int (*tensorFromObject)(void *, DLTensor *);
  int (*currentStream)(int32_t, int32_t, void **);
};

/// Returns torch's table of DLPack functions, which is looked up at the first call.
const DLPackExchangeAPI &exchange();

DLDataType dlpackType(ScalarType type);
/// Returns true if the element type of `tensor` is `type`.
bool hasType(const DLTensor &tensor, ScalarType type);
/// Returns the name of a dtype for error messages, such as "float32".
std::string dlpackTypeName(DLDataType type);

/// Creates an uninitialized CPU tensor whose memory is aligned to 64 bytes. Sets `data` to the address of the memory.
pybind11::object makeTensor(ScalarType type, const int64_t *sizes, const int64_t *strides, int64_t rank, int64_t bytes,
                            void *&data);

/// Returns torch's version counter of the tensor, which each write increments. Returns 0 for an inference tensor, which
/// has no version counter.
uint64_t versionOf(pybind11::handle tensor);

} // namespace tilewright::python

#endif
