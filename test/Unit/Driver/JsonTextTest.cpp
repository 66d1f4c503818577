// Tests that deeply nested JSON is an error and does not crash the process, and that numbers are written and read with
// a decimal point. test/Python/test_locale.py tests the latter in a locale with a decimal comma.
#include "lib/Interfaces/JsonText.h"

#include <gtest/gtest.h>

using namespace tilewright;

namespace {

bool isRead(const std::string &text) {
  llvm::Expected<llvm::json::Value> value = parseJson(text);
  const bool read = bool(value);
  if (!read)
    llvm::consumeError(value.takeError());
  return read;
}

TEST(JsonTextTest, DeepNestingIsAnError) {
  for (const char *open : {"[", "{\"a\":", "[{\"a\":["}) {
    std::string text;
    for (int i = 0; i < 200'000; ++i)
      text += open;
    EXPECT_FALSE(isRead(text));
  }
  llvm::Expected<llvm::json::Value> value = parseJson(std::string(201, '[') + std::string(201, ']'));
  ASSERT_FALSE(bool(value));
  EXPECT_EQ(llvm::toString(value.takeError()), "more than 200 nested lists and objects at byte 200");
}

TEST(JsonTextTest, FlatTextIsParsed) {
  EXPECT_TRUE(isRead(std::string(200, '[') + std::string(200, ']')));
  std::string wide = "[[]";
  for (int i = 0; i < 1000; ++i)
    wide += ",[{\"a\": []}]";
  EXPECT_TRUE(isRead(wide + "]"));
  EXPECT_TRUE(isRead("\"" + std::string(1000, '[') + "\\\"" + std::string(1000, '{') + "\""));
}

TEST(JsonTextTest, NumbersRoundTrip) {
  for (double number : {0.1, -1e300, 1.0 / 3, 5e-324, 123456789.125}) {
    llvm::Expected<llvm::json::Value> read = parseJson(jsonText(llvm::json::Object{{"x", number}}));
    ASSERT_TRUE(bool(read));
    EXPECT_EQ(read->getAsObject()->getNumber("x"), number);
  }
}

TEST(NumberTextTest, EqualsPrintf) {
  EXPECT_EQ(numberText("%.3f of %s, %5lld", 0.5, "it", 7LL), "0.500 of it,     7");
  EXPECT_EQ(shortestText(0.1), "0.1");
  double value = 0;
  EXPECT_TRUE(readNumber("2.5e3", value));
  EXPECT_EQ(value, 2500);
  for (const char *text : {"", "2,5", "2.5 ", "x", "0x"})
    EXPECT_FALSE(readNumber(text, value)) << text;
}

} // namespace
