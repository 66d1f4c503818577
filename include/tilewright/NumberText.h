//===- NumberText.h - numbers as text, in every locale -----------------------===//
//
// printf, strtod and what is built on them (llvm::format, llvm::json, raw_ostream << double) write and read 0,5 where
// the host program has set a locale with a decimal comma. Every number that Tilewright writes or reads goes through
// here, or through JsonText.h.
//
// Test: test/Python/test_locale.py, which also finds new uses of the others in the object files
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_NUMBERTEXT_H
#define TILEWRIGHT_NUMBERTEXT_H

#include <charconv>
#include <clocale>
#include <cstdarg>
#include <cstdio>
#include <locale.h>
#include <string>
#include <string_view>

namespace tilewright {

/// While it lives, this thread writes and reads numbers as the language C does. Other threads, and the program's own
/// setlocale(), are left alone.
class PlainNumbers {
public:
  PlainNumbers() : before(uselocale(plain())) {}
  ~PlainNumbers() { uselocale(before); }
  PlainNumbers(const PlainNumbers &) = delete;
  PlainNumbers &operator=(const PlainNumbers &) = delete;

private:
  static locale_t plain() {
    static const locale_t made = newlocale(LC_ALL_MASK, "C", locale_t(0)); // "C" is always there
    return made;
  }
  locale_t before;
};

/// printf's text, with a decimal point.
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

/// The shortest text that reads back as `value`.
inline std::string shortestText(double value) {
  char digits[32];
  return std::string(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

/// Whether all of `text` is a number, which goes into `value`.
inline bool readNumber(std::string_view text, double &value) {
  auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), value);
  return wrong == std::errc() && end == text.data() + text.size();
}

} // namespace tilewright

#endif
