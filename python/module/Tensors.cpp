//===- Tensors.cpp - torch tensors through DLPack's C exchange API ---------------===//
#include "python/module/Tensors.h"
#include "lib/Interfaces/OutputMemory.h"
#include <cstdlib>
#include <vector>

namespace py = pybind11;

namespace tilewright::python {

const DLPackExchangeAPI &exchange() {
  static const DLPackExchangeAPI *api = [] {
    py::object tensor = py::module_::import("torch").attr("Tensor");
    if (!py::hasattr(tensor, "__dlpack_c_exchange_api__"))
      throw py::import_error("this torch has no DLPack C exchange API; Tilewright needs torch 2.11 or newer");
    py::capsule capsule = tensor.attr("__dlpack_c_exchange_api__");
    auto *found = static_cast<const DLPackExchangeAPI *>(PyCapsule_GetPointer(capsule.ptr(), "dlpack_exchange_api"));
    if (!found)
      throw py::error_already_set();
    if (found->major != 1)
      throw py::import_error("DLPack exchange API version " + std::to_string(found->major) + " where 1 is needed");
    return found;
  }();
  return *api;
}

DLDataType dlpackType(ScalarType type) {
  const ScalarTypeInfo &info = infoOf(type);
  return {uint8_t(info.dlpack), uint8_t(info.bits), 1};
}

std::string dlpackTypeName(DLDataType type) {
  for (const ScalarTypeInfo &info : scalarTypes()) {
    DLDataType known = dlpackType(info.type);
    if (known.code == type.code && known.bits == type.bits && known.lanes == type.lanes)
      return info.name.str();
  }
  return "dtype with DLPack code " + std::to_string(type.code) + ", " + std::to_string(type.bits) + " bits";
}

namespace {

struct OwnedTensor {
  DLManagedTensorVersioned managed;
  runtime::OutputMemory memory;
  int64_t dims[]; ///< sizes, then strides
};

void freeOwned(DLManagedTensorVersioned *managed) {
  auto *owned = reinterpret_cast<OwnedTensor *>(managed);
  runtime::giveOutputMemory(owned->memory);
  std::free(owned);
}

} // namespace

py::object makeTensor(ScalarType type, const int64_t *sizes, const int64_t *strides, int64_t rank, int64_t bytes,
                      void *&data) {
  auto *owned = static_cast<OwnedTensor *>(std::malloc(sizeof(OwnedTensor) + 2 * rank * sizeof(int64_t)));
  runtime::OutputMemory memory = owned ? runtime::takeOutputMemory(bytes) : runtime::OutputMemory();
  data = memory.data;
  if (!data) {
    std::free(owned);
    std::string shape;
    for (int64_t i = 0; i < rank; ++i)
      shape += (i ? ", " : "") + std::to_string(sizes[i]);
    PyErr_Format(PyExc_MemoryError, "tilewright: out of memory: a result %s[%s] needs %lld bytes; use smaller inputs",
                 scalarTypeName(type).str().c_str(), shape.c_str(), (long long)bytes);
    throw py::error_already_set();
  }
  for (int64_t i = 0; i < rank; ++i) {
    owned->dims[i] = sizes[i];
    owned->dims[rank + i] = strides[i];
  }
  owned->memory = memory;
  owned->managed = {1,         1, nullptr,
                    freeOwned, 0, {data, {1, 0}, int32_t(rank), dlpackType(type), owned->dims, owned->dims + rank, 0}};
  void *object = nullptr;
  if (exchange().managedToObject(&owned->managed, &object) != 0)
    throw py::error_already_set();
  return py::reinterpret_steal<py::object>(static_cast<PyObject *>(object));
}

bool hasType(const DLTensor &tensor, ScalarType type) {
  DLDataType want = dlpackType(type);
  return tensor.dtype.code == want.code && tensor.dtype.bits == want.bits && tensor.dtype.lanes == want.lanes;
}

uint64_t versionOf(py::handle tensor) {
  static PyObject *name = PyUnicode_InternFromString("_version");
  PyObject *version = PyObject_GetAttr(tensor.ptr(), name);
  if (!version) { // inference tensors have no counter
    PyErr_Clear();
    return 0;
  }
  uint64_t value = PyLong_AsUnsignedLongLong(version);
  Py_DECREF(version);
  return value;
}

} // namespace tilewright::python
