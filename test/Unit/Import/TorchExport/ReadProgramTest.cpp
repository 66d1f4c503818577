//===- ReadProgramTest.cpp - reading valid and invalid .pt2 files --------------------------===//
#include "Perceptron.h"
#include "lib/Import/TorchExport/Reader/SizeText.h"

#include <gtest/gtest.h>

using namespace tilewright::exported;
using namespace tilewright::exported::test;

namespace {

std::string errorOf(const std::string &file) {
  std::string error;
  EXPECT_FALSE(readProgram(file, error).has_value());
  return error;
}

std::string errorWith(const std::string &entry, const std::string &from, const std::string &to) {
  return errorOf(zip(replaced(perceptronParts(), entry, from, to)));
}

TEST(ReadProgram, ReadsEveryPartOfAProgram) {
  std::string file = perceptron(), error;
  std::optional<Program> program = readProgram(file, error);
  ASSERT_TRUE(program) << error;
  ASSERT_EQ(program->inputs.size(), 4u);
  EXPECT_EQ(program->inputs[0].weight, "weight");
  EXPECT_EQ(program->inputs[2].kind, Input::Kind::Buffer);
  EXPECT_EQ(program->inputs[3].name, "x");
  ASSERT_EQ(program->outputs.size(), 2u);
  EXPECT_EQ(program->outputs[0].name, "halves");
  EXPECT_EQ(program->outputs[1].name, "both");
  ASSERT_EQ(program->ranges.size(), 1u);
  EXPECT_EQ(program->ranges.begin()->second.high, 512);
  const Weight &weight = program->weights.at("weight");
  EXPECT_EQ(weight.storage.view.size(), 128u);
  EXPECT_EQ(weight.meta.strides, (std::vector<Size>{int64_t(1), int64_t(8)}));
  const Node *linear = nullptr;
  for (const Node &node : program->graph.nodes)
    if (node.target == "aten.linear.default")
      linear = &node;
  ASSERT_TRUE(linear);
  EXPECT_EQ(linear->positional.size(), 3u);
  ASSERT_TRUE(linear->location);
  EXPECT_EQ(linear->location->function, "forward");
  EXPECT_GT(linear->location->line, 0);
}

TEST(ReadProgram, ReadsDeflatedEntries) {
  std::vector<Part> parts = perceptronParts();
  for (Part &part : parts)
    part.deflate = true;
  std::string file = zip(parts), error;
  std::optional<Program> program = readProgram(file, error);
  ASSERT_TRUE(program) << error;
  EXPECT_EQ(program->weights.at("weight").storage.view.size(), 128u);
  EXPECT_TRUE(program->weights.at("weight").storage.owner);
}

TEST(ReadProgram, NamesTheKindOfAFile) {
  EXPECT_EQ(errorOf(""), "it is not a zip archive");
  EXPECT_EQ(errorOf(std::string(1000, 'x')), "it is not a zip archive");
  std::string file = perceptron();
  for (size_t size : {size_t(4), size_t(5), size_t(21), size_t(22), file.size() / 2, file.size() - 1})
    EXPECT_TRUE(has(errorOf(file.substr(0, size)), "cut off"));
  EXPECT_EQ(errorOf(file.substr(0, 3)), "it is not a zip archive");
  EXPECT_TRUE(has(errorOf(file + "x"), "something was added"));
  EXPECT_TRUE(has(errorOf(zip({{"m/data.pkl", "x"}})), "a file of torch.save"));
  EXPECT_TRUE(has(errorOf(zip({{"m/constants.pkl", "x"}})), "TorchScript"));
  EXPECT_TRUE(has(errorOf(zip({{"serialized_exported_program.json", "x"}})), "an older torch"));
  EXPECT_TRUE(has(errorOf(zip({{"m/hello", "x"}})), "but no .pt2"));
  EXPECT_TRUE(has(errorOf(zip({{"m/archive_format", "pt2"}, {"m/byteorder", "big"}})), "byte order is 'big'"));
  EXPECT_TRUE(has(errorOf(zip({{"m/archive_format", "pt2"}, {"m/byteorder", "little"}})), "it has no program"));
  EXPECT_TRUE(has(errorOf(zip({{"m/archive_format", "pt2"},
                               {"m/byteorder", "little"},
                               {"m/models/a.json", "{}"},
                               {"m/models/b.json", "{}"}})),
                  "it has the programs a, b"));
}

TEST(ReadProgram, ADamagedByteIsDetected) {
  std::string file = perceptron();
  std::string good = file, error;
  file[ZipArchive::open(good, error)->find("perceptron/data/weights/weight_0")->data] ^= 1;
  EXPECT_TRUE(has(errorOf(file), "the checksum of the entry"));
}

TEST(ReadProgram, PicklesAreRefused) {
  EXPECT_TRUE(
      has(errorWith("model_weights_config.json", "\"use_pickle\": false", "\"use_pickle\": true"),
          "'weight' is pickled, as tensor subclasses and other objects are, and Tilewright does not load pickles"));
}

TEST(ReadProgram, InvalidMetadataOfWeightsIsRefused) {
  std::string name = "model_weights_config.json";
  EXPECT_TRUE(has(errorWith(name, "\"sizes\": [{\"as_int\": 8}]", "\"sizes\": [{\"as_int\": 9}]"),
                  "its elements do not fit into its 32 bytes"));
  EXPECT_TRUE(has(errorWith(name, "\"storage_offset\": {\"as_int\": 0}", "\"storage_offset\": {\"as_int\": 1}"),
                  "its elements do not fit"));
  EXPECT_TRUE(has(errorWith(name, "\"storage_offset\": {\"as_int\": 0}", "\"storage_offset\": {\"as_int\": -1}"),
                  "its offset is not a number"));
  EXPECT_TRUE(has(errorWith(name, "\"strides\": [{\"as_int\": 1}]", "\"strides\": [{\"as_int\": 4611686018427387904}]"),
                  "its elements do not fit"));
  EXPECT_TRUE(has(errorWith(name, "\"strides\": [{\"as_int\": 1}]", "\"strides\": [{\"as_int\": -1}]"),
                  "not all numbers of at least 0"));
  EXPECT_TRUE(has(errorWith(name,
                            "\"sizes\": [{\"as_int\": 8}], \"requires_grad\": true, \"device\": {\"type\": \"cpu\", "
                            "\"index\": null}, \"strides\": [{\"as_int\": 1}]",
                            "\"sizes\": [{\"as_int\": 999999999}], \"requires_grad\": true, \"device\": {\"type\": "
                            "\"cpu\", \"index\": null}, \"strides\": [{\"as_int\": 0}]"),
                  "it is expanded to more than a gigabyte"));
  EXPECT_TRUE(has(errorWith(name, "\"path_name\": \"weight_0\"", "\"path_name\": \"../weight_0\""), "no entry"));
  EXPECT_TRUE(has(errorWith(name, "\"dtype\": 7", "\"dtype\": 99"), "no dtype has the number 99"));
  EXPECT_TRUE(has(errorWith(name, "\"dtype\": 7", "\"dtype\": 2"), "among the weights and float32"));
}

TEST(ReadProgram, TheModelIsChecked) {
  std::string name = "model.json";
  EXPECT_TRUE(has(errorWith(name, "{", "["), "is not JSON"));
  EXPECT_TRUE(has(errorWith(name, "\"major\": 8", "\"major\": 9"), "schema version 9; only 8 is supported"));
  EXPECT_TRUE(has(errorWith(name, "\"tensor_values\"", "\"tensors\""), "'tensor_values' is missing"));
  EXPECT_TRUE(has(
      errorWith(name, "{\"arg\": {\"as_tensor\": {\"name\": \"x\"}}", "{\"arg\": {\"as_tensor\": {\"name\": \"z\"}}"),
      "'z' is not a tensor of this graph"));
  EXPECT_TRUE(has(errorWith(name, "{\"as_int\": 0}", "{\"as_int\": 99999999999999999999}"), "integer of 64 bits"));
  EXPECT_TRUE(has(errorWith(name, "\"as_int\": 0}", "\"as_int\": [[[]]]}"), "integer of 64 bits"));
}

TEST(ReadProgram, DeepDocumentsDoNotOverflowTheStack) {
  std::vector<Part> parts = perceptronParts();
  for (Part &part : parts)
    if (part.name.ends_with("models/model.json"))
      part.bytes = std::string(1000000, '[') + std::string(1000000, ']');
  EXPECT_TRUE(has(errorOf(zip(parts)), "an object is expected, not array"));
}

TEST(ZipArchive, OverlappingEntriesAreRefused) {
  ZipWriter writer;
  writer.add({"a", "aaaa"});
  std::string first = writer.directory;
  writer.add({"b", "bbbb"});
  // In the directory, the second entry gets the offset of the first one.
  std::string &directory = writer.directory;
  for (unsigned i = 0; i < 4; ++i)
    directory[first.size() + 42 + i] = '\0';
  directory.back() = 'a';
  std::string error;
  EXPECT_FALSE(ZipArchive::open(writer.finish(), error));
  EXPECT_TRUE(has(error, "two entries are named 'a'"));
  directory.back() = 'b';
  EXPECT_FALSE(ZipArchive::open(writer.finish(), error));
  EXPECT_TRUE(has(error, "'b' has a different name in its local header"));
}

TEST(ZipArchive, AnEntryThatHoldsAnotherIsRefused) {
  std::string inner = zip({{"b", "bbbb"}});
  ZipWriter writer;
  writer.add({"a", inner});
  uint64_t inside = 30 + 1; // the offset after the header and the name of "a"
  ZipWriter other;
  other.add({"b", "bbbb"});
  std::string entry = other.directory;
  for (unsigned i = 0; i < 4; ++i)
    entry[42 + i] = char(inside >> (8 * i));
  writer.directory += entry;
  writer.count = 2;
  std::string error;
  EXPECT_FALSE(ZipArchive::open(writer.finish(), error));
  EXPECT_EQ(error, "two of its entries overlap");
}

TEST(ZipArchive, SizesOfDeflatedEntriesAreChecked) {
  ZipWriter writer;
  writer.add({"a", std::string(100000, 'a'), true});
  std::string file = writer.finish(), error;
  std::optional<ZipArchive> archive = ZipArchive::open(file, error);
  ASSERT_TRUE(archive) << error;
  EXPECT_EQ(archive->read(*archive->find("a"), 100000, error)->view.size(), 100000u);
  EXPECT_FALSE(archive->read(*archive->find("a"), 99999, error));
  EXPECT_TRUE(has(error, "would inflate to 100000 bytes"));
  ZipArchive::Entry wrong = *archive->find("a");
  for (uint64_t size : {99999, 100001, 0}) {
    wrong.size = size;
    EXPECT_FALSE(archive->read(wrong, 1 << 20, error));
    EXPECT_TRUE(has(error, "does not inflate to the size"));
  }
}

TEST(SizeText, ReadsTheTextsOfTorch) {
  for (const char *text : {"Symbol('s77', positive=True, integer=True)", "Integer(3)",
                           "Add(Mul(Integer(32), Symbol('s53', positive=True, integer=True)), Integer(-1))",
                           "FloorDiv(Add(Symbol('s0', positive=True, integer=True), Integer(1)), Integer(2))",
                           "Pow(Symbol('s0', positive=True, integer=True), Integer(2))", "Float('1.5', precision=53)"})
    EXPECT_EQ(checkSizeText(text), "") << text;
}

TEST(SizeText, RefusesTextsThatNeedExponentialTime) {
  std::string deep, sum = "Add(Symbol('a'), Symbol('b'), Symbol('c'))", power = "Pow(" + sum + ", Integer(8))";
  for (int i = 0; i < 30; ++i)
    deep += "Add(Integer(1), ";
  EXPECT_EQ(checkSizeText(deep + "Integer(1)" + std::string(30, ')')), "is nested too deeply");
  EXPECT_EQ(checkSizeText("Pow(" + power + ", Integer(8))"), "multiplies out to too many terms");
  EXPECT_EQ(checkSizeText("Mul(" + sum + ", " + sum + ", " + sum + ", " + sum + ", " + sum + ", " + sum + ")"),
            "multiplies out to too many terms");
  EXPECT_EQ(checkSizeText("Pow(Symbol('a'), Symbol('b'))"), "multiplies out to too many terms");
  EXPECT_EQ(checkSizeText(""), "is not an expression in the form that torch writes");
  EXPECT_EQ(checkSizeText("((((1))))"), "is not an expression in the form that torch writes");
  EXPECT_EQ(checkSizeText("Add(1, 2"), "lacks a ')'");
  EXPECT_EQ(checkSizeText("Symbol('a"), "has an unterminated quote");
  EXPECT_EQ(checkSizeText("1 2"), "has unexpected text at its end");
  EXPECT_EQ(checkSizeText(std::string(5000, '1')), "is longer than 4096 characters");
}

} // namespace
