//===- LibraryCall.cpp - call a library on given or random tensors ---------------------===//
//
// Test: test/Python/test_library.py
//
//===----------------------------------------------------------------------===//
#include "LibraryCall.h"
#include "RunInputs.h"
#include "dialects/Graph/Dtype.h"
#include "dialects/Graph/Graph.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace tilewright::driver {
namespace {

/// Parses a size in the format of graph::sizeText(), such as "batch * 2 + 1" or "points // 4". As in Python, "//" is
/// a division that rounds down. Returns null if `text` is not an expression of `symbols`.
AffineExpr parseSize(llvm::StringRef text, llvm::StringRef symbols, MLIRContext &context) {
  const std::string divided = llvm::join(llvm::split(text, " // "), " floordiv ");
  const std::string inMlir = llvm::join(llvm::split(divided, " % "), " mod ");
  ScopedDiagnosticHandler quiet(&context, [](Diagnostic &) { return success(); });
  auto map = dyn_cast_or_null<AffineMapAttr>(
      parseAttribute(("affine_map<()[" + symbols + "] -> (" + inMlir + ")>").str(), &context));
  return map && map.getValue().getNumResults() == 1 ? map.getValue().getResult(0) : AffineExpr();
}

/// Returns a module whose @main has the inputs of the manifest. makeInputs() can then be used for libraries, too.
llvm::Expected<OwningOpRef<ModuleOp>> interfaceOf(const LibraryManifest &manifest, MLIRContext &context) {
  context.loadDialect<func::FuncDialect, graph::TWDialect>();
  OpBuilder b(&context);
  SmallVector<Type> types(manifest.symbols.size(), b.getIndexType());
  std::string symbols;
  for (const LibraryManifest::Symbol &symbol : manifest.symbols)
    symbols += (symbols.empty() ? "" : ", ") + symbol.name;
  for (const LibraryManifest::Tensor &input : manifest.inputs) {
    std::optional<ScalarType> dtype = scalarTypeFromName(input.dtype);
    if (!dtype)
      return llvm::createStringError("unknown dtype '" + input.dtype + "' of the input " + input.name +
                                     " in the manifest");
    SmallVector<AffineExpr> sizes;
    for (const std::string &text : input.sizes) {
      sizes.push_back(parseSize(text, symbols, context));
      if (!sizes.back())
        return llvm::createStringError("the size '" + text + "' of the input " + input.name +
                                       " in the manifest is neither a number nor an expression of symbolic sizes");
    }
    types.push_back(graph::tensorWithSizes(sizes, elementTypeOf(*dtype, &context)));
  }
  OwningOpRef<ModuleOp> module = ModuleOp::create(b.getUnknownLoc());
  b.setInsertionPointToEnd(module->getBody());
  auto main = func::FuncOp::create(b, b.getUnknownLoc(), "main", b.getFunctionType(types, {}));
  b.setInsertionPointToEnd(main.addEntryBlock());
  func::ReturnOp::create(b, b.getUnknownLoc());
  unsigned number = 0;
  for (const LibraryManifest::Symbol &symbol : manifest.symbols) {
    main.setArgAttr(number, graph::symbolAttrName, b.getStringAttr(symbol.name));
    main.setArgAttr(number, graph::symbolMinAttrName, b.getI64IntegerAttr(symbol.min));
    if (symbol.max)
      main.setArgAttr(number, graph::symbolMaxAttrName, b.getI64IntegerAttr(*symbol.max));
    ++number;
  }
  for (const LibraryManifest::Tensor &input : manifest.inputs)
    main.setArgAttr(number++, graph::nameAttrName, b.getStringAttr(input.name));
  return module;
}

} // namespace

LibraryCall::LibraryCall() : context(MLIRContext::Threading::DISABLED) {}

llvm::Expected<std::unique_ptr<LibraryCall>> LibraryCall::prepare(llvm::StringRef path, const LibraryInputs &inputs,
                                                                  int threads, const std::string &cpu) {
  llvm::Expected<LibraryManifest> manifest = readManifest(path);
  if (!manifest)
    return manifest.takeError();
  std::unique_ptr<LibraryCall> call(new LibraryCall);
  call->manifest = std::move(*manifest);
  if (llvm::Error failed = call->readInputs(inputs))
    return failed;
  auto library = LoadedLibrary::load(path, call->manifest, threads, cpu);
  if (!library)
    return library.takeError();
  call->library = std::move(*library);
  if (llvm::Error failed = call->makeOutputs())
    return failed;
  return call;
}

llvm::Error LibraryCall::readInputs(const LibraryInputs &inputs) {
  llvm::Expected<OwningOpRef<ModuleOp>> module = interfaceOf(manifest, context);
  if (!module)
    return module.takeError();
  auto main = (*module)->lookupSymbol<func::FuncOp>("main");
  llvm::Expected<RunInputs> made = makeInputs(ModelFile(), main, inputs.files, inputs.sizes, inputs.seed);
  if (!made)
    return made.takeError();
  tensors = std::move(made->tensors);
  return llvm::Error::success();
}

static std::vector<LibraryTensor> passed(std::vector<HostTensor> &tensors) {
  std::vector<LibraryTensor> list;
  for (HostTensor &tensor : tensors) // scalarTypeOf() succeeds, because element types were created from dtypes
    list.push_back({tensor.bytes.data(), *scalarTypeOf(tensor.element), tensor.sizes});
  return list;
}

llvm::Error LibraryCall::makeOutputs() {
  passedTensors = passed(tensors);
  llvm::Expected<std::vector<LibraryTensor>> shapes = library->shape(passedTensors);
  if (!shapes)
    return shapes.takeError();
  for (auto [shape, output] : llvm::zip_equal(*shapes, manifest.outputs)) {
    HostTensor tensor{elementTypeOf(shape.dtype, &context), shape.sizes, {}};
    if (llvm::Error failed = tensor.allocate())
      return failed;
    results.push_back(std::move(tensor));
    resultNames.push_back(output.name);
  }
  passedResults = passed(results);
  return llvm::Error::success();
}

std::vector<ProfiledStep> LibraryCall::steps() {
  std::vector<ProfiledStep> steps;
  for (const LoadedLibrary::Step &step : library->steps())
    steps.push_back({step.operations, step.seconds * 1e3});
  return steps;
}

llvm::Error LibraryCall::run() { return library->run(passedTensors, passedResults); }

} // namespace tilewright::driver
