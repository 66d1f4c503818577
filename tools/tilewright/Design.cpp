//===- Design.cpp - write the folder of a design -----------------------------------------===//
//
// Test: test/Tools/hls.test
//
//===----------------------------------------------------------------------===//
#include "Design.h"
#include "lib/Interfaces/JsonText.h"
#include "lib/Interfaces/NumberText.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tilewright/AttributeNames.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <fcntl.h>

using namespace mlir;
namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

namespace tilewright::driver {
namespace {

/// The file in the top folder of a design that names the generator, and the key of its list of files. A later run may
/// replace the listed files.
constexpr llvm::StringLiteral mark = "report.json", filesKey = "files";

/// The prefix of the temporary folder into which a design is written.
constexpr llvm::StringLiteral aside = ".tilewright-design";

std::string parentOf(llvm::StringRef folder) {
  llvm::StringRef parent = path::parent_path(folder.rtrim('/'));
  return parent.empty() ? "." : parent.str();
}

/// Returns the files that report.json in `folder` lists, or nullopt if `folder` has no report of Tilewright.
std::optional<llvm::StringSet<>> listedFiles(llvm::StringRef folder) {
  llvm::SmallString<128> at(folder);
  path::append(at, mark);
  auto buffer = llvm::MemoryBuffer::getFile(at, /*IsText=*/true);
  if (!buffer)
    return std::nullopt;
  llvm::Expected<llvm::json::Value> report = parseJson((*buffer)->getBuffer());
  if (!report) {
    llvm::consumeError(report.takeError());
    return std::nullopt;
  }
  const llvm::json::Object *object = report->getAsObject();
  const llvm::json::Array *list = object ? object->getArray(filesKey) : nullptr;
  if (!list || object->getString("made_by") != "tilewright hls")
    return std::nullopt;
  llvm::StringSet<> files;
  for (const llvm::json::Value &entry : *list)
    if (auto name = entry.getAsString())
      files.insert(*name);
  return files;
}

/// Returns the first entry below `folder` that is neither in `files` nor a folder of such files, or "" if there is no
/// such entry. If the folder cannot be read, returns the message of the error.
std::string foreignFileIn(llvm::StringRef folder, const llvm::StringSet<> &files) {
  std::error_code code;
  for (fs::recursive_directory_iterator at(folder, code, /*follow_symlinks=*/false), end; at != end && !code;
       at.increment(code)) {
    llvm::StringRef name = llvm::StringRef(at->path()).substr(folder.size()).ltrim('/');
    const bool isFolder = at->type() == fs::file_type::directory_file;
    const bool known =
        isFolder
            ? llvm::any_of(files.keys(), [&](llvm::StringRef file) { return file.starts_with((name + "/").str()); })
            : files.contains(name);
    if (!known)
      return name.str();
  }
  return code ? code.message() : "";
}

/// Adds the list of all files, including report.json, to report.json.
void listFiles(std::vector<DesignFile> &files) {
  for (DesignFile &report : files) {
    if (report.path != mark)
      continue;
    llvm::json::Value value = llvm::cantFail(parseJson(report.text));
    llvm::json::Array names;
    for (const DesignFile &file : files)
      names.push_back(file.path);
    (*value.getAsObject())[filesKey] = std::move(names);
    report.text.clear();
    llvm::raw_string_ostream(report.text) << jsonText(value, 2) << "\n";
  }
}

/// Adds the errors of the results, computed for the inputs of the test bench, to the reports of a fixed-point design.
void addErrors(std::vector<DesignFile> &files, llvm::ArrayRef<FixedError> errors) {
  if (errors.empty())
    return;
  for (DesignFile &report : files) {
    if (report.path == mark) {
      llvm::json::Value value = llvm::cantFail(parseJson(report.text));
      llvm::json::Array rows;
      for (const FixedError &error : errors)
        rows.push_back(llvm::json::Object{{"rms", error.rms}, {"largest", error.largest}});
      if (llvm::json::Object *fixed = value.getAsObject()->getObject("fixed"))
        (*fixed)["errors"] = std::move(rows);
      report.text.clear();
      llvm::raw_string_ostream(report.text) << jsonText(value, 2) << "\n";
    }
    if (report.path == "report.md")
      for (auto [number, error] : llvm::enumerate(errors))
        llvm::raw_string_ostream(report.text)
            << numberText("\nResult %zu on the test bench's data, compared with the float model in double precision: "
                          "RMS error %.2e, largest error %.2e.\n",
                          size_t(number), error.rms, error.largest);
  }
}

llvm::Error writeFile(const llvm::Twine &folder, const DesignFile &file) {
  llvm::SmallString<128> at;
  folder.toVector(at);
  path::append(at, file.path);
  std::error_code code = fs::create_directories(path::parent_path(at), /*IgnoreExisting=*/true, fs::all_all);
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
    return llvm::createStringError("a design is written into a folder; name this folder with -o FOLDER");
  const std::string shown = folder.str(), parent = parentOf(folder);
  llvm::StringRef last = path::filename(folder.rtrim('/'));
  if (last.empty() || last == "." || last == ".." || folder.rtrim('/').empty())
    return llvm::createStringError("'%s' cannot be replaced by a design; name a separate folder, for example -o design",
                                   shown.c_str());
  if (!fs::is_directory(parent))
    return llvm::createStringError("cannot create the folder '%s': its parent '%s' does not exist", shown.c_str(),
                                   parent.c_str());
  if (std::error_code code = fs::access(parent, fs::AccessMode::Write))
    return llvm::createStringError(code, "cannot create the folder '%s': %s", shown.c_str(), code.message().c_str());
  const std::string trimmed = folder.rtrim('/').str();
  if (fs::is_symlink_file(trimmed))
    return llvm::createStringError(
        "'%s' is a symbolic link; name the folder itself, because a design replaces the folder", shown.c_str());
  if (!fs::exists(folder))
    return llvm::Error::success();
  std::error_code code;
  if (!fs::is_directory(folder))
    return llvm::createStringError("'%s' is a file, but a design is written into a folder; name a folder",
                                   shown.c_str());
  llvm::SmallString<128> real, here;
  if (!fs::real_path(trimmed, real) && !fs::current_path(here) && !fs::real_path(here, here) &&
      (here + "/").str().starts_with((real + "/").str()))
    return llvm::createStringError(
        "the folder '%s' contains the current directory and cannot be replaced; name another folder", shown.c_str());
  if (fs::directory_iterator(trimmed, code) == fs::directory_iterator() && !code)
    return llvm::Error::success();
  std::optional<llvm::StringSet<>> files = listedFiles(trimmed);
  const std::string foreign = files ? foreignFileIn(trimmed, *files) : "";
  if (files && foreign.empty())
    return llvm::Error::success();
  return llvm::createStringError(
      "the folder '%s' contains files that are not part of a Tilewright design%s; name another folder", shown.c_str(),
      foreign.empty() ? "" : (": '" + foreign + "'").c_str());
}

void attachWeights(ModelFile &model) {
  auto main = model.module->lookupSymbol<func::FuncOp>("main");
  if (!main || model.weights().empty())
    return;
  main.getContext()->getOrLoadDialect("tw_hls");
  size_t tensor = 0;
  for (BlockArgument argument : main.getArguments()) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (!type)
      continue;
    const char *elements = static_cast<const char *>(model.weight(tensor++));
    // Skip elements of less than a byte, because MLIR's attributes and the model file pack them differently.
    if (!elements || !type.hasStaticShape() || type.getElementTypeBitWidth() % 8 != 0 || type.getNumElements() == 0)
      continue;
    const size_t bytes = type.getNumElements() * type.getElementTypeBitWidth() / 8;
    main.setArgAttr(argument.getArgNumber(), hls::valueAttrName,
                    DenseElementsAttr::getFromRawBuffer(type, llvm::ArrayRef<char>(elements, bytes)));
  }
}

/// Renames the folder `made` to `destination`, and removes an older `destination`. If the process is killed, either the
/// older or the new design exists.
static std::error_code moveIntoPlace(const std::string &made, const std::string &destination) {
  if (renameat2(AT_FDCWD, made.c_str(), AT_FDCWD, destination.c_str(), RENAME_NOREPLACE) == 0)
    return {};
  if (errno == EEXIST && renameat2(AT_FDCWD, made.c_str(), AT_FDCWD, destination.c_str(), RENAME_EXCHANGE) == 0)
    return fs::remove_directories(made, /*IgnoreErrors=*/false);
  if (errno != EINVAL && errno != ENOSYS)
    return std::error_code(errno, std::generic_category());
  // The file system does not support the flags of renameat2(). In this case there is a time between two calls of
  // rename() at which `destination` does not exist. At this time, the older design has the suffix ".older".
  const std::string older = made + ".older";
  const bool replaces = fs::exists(destination);
  if (replaces)
    if (std::error_code code = fs::rename(destination, older))
      return code;
  if (std::error_code code = fs::rename(made, destination)) {
    if (replaces)
      (void)fs::rename(older, destination); // if this fails, too, the older design keeps the suffix
    return code;
  }
  return replaces ? fs::remove_directories(older, /*IgnoreErrors=*/false) : std::error_code();
}

/// Removes the temporary folders of killed processes from `parent`, if they are more than an hour old. Keeps folders
/// with the suffix ".older", because such a folder may contain the only complete design.
static void removeAbandoned(llvm::StringRef parent) {
  std::vector<std::string> found;
  std::error_code code;
  const auto limit = std::chrono::system_clock::now() - std::chrono::hours(1);
  for (fs::directory_iterator it(parent, code, /*follow_symlinks=*/false), end; it != end && !code;
       it.increment(code)) {
    llvm::StringRef name = path::filename(it->path());
    fs::file_status status;
    if (name.starts_with(aside) && !name.ends_with(".older") && !fs::status(it->path(), status) &&
        status.getLastModificationTime() < limit)
      found.push_back(it->path());
  }
  for (const std::string &left : found)
    (void)fs::remove_directories(left);
}

llvm::Error writeDesign(Session &session, ModelFile &model, const ModelFile &floats, Target &target,
                        const Options &given, llvm::StringRef folder) {
  ModuleOp module = *model.module;
  OwningOpRef<ModuleOp> original(cast<ModuleOp>(module->clone()));
  attachWeights(model);
  Options options = given;
  if (llvm::Error failed = session.lowerTo(module, "target", options))
    return failed;
  if (llvm::Error failed = target.configure(options)) // lowerTo() completed only a copy of `options`
    return failed;
  llvm::Expected<std::vector<DesignFile>> files = target.files(module, options);
  if (!files)
    return files.takeError();
  auto embedded = module->getAttrOfType<DenseI64ArrayAttr>(hls::embeddedAttrName);
  auto arranged = module->getAttrOfType<ArrayAttr>(hls::arrangedAttrName);
  llvm::Expected<DesignData> data =
      makeDesignData(model, *original, floats, embedded ? embedded.asArrayRef() : llvm::ArrayRef<int64_t>(),
                     arranged ? arranged.getValue() : llvm::ArrayRef<Attribute>());
  if (!data)
    return data.takeError();
  files->insert(files->end(), data->files.begin(), data->files.end());
  addErrors(*files, data->errors);
  listFiles(*files);

  const std::string destination = folder.rtrim('/').str();
  // The temporary folder is next to `destination`, because rename() does not work across file systems.
  llvm::SmallString<128> prefix(parentOf(folder)), made;
  std::error_code failure = fs::make_absolute(prefix);
  if (!failure)
    removeAbandoned(prefix);
  path::append(prefix, aside);
  if (!failure)
    failure = fs::createUniqueDirectory(prefix, made);
  if (failure)
    return llvm::createStringError(failure, "cannot write next to '%s': %s", destination.c_str(),
                                   failure.message().c_str());
  auto drop = [&](llvm::Error failed) {
    (void)fs::remove_directories(made);
    return failed;
  };
  for (const DesignFile &file : *files)
    if (llvm::Error failed = writeFile(made, file))
      return drop(std::move(failed));
  (void)fs::setPermissions(made, static_cast<fs::perms>(fs::all_all & ~fs::getUmask()));
  // Check the folder again, because it may have changed during the compilation.
  if (llvm::Error changed = checkDesignFolder(destination))
    return drop(std::move(changed));
  if (std::error_code code = moveIntoPlace(made.str().str(), destination))
    return drop(llvm::createStringError(code, "cannot create or replace '%s': %s", destination.c_str(),
                                        code.message().c_str()));
  return llvm::Error::success();
}

} // namespace tilewright::driver
