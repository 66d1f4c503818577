//===- LibraryErrorsTest.cpp - errors of ahead-of-time libraries ------------------------===//
#include "test/Unit/Driver/ComparedLibrary.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace tilewright;
using namespace tilewright::test;

namespace {

/// Calls of the symbolic model, each with one mistake.
class LibraryCallErrors : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_NO_FATAL_FAILURE(both.writeFiles());
    loaded = std::make_unique<Loaded>(both.folder.file("net.so"), "net");
    char error[512];
    model = loaded->create(nullptr, error, sizeof error);
    ASSERT_TRUE(model) << error;
    both.arguments(*loaded, in, out, memory);
  }
  void TearDown() override {
    if (model)
      loaded->destroy(model);
  }

  std::string run() { return loaded->run(model, in.data(), out.data()) ? loaded->error(model) : "no error"; }

  Graph graph{symbolicMlp, {4}, {1, 2}};
  Both both{graph};
  std::unique_ptr<Loaded> loaded;
  void *model = nullptr;
  std::vector<CallerTensor> in, out;
  std::vector<Tensor> memory;
};

TEST_F(LibraryCallErrors, NameTheTensorAndTheProblem) {
  const std::vector<CallerTensor> rightIn = in, rightOut = out;
  auto expectError = [&](const std::string &text, auto &&spoil) {
    in = rightIn;
    out = rightOut;
    spoil();
    EXPECT_EQ(run(), text);
  };
  expectError("no error", [] {});
  expectError("input 0 (x) is of float64; expected float32 [batch, 64]", [&] { in[0].dtype = 9; });
  expectError("input 0 (x) has the unknown dtype 77; expected float32 [batch, 64]", [&] { in[0].dtype = 77; });
  expectError("input 0 (x) has 3 dimensions; expected float32 [batch, 64]", [&] { in[0].rank = 3; });
  expectError("input 0 (x) has the negative size -1 in dimension 0; expected float32 [batch, 64]",
              [&] { in[0].sizes[0] = -1; });
  expectError("input 0 (x) has sizes [4, 65]; expected float32 [batch, 64], here [4, 64]",
              [&] { in[0].sizes[1] = 65; });
  expectError("input 0 (x) has the size 600 in dimension 0; expected float32 [batch, 64], where batch is 1 to 512",
              [&] { in[0].sizes[0] = 600; });
  expectError("input 0 (x), float32 [batch, 64], is a null pointer, but it is not empty",
              [&] { in[0].data = nullptr; });
  expectError("input 0 (x), float32 [batch, 64], begins at an address that is not a multiple of its elements' 4 bytes",
              [&] { in[0].data = static_cast<char *>(in[0].data) + 1; });
  const int64_t transposed[2] = {1, 4}, dense[2] = {64, 1};
  expectError("input 0 (x), float32 [batch, 64], has strides [1, 4] for sizes [4, 64], but must be dense in row-major "
              "order; copy it",
              [&] { in[0].strides = transposed; });
  expectError("no error", [&] { in[0].strides = dense; });
  expectError("output 0 (output0) must be float32 [batch, 10], for these inputs [4, 10]; the shape function fills that "
              "in",
              [&] { out[0].sizes[0] = 5; });
  expectError("output 0 (output0), float32 [batch, 10], is a null pointer, but it is not empty",
              [&] { out[0].data = nullptr; });
  expectError("output 0 (output0) overlaps input 0 (x); use separate memory for it", [&] { out[0].data = in[0].data; });
  EXPECT_NE(loaded->run(model, nullptr, out.data()), 0);
  EXPECT_STREQ(loaded->error(model), "the model has 1 inputs, but the list of inputs is a null pointer");
  EXPECT_NE(loaded->run(model, rightIn.data(), nullptr), 0);
  EXPECT_STREQ(loaded->error(model), "the model has 1 outputs, but the list of outputs is a null pointer");
  EXPECT_NE(loaded->run(nullptr, rightIn.data(), rightOut.data()), 0);
  EXPECT_TRUE(llvm::StringRef(loaded->error(nullptr)).starts_with("the model is a null pointer"));
  EXPECT_EQ(loaded->input(1), nullptr);
  EXPECT_EQ(loaded->output(-1), nullptr);
}

