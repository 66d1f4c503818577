//===- LibraryTest.cpp - ahead-of-time libraries compute what the JIT computes -----===//
//
// Each graph is compiled by Session::compile and by writeLibrary. The two programs are called with the same inputs, and
// all bytes of all results must be equal. The test loads the library as a user's program would, and calls its exported
// functions.
//
//===----------------------------------------------------------------------===//
#include "tilewright/Library.h"
#include "dialects/Graph/Graph.h"
#include "lib/AOT/Link.h"
#include "lib/Runtime/Jit/Codegen.h"
#include "lib/Runtime/Jit/Jit.h"
#include "lib/Runtime/Library/Description.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <random>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace mlir;
using namespace tilewright;
using library::CallerOptions;
using library::CallerTensor;

namespace {

/// A temporary folder for one test's files.
struct Folder {
  Folder() { EXPECT_FALSE(llvm::sys::fs::createUniqueDirectory("tilewright-library-test", path)); }
  ~Folder() { llvm::sys::fs::remove_directories(path); }
  std::string file(llvm::StringRef name) const { return (path + "/" + name).str(); }
  llvm::SmallString<128> path;
};

/// The functions of a loaded library, by their names in the header.
class Loaded {
public:
  Loaded(const std::string &path, const std::string &model) : handle(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    EXPECT_TRUE(handle) << dlerror();
    find(create, model + "_create");
    find(destroy, model + "_destroy");
    find(shape, model + "_shape");
    find(run, model + "_run");
    find(error, model + "_error");
    find(input, model + "_input");
    find(output, model + "_output");
  }
  ~Loaded() {
    if (handle)
      dlclose(handle);
  }

  void *(*create)(const CallerOptions *, char *, size_t) = nullptr;
  void (*destroy)(void *) = nullptr;
  int (*shape)(void *, const CallerTensor *, CallerTensor *) = nullptr;
  int (*run)(void *, const CallerTensor *, const CallerTensor *) = nullptr;
  const char *(*error)(const void *) = nullptr;
  const library::Tensor *(*input)(int) = nullptr;
  const library::Tensor *(*output)(int) = nullptr;

private:
  template <typename F> void find(F &function, const std::string &name) {
    function = handle ? reinterpret_cast<F>(dlsym(handle, name.c_str())) : nullptr;
    EXPECT_TRUE(function) << name;
  }
  void *handle;
};

struct Tensor {
  std::vector<int64_t> sizes;
  unsigned width = 1;
  std::vector<uint8_t> bytes;
};

Tensor tensorOf(RankedTensorType type, ArrayRef<int64_t> symbols) {
  Tensor tensor;
  tensor.width = std::max(1u, type.getElementTypeBitWidth() / 8);
  size_t bytes = tensor.width;
  for (AffineExpr size : graph::sizesOf(type)) {
    SmallVector<AffineExpr> values;
    for (int64_t value : symbols)
      values.push_back(getAffineConstantExpr(value, type.getContext()));
    tensor.sizes.push_back(cast<AffineConstantExpr>(size.replaceSymbols(values)).getValue());
    bytes *= tensor.sizes.back();
  }
  tensor.bytes.resize(bytes);
  return tensor;
}

/// Fills a tensor with floats in [-1, 1) or integers 0 to 3, which are valid indices.
void fill(Tensor &tensor, Type element, std::mt19937_64 &random) {
  for (size_t at = 0; at < tensor.bytes.size(); at += tensor.width) {
    uint64_t bits = element.isInteger(1) ? random() % 2 : random() % 4;
    if (auto floats = dyn_cast<FloatType>(element)) {
      llvm::APFloat value(double(int64_t(random() >> 11)) / double(int64_t(1) << 52) - 1);
      bool lossy;
      value.convert(floats.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven, &lossy);
      bits = value.bitcastToAPInt().getZExtValue();
    }
    memcpy(&tensor.bytes[at], &bits, tensor.width);
  }
}

CallerTensor callerTensor(Tensor &tensor, library::DType dtype) {
  CallerTensor made{};
  made.data = tensor.bytes.data();
  made.dtype = int32_t(dtype);
  made.rank = int32_t(tensor.sizes.size());
  std::copy(tensor.sizes.begin(), tensor.sizes.end(), made.sizes);
  return made;
}

struct Graph {
  std::string text;
  std::vector<int64_t> symbols = {}; ///< values of the symbols in the call
  std::vector<size_t> weights = {};  ///< tensor arguments that become weights of the library
  bool external = false;
  bool packed = true;
  int threads = 2;
};

/// A graph that is compiled by the JIT and to a library, with its inputs and the expected results.
class Both {
public:
  explicit Both(Graph given) : graph(std::move(given)) {
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(graph.text, &session.context());
    EXPECT_TRUE(module);
    auto main = module->lookupSymbol<func::FuncOp>("main");
    std::mt19937_64 random{7};
    for (Type type : main.getArgumentTypes())
      if (auto tensor = dyn_cast<RankedTensorType>(type)) {
        inputs.push_back(tensorOf(tensor, graph.symbols));
        fill(inputs.back(), tensor.getElementType(), random);
      }
    for (Type type : main.getResultTypes())
      expected.push_back(tensorOf(cast<RankedTensorType>(type), graph.symbols));
    options.threads = graph.threads;
    options.cache = false;
  }

