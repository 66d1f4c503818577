//===- RunResults.cpp - print, compare and write results of `tilewright run` ----------===//
//
// Test: test/Tools/run.mlir, test/Python/test_exported.py
//
//===----------------------------------------------------------------------===//
#include "RunResults.h"
#include "lib/Interfaces/NumberText.h"
#include "tilewright/Target.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include <cmath>

using llvm::StringRef;

namespace tilewright::driver {
namespace {

void printResult(const HostTensor &tensor, size_t number, StringRef name) {
  double sum = 0, magnitude = 0;
  for (int64_t i = 0; i < tensor.count(); ++i) {
    sum += tensor.numberAt(i);
    magnitude += std::fabs(tensor.numberAt(i));
  }
  llvm::outs() << "result " << number << (name.empty() ? "" : " (" + name.str() + ")") << ": " << tensor.element << "[";
  llvm::interleaveComma(tensor.sizes, llvm::outs());
  llvm::outs() << "] sum " << numberText("%.5g", sum) << " magnitude " << numberText("%.5g", magnitude) << "\n";
}

/// Returns the file name of a result: the result's name, or `number` if the name is empty. '_' replaces characters
/// other than letters, digits, '_', '-' and '.'. Hidden names and names in `taken` get a prefix that contains `number`.
std::string fileOf(StringRef name, size_t number, llvm::StringSet<> &taken) {
  std::string file = name.empty() ? std::to_string(number) : name.str();
  for (char &c : file)
    if (!llvm::isAlnum(c) && c != '_' && c != '-' && c != '.')
      c = '_';
  if (file[0] == '.' || !taken.insert(file).second)
    file = "result" + std::to_string(number) + "-" + file;
  return file + ".npy";
}

double defaultTolerance(mlir::Type element) {
  return element.isF64() ? 1e-12 : element.isF32() ? 1e-5 : element.isF16() ? 2e-3 : 1e-2;
}

std::string indexText(const HostTensor &tensor, int64_t index) {
  std::string text;
  for (int64_t size : llvm::reverse(tensor.sizes)) {
    text = std::to_string(index % size) + (text.empty() ? "" : ", ") + text;
    index /= size;
  }
  return "[" + text + "]";
}

/// Returns a description of the difference between the tensors. The difference is allowed if the tensors contain floats
/// and the relative RMS error is at most `tolerance`. If the tensors are equal or the difference is allowed, writes the
/// result of the comparison to `said` and returns "".
std::string difference(const HostTensor &got, const HostTensor &wanted, double tolerance, llvm::raw_ostream &said) {
  if (got.sizes != wanted.sizes)
    return "its sizes are [" +
           llvm::join(llvm::map_range(got.sizes, [](int64_t n) { return std::to_string(n); }), ", ") + "], not [" +
           llvm::join(llvm::map_range(wanted.sizes, [](int64_t n) { return std::to_string(n); }), ", ") + "]";
  auto values = [&](int64_t i) {
    std::string text = "at " + indexText(got, i) + ": ";
    llvm::raw_string_ostream(text) << numberText("%.9g, not %.9g", got.numberAt(i), wanted.numberAt(i));
    return text;
  };
  if (!mlir::isa<mlir::FloatType>(got.element)) {
    for (int64_t i = 0; i < got.count(); ++i)
      if (got.bitsAt(i) != wanted.bitsAt(i))
        return values(i);
    said << "is equal to";
    return "";
  }
  double errors = 0, squares = 0, most = -1;
  int64_t worst = 0;
  for (int64_t i = 0; i < got.count(); ++i) {
    double a = got.numberAt(i), b = wanted.numberAt(i);
    if (a == b || (std::isnan(a) && std::isnan(b))) {
      squares += std::isfinite(b) ? b * b : 0;
      continue;
    }
    if (!std::isfinite(a) || !std::isfinite(b))
      return values(i);
    errors += (a - b) * (a - b);
    squares += b * b;
    if (std::fabs(a - b) > most) {
      most = std::fabs(a - b);
      worst = i;
    }
  }
  // If the RMS of the expected elements is 0, no error is allowed. The comparison does not divide by the RMS, because
  // it may be 0.
  const double error = std::sqrt(errors), allowed = tolerance * std::sqrt(squares);
  if (error > allowed)
    return numberText(
               "its RMS error relative to the expected RMS is %.2e, and %.2e is allowed (--tolerance); largest error ",
               squares > 0 ? std::sqrt(errors / squares) : INFINITY, tolerance) +
           values(worst);
  said << numberText("has a relative RMS error of %.2e (allowed: %.2e) from",
                     squares > 0 ? std::sqrt(errors / squares) : 0.0, tolerance);
  return "";
}

} // namespace

void printResults(llvm::ArrayRef<HostTensor> results, llvm::ArrayRef<std::string> names) {
  for (auto [number, tensor] : llvm::enumerate(results))
    printResult(tensor, number, names[number]);
}

llvm::Error compareResults(llvm::ArrayRef<HostTensor> results, llvm::ArrayRef<std::string> names,
                           llvm::ArrayRef<std::string> expected, double tolerance) {
  std::string problems;
  for (StringRef file : expected) {
    auto [name, path] = file.rsplit('=');
    if (path.empty())
      return llvm::createStringError("--expect must be NAME=FILE.npy, not '" + file + "'");
    size_t number = llvm::find(names, name) - names.begin();
    if (number == names.size() && (name.getAsInteger(10, number) || number >= names.size()))
      return llvm::createStringError("the model has no result '" + name + "'" + suggestName(name, names) +
                                     "; its results are " + llvm::join(names, ", "));
    llvm::Expected<HostTensor> wanted = readNpy(path, results[number].element);
    if (!wanted)
      return llvm::createStringError("the expected result '" + name + "': " + llvm::toString(wanted.takeError()));
    std::string said;
    llvm::raw_string_ostream stream(said);
    std::string problem = difference(results[number], *wanted,
                                     tolerance > 0 ? tolerance : defaultTolerance(results[number].element), stream);
    if (problem.empty())
      llvm::outs() << "expected: " << name << " " << said << " " << path << "\n";
    else
      problems +=
          (problems.empty() ? "" : "\n") + ("the result '" + name + "' differs from " + path + ": " + problem).str();
  }
  return problems.empty() ? llvm::Error::success() : llvm::createStringError(problems);
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
