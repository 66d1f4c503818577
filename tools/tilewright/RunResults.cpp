//===- RunResults.cpp - results of `tilewright run`, printed and written --------------===//
//
// Test: test/Tools/run.mlir, test/Python/test_exported.py
//
//===----------------------------------------------------------------------===//
#include "RunResults.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/Path.h"
#include <cmath>

using llvm::StringRef;

namespace tilewright::driver {
namespace {

double numberAt(const HostTensor &tensor, int64_t index) {
  uint64_t bits = 0;
  memcpy(&bits, &tensor.bytes[index * tensor.width()], tensor.width());
  if (auto floats = mlir::dyn_cast<mlir::FloatType>(tensor.element))
    return llvm::APFloat(floats.getFloatSemantics(), llvm::APInt(tensor.width() * 8, bits)).convertToDouble();
  unsigned shift = 64 - 8 * tensor.width();
  return double(int64_t(bits << shift) >> shift);
}

void printResult(const HostTensor &tensor, size_t number, StringRef name) {
  double sum = 0, magnitude = 0;
  for (int64_t i = 0; i < tensor.count(); ++i) {
    sum += numberAt(tensor, i);
    magnitude += std::fabs(numberAt(tensor, i));
  }
  llvm::outs() << "result " << number << (name.empty() ? "" : " (" + name.str() + ")") << ": " << tensor.element << "[";
  llvm::interleaveComma(tensor.sizes, llvm::outs());
  llvm::outs() << "] sum " << llvm::format("%.5g", sum) << " magnitude " << llvm::format("%.5g", magnitude) << "\n";
}

/// The file of a result: its name, with '_' for what a file's name may not have.
std::string fileOf(StringRef name, size_t number, llvm::StringSet<> &taken) {
  std::string file = name.empty() ? std::to_string(number) : name.str();
  for (char &c : file)
    if (!llvm::isAlnum(c) && c != '_' && c != '-' && c != '.')
      c = '_';
  if (file[0] == '.' || !taken.insert(file).second)
    file = "result" + std::to_string(number) + "-" + file;
  return file + ".npy";
}

} // namespace

void printResults(llvm::ArrayRef<HostTensor> results, llvm::ArrayRef<std::string> names) {
  for (auto [number, tensor] : llvm::enumerate(results))
    printResult(tensor, number, names[number]);
}

llvm::Error writeResults(llvm::ArrayRef<HostTensor> results, llvm::ArrayRef<std::string> names, StringRef folder) {
  llvm::StringSet<> taken;
  for (auto [number, tensor] : llvm::enumerate(results)) {
    llvm::SmallString<128> path(folder);
    llvm::sys::path::append(path, fileOf(names[number], number, taken));
    if (llvm::Error error = writeNpy(path, tensor))
      return error;
  }
  return llvm::Error::success();
}

} // namespace tilewright::driver
