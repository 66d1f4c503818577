//===- OnnxModel.cpp - .onnx files, and files of external data -------------------------===//
//
// Test: test/Tools/onnx.test, test/Python/test_onnx.py
//
//===----------------------------------------------------------------------===//
#include "tilewright/OnnxModel.h"
#include "lib/Import/ONNX/OnnxWalker.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

namespace tilewright {

struct OnnxModel::State {
  std::string path;
  std::unique_ptr<llvm::MemoryBuffer> file;
  std::map<std::string, std::unique_ptr<llvm::MemoryBuffer>> externalFiles; ///< files of external data, by name
  onnx::Model model;
  std::vector<const void *> weights;
  std::list<std::vector<uint8_t>> copies; ///< elements of constants that the file stores in another form
  std::list<onnx::Node> nodes;            ///< nodes of functions, with the attributes of their calls
};

OnnxModel::OnnxModel(std::unique_ptr<State> state) : state(std::move(state)) {}
OnnxModel::~OnnxModel() = default;

bool OnnxModel::looksOnnx(llvm::StringRef path, llvm::StringRef bytes) {
  // All known writers begin the file with ir_version, which is field 1, a varint with a small value.
  return path.ends_with_insensitive(".onnx") ||
         (bytes.size() > 2 && bytes[0] == 0x08 && bytes[1] > 0 && bytes[1] < 0x20);
}

llvm::Expected<std::unique_ptr<OnnxModel>> OnnxModel::open(llvm::StringRef path) {
  auto state = std::make_unique<State>();
  state->path = path.str();
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!file)
    return llvm::createStringError("cannot open '" + path + "': " + file.getError().message());
  state->file = std::move(*file);
  llvm::SmallString<128> folder, realFolder;
  folder = llvm::sys::path::parent_path(path);
  if (folder.empty())
    folder = ".";
  State &s = *state;
  // The reader has checked that the name has no "..", but a symbolic link may refer to a file outside the folder.
  auto open = [&](const std::string &name, std::string &why) -> std::optional<std::string_view> {
    auto known = s.externalFiles.find(name);
    if (known == s.externalFiles.end()) {
      llvm::SmallString<128> dataPath(folder), realDataPath;
      llvm::sys::path::append(dataPath, name);
      if (llvm::sys::fs::real_path(folder, realFolder) || llvm::sys::fs::real_path(dataPath, realDataPath)) {
        why = "there is no such file in the model's folder";
        return std::nullopt;
      }
      if (!realDataPath.str().starts_with((realFolder + "/").str()) && realFolder != "/") {
        why = "it is a symbolic link to a file outside of the model's folder, which is not followed";
        return std::nullopt;
      }
      if (!llvm::sys::fs::is_regular_file(realDataPath)) {
        why = "it is not a file";
        return std::nullopt;
      }
      auto data = llvm::MemoryBuffer::getFile(realDataPath, /*IsText=*/false, /*RequiresNullTerminator=*/false);
      if (!data) {
        why = data.getError().message();
        return std::nullopt;
      }
      known = s.externalFiles.try_emplace(name, std::move(*data)).first;
    }
    llvm::StringRef bytes = known->second->getBuffer();
    return std::string_view(bytes.data(), bytes.size());
  };
  std::string error;
  llvm::StringRef bytes = state->file->getBuffer();
  std::optional<onnx::Model> model = onnx::readModel({bytes.data(), bytes.size()}, open, error);
  if (!model)
    return llvm::createStringError("cannot read '" + path + "': " + error);
  state->model = std::move(*model);
  return std::unique_ptr<OnnxModel>(new OnnxModel(std::move(state)));
}

llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>> OnnxModel::import(mlir::MLIRContext &context,
                                                                    llvm::ArrayRef<DynamicSize> dynamic) {
  state->weights.clear();
  state->copies.clear();
  state->nodes.clear();
  auto module = importOnnx(state->model, state->nodes, context, state->weights, state->copies, dynamic);
  if (!module)
    return llvm::createStringError("'" + state->path + "': " + llvm::toString(module.takeError()));
  return module;
}

llvm::ArrayRef<const void *> OnnxModel::weights() const { return state->weights; }

} // namespace tilewright
