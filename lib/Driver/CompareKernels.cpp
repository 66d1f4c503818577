//===- CompareKernels.cpp - check that a kernel's result is within its bound --------------===//
#include "lib/Driver/CompareKernels.h"
#include "lib/Interfaces/NumberText.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>
#include <cstdio>
#include <cstring>

namespace tilewright {
namespace {

int64_t elementCount(llvm::ArrayRef<int64_t> sizes) {
  int64_t count = 1;
  for (int64_t size : sizes)
    count *= size;
  return count;
}

/// Returns the difference between 1 and the next larger number.
double spacing(const llvm::fltSemantics &floats) {
  return std::ldexp(1.0, 1 - int(llvm::APFloat::semanticsPrecision(floats)));
}

std::string positionText(int64_t index, llvm::ArrayRef<int64_t> sizes) {
  std::string text;
  for (size_t dim = sizes.size(); dim-- > 0; index /= sizes[dim])
    text = std::to_string(index % sizes[dim]) + (text.empty() ? "" : ", ") + text;
  return "[" + text + "]";
}

std::string sizesText(llvm::ArrayRef<int64_t> sizes) {
  std::string text;
  for (int64_t size : sizes)
    text += (text.empty() ? "" : ", ") + std::to_string(size);
  return "[" + text + "]";
}

std::string nineDigits(double value) { return numberText("%.9g", value); }

std::string elementText(const ComparedResult &r, int64_t at, llvm::StringRef target) {
  if (r.kind.floats)
    return "element " + positionText(at, r.sizes) + ": " + target.str() + " gives " +
           nineDigits(r.kind.number(r.got, at)) + ", reference " + nineDigits(r.kind.number(r.exact, at));
  auto integer = [&](const void *buffer) {
    int64_t value = 0;
    memcpy(&value, static_cast<const char *>(buffer) + at * r.kind.bytes, r.kind.bytes);
    unsigned shift = 64 - 8 * r.kind.bytes;
    return std::to_string(int64_t(uint64_t(value) << shift) >> shift);
  };
  return "element " + positionText(at, r.sizes) + ": " + target.str() + " gives " + integer(r.got) + ", reference " +
         integer(r.exact);
}

std::string compareIntegers(const ComparedResult &r, int64_t count, llvm::StringRef target) {
  int64_t wrong = 0, first = 0;
  auto equal = [&](const void *other, int64_t i) {
    return memcmp(static_cast<const char *>(r.got) + i * r.kind.bytes,
                  static_cast<const char *>(other) + i * r.kind.bytes, r.kind.bytes) == 0;
  };
  for (int64_t i = 0; i < count; ++i)
    if (!equal(r.exact, i) && !equal(r.plain, i) && wrong++ == 0)
      first = i;
  if (!wrong)
    return "";
  return std::to_string(wrong) + " of " + std::to_string(count) + " elements differ; " + elementText(r, first, target);
}

/// Returns true in two cases: `got` is a NaN or an infinity, and neither `exact` nor `plain` has the same value; or
/// `got` is finite, and neither `exact` nor `plain` is finite.
bool isMisplaced(double got, double exact, double plain) {
  auto same = [&](double other) {
    return std::isnan(got) ? std::isnan(other) : std::isinf(got) ? got == other : std::isfinite(other);
  };
  return !same(exact) && !same(plain);
}

} // namespace

double ElementKind::number(const void *buffer, int64_t index) const {
  const char *at = static_cast<const char *>(buffer) + index * bytes;
  if (floats == &llvm::APFloat::IEEEsingle()) {
    float value;
    memcpy(&value, at, sizeof value);
    return value;
  }
  uint64_t bits = 0;
  memcpy(&bits, at, bytes);
  return llvm::APFloat(*floats, llvm::APInt(bytes * 8, bits)).convertToDouble();
}

double rmsOf(const ElementKind &kind, llvm::ArrayRef<int64_t> sizes, const void *buffer) {
  int64_t count = elementCount(sizes), finite = 0;
  double sum = 0;
  for (int64_t i = 0; kind.floats && i < count; ++i)
    if (double value = kind.number(buffer, i); std::isfinite(value)) {
      sum += value * value;
      ++finite;
    }
  return finite ? std::sqrt(sum / double(finite)) : 0;
}

std::string compareResult(const ComparedResult &r, double reductionLength, double largestRms, llvm::StringRef target) {
  int64_t count = elementCount(r.sizes);
  std::string what = r.kind.name + sizesText(r.sizes) + ": ";
  if (!r.kind.floats) {
    std::string wrong = compareIntegers(r, count, target);
    return wrong.empty() ? "" : what + wrong;
  }
  double gotError = 0, plainError = 0;
  int64_t finite = 0;
  for (int64_t i = 0; i < count; ++i) {
    double got = r.kind.number(r.got, i), exact = r.kind.number(r.exact, i), plain = r.kind.number(r.plain, i);
    if (isMisplaced(got, exact, plain))
      return what + elementText(r, i, target) + ", in plain loops of the same precision " + nineDigits(plain);
    if (!std::isfinite(got) || !std::isfinite(exact) || !std::isfinite(plain))
      continue;
    gotError += (got - exact) * (got - exact);
    plainError += (plain - exact) * (plain - exact);
    ++finite;
  }
  if (!finite)
    return "";
  gotError = std::sqrt(gotError / double(finite));
  plainError = std::sqrt(plainError / double(finite));
  double eps = spacing(*r.kind.floats), bound;
  if (r.kind.floats == &llvm::APFloat::IEEEdouble())
    bound = 1e-12 * largestRms;
  else
    bound =
        (count < 1000 ? 3 : 2) * std::max(plainError, (eps + std::ldexp(std::sqrt(reductionLength), -23)) * largestRms);
  bound = std::max(bound, llvm::APFloat::getSmallestNormalized(*r.kind.floats).convertToDouble());
  int64_t worst = 0;
  double worstError = -1;
  bool outlier = false;
  for (int64_t i = 0; i < count; ++i) {
    double got = r.kind.number(r.got, i), exact = r.kind.number(r.exact, i), plain = r.kind.number(r.plain, i);
    double error = std::fabs(got - exact);
    if (!std::isfinite(error) || !std::isfinite(plain))
      continue;
    if (error > worstError) {
      worstError = error;
      worst = i;
    }
    outlier |= error > 32 * std::max({bound, std::fabs(plain - exact), eps * std::fabs(exact)});
  }
  if (gotError <= bound && !outlier)
    return "";
  return what + "RMS error " + nineDigits(gotError) + ", allowed " + nineDigits(bound) + "; worst " +
         elementText(r, worst, target);
}

} // namespace tilewright
