//===- LibraryTest.cpp - ahead-of-time libraries compute what the JIT computes -----===//
//
// Each graph is compiled by Session::compile and by writeLibrary. The two programs are called with the same inputs, and
// all bytes of all results must be equal.
//
//===----------------------------------------------------------------------===//
#include "lib/AOT/Link.h"
#include "lib/Runtime/Jit/Codegen.h"
#include "lib/Runtime/Jit/Jit.h"
#include "test/Unit/Driver/ComparedLibrary.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/Support/MemoryBuffer.h"

#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace mlir;
using namespace tilewright;
using namespace tilewright::test;

namespace {

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

} // namespace
