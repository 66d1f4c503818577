//===- Design.cpp - the folder of a design -----------------------------------------------===//
//
// Test: test/Tools/hls.test
//
//===----------------------------------------------------------------------===//
#include "Design.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

namespace tilewright::driver {
namespace {

/// What only a design of ours has at its top.
constexpr llvm::StringLiteral mark = "report.json";

std::string parentOf(llvm::StringRef folder) {
  llvm::StringRef parent = path::parent_path(folder.rtrim('/'));
  return parent.empty() ? "." : parent.str();
}

llvm::Error writeFile(const llvm::Twine &folder, const DesignFile &file) {
  llvm::SmallString<128> at;
  folder.toVector(at);
  path::append(at, file.path);
  std::error_code code = fs::create_directories(path::parent_path(at));
  if (!code) {
    llvm::raw_fd_ostream out(at, code);
    if (!code) {
      out << file.text;
      out.close();
      code = out.error();
      out.clear_error();
    }
  }
  return code ? llvm::createStringError(code, "cannot write '%s': %s", at.c_str(), code.message().c_str())
              : llvm::Error::success();
}

} // namespace

llvm::Error checkDesignFolder(llvm::StringRef folder) {
  if (folder == "-" || folder.empty())
    return llvm::createStringError("a design is a folder of files: say which with -o FOLDER");
  const std::string shown = folder.str(), parent = parentOf(folder);
  if (!fs::is_directory(parent))
    return llvm::createStringError("cannot make the folder '%s': there is no folder '%s'", shown.c_str(),
                                   parent.c_str());
  if (std::error_code code = fs::access(parent, fs::AccessMode::Write))
    return llvm::createStringError(code, "cannot make the folder '%s': %s", shown.c_str(), code.message().c_str());
  if (!fs::exists(folder))
    return llvm::Error::success();
  std::error_code code;
  if (!fs::is_directory(folder))
    return llvm::createStringError("'%s' is a file, and a design is a folder", shown.c_str());
  const bool empty = fs::directory_iterator(folder, code) == fs::directory_iterator();
  if (empty || fs::exists(shown + "/" + mark))
    return llvm::Error::success();
  return llvm::createStringError("the folder '%s' holds other things than a design of Tilewright's; name another",
                                 shown.c_str());
}

llvm::Error writeDesign(Session &session, ModelFile &model, Target &target, const Options &given,
                        llvm::StringRef folder) {
  ModuleOp module = *model.module;
  OwningOpRef<ModuleOp> original(cast<ModuleOp>(module->clone()));
  Options options = given;
  if (llvm::Error failed = session.lowerTo(module, "target", options))
    return failed;
  if (llvm::Error failed = target.configure(options)) // lowerTo has completed a copy
    return failed;
  llvm::Expected<std::vector<DesignFile>> files = target.files(module, options);
  if (!files)
    return files.takeError();
  llvm::Expected<std::vector<DesignFile>> data = makeDesignData(model, *original);
  if (!data)
    return data.takeError();
  files->insert(files->end(), data->begin(), data->end());

  const std::string place = folder.rtrim('/').str();
  llvm::SmallString<128> aside;
  if (std::error_code code = fs::createUniqueDirectory(parentOf(folder) + "/.tilewright-design", aside)) {
    // createUniqueDirectory puts relative names into the system's folder for temporary files.
    return llvm::createStringError(code, "cannot write beside '%s': %s", place.c_str(), code.message().c_str());
  }
  auto drop = [&](llvm::Error failed) {
    fs::remove_directories(aside);
    return failed;
  };
  for (const DesignFile &file : *files)
    if (llvm::Error failed = writeFile(aside, file))
      return drop(std::move(failed));
  if (fs::exists(place))
    if (std::error_code code = fs::remove_directories(place, /*IgnoreErrors=*/false))
      return drop(llvm::createStringError(code, "cannot replace '%s': %s", place.c_str(), code.message().c_str()));
  if (std::error_code code = fs::rename(aside, place))
    return drop(llvm::createStringError(code, "cannot make '%s': %s", place.c_str(), code.message().c_str()));
  fs::setPermissions(place, static_cast<fs::perms>(0755));
  return llvm::Error::success();
}

} // namespace tilewright::driver
