//===- Tensors.h - torch tensors through DLPack's C exchange API ----------------===//
//
// torch.Tensor.__dlpack_c_exchange_api__ is a capsule with function pointers. They read a tensor's pointer, sizes and
// strides in about 40 ns, and create tensors from memory that Tilewright owns. This file does not link torch.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_PYTHON_MODULE_TENSORS_H
#define TILEWRIGHT_PYTHON_MODULE_TENSORS_H

#include "tilewright/GraphBuilder.h"
#include <cstdint>
#include <pybind11/pybind11.h>
#include <string>

namespace tilewright::python {

// The parts of dlpack.h 1.3 that are used.
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

/// Returns torch's table, which is looked up at the first use.
const DLPackExchangeAPI &exchange();

DLDataType dlpackType(ScalarType type);
/// Returns true if the tensor's elements have the type.
bool hasType(const DLTensor &tensor, ScalarType type);
/// Returns a name such as "float32", for messages.
std::string dlpackTypeName(DLDataType type);

/// Creates a CPU tensor of uninitialized memory with 64-byte alignment. `data` is set to its memory.
pybind11::object makeTensor(ScalarType type, const int64_t *sizes, const int64_t *strides, int64_t rank, int64_t bytes,
                            void *&data);

/// Returns torch's counter of writes to the tensor. Returns 0 for inference tensors, which have no counter.
uint64_t versionOf(pybind11::handle tensor);

} // namespace tilewright::python

#endif