  /// Runs the graph with the JIT and stores the results in `expected`.
  void runJit() {
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(graph.text, &session.context());
    auto program = session.compile(*module, options);
    ASSERT_TRUE(bool(program)) << llvm::toString(program.takeError());
    std::vector<const void *> in;
    std::vector<void *> out;
    for (Tensor &tensor : inputs)
      in.push_back(tensor.bytes.data());
    for (Tensor &tensor : expected)
      out.push_back(tensor.bytes.data());
    RunError error;
    ASSERT_TRUE((*program)->run(in.data(), out.data(), graph.symbols.data(), nullptr, graph.threads, error, nullptr))
        << error.text;
  }

  void writeFiles(LibraryOptions::Kind kind = LibraryOptions::Kind::Shared) {
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(graph.text, &session.context());
    LibraryOptions library;
    library.kind = kind;
    library.path = folder.file("net");
    library.externalWeights = graph.external;
    library.packed = graph.packed;
    std::vector<const void *> weights(inputs.size(), nullptr);
    for (size_t input : graph.weights)
      weights[input] = inputs[input].bytes.data();
    library.weights = weights;
    llvm::Error failed = writeLibrary(session, *module, options, library);
    ASSERT_FALSE(bool(failed)) << llvm::toString(std::move(failed));
  }

  /// Creates the caller's tensors for `loaded`. `memory` owns the memory of the outputs.
  void arguments(const Loaded &loaded, std::vector<CallerTensor> &in, std::vector<CallerTensor> &out,
                 std::vector<Tensor> &memory) {
    for (size_t i = 0; i < inputs.size(); ++i)
      if (!llvm::is_contained(graph.weights, i))
        in.push_back(callerTensor(inputs[i], library::DType(loaded.input(int(in.size()))->dtype)));
    memory = expected;
    for (Tensor &tensor : memory) {
      std::fill(tensor.bytes.begin(), tensor.bytes.end(), 0xA5);
      out.push_back(callerTensor(tensor, library::DType(loaded.output(int(out.size()))->dtype)));
    }
  }

