//===- LoadedLibraryTest.cpp - manifests that were changed after writing -------------===//
#include "tilewright/LoadedLibrary.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

#include <gtest/gtest.h>
#include <random>

using namespace tilewright;

static const std::string good = R"({
  "format": 3, "model": "m", "versions": {"tilewright": "0.1.0", "llvm": "22.1.8", "plan": 3}, "target": "cpu",
  "threads_planned_for": 2,
  "symbols": [{"name": "n", "min": 1, "max": 64}, {"name": "k", "min": 2, "max": null}],
  "inputs": [{"name": "x", "dtype": "float32", "sizes": ["n", 3], "written": true}],
  "outputs": [{"name": "y", "dtype": "int64", "sizes": ["n + 1"]}],
  "variants": [{"cpu": "native", "instruction_sets": ["avx2", "fma"], "weights_packed": true,
                "kernels": [{"name": "k0", "operations": "add", "schedule": "", "calls": 1}]}],
  "weight_bytes": 12, "graph_blake3": "00",
  "files": [{"role": "library", "name": "m.so", "bytes": 4, "blake3": "ab"}]})";

namespace {
struct Manifest : testing::Test {
  void SetUp() override {
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("manifest", folder));
    path = (folder + "/m.json").str();
  }
  void TearDown() override { llvm::sys::fs::remove_directories(folder); }

  llvm::Expected<LibraryManifest> read(llvm::StringRef text) {
    std::error_code code;
    llvm::raw_fd_ostream(path, code) << text;
    return readManifest(path);
  }
  std::string problem(llvm::StringRef text) {
    llvm::Expected<LibraryManifest> manifest = read(text);
    return manifest ? "" : llvm::toString(manifest.takeError());
  }
  std::string without(llvm::StringRef part, llvm::StringRef instead = "") {
    std::string text = good;
    text.replace(text.find(part), part.size(), instead);
    return text;
  }
  llvm::SmallString<128> folder;
  std::string path;
};
} // namespace

TEST_F(Manifest, RoundTrips) {
  llvm::Expected<LibraryManifest> manifest = read(good);
  ASSERT_TRUE(bool(manifest)) << llvm::toString(manifest.takeError());
  EXPECT_EQ(manifest->model, "m");
  EXPECT_EQ(manifest->symbols[0].max, 64);
  EXPECT_FALSE(manifest->symbols[1].max);
  EXPECT_EQ(manifest->inputs[0].sizes, (std::vector<std::string>{"n", "3"}));
  EXPECT_TRUE(manifest->inputs[0].written);
  EXPECT_EQ(manifest->outputs[0].sizes, (std::vector<std::string>{"n + 1"}));
  EXPECT_EQ(manifest->variants[0].kernels[0].operations, "add");
  EXPECT_EQ(manifest->files[0].bytes, 4);
}

TEST_F(Manifest, ErrorsNameTheFileAndTheLocation) {
  EXPECT_NE(problem("").find("m.json' is not the manifest of a library"), std::string::npos);
  EXPECT_NE(problem(without("\"dtype\": \"float32\"", "\"dtype\": 3")).find("inputs[0].dtype"), std::string::npos);
  EXPECT_NE(problem(without("\"model\": \"m\",")).find("missing value at manifest.model"), std::string::npos);
  EXPECT_NE(problem(without("\"format\": 3", "\"format\": 7")).find("format 3"), std::string::npos);
  EXPECT_NE(problem(std::string(100000, '[')).find("nested too deeply"), std::string::npos);
  EXPECT_NE(problem(without("[\"n\", 3]", "[[]]")).find("sizes[0]"), std::string::npos);
}

TEST_F(Manifest, FilesMustBeInTheManifestsFolder) {
  for (const char *name : {"../m.so", "/etc/passwd", ""}) {
    llvm::Expected<LibraryManifest> manifest =
        read(without("\"name\": \"m.so\"", ("\"name\": \"" + llvm::Twine(name) + "\"").str()));
    ASSERT_TRUE(bool(manifest)) << llvm::toString(manifest.takeError());
    EXPECT_NE(llvm::toString(verifyFiles(*manifest, folder)).find("outside of its folder"), std::string::npos) << name;
  }
}

/// Tests that reading each of 1,000 damaged manifests returns an error, or a manifest whose library is not loaded.
TEST_F(Manifest, MutationsAreErrors) {
  std::mt19937 random(1);
  auto below = [&](size_t limit) { return std::uniform_int_distribution<size_t>(0, limit - 1)(random); };
  int refused = 0;
  for (int round = 0; round < 1000; ++round) {
    std::string text = good;
    for (size_t edits = 1 + below(4); edits-- > 0 && !text.empty();)
      switch (size_t at = below(text.size()); below(4)) {
      case 0:
        text[at] = char(below(256));
        break;
      case 1:
        text.erase(at, 1 + below(8));
        break;
      case 2:
        text.insert(at, text.substr(below(text.size()), below(40)));
        break;
      default:
        text.resize(at);
      }
    llvm::Expected<LibraryManifest> manifest = read(text);
    if (!manifest) {
      ++refused;
      EXPECT_NE(llvm::toString(manifest.takeError()).find("m.json"), std::string::npos);
      continue;
    }
    auto library = LoadedLibrary::load((folder + "/m.so").str(), *manifest);
    EXPECT_FALSE(bool(library));
    llvm::consumeError(library.takeError());
  }
  EXPECT_GT(refused, 500);
}
