//===- LoadLibrary.cpp - call the functions of a library's header ---------------------===//
//
// Tests: test/Unit/Driver/LoadedLibraryTest.cpp, test/Python/test_library.py
//
//===----------------------------------------------------------------------===//
#include "lib/AOT/Interface.h"
#include "lib/Runtime/Library/Description.h"
#include "tilewright/LoadedLibrary.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/DynamicLibrary.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

namespace tilewright {

using namespace library;

/// Functions that the library's header declares, and the instance that they use.
struct LoadedLibrary::Functions {
  tilewright_model *(*create)(const CallerOptions *, char *, size_t) = nullptr;
  void (*destroy)(tilewright_model *) = nullptr;
  int32_t (*shape)(tilewright_model *, const CallerTensor *, CallerTensor *) = nullptr;
  int32_t (*run)(tilewright_model *, const CallerTensor *, const CallerTensor *) = nullptr;
  int32_t (*profile)(tilewright_model *, int32_t) = nullptr;
  int32_t (*steps)(tilewright_model *, CallerStep *, int32_t) = nullptr;
  const char *(*error)(const tilewright_model *) = nullptr;
  int32_t (*numInputs)() = nullptr, (*numOutputs)() = nullptr;
  tilewright_model *model = nullptr;
};

LoadedLibrary::LoadedLibrary() : functions(std::make_unique<Functions>()) {}

LoadedLibrary::~LoadedLibrary() {
  if (functions->model)
    functions->destroy(functions->model); // do not unload the code, because its threads may still be exiting
}

static llvm::Error loadFailed(llvm::StringRef path, const std::string &why) {
  return llvm::createStringError("cannot load '%s': %s", path.str().c_str(), why.c_str());
}

llvm::Expected<std::unique_ptr<LoadedLibrary>>
LoadedLibrary::load(llvm::StringRef path, const LibraryManifest &manifest, int threads, const std::string &cpu) {
  llvm::SmallString<128> absolute(path);
  if (std::error_code code = llvm::sys::fs::make_absolute(absolute)) // dlopen searches other folders for a plain name
    return loadFailed(path, code.message());
  const llvm::StringRef name = llvm::sys::path::filename(absolute), folder = llvm::sys::path::parent_path(absolute);
  if (std::none_of(manifest.files.begin(), manifest.files.end(),
                   [&](const auto &file) { return file.role == "library" && file.name == name; }))
    return loadFailed(
        path,
        "its manifest belongs to a library of another name; a library cannot be renamed, but must be compiled again");
  if (manifest.model != identifierFrom(manifest.model))
    return loadFailed(path, "the manifest's model '" + manifest.model + "' is not the name of a C function");
  if (llvm::Error failed = verifyFiles(manifest, folder))
    return failed;
  std::string error;
  llvm::sys::DynamicLibrary code = llvm::sys::DynamicLibrary::getPermanentLibrary(absolute.c_str(), &error);
  if (!code.isValid())
    return loadFailed(path, error);
  std::unique_ptr<LoadedLibrary> loaded(new LoadedLibrary);
  Functions &f = *loaded->functions;
  const std::string prefix = manifest.model + "_";
  std::string missing;
  auto find = [&](const char *name, auto &function) {
    void *address = code.getAddressOfSymbol((prefix + name).c_str());
    if (!address)
      missing += (missing.empty() ? "" : ", ") + prefix + name;
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(address);
  };
  find("create", f.create);
  find("destroy", f.destroy);
  find("shape", f.shape);
  find("run", f.run);
  find("error", f.error);
  find("num_inputs", f.numInputs);
  find("num_outputs", f.numOutputs);
  if (!missing.empty())
    return loadFailed(path, "the library has no function " + missing);
  find("profile", f.profile); // absent from libraries of older versions
  find("steps", f.steps);
  if (size_t(f.numInputs()) != manifest.inputs.size() || size_t(f.numOutputs()) != manifest.outputs.size())
    return loadFailed(path, "its inputs and outputs are not those of its manifest");

  std::string weights;
  for (const LibraryManifest::File &file : manifest.files)
    if (file.role == "weights")
      weights = (folder + "/" + file.name).str();
  CallerOptions options{threads, weights.empty() ? nullptr : weights.c_str(), cpu.empty() ? nullptr : cpu.c_str(),
                        /*verifyWeights=*/0}; // verifyFiles() has verified them
  char text[512] = "";
  f.model = f.create(&options, text, sizeof text);
  if (!f.model)
    return loadFailed(path, text);
  return loaded;
}

// In Dtypes.def, the dtypes that a library's interface may have precede all other dtypes.
static_assert(int(ScalarType::F32) == int(DType::F32) && int(ScalarType::U64) + 1 == numDTypes);

static llvm::Expected<std::vector<CallerTensor>> callerTensors(llvm::ArrayRef<LibraryTensor> tensors) {
  std::vector<CallerTensor> list;
  for (const LibraryTensor &tensor : tensors) {
    if (tensor.sizes.size() > size_t(maxRank))
      return llvm::createStringError("a tensor has %zu dimensions, but a library supports at most %d",
                                     tensor.sizes.size(), maxRank);
    if (int(tensor.dtype) >= numDTypes)
      return llvm::createStringError("a library does not support tensors of " + scalarTypeName(tensor.dtype));
    CallerTensor one{tensor.data, int32_t(tensor.dtype), int32_t(tensor.sizes.size()), {}, nullptr};
    std::copy(tensor.sizes.begin(), tensor.sizes.end(), one.sizes);
    list.push_back(one);
  }
  return list;
}

llvm::Expected<std::vector<LibraryTensor>> LoadedLibrary::shape(llvm::ArrayRef<LibraryTensor> inputs) {
  if (inputs.size() != size_t(functions->numInputs()))
    return llvm::createStringError("%zu inputs were passed, but the model has %d", inputs.size(),
                                   functions->numInputs());
  llvm::Expected<std::vector<CallerTensor>> in = callerTensors(inputs);
  if (!in)
    return in.takeError();
  std::vector<CallerTensor> out(functions->numOutputs());
  if (functions->shape(functions->model, in->data(), out.data()) != 0)
    return llvm::createStringError("%s", functions->error(functions->model));
  std::vector<LibraryTensor> outputs;
  for (auto [number, tensor] : llvm::enumerate(out)) {
    if (tensor.dtype < 0 || tensor.dtype >= numDTypes)
      return llvm::createStringError("the library says that the dtype of output %zu is number %d", number,
                                     int(tensor.dtype));
    outputs.push_back({nullptr, ScalarType(tensor.dtype), {tensor.sizes, tensor.sizes + tensor.rank}});
  }
  return outputs;
}

llvm::Error LoadedLibrary::profile() {
  if (!functions->profile || !functions->steps)
    return llvm::createStringError(
        "an older version of Tilewright wrote this library, which cannot measure the times of its steps; "
        "compile the model again");
  functions->profile(functions->model, 1);
  return llvm::Error::success();
}

std::vector<LoadedLibrary::Step> LoadedLibrary::steps() {
  if (!functions->steps)
    return {};
  std::vector<CallerStep> list(functions->steps(functions->model, nullptr, 0));
  functions->steps(functions->model, list.data(), int32_t(list.size()));
  std::vector<Step> steps;
  for (const CallerStep &step : list)
    steps.push_back({step.operations, step.seconds});
  return steps;
}

llvm::Error LoadedLibrary::run(llvm::ArrayRef<LibraryTensor> inputs, llvm::ArrayRef<LibraryTensor> outputs) {
  if (inputs.size() != size_t(functions->numInputs()) || outputs.size() != size_t(functions->numOutputs()))
    return llvm::createStringError("%zu inputs and %zu outputs were passed, but the model has %d and %d", inputs.size(),
                                   outputs.size(), functions->numInputs(), functions->numOutputs());
  llvm::Expected<std::vector<CallerTensor>> in = callerTensors(inputs), out = callerTensors(outputs);
  if (!in || !out)
    return llvm::joinErrors(in.takeError(), out.takeError());
  if (functions->run(functions->model, in->data(), out->data()) != 0)
    return llvm::createStringError("%s", functions->error(functions->model));
  return llvm::Error::success();
}

} // namespace tilewright
