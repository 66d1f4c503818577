//===- ReadManifest.cpp - read <model>.json -------------------------------------------===//
//
// Tests: test/Unit/Driver/LoadedLibraryTest.cpp, test/Python/test_library.py
//
//===----------------------------------------------------------------------===//
#include "lib/AOT/Manifest.h"
#include "lib/Interfaces/JsonText.h"
#include "lib/Runtime/Host/InstructionSets.h"
#include "tilewright/LoadedLibrary.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

namespace tilewright {

using llvm::json::ObjectMapper;
using llvm::json::Path;
using llvm::json::Value;

namespace {
/// A size in the manifest. The JSON value is a number, or a string for a symbolic size.
struct SizeText {
  std::string text;
};

struct Versions {
  std::string tilewright, llvm;
};

bool fromJSON(const Value &value, SizeText &size, Path path) {
  if (std::optional<int64_t> number = value.getAsInteger())
    size.text = std::to_string(*number);
  else if (std::optional<llvm::StringRef> text = value.getAsString())
    size.text = text->str();
  else
    return path.report("expected a number or a string"), false;
  return true;
}

bool fromJSON(const Value &value, Versions &versions, Path path) {
  ObjectMapper map(value, path);
  return map && map.map("tilewright", versions.tilewright) && map.map("llvm", versions.llvm);
}
} // namespace

static bool fromJSON(const Value &value, LibraryManifest::Symbol &symbol, Path path) {
  ObjectMapper map(value, path);
  return map && map.map("name", symbol.name) && map.map("min", symbol.min) && map.map("max", symbol.max);
}

static bool fromJSON(const Value &value, LibraryManifest::Tensor &tensor, Path path) {
  ObjectMapper map(value, path);
  std::vector<SizeText> sizes;
  if (!map || !map.map("name", tensor.name) || !map.map("dtype", tensor.dtype) || !map.map("sizes", sizes) ||
      !map.mapOptional("written", tensor.written))
    return false;
  for (SizeText &size : sizes)
    tensor.sizes.push_back(std::move(size.text));
  return true;
}

static bool fromJSON(const Value &value, LibraryManifest::Kernel &kernel, Path path) {
  ObjectMapper map(value, path);
  return map && map.map("name", kernel.name) && map.map("operations", kernel.operations) &&
         map.map("schedule", kernel.schedule) && map.map("calls", kernel.calls);
}

static bool fromJSON(const Value &value, LibraryManifest::Variant &variant, Path path) {
  ObjectMapper map(value, path);
  return map && map.map("cpu", variant.cpu) && map.map("instruction_sets", variant.instructionSets) &&
         map.map("weights_packed", variant.weightsPacked) && map.map("kernels", variant.kernels);
}

static bool fromJSON(const Value &value, LibraryManifest::File &file, Path path) {
  ObjectMapper map(value, path);
  return map && map.map("role", file.role) && map.map("name", file.name) && map.map("bytes", file.bytes) &&
         map.map("blake3", file.blake3);
}

static bool fromJSON(const Value &value, LibraryManifest &manifest, Path path) {
  ObjectMapper map(value, path);
  int64_t format = 0;
  Versions versions;
  if (!map || !map.map("format", format))
    return false;
  static_assert(library::manifestFormat == 3, "the text below says so, too");
  if (format != library::manifestFormat)
    return path.field("format").report("this version of tilewright reads format 3; compile the model anew"), false;
  if (!map.map("versions", versions))
    return false;
  manifest.tilewrightVersion = std::move(versions.tilewright);
  manifest.llvmVersion = std::move(versions.llvm);
  return map.map("model", manifest.model) && map.map("target", manifest.target) &&
         map.map("threads_planned_for", manifest.threads) && map.map("symbols", manifest.symbols) &&
         map.map("inputs", manifest.inputs) && map.map("outputs", manifest.outputs) &&
         map.map("variants", manifest.variants) && map.map("weight_bytes", manifest.weightBytes) &&
         map.map("files", manifest.files);
}

/// Returns true if brackets and braces, including those in strings, are nested at most 64 deep. Deeper nesting of
/// arrays and objects could overflow the stack in the recursive JSON parser.
static bool isShallow(llvm::StringRef text) {
  int depth = 0;
  for (char c : text) {
    depth += c == '[' || c == '{' ? 1 : c == ']' || c == '}' ? -1 : 0;
    if (depth > 64)
      return false;
  }
  return true;
}

llvm::Expected<LibraryManifest> readManifest(llvm::StringRef path) {
  // If a folder has a shared and a static library of one model, the library that was written second has a separate
  // manifest, such as model.a.json.
  llvm::SmallString<128> file(path);
  file += ".json";
  if (!llvm::sys::fs::exists(file)) {
    file = path;
    llvm::sys::path::replace_extension(file, ".json");
  }
  auto buffer = llvm::MemoryBuffer::getFile(file, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer)
    return llvm::createStringError(buffer.getError(),
                                   "'%s' is not a library of tilewright compile: its manifest '%s' cannot be read: %s",
                                   path.str().c_str(), file.c_str(), buffer.getError().message().c_str());
  llvm::StringRef text = (*buffer)->getBuffer();
  auto problem = [&](llvm::Error error) {
    return llvm::createStringError("'%s' is not the manifest of a library: %s", file.c_str(),
                                   llvm::toString(std::move(error)).c_str());
  };
  if (!isShallow(text))
    return problem(llvm::createStringError("it is nested too deeply"));
  llvm::Expected<Value> parsed = parseJson(text);
  if (!parsed)
    return problem(parsed.takeError());
  Path::Root root("manifest");
  LibraryManifest manifest;
  if (!fromJSON(*parsed, manifest, root))
    return problem(root.getError());
  return manifest;
}

llvm::Error verifyFiles(const LibraryManifest &manifest, llvm::StringRef folder) {
  for (const LibraryManifest::File &file : manifest.files) {
    if (file.name.empty() || llvm::sys::path::filename(file.name) != file.name)
      return llvm::createStringError("the manifest names a file outside of its folder: '%s'", file.name.c_str());
    llvm::SmallString<128> path(folder);
    llvm::sys::path::append(path, file.name);
    auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
    if (!buffer)
      return llvm::createStringError(buffer.getError(), "cannot read '%s' (%s): %s", path.c_str(), file.role.c_str(),
                                     buffer.getError().message().c_str());
    llvm::StringRef bytes = (*buffer)->getBuffer();
    if (int64_t(bytes.size()) != file.bytes ||
        llvm::toHex(library::hashOf(llvm::arrayRefFromStringRef(bytes)), /*LowerCase=*/true) != file.blake3)
      return llvm::createStringError("'%s' is not the file that the manifest of the model '%s' was written with (%zu "
                                     "bytes, %lld expected): it is damaged, or another compilation wrote it",
                                     path.c_str(), manifest.model.c_str(), bytes.size(), (long long)file.bytes);
  }
  return llvm::Error::success();
}

std::vector<std::string> missingInstructionSets(llvm::ArrayRef<std::string> sets) {
  runtime::InstructionSets host = runtime::hostInstructionSets();
  std::vector<std::string> missing;
  for (const std::string &name : sets) {
    bool has = false;
    for (const runtime::InstructionSet &set : runtime::instructionSets())
      has |= name == set.name && host.*set.member;
    if (!has)
      missing.push_back(name);
  }
  return missing;
}

} // namespace tilewright
