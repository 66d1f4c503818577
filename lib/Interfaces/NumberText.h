//===- NumberText.h - numbers as text, in every locale -----------------------===//
//
// printf, strtod and functions that use them (llvm::format, llvm::json, raw_ostream << double) write and read 0,5 if
// the host program has set a locale with a decimal comma. Tilewright writes and reads all numbers that may have a
// decimal point with the functions below, or with those of JsonText.h.
//
// Test: test/Python/test_locale.py, which also finds new uses of the other functions in the object files
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_INTERFACES_NUMBERTEXT_H
#define TILEWRIGHT_LIB_INTERFACES_NUMBERTEXT_H

#include <charconv>
#include <clocale>
#include <cstdarg>
#include <cstdio>
#include <locale.h>
#include <string>
#include <string_view>

namespace tilewright {

/// Sets the locale "C" in this thread during the lifetime of the object. Other threads, and the program's own
/// setlocale(), are not affected.
class PlainNumbers {
public:
  PlainNumbers() : before(uselocale(plain())) {}
  ~PlainNumbers() { uselocale(before); }
  PlainNumbers(const PlainNumbers &) = delete;
  PlainNumbers &operator=(const PlainNumbers &) = delete;

private:
  static locale_t plain() {
    static const locale_t made = newlocale(LC_ALL_MASK, "C", nullptr); // the locale "C" always exists
    return made;
  }
  locale_t before;
};

/// Returns the text that printf writes, with a decimal point.
[[gnu::format(printf, 1, 2)]] inline std::string numberText(const char *format, ...) {
  PlainNumbers numbers;
  va_list arguments, again;
  va_start(arguments, format);
  va_copy(again, arguments);
  std::string text(size_t(std::vsnprintf(nullptr, 0, format, arguments)), '\0');
  std::vsnprintf(text.data(), text.size() + 1, format, again);
  va_end(again);
  va_end(arguments);
  return text;
}

/// Returns the shortest text that parses to `value`.
inline std::string shortestText(double value) {
  char digits[32];
  return std::string(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

/// Returns true if all of `text` is a number, and stores it in `value`.
inline bool readNumber(std::string_view text, double &value) {
  auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), value);
  return wrong == std::errc() && end == text.data() + text.size();
}

} // namespace tilewright

#endif
