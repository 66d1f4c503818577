//===- HostileWeightsTest.cpp - damaged files for a library's runtime------------------------===//
//
// A C program passes the path of the weights file to create(), and does not read the manifest. Therefore the runtime in
// the library must validate the file. This test compiles that runtime with sanitizers, and links it with a handwritten
// description and kernels. It damages the weights file and the serialized plan, each in a thousand ways. The runtime
// must report an error or compute a result, and must not crash.
//
//===----------------------------------------------------------------------===//
#include "lib/Runtime/Library/Description.h"
#include "lib/Runtime/Plan/Hash.h"
#include "lib/Runtime/Plan/Plan.h"
#include "test/Unit/Runtime/Host/PlanBuilder.h"
#include "test/Unit/Runtime/Library/Damage.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace tilewright;
using namespace tilewright::library;
using plan::Buffer;
using plan::Expr;
namespace fs = std::filesystem;

/// The options of AddressSanitizer: a failed allocation returns null, as it does without the sanitizer.
extern "C" const char *__asan_default_options() { return "allocator_may_return_null=1"; }

namespace {

constexpr int64_t rows = 64, columns = 4, tableBytes = rows * columns * 4, indexBytes = rows * 8;

/// The kernel of the `once` step copies the weight `table` to its pack. (The model has two weights: `table` and
/// `indices`.)
void pack(void *const *buffers, const int64_t *, int64_t, int64_t, void *) {
  memcpy(buffers[1], buffers[0], tableBytes);
}

/// Computes y[r] = x[r] + table[indices[r % rows]].
void add(void *const *buffers, const int64_t *sizes, int64_t, int64_t, void *scratch) {
  const auto *x = static_cast<const float *>(buffers[0]), *table = static_cast<const float *>(buffers[1]);
  const auto *indices = static_cast<const int64_t *>(buffers[2]);
  auto *y = static_cast<float *>(buffers[3]);
  for (int64_t r = 0; r < sizes[0]; ++r) {
    const int64_t index = indices[r % rows];
    if (index < 0 || index >= rows) { // generated code reports an index out of range in the same form
      const int64_t status[3] = {1, index, rows};
      memcpy(scratch, status, sizeof status);
      return;
    }
    for (int64_t c = 0; c < columns; ++c)
      y[r * columns + c] = x[r * columns + c] + table[index * columns + c];
  }
}

/// A kernel that accesses no buffer. Damaged plans use it, because their buffers may have any size.
void nothing(void *const *, const int64_t *, int64_t, int64_t, void *) {}

plan::Plan makePlan() {
  using plan::operator*;
  plan::Plan plan;
  plan.symbols = {{"n", 1, 1024}};
  plan.numInputs = 3;
  plan.numOutputs = 1;
  plan.kernels = {"pack", "add"};
  const Expr bytes = Expr::symbol(0) * (columns * 4);
  const int32_t x = addBuffer(plan, Buffer::Kind::Input, 0, bytes),
                table = addBuffer(plan, Buffer::Kind::Input, 1, Expr::constant(tableBytes)),
                indices = addBuffer(plan, Buffer::Kind::Input, 2, Expr::constant(indexBytes)),
                packed = addBuffer(plan, Buffer::Kind::Packed, 0, Expr::constant(tableBytes)),
                y = addBuffer(plan, Buffer::Kind::Output, 0, bytes);
  plan.once = {launchStep(0, {table, packed}, 2, Expr::constant(1))};
  plan.steps = {launchStep(1, {x, packed, indices, y}, 8, Expr::constant(1), {Expr::symbol(0)})};
  plan.steps[0].checks = true;
  plan.steps[0].scratchBytes = Expr::constant(64);
  plan.steps[0].label = "add";
  return plan;
}

/// The data that the compiler would write into the library of this model.
struct Model {
  std::vector<uint8_t> image = plan::serialize(makePlan());
  tilewright_kernel_fn kernels[2] = {pack, add};
  Weight weights[2] = {{1, 0, tableBytes}, {2, tableBytes, indexBytes}};
  Variant variant{"x86-64", 0, image.data(), image.size(), kernels, 2, weights, 2};
  int64_t sizes[2] = {-1, columns};
  SizeItem batch{int64_t(Expr::Op::Symbol), 0}, width{int64_t(Expr::Op::Const), columns};
  SizeExpr exprs[2] = {{&batch, 1}, {&width, 1}};
  Tensor x{"x", int32_t(DType::F32), 2, sizes, "float32 [n, 4]", exprs, 0, 0};
  Tensor y{"y", int32_t(DType::F32), 2, sizes, "float32 [n, 4]", exprs, 0, 0};
  uint8_t id[32] = {1, 2, 3};
  Description description{TILEWRIGHT_ABI_VERSION,  "m",         &variant, 1, &x, 1, &y, 1, nullptr,
                          tableBytes + indexBytes, "m.weights", id};