  /// Creates an instance, calls it three times, and compares with `expected`.
  void runLibrary(const Loaded &loaded, int threads) {
    char error[512] = "";
    std::string weights = folder.file("net.weights");
    CallerOptions callerOptions{threads, graph.external ? weights.c_str() : nullptr, nullptr, graph.external};
    void *model = loaded.create(&callerOptions, error, sizeof error);
    ASSERT_TRUE(model) << error;
    for (int call = 0; call < 3; ++call) {
      std::vector<CallerTensor> in, out;
      std::vector<Tensor> memory;
      arguments(loaded, in, out, memory);
      std::vector<CallerTensor> shapes(out.size());
      ASSERT_EQ(loaded.shape(model, in.data(), shapes.data()), 0) << loaded.error(model);
      for (size_t i = 0; i < out.size(); ++i) {
        EXPECT_EQ(shapes[i].rank, out[i].rank);
        EXPECT_TRUE(std::equal(out[i].sizes, out[i].sizes + out[i].rank, shapes[i].sizes));
      }
      ASSERT_EQ(loaded.run(model, in.data(), out.data()), 0) << loaded.error(model);
      for (size_t i = 0; i < memory.size(); ++i)
        EXPECT_EQ(memory[i].bytes, expected[i].bytes) << "output " << i << ", call " << call;
    }
    loaded.destroy(model);
  }

  Graph graph;
  Folder folder;
  Session session;
  Options options;
  std::vector<Tensor> inputs, expected;
};

void compare(const Graph &graph) {
  Both both(graph);
  ASSERT_NO_FATAL_FAILURE(both.runJit());
  ASSERT_NO_FATAL_FAILURE(both.writeFiles());
  Loaded loaded(both.folder.file("net.so"), "net");
  both.runLibrary(loaded, graph.threads);
  both.runLibrary(loaded, 1);
}

/// Returns a constant of random f32 values as MLIR's hexadecimal text.
std::string randomConstant(int64_t rows, int64_t columns, unsigned seed) {
  std::mt19937 random{seed};
  std::string bytes;
  for (int64_t i = 0; i < rows * columns; ++i) {
    float value = float(int32_t(random())) / float(1u << 31) / 8;
    bytes.append(reinterpret_cast<const char *>(&value), sizeof value);
  }
  std::string type = "tensor<" + std::to_string(rows) + "x" + std::to_string(columns) + "xf32>";
  return "tw.constant dense<\"0x" + llvm::toHex(bytes) + "\"> : " + type;
}

std::string matmulBiasGelu() {
  return R"(func.func @main(%x: tensor<33x64xf32> {tw.name = "x"}) -> (tensor<33x96xf32> {tw.name = "y"}) {
  %w = )" +
         randomConstant(64, 96, 1) +
         R"(
  %b = )" +
         randomConstant(1, 96, 2) +
         R"(
  %p = tw.matmul %x, %w : (tensor<33x64xf32>, tensor<64x96xf32>) -> tensor<33x96xf32>
  %s = tw.add %p, %b : (tensor<33x96xf32>, tensor<1x96xf32>) -> tensor<33x96xf32>
  %y = tw.gelu %s : (tensor<33x96xf32>) -> tensor<33x96xf32>
  return %y : tensor<33x96xf32>
})";
}

