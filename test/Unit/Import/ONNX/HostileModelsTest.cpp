//===- HostileModelsTest.cpp - a thousand damaged .onnx files, under the sanitizers ----------===//
//
// Each file is derived from a valid file with a random seed: bytes are changed, removed or repeated, the file is
// truncated, or a byte is replaced by a large integer in the encoding of lengths, sizes and types. The reader must
// return a model or an error. The test reads every byte of every tensor in the graphs of a returned model.
//
//===----------------------------------------------------------------------===//
#include "SmallModel.h"

#include <gtest/gtest.h>
#include <random>

using namespace tilewright::onnx;
using namespace tilewright::onnx::test;

namespace {

using Random = std::mt19937;

std::string damaged(std::string file, Random &random) {
  auto anywhere = [&] { return random() % file.size(); };
  for (unsigned count = 1 + random() % 4; count > 0; --count)
    switch (random() % 6) {
    case 0: // truncation
      if (random() % 4 == 0)
        file.resize(1 + anywhere());
      break;
    case 1:
      file[anywhere()] = char(random());
      break;
    case 2: // one bit: changes a field, a wire type or a length
      file[anywhere()] ^= char(1 << random() % 8);
      break;
    case 3: { // a repeated part
      size_t from = anywhere(), length = random() % std::min<size_t>(64, file.size() - from);
      file.insert(anywhere(), file.substr(from, length));
      break;
    }
    case 4: { // a removed part
      size_t from = anywhere();
      if (file.size() > 40)
        file.erase(from, random() % std::min<size_t>(16, file.size() - from));
      break;
    }
    default: { // a large integer in the varint encoding
      static const std::string numbers[] = {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "\xff\xff\xff\xff\x0f",
                                            "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", "\xff\xff\xff\xff\x07"};
      file.replace(anywhere(), 1, numbers[random() % 4]);
    }
    }
  return file;
}

uint64_t touch(const Graph &graph) {
  uint64_t sum = 0;
  auto add = [&](const Tensor &tensor) {
    for (char byte : tensor.bytes)
      sum += uint8_t(byte);
    if (elementBits(tensor.type) >= 8)
      EXPECT_EQ(tensor.bytes.size(), uint64_t(tensor.count()) * (elementBits(tensor.type) / 8));
  };
  for (const auto &[name, tensor] : graph.initializers)
    add(tensor);
  for (const Node &node : graph.nodes)
    for (const auto &[name, attribute] : node.attributes) {
      add(attribute.tensor);
      if (attribute.graph)
        sum += touch(*attribute.graph);
    }
  return sum;
}

TEST(HostileModels, DamagedFilesReturnAModelOrAnError) {
  const std::string file = smallModel();
  unsigned read = 0, refused = 0;
  uint64_t sum = 0;
  for (unsigned seed = 0; seed < 1000; ++seed) {
    Random random(seed);
    // A heap block of the exact size lets the sanitizer detect a read past the end.
    std::string made = damaged(file, random);
    std::vector<char> bytes(made.begin(), made.end());
    bytes.shrink_to_fit();
    std::string error;
    std::optional<Model> model = readModel({bytes.data(), bytes.size()}, openExternal, error);
    EXPECT_EQ(model.has_value(), error.empty()) << "seed " << seed << ": " << error;
    (model ? read : refused) += 1;
    if (model)
      sum += touch(model->graph);
  }
  RecordProperty("read", int(read));
  EXPECT_GT(read, 50u); // models with changed bytes that the reader ignores
  EXPECT_GT(refused, 500u);
  EXPECT_GT(sum, 0u);
}

} // namespace
