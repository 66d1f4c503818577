//===- ModelFile.cpp - read a model for the driver's commands ---------------------===//
//
// Test: test/Tools/compile.mlir, test/Tools/exported.test, test/Tools/onnx.test
//
//===----------------------------------------------------------------------===//
#include "ModelFile.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;

namespace tilewright::driver {
namespace {

/// Returns a description of the file's contents if its first bytes show that it is not MLIR. Returns "" if the file may
/// be MLIR.
std::string otherFormat(llvm::StringRef bytes) {
  if (bytes.trim().empty())
    return "is empty";
  if (bytes.take_front(4096).contains('\0') && !bytes.starts_with("ML\xefR"))
    return "is a binary file";
  return "";
}

/// Reads a model like readModelFile(), but does not apply the ranges in `dynamic` to models that are not ONNX.
llvm::Expected<ModelFile> readAsWritten(llvm::StringRef path, MLIRContext &context,
                                        llvm::ArrayRef<DynamicSize> dynamic) {
  ModelFile model;
  std::string problem;
  auto buffer = openInputFile(path, &problem);
  if (!buffer)
    return llvm::createStringError(problem);
  if (ExportedModel::looksExported(buffer->getBuffer())) {
    if (path == "-")
      return llvm::createStringError("a .pt2 file cannot be read from standard input; pass its path");
    auto exported = ExportedModel::open(path);
    if (!exported)
      return exported.takeError();
    auto module = (*exported)->import(context);
    if (!module)
      return llvm::createStringError(llvm::toString(module.takeError()) +
                                     "\nin Python, tilewright.export(model, inputs, path) writes a .pt2 file that "
                                     "contains only operators that Tilewright supports");
    model.exported = std::move(*exported);
    model.module = std::move(*module);
    return model;
  }
  if (path != "-" && OnnxModel::looksOnnx(path, buffer->getBuffer())) {
    auto onnx = OnnxModel::open(path);
    if (!onnx)
      return onnx.takeError();
    auto module = (*onnx)->import(context, dynamic);
    if (!module)
      return module.takeError();
    model.onnx = std::move(*onnx);
    model.module = std::move(*module);
    return model;
  }
  if (std::string format = otherFormat(buffer->getBuffer()); !format.empty())
    return llvm::createStringError(
        "'" + path + "' " + format +
        "; Tilewright reads .pt2 files (tilewright.export in Python), .onnx files and MLIR, such as the "
        "0-imported.mlir of torch.compile(..., options={\"dump\": \"dir\"})");
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(buffer), llvm::SMLoc());
  SourceMgrDiagnosticHandler diagnostics(sources, &context);
  model.module = parseSourceFile<ModuleOp>(sources, &context);
  if (!model.module)
    return llvm::createStringError("'" + path + "' is not valid MLIR; the errors above name the lines");
  return model;
}

} // namespace

llvm::Expected<ModelFile> readModelFile(llvm::StringRef path, MLIRContext &context,
                                        llvm::ArrayRef<DynamicSize> dynamic) {
  llvm::Expected<ModelFile> model = readAsWritten(path, context, dynamic);
  if (model && !model->onnx) // the importer of ONNX has already applied the ranges
    if (llvm::Error failed = narrowSizes(*model->module, dynamic))
      return std::move(failed);
  return model;
}

} // namespace tilewright::driver
