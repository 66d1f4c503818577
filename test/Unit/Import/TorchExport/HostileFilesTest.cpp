//===- HostileFilesTest.cpp - a thousand damaged .pt2 files, under the sanitizers -----------===//
//
// Each file is derived from a valid file with a random seed: bytes are changed, the end is truncated, or its JSON is
// changed and the archive is written again with correct checksums. The reader must return a program or an error. The
// test reads the elements of a returned program's weights, at most 100000 of each weight.
//
//===----------------------------------------------------------------------===//
#include "Perceptron.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <random>

using namespace tilewright::exported;
using namespace tilewright::exported::test;
using nlohmann::json;

namespace {

using Random = std::mt19937;

/// Returns the sum of the bytes of a weight's elements. Reads at most the first 100000 elements, in the order in which
/// the importer reads them.
uint64_t touch(const Weight &weight) {
  uint64_t sum = 0, width = elementBytes(weight.meta.dtype), count = 1;
  std::vector<int64_t> sizes, strides, indices(weight.meta.sizes.size(), 0);
  for (size_t dim = 0; dim < weight.meta.sizes.size(); ++dim) {
    sizes.push_back(std::get<int64_t>(weight.meta.sizes[dim]));
    strides.push_back(std::get<int64_t>(weight.meta.strides[dim]));
    count *= uint64_t(sizes.back());
  }
  int64_t from = std::get<int64_t>(weight.meta.offset);
  for (uint64_t i = 0; i < std::min<uint64_t>(count, 100000); ++i) {
    for (uint64_t byte = 0; byte < width; ++byte)
      sum += uint8_t(weight.storage.view.data()[uint64_t(from) * width + byte]);
    for (int dim = int(indices.size()) - 1; dim >= 0; --dim) {
      from += strides[dim];
      if (++indices[dim] < sizes[dim])
        break;
      from -= strides[dim] * sizes[dim];
      indices[dim] = 0;
    }
  }
  return sum;
}

void collect(json &value, std::vector<json *> &all) {
  all.push_back(&value);
  for (json &child : value)
    if (value.is_structured())
      collect(child, all);
}

json anything(Random &random, const std::vector<json *> &others) {
  switch (random() % 12) {
  case 0:
    return nullptr;
  case 1:
    return -1;
  case 2:
    return INT64_MAX;
  case 3:
    return INT64_MIN;
  case 4:
    return UINT64_MAX;
  case 5:
    return 1e300;
  case 6:
    return "";
  case 7:
    return std::string(random() % 5000, "(',)s0"[random() % 6]);
  case 8:
    return json::array();
  case 9:
    return json::object();
  case 10:
    return int64_t(random() % 64);
  default:
    return *others[random() % others.size()];
  }
}

std::string changedText(const std::string &text, Random &random) {
  json document = json::parse(text, nullptr, false);
  EXPECT_FALSE(document.is_discarded());
  for (unsigned count = 1 + random() % 3; count > 0; --count) {
    std::vector<json *> all;
    collect(document, all);
    json value = anything(random, all);
    json *node = all[random() % all.size()];
    switch (random() % 4) {
    case 0:
      if (node->is_array() && !node->empty()) {
        node->erase(random() % node->size());
        break;
      }
      [[fallthrough]];
    case 1:
      if (node->is_object() && !node->empty()) {
        node->erase(std::next(node->begin(), random() % node->size()).key());
        break;
      }
      [[fallthrough]];
    default:
      *node = std::move(value);
    }
  }
  return document.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string damaged(const std::string &file, const std::vector<Part> &parts, Random &random) {
  std::string result = file;
  switch (random() % 6) {
  case 0: // truncation
    return result.substr(0, random() % result.size());
  case 1: // bytes at random offsets
    for (unsigned count = 1 + random() % 8; count > 0; --count)
      result[random() % result.size()] = char(random());
    return result;
  case 2: { // bytes around the last directory entry, up to the end
    size_t from = result.rfind("PK\1\2", result.size() - 1), span = result.size() - from;
    from -= std::min<size_t>(from, 1000);
    span = result.size() - from;
    for (unsigned count = 1 + random() % 4; count > 0; --count)
      result[from + random() % span] = random() % 2 ? char(random()) : char(random() % 2 * 255);
    return result;
  }
  default: { // change the JSON
    std::vector<Part> changed = parts;
    std::vector<Part *> texts;
    for (Part &part : changed)
      if (part.name.ends_with(".json"))
        texts.push_back(&part);
    Part &part = *texts[random() % texts.size()];
    part.bytes = changedText(part.bytes, random);
    part.deflate = random() % 4 == 0;
    return zip(changed);
  }
  }
}

TEST(HostileFiles, DamagedFilesReturnAProgramOrAnError) {
  const std::string file = perceptron();
  const std::vector<Part> parts = perceptronParts();
  unsigned read = 0, refused = 0;
  uint64_t sum = 0;
  for (unsigned seed = 0; seed < 1000; ++seed) {
    Random random(seed);
    // A heap block of the exact size lets the sanitizer detect a read past the end.
    std::string made = damaged(file, parts, random);
    std::vector<char> bytes(made.begin(), made.end());
    bytes.shrink_to_fit();
    std::string error;
    std::optional<Program> program = readProgram({bytes.data(), bytes.size()}, error);
    EXPECT_EQ(program.has_value(), error.empty()) << "seed " << seed << ": " << error;
    (program ? read : refused) += 1;
    if (program)
      for (const auto &[name, weight] : program->weights)
        sum += touch(weight);
  }
  RecordProperty("read", int(read));
  EXPECT_GT(read, 50u); // programs with changed bytes that the reader ignores
  EXPECT_GT(refused, 500u);
  EXPECT_GT(sum, 0u);
}

} // namespace
