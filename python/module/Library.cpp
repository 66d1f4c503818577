//===- Library.cpp - ahead-of-time libraries in the Python module ---------------------===//
//
// Python passes tensors as (address, dtype, sizes). Python also allocates the results, whose shapes Library::shape()
// computes before a call.
//
// Test: test/Python/test_load.py
//
//===----------------------------------------------------------------------===//
#include "python/module/Library.h"
#include "dialects/Graph/Dtype.h"
#include "tilewright/LoadedLibrary.h"
#include <mutex>
#include <pybind11/stl.h>

namespace py = pybind11;

namespace tilewright::python {
namespace {

/// A tensor that Python passes: (address, torch's name of the dtype, sizes).
using Passed = std::tuple<uintptr_t, std::string, std::vector<int64_t>>;

class Library {
public:
  Library(const std::string &path, int threads, const std::string &cpu) {
    llvm::Expected<LibraryManifest> read = readManifest(path);
    if (!read)
      throw std::runtime_error(llvm::toString(read.takeError()));
    manifest = std::move(*read);
    llvm::Expected<std::unique_ptr<LoadedLibrary>> loaded = LoadedLibrary::load(path, manifest, threads, cpu);
    if (!loaded)
      throw std::runtime_error(llvm::toString(loaded.takeError()));
    library = std::move(*loaded);
  }

  /// Returns (name, dtype, sizes as text, true if a call writes it) for each tensor.
  static py::list describe(const std::vector<LibraryManifest::Tensor> &tensors) {
    py::list list;
    for (const LibraryManifest::Tensor &tensor : tensors)
      list.append(py::make_tuple(tensor.name, tensor.dtype, tensor.sizes, tensor.written));
    return list;
  }

  std::vector<std::pair<std::string, std::vector<int64_t>>> shape(const std::vector<Passed> &inputs) {
    const std::vector<LibraryTensor> in = tensorsOf(inputs);
    py::gil_scoped_release released;
    std::lock_guard<std::mutex> lock(mutex);
    llvm::Expected<std::vector<LibraryTensor>> shapes = library->shape(in);
    if (!shapes)
      throw py::value_error(llvm::toString(shapes.takeError()));
    std::vector<std::pair<std::string, std::vector<int64_t>>> outputs;
    for (const LibraryTensor &tensor : *shapes)
      outputs.emplace_back(scalarTypeName(tensor.dtype).str(), tensor.sizes);
    return outputs;
  }

  void run(const std::vector<Passed> &inputs, const std::vector<Passed> &outputs) {
    const std::vector<LibraryTensor> in = tensorsOf(inputs), out = tensorsOf(outputs);
    py::gil_scoped_release released;
    // Calls are serialized, because the library stores only the error message of its last call.
    std::lock_guard<std::mutex> lock(mutex);
    if (llvm::Error failed = library->run(in, out))
      throw std::runtime_error(llvm::toString(std::move(failed)));
  }

  LibraryManifest manifest;

private:
  static std::vector<LibraryTensor> tensorsOf(const std::vector<Passed> &passed) {
    std::vector<LibraryTensor> tensors;
    for (const auto &[address, dtype, sizes] : passed) {
      std::optional<ScalarType> type = scalarTypeFromName(dtype);
      if (!type)
        throw py::type_error("a library takes no tensor of " + dtype);
      tensors.push_back({reinterpret_cast<void *>(address), *type, sizes});
    }
    return tensors;
  }

  std::unique_ptr<LoadedLibrary> library;
  std::mutex mutex;
};

} // namespace

void addLibrary(py::module_ &m) {
  py::class_<Library>(m, "Library", "A loaded library of `tilewright compile`.")
      .def(py::init<const std::string &, int, const std::string &>(), py::arg("path"), py::arg("threads"),
           py::arg("cpu"))
      .def_property_readonly("model", [](const Library &library) { return library.manifest.model; })
      .def_property_readonly("inputs",
                             [](const Library &library) { return Library::describe(library.manifest.inputs); })
      .def_property_readonly("outputs",
                             [](const Library &library) { return Library::describe(library.manifest.outputs); })
      .def("shape", &Library::shape)
      .def("run", &Library::run);
}

} // namespace tilewright::python