constexpr const char *symbolicMlp = R"(
#in = affine_map<()[s0] -> (s0, 64)>
#hidden = affine_map<()[s0] -> (s0, 128)>
#out = affine_map<()[s0] -> (s0, 10)>
func.func @main(%n: index {tw.symbol = "batch", tw.min = 1 : i64, tw.max = 512 : i64},
                %x: tensor<?x64xf32, #in> {tw.name = "x"}, %u: tensor<64x128xf32> {tw.static},
                %v: tensor<128x10xf32> {tw.static}) -> tensor<?x10xf32, #out> {
  %h = tw.matmul %x, %u : (tensor<?x64xf32, #in>, tensor<64x128xf32>) -> tensor<?x128xf32, #hidden>
  %g = tw.gelu %h : (tensor<?x128xf32, #hidden>) -> tensor<?x128xf32, #hidden>
  %y = tw.matmul %g, %v : (tensor<?x128xf32, #hidden>, tensor<128x10xf32>) -> tensor<?x10xf32, #out>
  return %y : tensor<?x10xf32, #out>
})";

TEST(Library, MatmulBiasGeluEqualsJit) { compare({matmulBiasGelu(), {}, {}}); }

TEST(Library, SoftmaxEqualsJit) {
  compare({R"(func.func @main(%x: tensor<37x301xf32>) -> tensor<37x301xf32> {
  %y = tw.softmax %x {dim = 1 : i64, safe} : tensor<37x301xf32> -> tensor<37x301xf32>
  return %y : tensor<37x301xf32> })"});
}

TEST(Library, ReductionsAndTwoResultsEqualJit) {
  compare({R"(func.func @main(%x: tensor<64x96xf32>, %i: tensor<64x96xi32>) -> (tensor<64xf32>, tensor<96xi32>) {
  %y = tw.reduce sum %x {dims = array<i64: 1>} : tensor<64x96xf32> -> tensor<64xf32>
  %j = tw.reduce sum %i {dims = array<i64: 0>} : tensor<64x96xi32> -> tensor<96xi32>
  return %y, %j : tensor<64xf32>, tensor<96xi32> })"});
}

TEST(Library, SymbolicBatchEqualsJit) {
  for (int64_t batch : {1, 7, 128})
    compare({symbolicMlp, {batch}, {1, 2}});
}

TEST(Library, ParametersWithoutDataAreInputs) { compare({symbolicMlp, {5}, {}}); }

TEST(Library, ExternalWeightsEqualJit) { compare({symbolicMlp, {9}, {1, 2}, /*external=*/true}); }

TEST(Library, WeightsPackedByCreateEqualJit) {
  compare({matmulBiasGelu(), {}, {}, /*external=*/false, /*packed=*/false});
  compare({symbolicMlp, {9}, {1, 2}, /*external=*/true, /*packed=*/false});
}

TEST(Library, Bf16EqualsJit) {
  compare({R"(func.func @main(%x: tensor<40x64xbf16>, %w: tensor<64x64xbf16> {tw.static}) -> tensor<40x64xbf16> {
  %p = tw.matmul %x, %w : (tensor<40x64xbf16>, tensor<64x64xbf16>) -> tensor<40x64xbf16>
  %y = tw.gelu %p : (tensor<40x64xbf16>) -> tensor<40x64xbf16>
  return %y : tensor<40x64xbf16> })",
           {},
           {1}});
}

TEST(Library, GatherAndDoublesEqualJit) {
  compare({R"(func.func @main(%t: tensor<4x64xf64>, %i: tensor<2x17xi64>) -> tensor<2x17x64xf64> {
  %0 = tw.take %t [%i] {dim = 0 : i64} : (tensor<4x64xf64>, tensor<2x17xi64>) -> tensor<2x17x64xf64>
  %1 = tw.exp %0 : (tensor<2x17x64xf64>) -> tensor<2x17x64xf64>
  return %1 : tensor<2x17x64xf64> })"});
}

