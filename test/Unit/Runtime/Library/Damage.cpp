//===- Damage.cpp - random changes of files ---------------------------------------------===//
#include "test/Unit/Runtime/Library/Damage.h"
#include <nlohmann/json.hpp>

#include <cstring>
#include <vector>

using nlohmann::json;

static size_t below(Random &random, size_t limit) { return limit ? random() % limit : 0; }

std::string damagedBytes(const std::string &bytes, Random &random) {
  std::string changed = bytes;
  for (size_t edits = 1 + below(random, 4); edits-- > 0 && !changed.empty();) {
    // Headers are short: half of the changes are in the first 512 bytes.
    const size_t at = below(random, random() % 2 ? std::min<size_t>(512, changed.size()) : changed.size());
    switch (random() % 6) {
    case 0:
      changed[at] = char(random());
      break;
    case 1: // replace an integer by its maximum value, which is -1 if it is signed
      for (size_t i = at; i < std::min(at + 8, changed.size()); ++i)
        changed[i] = char(0xFF);
      break;
    case 2:
      changed.erase(at, 1 + below(random, 64));
      break;
    case 3:
      changed.insert(at, changed.substr(below(random, changed.size()), 1 + below(random, 64)));
      break;
    case 4:
      changed.resize(at);
      break;
    default:
      changed += changed.substr(at, 4096);
    }
  }
  if (changed == bytes)
    changed += '\0';
  return changed;
}

/// Appends `value` and all values in it to `all`.
static void collect(json &value, std::vector<json *> &all) {
  all.push_back(&value);
  if (value.is_structured())
    for (json &item : value)
      collect(item, all);
}

std::string damagedJson(const std::string &text, Random &random) {
  json root = json::parse(text);
  for (size_t edits = 1 + below(random, 3); edits-- > 0;) {
    std::vector<json *> all;
    collect(root, all);
    json &value = *all[below(random, all.size())];
    switch (random() % 6) {
    case 0: {
      const int64_t numbers[] = {0, 1, -1, 8, 9, 1 << 20, INT64_MAX, INT64_MIN};
      value = numbers[below(random, std::size(numbers))];
      break;
    }
    case 1: {
      const char *texts[] = {"",        "..",      "/",       "m",    "../m.so", "m.json",
                             "float64", "library", "weights", "a\0b", "\xC3\xA9"};
      value = texts[below(random, std::size(texts))];
      break;
    }
    case 2:
      if (value.is_structured() && !value.empty()) {
        auto item = value.begin();
        std::advance(item, below(random, value.size()));
        value.erase(item);
      }
      break;
    case 3:
      if (value.is_array() && !value.empty())
        value.push_back(value[below(random, value.size())]);
      break;
    case 4:
      if (value.is_string())
        value = value.get<std::string>() + std::string(1 + below(random, 200), char('a' + random() % 26));
      break;
    default: { // replace by another value of the document, which is copied because it may be a part of `value`
      json other = *all[below(random, all.size())];
      value = std::move(other);
    }
    }
    if (root.is_null() || root.dump().size() > (1 << 20))
      break;
  }
  return root.dump(2);
}
