//===- LibraryCall.cpp - call a library with tensors from files ------------------------===//
//
// Test: test/Python/test_library.py
//
//===----------------------------------------------------------------------===//
#include "LibraryCall.h"
#include "tilewright/Target.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace tilewright::driver {
namespace {

/// Element types by the numbers of the generated header.
struct Dtypes {
  explicit Dtypes(mlir::MLIRContext *context) {
    mlir::Builder b(context);
    types = {b.getI1Type(),  b.getIntegerType(8, /*isSigned=*/false),
             b.getI8Type(),  b.getIntegerType(16),
             b.getI32Type(), b.getI64Type(),
             b.getF16Type(), b.getBF16Type(),
             b.getF32Type(), b.getF64Type(),
             b.getIntegerType(16, /*isSigned=*/false), b.getIntegerType(32, /*isSigned=*/false),
             b.getIntegerType(64, /*isSigned=*/false)};
  }
  /// Returns the number of a dtype, or -1 if none has this name.
  int32_t numberOf(llvm::StringRef name) const {
    for (auto [number, type] : llvm::enumerate(types))
      if (dtypeNameOf(type) == name)
        return int32_t(number);
    return -1;
  }
  std::vector<mlir::Type> types;
};

} // namespace

LibraryCall::LibraryCall() : context(mlir::MLIRContext::Threading::DISABLED) {}

llvm::Expected<std::unique_ptr<LibraryCall>>
LibraryCall::prepare(llvm::StringRef path, llvm::ArrayRef<std::string> files, int threads, const std::string &cpu) {
  llvm::Expected<LibraryManifest> manifest = readManifest(path);
  if (!manifest)
    return manifest.takeError();
  std::unique_ptr<LibraryCall> call(new LibraryCall);
  call->manifest = std::move(*manifest);
  if (llvm::Error failed = call->readInputs(files))
    return failed;
  auto library = LoadedLibrary::load(path, call->manifest, threads, cpu);
  if (!library)
    return library.takeError();
  call->library = std::move(*library);
  if (llvm::Error failed = call->makeOutputs())
    return failed;
  return call;
}

llvm::Error LibraryCall::readInputs(llvm::ArrayRef<std::string> files) {
  std::vector<std::string> names;
  for (const LibraryManifest::Tensor &input : manifest.inputs)
    names.push_back(input.name);
  std::vector<std::string> paths(names.size());
  for (llvm::StringRef file : files) {
    auto [name, path] = file.split('=');
    if (path.empty())
      return llvm::createStringError("--input wants NAME=FILE.npy, not '" + file + "'");
    size_t number = llvm::find(names, name) - names.begin();
    if (number == names.size())
      return llvm::createStringError("the model has no input '" + name + "'" + suggestName(name, names) +
                                     "; its inputs are " + llvm::join(names, ", "));
    if (!paths[number].empty())
      return llvm::createStringError("the input '" + name + "' is given twice");
    paths[number] = path.str();
  }
  Dtypes dtypes(&context);
  for (auto [path, input] : llvm::zip_equal(paths, manifest.inputs)) {
    if (path.empty())
      return llvm::createStringError("the input " + input.name + ": " + input.dtype + "[" +
                                     llvm::join(input.sizes, ", ") + "] is not given (--input NAME=FILE.npy)");
    int32_t dtype = dtypes.numberOf(input.dtype);
    if (dtype < 0)
      return llvm::createStringError("the manifest's dtype '" + input.dtype + "' of the input " + input.name +
                                     " is not known");
    auto tensor = readNpy(path, dtypes.types[dtype]);
    if (!tensor)
      return llvm::createStringError("the input '" + input.name + "': " + llvm::toString(tensor.takeError()));
    tensors.push_back(std::move(*tensor));
  }
  return llvm::Error::success();
}

static std::vector<LibraryTensor> passed(std::vector<HostTensor> &tensors) {
  std::vector<LibraryTensor> list;
  for (HostTensor &tensor : tensors)
    list.push_back(
        {tensor.bytes.data(), Dtypes(tensor.element.getContext()).numberOf(dtypeNameOf(tensor.element)), tensor.sizes});
  return list;
}

llvm::Error LibraryCall::makeOutputs() {
  passedTensors = passed(tensors);
  llvm::Expected<std::vector<LibraryTensor>> shapes = library->shape(passedTensors);
  if (!shapes)
    return shapes.takeError();
  Dtypes dtypes(&context);
  for (auto [shape, output] : llvm::zip_equal(*shapes, manifest.outputs)) {
    if (shape.dtype < 0 || size_t(shape.dtype) >= dtypes.types.size())
      return llvm::createStringError("the library says that the dtype of " + output.name + " is number " +
                                     std::to_string(shape.dtype));
    HostTensor tensor{dtypes.types[shape.dtype], shape.sizes, {}};
    if (llvm::Error failed = tensor.allocate())
      return failed;
    results.push_back(std::move(tensor));
    resultNames.push_back(output.name);
  }
  passedResults = passed(results);
  return llvm::Error::success();
}

llvm::Error LibraryCall::run() { return library->run(passedTensors, passedResults); }

} // namespace tilewright::driver