  std::string weightsFile() const {
    WeightsFileHeader header{};
    memcpy(header.magic, weightsMagic, sizeof header.magic);
    memcpy(header.id, id, sizeof id);
    header.bytes = description.weightBytes;
    std::vector<float> table(rows * columns);
    std::vector<int64_t> indices(rows);
    for (int64_t i = 0; i < rows; ++i)
      indices[i] = rows - 1 - i;
    for (size_t i = 0; i < table.size(); ++i)
      table[i] = float(i);
    std::string data(reinterpret_cast<const char *>(table.data()), tableBytes);
    data.append(reinterpret_cast<const char *>(indices.data()), indexBytes);
    header.hash = plan::hashBytes(data.data(), data.size());
    return std::string(reinterpret_cast<const char *>(&header), sizeof header) + data;
  }
};

struct HostileWeights : testing::Test {
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "hostile-weights-XXXXXX").string();
    ASSERT_TRUE(mkdtemp(name.data()));
    folder = name;
    path = folder / "m.weights";
  }
  void TearDown() override { fs::remove_all(folder); }

  void write(const std::string &bytes) {
    std::ofstream(path, std::ios::binary).write(bytes.data(), std::streamsize(bytes.size()));
  }

  /// Creates an instance of `model` and calls it. Returns the result. If an error occurs, stores its text in `problem`
  /// and returns an empty vector.
  std::vector<float> call(const Model &model, std::string &problem, bool verify = false) {
    char error[512] = "";
    const std::string name = path.string();
    CallerOptions options{1, name.c_str(), nullptr, verify};
    tilewright_model *instance = tilewright_library_create(&model.description, &options, error, sizeof error);
    problem = error;
    if (!instance)
      return {};
    constexpr int64_t n = 100;
    std::vector<float> x(n * columns, 0.5f), y(n * columns);
    CallerTensor in{x.data(), int32_t(DType::F32), 2, {n, columns}, nullptr};
    CallerTensor out{y.data(), int32_t(DType::F32), 2, {n, columns}, nullptr};
    CallerTensor shape{};
    if (tilewright_library_shape(instance, &in, &shape) != 0 || tilewright_library_run(instance, &in, &out) != 0) {
      problem = tilewright_library_error(instance);
      y.clear();
    }
    tilewright_library_destroy(instance);
    return y;
  }

  fs::path folder, path;
};

TEST_F(HostileWeights, AreReadAsWritten) {
  Model model;
  write(model.weightsFile());
  std::string problem;
  std::vector<float> y = call(model, problem, /*verify=*/true);
  ASSERT_EQ(problem, "");
  for (int64_t r : {0, 1, 63, 64, 99})
    EXPECT_EQ(y[r * columns], 0.5f + float((rows - 1 - r % rows) * columns));
}

/// create() rejects a damaged file, or the call computes with the changed elements and reports changed indices that are
/// out of range.
TEST_F(HostileWeights, DamagedFilesAreRejectedOrChangeResults) {
  Model model;
  const std::string good = model.weightsFile();
  std::string problem;
  int refused = 0, ran = 0, outOfRange = 0;
  for (unsigned seed = 0; seed < 1000; ++seed) {
    Random random(seed);
    write(damagedBytes(good, random));
    std::vector<float> y = call(model, problem);
    EXPECT_EQ(y.empty(), !problem.empty()) << "seed " << seed;
    (y.empty() ? refused : ran) += 1;
    outOfRange += problem.find("out of range") != std::string::npos;
    // With the option `verify`, create() detects every change.
    EXPECT_TRUE(call(model, problem, /*verify=*/true).empty()) << "seed " << seed;
    EXPECT_NE(problem.find("m.weights"), std::string::npos) << problem;
  }
  EXPECT_GT(refused, 500);
  EXPECT_GT(ran, 50);
  EXPECT_GT(outOfRange, 10);
}

TEST_F(HostileWeights, NonFilesAreRefused) {
  Model model;
  std::string problem;
  EXPECT_TRUE(call(model, problem).empty());
  EXPECT_NE(problem.find("cannot open the weights"), std::string::npos);
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0); // a pipe to which no process writes
  EXPECT_TRUE(call(model, problem).empty());
  EXPECT_NE(problem.find("use the file that was written with the library"), std::string::npos) << problem;
  path = folder;
  EXPECT_TRUE(call(model, problem).empty());
  EXPECT_NE(problem, "");
}

/// The serialized plans are damaged, but their hashes are correct. The other checks of create() must reject each plan
/// that would make the runtime crash.
TEST_F(HostileWeights, DamagedPlansDoNotCrash) {
  Model model;
  write(model.weightsFile());
  model.kernels[0] = model.kernels[1] = nothing;
  const std::vector<uint8_t> good = model.image;
  std::string problem;
  int refused = 0;
  for (unsigned seed = 0; seed < 1000; ++seed) {
    Random random(seed);
    std::vector<uint8_t> bad = good;
    for (unsigned edits = 1 + random() % 3; edits-- > 0;)
      bad[24 + random() % (bad.size() - 32)] = random() % 3 ? uint8_t(random()) : 0xFF;
    const uint64_t hash = plan::hashBytes(bad.data(), bad.size() - 8);
    memcpy(bad.data() + bad.size() - 8, &hash, sizeof hash);
    bad.shrink_to_fit();
    model.variant.plan = bad.data();
    refused += call(model, problem).empty();
  }
  EXPECT_GT(refused, 300);
}

/// Tests that create() rejects descriptions that do not match their plan or have another ABI version.
TEST_F(HostileWeights, DescriptionsOfOtherPlansAreRejected) {
  Model good;
  write(good.weightsFile());
  auto expectDamaged = [&](auto &&change) {
    Model model;
    change(model);
    std::string problem;
    EXPECT_TRUE(call(model, problem).empty());
    EXPECT_NE(problem.find("this library is damaged"), std::string::npos) << problem;
  };
  expectDamaged([](Model &model) { model.x.number = 3; });
  expectDamaged([](Model &model) { model.y.number = -1; });
  expectDamaged([](Model &model) { model.weights[0].number = 1 << 20; });
  expectDamaged([](Model &model) { model.weights[1].offset += 8; });
  expectDamaged([](Model &model) { model.weights[1].offset = INT64_MAX; });
  expectDamaged([](Model &model) { model.batch.value = 1; });
  expectDamaged([](Model &model) { model.variant.numKernels = 1; });
  expectDamaged([](Model &model) { model.variant.planBytes -= 1; });
  expectDamaged([](Model &model) { model.description.abi += 1; });
}

} // namespace
