//===- Tensors.cpp - torch tensors through DLPack's C exchange API ---------------===//
#include "python/module/Tensors.h"
#include <cstdlib>
#include <map>
#include <mutex>
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
  switch (type) {
  case ScalarType::Bool:
    return {6, 8, 1};
  case ScalarType::U8:
  case ScalarType::U16:
  case ScalarType::U32:
  case ScalarType::U64:
    return {1, uint8_t(scalarTypeSize(type) * 8), 1};
  case ScalarType::I8:
  case ScalarType::I16:
  case ScalarType::I32:
  case ScalarType::I64:
    return {0, uint8_t(scalarTypeSize(type) * 8), 1};
  case ScalarType::BF16:
    return {4, 16, 1};
  case ScalarType::F8E4M3FN:
    return {10, 8, 1};
  case ScalarType::F8E5M2:
    return {12, 8, 1};
  default:
    return {2, uint8_t(scalarTypeSize(type) * 8), 1};
  }
}

std::string dlpackTypeName(DLDataType type) {
  for (unsigned i = 0; i <= unsigned(ScalarType::F8E5M2); ++i) {
    DLDataType known = dlpackType(ScalarType(i));
    if (known.code == type.code && known.bits == type.bits && known.lanes == type.lanes)
      return scalarTypeName(ScalarType(i)).str();
  }
  return "dtype with DLPack code " + std::to_string(type.code) + ", " + std::to_string(type.bits) + " bits";
}

namespace {

/// Memory that outputs gave back: large blocks are kept, since fresh pages cost more than the work on them.
class BlockPool {
public:
  void *take(size_t bytes) {
    if (bytes >= smallest) {
      std::lock_guard lock(mutex);
      auto found = free.lower_bound(bytes);
      if (found != free.end() && found->first <= bytes + bytes / 8) {
        void *block = found->second;
        sizes[block] = found->first;
        held -= found->first;
        free.erase(found);
        return block;
      }
    }
    size_t rounded = (bytes + 63) / 64 * 64;
    void *block = std::aligned_alloc(64, rounded ? rounded : 64);
    if (block && bytes >= smallest) {
      std::lock_guard lock(mutex);
      sizes[block] = rounded;
    }
    return block;
  }

  void give(void *block, bool large) {
    if (large) {
      std::lock_guard lock(mutex);
      auto size = sizes.find(block);
      size_t bytes = size->second;
      sizes.erase(size);
      if (held + bytes <= most) {
        held += bytes;
        free.emplace(bytes, block);
        return;
      }
    }
    std::free(block);
  }

  static constexpr size_t smallest = 1 << 17, most = size_t(512) << 20;

private:
  std::mutex mutex;
  std::multimap<size_t, void *> free;
  std::map<void *, size_t> sizes;
  size_t held = 0;
};

/// Never destroyed: tensors may outlive the module's statics.
BlockPool &pool() {
  static BlockPool *instance = new BlockPool;
  return *instance;
}

struct OwnedTensor {
  DLManagedTensorVersioned managed;
  bool large;
  int64_t dims[]; ///< sizes, then strides
};

void freeOwned(DLManagedTensorVersioned *managed) {
  auto *owned = reinterpret_cast<OwnedTensor *>(managed);
  pool().give(managed->tensor.data, owned->large);
  std::free(owned);
}

} // namespace

py::object makeTensor(ScalarType type, const int64_t *sizes, const int64_t *strides, int64_t rank, int64_t bytes,
                      void *&data) {
  auto *owned = static_cast<OwnedTensor *>(std::malloc(sizeof(OwnedTensor) + 2 * rank * sizeof(int64_t)));
  data = owned ? pool().take(bytes) : nullptr;
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
  owned->large = size_t(bytes) >= BlockPool::smallest;
  owned->managed = {1,         1, nullptr,
                    freeOwned, 0, {data, {1, 0}, int32_t(rank), dlpackType(type), owned->dims, owned->dims + rank, 0}};
  void *object = nullptr;
  if (exchange().managedToObject(&owned->managed, &object) != 0)
    throw py::error_already_set();
  return py::reinterpret_steal<py::object>(static_cast<PyObject *>(object));
}

} // namespace tilewright::python