TEST(Library, InPlaceEmptyAndScalarTensorsEqualJit) {
  Both both({R"(#n = affine_map<()[s0] -> (s0)>
func.func @main(%n: index {tw.symbol = "n"}, %x: tensor<32xf32> {tw.name = "x"}, %e: tensor<?xf32, #n>, %k: tensor<i64>)
    -> (tensor<32xf32> {tw.into = 0 : i64}, tensor<?xf32, #n>, tensor<i64>) {
  %y = tw.exp %x : (tensor<32xf32>) -> tensor<32xf32>
  %f = tw.exp %e : (tensor<?xf32, #n>) -> tensor<?xf32, #n>
  %l = tw.add %k, %k : (tensor<i64>, tensor<i64>) -> tensor<i64>
  return %y, %f, %l : tensor<32xf32>, tensor<?xf32, #n>, tensor<i64> })",
             {0}});
  both.expected.erase(both.expected.begin()); // the first result is written into x, and is no output of the library
  const std::vector<uint8_t> before = both.inputs[0].bytes;
  ASSERT_NO_FATAL_FAILURE(both.runJit());
  const std::vector<uint8_t> after = both.inputs[0].bytes;
  EXPECT_NE(before, after);
  ASSERT_NO_FATAL_FAILURE(both.writeFiles());
  Loaded loaded(both.folder.file("net.so"), "net");
  EXPECT_TRUE(loaded.input(0)->inPlace);
  void *model = loaded.create(nullptr, nullptr, 0);
  std::vector<CallerTensor> in, out;
  std::vector<Tensor> memory;
  both.inputs[0].bytes = before;
  both.arguments(loaded, in, out, memory);
  EXPECT_EQ(loaded.run(model, in.data(), out.data()), 0) << loaded.error(model);
  EXPECT_EQ(both.inputs[0].bytes, after);
  EXPECT_EQ(memory[1].bytes, both.expected[1].bytes);
  loaded.destroy(model);
}

TEST(Library, ChildOfForkComputesEqualResults) {
  Both both({symbolicMlp, {128}, {1, 2}});
  ASSERT_NO_FATAL_FAILURE(both.runJit());
  ASSERT_NO_FATAL_FAILURE(both.writeFiles());
  Loaded loaded(both.folder.file("net.so"), "net");
  void *model = loaded.create(nullptr, nullptr, 0);
  std::vector<CallerTensor> in, out;
  std::vector<Tensor> memory;
  both.arguments(loaded, in, out, memory);
  EXPECT_EQ(loaded.run(model, in.data(), out.data()), 0);
  pid_t child = fork();
  if (child == 0) { // a child of fork() does not have the instance's worker threads
    std::fill(memory[0].bytes.begin(), memory[0].bytes.end(), 0);
    bool right = loaded.run(model, in.data(), out.data()) == 0 && memory[0].bytes == both.expected[0].bytes;
    _exit(right ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  loaded.destroy(model);
}

/// Returns object code that calls each function that the JIT resolves for kernels by name, and `extra`.
std::unique_ptr<llvm::MemoryBuffer> callingObject(const char *extra = nullptr) {
  llvm::LLVMContext context;
  auto module = std::make_unique<llvm::Module>("calls", context);
  llvm::IRBuilder<> builder(context);
  auto *type = llvm::FunctionType::get(builder.getVoidTy(), false);
  auto *caller = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, "caller", *module);
  builder.SetInsertPoint(llvm::BasicBlock::Create(context, "", caller));
  for (const runtime::HostSymbol &symbol : runtime::kernelSymbols())
    builder.CreateCall(module->getOrInsertFunction("called_" + symbol.name, type));
  if (extra)
    builder.CreateCall(module->getOrInsertFunction(extra, type));
  builder.CreateRetVoid();
  for (llvm::Function &function : *module) // LLVM would fold or reject a call of a known function
    if (llvm::StringRef name = function.getName(); name.consume_front("called_"))
      function.setName("\1" + name.str());
  runtime::MachineDescription machine;
  machine.llvmCpu = "x86-64";
  runtime::CodegenOptions codegen;
  codegen.passes.clear();
  auto target = llvm::cantFail(runtime::createTargetMachine(machine, codegen));
  auto object = llvm::cantFail(runtime::compileToObject(std::move(module), *target, codegen));
  return object;
}

/// Each function that the JIT resolves by name is available in a compiled library, either in a system library to which
/// it is linked, or in the library's runtime.
TEST(Library, ContainsTheFunctionsThatKernelsCall) {
  Folder folder;
  auto link = [&](const llvm::MemoryBuffer &object) {
    return llvm::toString(library::linkLibrary(LibraryOptions::Kind::Shared, object.getBuffer(),
                                               {std::string("caller")}, folder.file("calls.so")));
  };
  EXPECT_EQ(link(*callingObject()), "");
  void *handle = dlopen(folder.file("calls.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_TRUE(handle) << dlerror();
  dlclose(handle);
  std::string said = link(*callingObject("no_such_function"));
  EXPECT_TRUE(llvm::StringRef(said).contains("undefined symbol: no_such_function")) << said;
}

TEST(Library, PacksAreSharedByAllInstances) {
  Both both({matmulBiasGelu()});
  ASSERT_NO_FATAL_FAILURE(both.runJit());
  ASSERT_NO_FATAL_FAILURE(both.writeFiles());
  std::string manifest = (*llvm::MemoryBuffer::getFile(both.folder.file("net.json")))->getBuffer().str();
  EXPECT_NE(manifest.find("\"weights_packed\": true"), std::string::npos);
  // The library contains the bias and the packed weight, which may be padded, but not the unpacked weight.
  size_t at = manifest.find("\"weight_bytes\": ");
  int64_t bytes = std::stoll(manifest.substr(at + strlen("\"weight_bytes\": ")));
  EXPECT_GE(bytes, (64 * 96 + 96) * 4);
  EXPECT_LT(bytes, 2 * 64 * 96 * 4);
}

TEST(Library, LinkerErrorsAreReported) {
  Folder folder;
  llvm::StringRef garbage = "\177ELF, but no object";
  std::string said = llvm::toString(
      library::linkLibrary(LibraryOptions::Kind::Shared, garbage, {std::string("f")}, folder.file("f.so")));
  EXPECT_TRUE(llvm::StringRef(said).starts_with("linking failed: ")) << said;
  EXPECT_FALSE(llvm::sys::fs::exists(folder.file("f.so")));
}

TEST(Library, OtherInstructionSetsEqualJit) {
  Both both({symbolicMlp, {6}, {1, 2}});
  both.options.cpu = "x86-64-v3";
  ASSERT_NO_FATAL_FAILURE(both.runJit());
  ASSERT_NO_FATAL_FAILURE(both.writeFiles());
  both.runLibrary(Loaded(both.folder.file("net.so"), "net"), 2);
}

TEST(Library, InstancesOnSeveralThreadsComputeEqualResults) {
  Graph graph{symbolicMlp, {128}, {1, 2}};
  Both both(graph);
  ASSERT_NO_FATAL_FAILURE(both.runJit());
  ASSERT_NO_FATAL_FAILURE(both.writeFiles());
  Loaded loaded(both.folder.file("net.so"), "net");
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int round = 0; round < 5; ++round)
        both.runLibrary(loaded, 2);
    });
  for (std::thread &thread : threads)
    thread.join();
}

/// Calls of the symbolic model, each with one mistake.
class Mistakes : public testing::Test {
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

TEST_F(Mistakes, AreErrorTexts) {
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

TEST(Library, EmptyInputMayHaveAnyStrides) {
  Both both(Graph{"func.func @main(%x: tensor<0x4xf32>) -> tensor<0x4xf32> {\n"
                  "  %0 = tw.neg %x : (tensor<0x4xf32>) -> tensor<0x4xf32>\n"
                  "  return %0 : tensor<0x4xf32>\n}\n"});
  ASSERT_NO_FATAL_FAILURE(both.writeFiles());
  Loaded loaded(both.folder.file("net.so"), "net");
  char error[512];
  void *model = loaded.create(nullptr, error, sizeof error);
  ASSERT_TRUE(model) << error;
  std::vector<CallerTensor> in, out;
  std::vector<Tensor> memory;
  both.arguments(loaded, in, out, memory);
  const int64_t everySecondColumn[2] = {8, 2};
  in[0].strides = everySecondColumn;
  EXPECT_EQ(loaded.run(model, in.data(), out.data()), 0) << loaded.error(model);
  loaded.destroy(model);
}

TEST(Library, IndexOutOfRangeIsReported) {
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

TEST(Library, WeightsFileOfAnotherModelIsRefused) {
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

TEST(Library, UnsupportedGraphsAreRefused) {
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
