//===- PackAhead.cpp - pack the parameters of a graph before its first call ----------===//
#include "python/module/Call.h"

namespace py = pybind11;

namespace tilewright::python {

/// Returns the address of the tensor's elements. Returns null if the tensor has no memory on the CPU, or if its dtype,
/// sizes or strides are not those that the program reads.
static const void *dataOf(const TensorSpec &spec, py::handle object) {
  DLTensor tensor;
  if (exchange().tensorFromObject(object.ptr(), &tensor) != 0) {
    PyErr_Clear();
    return nullptr;
  }
  if (!hasType(tensor, spec.dtype) || tensor.device.type != 1 || !tensor.data ||
      tensor.ndim != int64_t(spec.sizes.size()))
    return nullptr;
  int64_t stride = 1;
  for (size_t i = spec.sizes.size(); i-- > 0;) {
    unsigned dim = spec.order[i];
    std::optional<int64_t> size = spec.sizes[dim].constant();
    if (!size || tensor.shape[dim] != *size || (*size != 1 && tensor.strides[dim] != stride))
      return nullptr;
    stride *= std::max<int64_t>(*size, 1);
  }
  return static_cast<const char *>(tensor.data) + tensor.byteOffset;
}

void GraphCall::packAhead(py::list arguments) {
  if (!program || arguments.size() != argumentCount || !packedAhead.empty() || calls != 0 || !settled ||
      threadSource().cast<int>() == 1)
    return;
  std::vector<const void *> pointers(inputs.size());
  std::vector<uint64_t> versions(inputs.size(), 0);
  size_t nextConstant = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputArguments[i] == -2)
      continue;
    py::object object = inputArguments[i] >= 0 ? py::object(arguments[inputArguments[i]]) : constants[nextConstant++];
    if (!inputs[i].isStatic || !(pointers[i] = dataOf(inputs[i], object)))
      continue;
    versions[i] = versionOf(object);
    packedAhead.push_back(std::move(object));
  }
  if (!packedAhead.empty())
    program->packAhead(pointers.data(), versions.data());
}

GraphCall::~GraphCall() {
  if (program && !packedAhead.empty())
    program->endPackAhead();
}

} // namespace tilewright::python
