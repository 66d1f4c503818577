//===- ComparedLibrary.h - a graph compiled by the JIT and to a library -----------------===//
//
// A test writes a library, loads it as a user's program would, and calls its exported functions.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_TEST_UNIT_DRIVER_COMPAREDLIBRARY_H
#define TILEWRIGHT_TEST_UNIT_DRIVER_COMPAREDLIBRARY_H

#include "dialects/Graph/Graph.h"
#include "lib/Runtime/Library/Description.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "tilewright/Library.h"
#include "llvm/Support/FileSystem.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <random>

namespace tilewright::test {
using library::CallerOptions;
using library::CallerTensor;

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

inline Tensor tensorOf(mlir::RankedTensorType type, mlir::ArrayRef<int64_t> symbols) {
  Tensor tensor;
  tensor.width = std::max(1u, type.getElementTypeBitWidth() / 8);
  size_t bytes = tensor.width;
  for (mlir::AffineExpr size : graph::sizesOf(type)) {
    mlir::SmallVector<mlir::AffineExpr> values;
    for (int64_t value : symbols)
      values.push_back(mlir::getAffineConstantExpr(value, type.getContext()));
    tensor.sizes.push_back(mlir::cast<mlir::AffineConstantExpr>(size.replaceSymbols(values)).getValue());
    bytes *= tensor.sizes.back();
  }
  tensor.bytes.resize(bytes);
  return tensor;
}

/// Fills a tensor with floats in [-1, 1) or integers 0 to 3, which are valid indices.
inline void fill(Tensor &tensor, mlir::Type element, std::mt19937_64 &random) {
  for (size_t at = 0; at < tensor.bytes.size(); at += tensor.width) {
    uint64_t bits = element.isInteger(1) ? random() % 2 : random() % 4;
    if (auto floats = mlir::dyn_cast<mlir::FloatType>(element)) {
      llvm::APFloat value(double(int64_t(random() >> 11)) / double(int64_t(1) << 52) - 1);
      bool lossy;
      value.convert(floats.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven, &lossy);
      bits = value.bitcastToAPInt().getZExtValue();
    }
    memcpy(&tensor.bytes[at], &bits, tensor.width);
  }
}

inline CallerTensor callerTensor(Tensor &tensor, library::DType dtype) {
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
    mlir::OwningOpRef<mlir::ModuleOp> module = mlir::parseSourceString<mlir::ModuleOp>(graph.text, &session.context());
    EXPECT_TRUE(module);
    auto main = module->lookupSymbol<mlir::func::FuncOp>("main");
    std::mt19937_64 random{7};
    for (mlir::Type type : main.getArgumentTypes())
      if (auto tensor = mlir::dyn_cast<mlir::RankedTensorType>(type)) {
        inputs.push_back(tensorOf(tensor, graph.symbols));
        fill(inputs.back(), tensor.getElementType(), random);
      }
    for (mlir::Type type : main.getResultTypes())
      expected.push_back(tensorOf(mlir::cast<mlir::RankedTensorType>(type), graph.symbols));
    options.threads = graph.threads;
    options.cache = false;
  }

  /// Runs the graph with the JIT and stores the results in `expected`.
  void runJit() {
    mlir::OwningOpRef<mlir::ModuleOp> module = mlir::parseSourceString<mlir::ModuleOp>(graph.text, &session.context());
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
    mlir::OwningOpRef<mlir::ModuleOp> module = mlir::parseSourceString<mlir::ModuleOp>(graph.text, &session.context());
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

inline void compare(const Graph &graph) {
  Both both(graph);
  ASSERT_NO_FATAL_FAILURE(both.runJit());
  ASSERT_NO_FATAL_FAILURE(both.writeFiles());
  Loaded loaded(both.folder.file("net.so"), "net");
  both.runLibrary(loaded, graph.threads);
  both.runLibrary(loaded, 1);
}

/// Two products of symbolic batch size, whose weights are the arguments 1 and 2.
inline constexpr const char *symbolicMlp = R"(
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

} // namespace tilewright::test

#endif
