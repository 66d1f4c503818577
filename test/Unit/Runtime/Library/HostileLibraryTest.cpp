//===- HostileLibraryTest.cpp - damaged libraries and manifests -----------------------------===//
//
// The library of a compiled graph, its file of external weights and its manifest are each damaged in a thousand ways.
// The code that reads these files is compiled with sanitizers. It must report an error or compute the original results,
// and never crash.
//
//===----------------------------------------------------------------------===//
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "test/Unit/Runtime/Library/Damage.h"
#include "tilewright/Compiler.h"
#include "tilewright/Library.h"
#include "tilewright/LoadedLibrary.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <gtest/gtest.h>

using namespace tilewright;

namespace {

constexpr const char *graph = R"(
#in = affine_map<()[s0] -> (s0, 16)>
#out = affine_map<()[s0] -> (s0, 24)>
func.func @main(%n: index {tw.symbol = "batch", tw.min = 1 : i64, tw.max = 64 : i64},
                %x: tensor<?x16xf32, #in> {tw.name = "x"}, %w: tensor<16x24xf32> {tw.static})
    -> (tensor<?x24xf32, #out> {tw.name = "y"}) {
  %p = tw.matmul %x, %w : (tensor<?x16xf32, #in>, tensor<16x24xf32>) -> tensor<?x24xf32, #out>
  %y = tw.gelu %p : (tensor<?x24xf32, #out>) -> tensor<?x24xf32, #out>
  return %y : tensor<?x24xf32, #out>
})";

/// Writes a new file and renames it to `path`. A loaded library then still maps the old file.
void write(const std::string &path, const std::string &bytes) {
  std::error_code code;
  llvm::raw_fd_ostream(path + ".new", code) << bytes;
  ASSERT_FALSE(code) << path;
  ASSERT_FALSE(llvm::sys::fs::rename(path + ".new", path));
}

/// The numbers of errors and of successful calls with a thousand damaged files.
struct Tally {
  int refused = 0, ran = 0;
};

struct HostileLibrary : testing::Test {
  void SetUp() override {
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("hostile-library", folder));
    Session session;
    auto module = mlir::parseSourceString<mlir::ModuleOp>(graph, &session.context());
    ASSERT_TRUE(module);
    std::vector<float> weights(16 * 24);
    for (size_t i = 0; i < weights.size(); ++i)
      weights[i] = float(i % 7) / 8;
    Options options;
    options.threads = 1;
    options.cache = false;
    LibraryOptions library;
    library.path = file("m");
    library.externalWeights = true;
    library.weights = {nullptr, weights.data()};
    llvm::Error failed = writeLibrary(session, *module, options, library);
    ASSERT_FALSE(bool(failed)) << llvm::toString(std::move(failed));
  }
  void TearDown() override { llvm::sys::fs::remove_directories(folder); }

  std::string file(llvm::StringRef name) const { return (folder + "/" + name).str(); }
  std::string bytesOf(llvm::StringRef name) const {
    return (*llvm::MemoryBuffer::getFile(file(name), /*IsText=*/false, /*RequiresNullTerminator=*/false))
        ->getBuffer()
        .str();
  }

  /// Reads the manifest, loads the library and calls it, as `tilewright run` does. Returns the elements of the result.
  llvm::Expected<std::vector<float>> call() const {
    llvm::Expected<LibraryManifest> manifest = readManifest(file("m.so"));
    if (!manifest)
      return manifest.takeError();
    auto library = LoadedLibrary::load(file("m.so"), *manifest, /*threads=*/1);
    if (!library)
      return library.takeError();
    constexpr int64_t rows = 3;
    std::vector<float> x(rows * 16, 0.5f), y(rows * 24);
    LibraryTensor in{x.data(), f32, {rows, 16}};
    auto shapes = (*library)->shape(in);
    if (!shapes)
      return shapes.takeError();
    EXPECT_EQ((*shapes)[0].sizes, (std::vector<int64_t>{rows, 24}));
    LibraryTensor out{y.data(), f32, (*shapes)[0].sizes};
    if (llvm::Error failed = (*library)->run(in, out))
      return std::move(failed);
    return y;
  }

  /// Replaces the file `name` by a thousand changed versions and calls the library with each.
  Tally tryThousand(const std::string &name, llvm::function_ref<std::string(const std::string &, Random &)> change) {
    const std::string good = bytesOf(name);
    llvm::Expected<std::vector<float>> expected = call();
    EXPECT_TRUE(bool(expected)) << llvm::toString(expected.takeError());
    Tally tally;
    for (unsigned seed = 0; seed < 1000; ++seed) {
      Random random(seed);
      const std::string bad = change(good, random);
      write(file(name), bad);
      llvm::Expected<std::vector<float>> made = call();
      if (!made) {
        ++tally.refused;
        EXPECT_FALSE(llvm::toString(made.takeError()).empty());
        continue;
      }
      ++tally.ran;
      EXPECT_EQ(*made, *expected) << "seed " << seed;
    }
    write(file(name), good);
    EXPECT_TRUE(bool(call())); // the original file is still accepted
    return tally;
  }

  static constexpr ScalarType f32 = ScalarType::F32;
  llvm::SmallString<128> folder;
};

} // namespace

/// All damaged libraries are rejected before the system's loader, which does not validate files, opens them.
TEST_F(HostileLibrary, DamagedLibrariesAreRefused) {
  Tally tally = tryThousand("m.so", damagedBytes);
  EXPECT_EQ(tally.refused, 1000);
}

TEST_F(HostileLibrary, DamagedWeightsAreRefused) {
  Tally tally = tryThousand("m.weights", damagedBytes);
  EXPECT_EQ(tally.refused, 1000);
}

TEST_F(HostileLibrary, ManifestsWithChangedBytesDoNotCrash) {
  Tally tally = tryThousand("m.json", damagedBytes);
  EXPECT_GT(tally.refused, 500);
}

/// Numbers, strings and whole values of the manifests change. The manifests are still valid JSON, so more of the code
/// that reads them is executed.
TEST_F(HostileLibrary, ManifestsWithChangedValuesDoNotCrash) {
  Tally tally = tryThousand("m.json", damagedJson);
  EXPECT_GT(tally.refused, 200);
  EXPECT_GT(tally.ran, 50); // changes of values that only inform the user
}
