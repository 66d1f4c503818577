//===- ReadModelTest.cpp - reading valid and invalid .onnx files --------------------------===//
#include "SmallModel.h"

#include <gtest/gtest.h>

using namespace tilewright::onnx;
using namespace tilewright::onnx::test;

namespace {

std::string errorOf(const std::string &file) {
  std::string error;
  EXPECT_FALSE(readModel(file, openExternal, error).has_value());
  return error;
}

std::string errorOfTensor(const Fields &tensor) {
  return errorOf(modelWith([&](protozero::pbf_writer &graph) { message(graph, 5, tensor); }));
}

TEST(ReadModel, ReadsEveryPartOfAModel) {
  std::string file = smallModel(), error;
  std::optional<Model> model = readModel(file, openExternal, error);
  ASSERT_TRUE(model) << error;
  EXPECT_EQ(model->irVersion, 8);
  EXPECT_EQ(model->opsets.at(""), 17);
  ASSERT_EQ(model->graph.nodes.size(), 4u);
  const Node &gemm = model->graph.nodes[0];
  EXPECT_EQ(gemm.inputs, (std::vector<std::string>{"x", "w", "b"}));
  EXPECT_EQ(gemm.attributes.at("alpha").number, 2.0);
  const Attribute &branch = model->graph.nodes[1].attributes.at("then_branch");
  ASSERT_EQ(branch.kind, Attribute::Kind::Graph);
  EXPECT_EQ(branch.graph->nodes[0].op, "Relu");
  EXPECT_EQ(model->graph.nodes[3].attributes.at("axes").integers, (std::vector<int64_t>{-1, 0}));
  EXPECT_EQ(model->graph.initializers.at("w").bytes, weights);
  // The bytes refer to the file and are not a copy.
  EXPECT_GE(model->graph.initializers.at("w").bytes.data(), file.data());
  EXPECT_LT(model->graph.initializers.at("w").bytes.data(), file.data() + file.size());
  EXPECT_EQ(model->graph.initializers.at("e").bytes.size(), 8u);
  float numbers[2];
  memcpy(numbers, model->graph.initializers.at("b").bytes.data(), sizeof(numbers));
  EXPECT_EQ(numbers[1], -2.0f);
  EXPECT_EQ(model->graph.initializers.at("c").bytes, std::string(1, '\1'));
  ASSERT_TRUE(model->graph.inputs[0].sizes);
  EXPECT_EQ(std::get<std::string>((*model->graph.inputs[0].sizes)[0]), "n");
  EXPECT_EQ(std::get<int64_t>((*model->graph.inputs[0].sizes)[1]), 2);
  ASSERT_EQ(model->functions.size(), 1u);
  EXPECT_EQ(model->functions[0].domain, "own");
}

TEST(ReadModel, RefusesSizesThatDoNotFitTheirBytes) {
  EXPECT_EQ(errorOfTensor(rawTensor("w", {2, 3}, weights)), "the tensor 'w' needs 24 bytes for its sizes and has 16");
  EXPECT_EQ(errorOfTensor(rawTensor("w", {-1, 4}, weights)), "the tensor 'w' has invalid sizes");
  EXPECT_EQ(errorOfTensor(rawTensor("w", {int64_t(1) << 40, int64_t(1) << 40}, weights)),
            "the tensor 'w' has invalid sizes");
}

TEST(ReadModel, RefusesFilesOutsideOfItsFolder) {
  for (const char *location : {"/etc/passwd", "../w.bin", "data/../../w.bin", "data/..", "", "c:w.bin", "a\\b"})
    EXPECT_NE(errorOfTensor(externalTensor("e", location, "0", "8")).find("not in the model's folder"),
              std::string::npos)
        << location;
  EXPECT_EQ(errorOfTensor(externalTensor("e", "none.bin", "0", "8")),
            "the tensor 'e' has its elements in 'none.bin': there is no such file");
}

TEST(ReadModel, ReadsNothingAfterAnExternalFile) {
  for (auto [offset, length] : {std::pair("8", "8"), {"13", "8"}, {"18446744073709551615", "8"}, {"0", "16"}})
    EXPECT_NE(errorOfTensor(externalTensor("e", "data/w.bin", offset, length)).find("beyond the end"),
              std::string::npos)
        << offset;
  EXPECT_NE(errorOfTensor(externalTensor("e", "data/w.bin", "-4", "8")).find("is not an offset or a length"),
            std::string::npos);
}

TEST(ReadModel, RefusesDeepNesting) {
  // 200 nested graphs, built from the innermost one.
  std::string graph;
  for (int depth = 0; depth < 200; ++depth) {
    std::string outer;
    protozero::pbf_writer writer(outer);
    message(writer, 1, node("If", {}, {}, attribute("then_branch", 5, [&](protozero::pbf_writer &a) {
                              a.add_message(6, graph);
                            })));
    graph = outer;
  }
  EXPECT_EQ(errorOf(modelWith([&](protozero::pbf_writer &to) {
              message(to, 1, node("If", {}, {}, attribute("then_branch", 5, [&](protozero::pbf_writer &a) {
                                    a.add_message(6, graph);
                                  })));
            })),
            "graphs are nested more than 32 levels deep");
}

TEST(ReadModel, RefusesFilesThatAreNotModels) {
  EXPECT_EQ(errorOf(""), "it has no graph; is it an ONNX model?");
  EXPECT_EQ(errorOf("hello"), "it is no ONNX model, or it is damaged: its protobuf encoding is broken");
  std::string newer;
  protozero::pbf_writer model(newer);
  model.add_int64(1, 99);
  message(model, 7, [](protozero::pbf_writer &graph) { graph.add_string(2, "g"); });
  EXPECT_EQ(errorOf(newer), "its IR version is 99; those up to 14 are read");
}

} // namespace