TEST(LibraryErrors, IndexOutOfRangeIsReported) {
  Both both({R"(func.func @main(%t: tensor<4x64xf32>, %i: tensor<17xi64>) -> tensor<17x64xf32> {
  %0 = tw.take %t [%i] {dim = 0 : i64} : (tensor<4x64xf32>, tensor<17xi64>) -> tensor<17x64xf32> loc("model.py":12:3)
  return %0 : tensor<17x64xf32> })"});
  ASSERT_NO_FATAL_FAILURE(both.writeFiles());
  Loaded loaded(both.folder.file("net.so"), "net");
  int64_t wrong = 4;
  memcpy(&both.inputs[1].bytes[8 * 3], &wrong, sizeof wrong);
  std::vector<CallerTensor> in, out;
  std::vector<Tensor> memory;
  both.arguments(loaded, in, out, memory);
  void *model = loaded.create(nullptr, nullptr, 0);
  ASSERT_TRUE(model);
  EXPECT_NE(loaded.run(model, in.data(), out.data()), 0);
  EXPECT_STREQ(loaded.error(model), "index 4 is out of range for a dimension of size 4, in take (model.py:12)");
  loaded.destroy(model);
}

TEST(LibraryErrors, WeightsFileOfAnotherModelIsRefused) {
  Both both({symbolicMlp, {4}, {1, 2}, /*external=*/true});
  ASSERT_NO_FATAL_FAILURE(both.writeFiles());
  Loaded loaded(both.folder.file("net.so"), "net");
  auto problemWith = [&](const char *path) {
    char error[512] = "";
    CallerOptions options{1, path, nullptr, 0};
    EXPECT_EQ(loaded.create(&options, error, sizeof error), nullptr);
    return std::string(error);
  };
  EXPECT_EQ(problemWith(nullptr),
            "the weights of this model are in the file 'net.weights'; give its path in options.weights_file");
  EXPECT_TRUE(llvm::StringRef(problemWith("/nowhere")).starts_with("cannot open the weights '/nowhere': "));
  std::string good = (*llvm::MemoryBuffer::getFile(both.folder.file("net.weights")))->getBuffer().str();
  auto write = [&](llvm::StringRef bytes) {
    std::string path = both.folder.file("other");
    llvm::cantFail(llvm::writeToOutput(path, [&](llvm::raw_ostream &out) {
      out << bytes;
      return llvm::Error::success();
    }));
    return path;
  };
  EXPECT_TRUE(llvm::StringRef(problemWith(write(good.substr(1)).c_str())).contains("use the file that was written"));
  std::string other = good;
  other[20] ^= 1; // a byte of the id
  EXPECT_TRUE(llvm::StringRef(problemWith(write(other).c_str())).contains("contains the weights of another model"));
}

/// Returns writeLibrary's error for a graph that it cannot compile, and checks that no file was written.
std::string problemOf(const std::string &text, const std::string &target = "cpu") {
  Folder folder;
  Session session;
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &session.context());
  EXPECT_TRUE(module);
  Options options;
  options.target = target;
  LibraryOptions library;
  library.path = folder.file("net");
  llvm::Error failed = writeLibrary(session, *module, options, library);
  EXPECT_TRUE(bool(failed));
  for (const char *suffix : {".so", ".h", ".json"})
    EXPECT_FALSE(llvm::sys::fs::exists(folder.file("net") + suffix)) << suffix;
  return llvm::toString(std::move(failed));
}

TEST(LibraryErrors, UnsupportedGraphsAreRefused) {
  EXPECT_EQ(problemOf(R"(#n = affine_map<()[s0] -> (s0 floordiv 2)>
func.func @main(%n: index {tw.symbol = "batch"}, %x: tensor<?xf32, #n>) -> tensor<?xf32, #n> {
  %y = tw.exp %x : (tensor<?xf32, #n>) -> tensor<?xf32, #n>
  return %y : tensor<?xf32, #n> })"),
            "the symbolic size 'batch' is not the size of a dimension of an input, so that a caller cannot "
            "specify it; "
            "export the model with an input of this size");
  EXPECT_EQ(problemOf(R"(func.func @main(%x: tensor<1x1x1x1x1x1x1x1x1xf32>) -> tensor<1x1x1x1x1x1x1x1x1xf32> {
  return %x : tensor<1x1x1x1x1x1x1x1x1xf32> })"),
            "input 'input0' has 9 dimensions; an ahead-of-time library supports at most 8; reshape it");
  EXPECT_TRUE(llvm::StringRef(problemOf("func.func @other() { return }")).contains("no function @main"));
}

} // namespace
