//===- ReadProgram.cpp - read a .pt2 file into a Program -------------------------------===//
#include "lib/Import/TorchExport/Reader/Reader.h"
#include <algorithm>
#include <set>

namespace tilewright::exported {
namespace {

constexpr uint64_t largestText = uint64_t(1) << 30;
constexpr int64_t schemaMajor = 8;
constexpr const char *again = "save it with torch.export.save of torch 2.8 or later, or with tilewright.export";

/// Returns the first 80 bytes of the entry `name` of the archive, or "" if there is no such entry or it cannot be read.
std::string textOf(const ZipArchive &archive, const std::string &name) {
  std::string ignored;
  const ZipArchive::Entry *entry = archive.find(name);
  std::optional<Bytes> bytes = entry ? archive.read(*entry, 4096, ignored) : std::nullopt;
  return bytes ? std::string(bytes->view.substr(0, 80)) : "";
}

/// Returns the reason why the archive is not a .pt2 file, or "" if it is one.
std::string otherArchive(const ZipArchive &archive, const std::string &root) {
  auto has = [&](const std::string &name) { return archive.find(name) || archive.find(root + "/" + name); };
  if (textOf(archive, root + "/archive_format") == "pt2")
    return "";
  if (has("serialized_exported_program.json"))
    return std::string("it is a .pt2 of an older torch, whose weights are pickled; ") + again;
  if (has("constants.pkl"))
    return std::string("it is a program of TorchScript, not of torch.export; ") + again;
  if (has("data.pkl"))
    return std::string("it is a file of torch.save, which contains tensors but no program; ") + again;
  return std::string("it is a zip archive, but no .pt2; ") + again;
}

/// Returns the name of the archive's only model, without folder and ".json", or "" with the reason in `error`.
std::string modelIn(const ZipArchive &archive, const std::string &root, std::string &error) {
  std::string prefix = root + "/models/", all;
  std::vector<std::string> names;
  for (const ZipArchive::Entry &entry : archive.entries())
    if (entry.name.starts_with(prefix) && entry.name.ends_with(".json") && entry.name.size() > prefix.size() + 5)
      names.push_back(entry.name.substr(prefix.size(), entry.name.size() - prefix.size() - 5));
  if (names.size() == 1)
    return names[0];
  for (const std::string &name : names)
    all += (all.empty() ? "" : ", ") + name;
  error = names.empty() ? std::string("it has no program; ") + again
                        : "it has the programs " + all + "; save each program to a separate file";
  return "";
}

void readRanges(const JsonView &view, std::map<std::string, Range> &ranges) {
  for (const auto &[symbol, range] : view.members()) {
    auto bound = [&](const char *key) {
      std::optional<JsonView> value = range.find(key);
      return value ? std::optional(value->integer()) : std::nullopt;
    };
    ranges[symbol] = {bound("min_val"), bound("max_val")};
  }
}

} // namespace

namespace {

/// Reads the names of symbolic sizes, which only tilewright.export stores in the file. A name is ignored if it is not
/// an identifier of at most 64 characters, or if an earlier symbol has it.
void readNames(const ZipArchive &archive, const std::string &root, std::map<std::string, std::string> &names) {
  nlohmann::json document;
  std::string ignored;
  if (!readJson(archive, root + "/extra/tilewright/sizes.json", document, ignored) || !document.is_object())
    return;
  constexpr size_t longest = 64;
  auto isLetter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  std::set<std::string> seen;
  for (const auto &[symbol, name] : document.items()) {
    if (!name.is_string())
      continue;
    const std::string text = name.get<std::string>();
    const bool isIdentifier =
        !text.empty() && text.size() <= longest && isLetter(text[0]) &&
        std::all_of(text.begin(), text.end(), [&](char c) { return isLetter(c) || (c >= '0' && c <= '9'); });
    if (isIdentifier && seen.insert(text).second)
      names[symbol] = text;
  }
}

} // namespace

bool readJson(const ZipArchive &archive, const std::string &name, nlohmann::json &value, std::string &error) {
  const ZipArchive::Entry *entry = archive.find(name);
  std::optional<Bytes> bytes = entry ? archive.read(*entry, largestText, error) : std::nullopt;
  if (!bytes) {
    if (error.empty())
      error = "it has no entry '" + name + "'";
    return false;
  }
  value = nlohmann::json::parse(bytes->view, nullptr, /*allow_exceptions=*/false);
  if (value.is_discarded()) {
    error = name + " is not JSON";
    return false;
  }
  return true;
}

std::optional<Program> readProgram(std::string_view file, std::string &error) {
  error.clear();
  std::optional<ZipArchive> archive = ZipArchive::open(file, error);
  if (!archive)
    return std::nullopt;
  auto fail = [&](std::string why) {
    error = std::move(why);
    return std::nullopt;
  };
  if (archive->entries().empty())
    return fail("it is a zip archive without entries");
  const std::string &first = archive->entries().front().name;
  std::string root = first.substr(0, first.find('/'));
  if (std::string other = otherArchive(*archive, root); !other.empty())
    return fail(other);
  if (std::string order = textOf(*archive, root + "/byteorder"); order != "little")
    return fail("its byte order is '" + order + "'; only 'little' is supported");
  std::string model = modelIn(*archive, root, error);
  if (model.empty())
    return std::nullopt;

  nlohmann::json document;
  std::string name = root + "/models/" + model + ".json";
  if (!readJson(*archive, name, document, error))
    return std::nullopt;
  JsonView view(document, "models/" + model + ".json", error);
  int64_t major = view["schema_version"]["major"].integer();
  Program program;
  if (std::optional<JsonView> version = view.find("torch_version"))
    program.torchVersion = version->text();
  if (view.ok() && major != schemaMajor)
    return fail("torch " + program.torchVersion + " wrote it in schema version " + std::to_string(major) + "; only " +
                std::to_string(schemaMajor) + " is supported; " + again);
  SizesByName sizes;
  readGraph(view["graph_module"]["graph"], program.graph, sizes);
  readSignature(view["graph_module"], program, sizes);
  readRanges(view["range_constraints"], program.ranges);
  if (std::optional<JsonView> guards = view.find("guards_code"))
    for (const JsonView &guard : guards->list())
      program.guards.push_back(guard.text());
  if (!view.ok() || !readWeights(*archive, root, model, program, error))
    return std::nullopt;
  readNames(*archive, root, program.names);
  return program;
}

} // namespace tilewright::exported
