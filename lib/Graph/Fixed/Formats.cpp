//===- Formats.cpp - fixed-point formats --------------------------------------------===//
#include "lib/Graph/Fixed/Formats.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

namespace tilewright::fixed {
namespace {

constexpr llvm::StringLiteral roundings[] = {"AP_TRN",     "AP_TRN_ZERO",    "AP_RND",     "AP_RND_ZERO",
                                             "AP_RND_INF", "AP_RND_MIN_INF", "AP_RND_CONV"};
constexpr llvm::StringLiteral overflows[] = {"AP_WRAP", "AP_SAT", "AP_SAT_ZERO", "AP_SAT_SYM"};

/// The maximum bit width of a format. Products of wider numbers do not fit in the 64 bits of the target `reference`.
constexpr int widest = 32;

llvm::Error wrong(llvm::StringRef text, const llvm::Twine &why) {
  return llvm::createStringError("the format '" + text + "' " + why +
                                 "; a format is W,I or W,I,Q,O as in ap_fixed<W, I, Q, O>: W bits, of which I are "
                                 "integer bits, the rounding mode Q, one of " +
                                 llvm::join(llvm::ArrayRef(roundings), ", ") + ", and the overflow mode O, one of " +
                                 llvm::join(llvm::ArrayRef(overflows), ", "));
}

} // namespace

std::string Format::parameters() const {
  return std::to_string(width) + "," + std::to_string(integer) + "," + roundings[size_t(rounding)].str() + "," +
         overflows[size_t(overflow)].str();
}

std::string Format::cppType() const {
  return "ap_fixed<" + std::to_string(width) + ", " + std::to_string(integer) + ", " +
         roundings[size_t(rounding)].str() + ", " + overflows[size_t(overflow)].str() + ">";
}

llvm::Expected<Format> parseFormat(llvm::StringRef text) {
  llvm::SmallVector<llvm::StringRef> parts;
  text.split(parts, ',');
  Format format;
  if (parts.size() < 2 || parts.size() > 4)
    return wrong(text, "has " + llvm::Twine(parts.size()) + (parts.size() == 1 ? " part" : " parts"));
  if (parts[0].getAsInteger(10, format.width) || format.width < 2 || format.width > widest)
    return wrong(text, "needs a width from 2 to " + llvm::Twine(widest));
  if (parts[1].getAsInteger(10, format.integer) || format.integer < -widest || format.integer > 2 * widest)
    return wrong(text,
                 "needs a number of integer bits from -" + llvm::Twine(widest) + " to " + llvm::Twine(2 * widest));
  for (llvm::StringRef name : llvm::ArrayRef(parts).drop_front(2)) {
    const auto *rounding = llvm::find(roundings, name.upper());
    const auto *overflow = llvm::find(overflows, name.upper());
    if (rounding != std::end(roundings))
      format.rounding = Rounding(rounding - roundings);
    else if (overflow != std::end(overflows))
      format.overflow = Overflow(overflow - overflows);
    else
      return wrong(text, "has the unknown mode '" + name + "'");
  }
  return format;
}

llvm::Expected<Formats> Formats::parse(llvm::StringRef text) {
  Formats formats;
  llvm::SmallVector<llvm::StringRef> words;
  text.split(words, ' ', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  bool usual = false;
  for (llvm::StringRef word : words) {
    auto [name, own] = word.rsplit('=');
    const bool isNamed = !own.empty();
    llvm::Expected<Format> format = parseFormat(isNamed ? own : word);
    if (!format)
      return format.takeError();
    if (isNamed) {
      formats.exceptions.emplace_back(name.str(), *format);
      continue;
    }
    if (usual)
      return llvm::createStringError("two formats have no name; the second is '" + word +
                                     "'; add a name to it, for example fc1=8,3");
    formats.usual = *format;
    usual = true;
  }
  if (!usual)
    return llvm::createStringError(
        "values without a named format need a format; add one without a name, for example --fixed 16,6");
  return formats;
}

std::optional<Format> Formats::named(llvm::StringRef name) const {
  for (const auto &[known, format] : llvm::reverse(exceptions))
    if (known == name) {
      asked.insert(known);
      return format;
    }
  return std::nullopt;
}

std::vector<std::string> Formats::unused() const {
  std::vector<std::string> names;
  for (const auto &[name, format] : exceptions)
    if (!asked.count(name))
      names.push_back(name);
  return names;
}

} // namespace tilewright::fixed
