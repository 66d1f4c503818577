//===- ReadWeights.cpp - parameters, buffers and constants of the file -----------------===//
#include "lib/Import/TorchExport/Reader/Reader.h"

#include <algorithm>
#include <set>

namespace tilewright::exported {
namespace {

constexpr uint64_t mostInflated = uint64_t(1) << 32;

/// Checks that the elements of a tensor with metadata `meta` are inside a storage of `bytes` bytes. Returns an error
/// message, or "" if they are.
std::string checkExtent(const TensorMeta &meta, uint64_t bytes) {
  if (!meta.strided)
    return "its layout is not strided; make it dense before it is exported";
  const auto *offset = std::get_if<int64_t>(&meta.offset);
  if (!offset || *offset < 0)
    return "its offset is not a number";
  bool empty = false, fits = true;
  int64_t last = *offset, elements;
  for (size_t i = 0; i < meta.sizes.size(); ++i) {
    const auto *size = std::get_if<int64_t>(&meta.sizes[i]), *stride = std::get_if<int64_t>(&meta.strides[i]);
    if (!size || !stride || *stride < 0)
      return "its sizes and strides are not all numbers of at least 0";
    int64_t step;
    empty |= *size == 0;
    fits &= *size == 0 ||
            (!__builtin_mul_overflow(*size - 1, *stride, &step) && !__builtin_add_overflow(last, step, &last));
  }
  if (empty)
    return "";
  int64_t width = elementBytes(meta.dtype);
  if (!fits || __builtin_add_overflow(last, 1, &elements) || __builtin_mul_overflow(elements, width, &elements) ||
      uint64_t(elements) > bytes)
    return "its elements do not fit into its " + std::to_string(bytes) + " bytes";
  // An expanded tensor is copied with all its elements, so the copy may be larger than the storage. Limit its size.
  const int64_t mostBytes = std::max<int64_t>(bytes, int64_t(1) << 30);
  int64_t total = width;
  for (const Size &size : meta.sizes)
    if (__builtin_mul_overflow(total, std::get<int64_t>(size), &total) || total > mostBytes)
      return "it is expanded to more than a gigabyte; make it contiguous before it is exported";
  return "";
}

struct WeightFolder {
  const char *name;   ///< subfolder of data/
  const char *config; ///< suffix of the model's name
};

class WeightReader {
public:
  WeightReader(const ZipArchive &archive, const std::string &root, const WeightFolder &folder, Program &program,
               std::string &error)
      : archive(archive), folder(root + "/data/" + folder.name + "/"), program(program), error(error) {
    for (const Input &input : program.inputs)
      wanted.insert(input.weight);
  }

  bool run(const std::string &config) {
    nlohmann::json document;
    if (!archive.find(folder + config))
      return true; // the model has no such tensors; readWeights() reports missing tensors
    if (!readJson(archive, folder + config, document, error))
      return false;
    JsonView view(document, folder + config, error);
    for (const auto &[name, entry] : view["config"].members())
      if (error.empty() && wanted.count(name))
        readOne(name, entry);
    return error.empty();
  }

private:
  void readOne(const std::string &name, const JsonView &view) {
    Weight weight;
    std::optional<JsonView> pickled = view.find("use_pickle");
    if (pickled && pickled->flag())
      return view.fail(
          "'" + name +
          "' is pickled, as tensor subclasses and other objects are, and Tilewright does not load pickles; make it a "
          "plain tensor before the model is exported");
    weight.meta = readTensorMeta(view["tensor_meta"]);
    std::string path = folder + view["path_name"].text();
    if (!error.empty())
      return;
    const ZipArchive::Entry *entry = archive.find(path);
    if (!entry)
      return view.fail("the archive has no entry '" + path + "'");
    auto known = read.find(path);
    if (known == read.end()) {
      std::optional<Bytes> bytes = archive.read(*entry, mostInflated, error);
      if (!bytes)
        return;
      known = read.emplace(path, *bytes).first;
    }
    weight.storage = known->second;
    if (std::string problem = checkExtent(weight.meta, weight.storage.view.size()); !problem.empty())
      return view.fail("'" + name + "': " + problem);
    program.weights[name] = std::move(weight);
  }

  const ZipArchive &archive;
  std::string folder;
  Program &program;
  std::string &error;
  std::set<std::string> wanted;
  std::map<std::string, Bytes> read; ///< contents of each path; tied weights share an entry
};

std::string describe(const TensorMeta &meta) {
  std::string text = meta.dtype + "[";
  for (size_t i = 0; i < meta.sizes.size(); ++i) {
    const auto *number = std::get_if<int64_t>(&meta.sizes[i]);
    text += (i ? ", " : "") + (number ? std::to_string(*number) : std::get<std::string>(meta.sizes[i]));
  }
  return text + "]";
}

} // namespace

bool readWeights(const ZipArchive &archive, const std::string &root, const std::string &model, Program &program,
                 std::string &error) {
  for (const WeightFolder &folder :
       {WeightFolder{"weights", "_weights_config.json"}, WeightFolder{"constants", "_constants_config.json"}})
    if (!WeightReader(archive, root, folder, program, error).run(model + folder.config))
      return false;
  for (const Input &input : program.inputs) {
    if (input.weight.empty())
      continue;
    auto found = program.weights.find(input.weight);
    if (found == program.weights.end()) {
      error = "the file has no elements for '" + input.weight + "'";
      return false;
    }
    const TensorMeta &graph = program.graph.tensors.at(input.name), &file = found->second.meta;
    if (graph.dtype != file.dtype || graph.sizes != file.sizes) {
      error =
          "'" + input.weight + "' is " + describe(file) + " among the weights and " + describe(graph) + " in the graph";
      return false;
    }
  }
  return true;
}

} // namespace tilewright::exported
