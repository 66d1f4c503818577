//===- TensorMapRecipe.cpp - how to encode a launch's tensor map --------------------===//
//
// Tests: test/Unit/Driver/TensorMapRecipeTest.cpp, test/Codegen/NVPTX/wgmma.mlir
//
//===----------------------------------------------------------------------===//
#include "tilewright/TensorMapRecipe.h"

#include <algorithm>
#include <charconv>
#include <iterator>

namespace tilewright {
namespace {

constexpr std::string_view names[] = {"f16", "bf16", "i8", "f32"}; // by Element
constexpr uint32_t mostDimensions = 5, mostBox = 256, mostSizes = 64, mostPixels = 1024;
constexpr uint32_t leastOfWindows = 3; ///< the minimum number of dimensions of a map of windows

/// Returns the part of `text` before `end`, or all of `text` if there is no `end`. Removes this part and `end` from
/// `text`.
std::string_view part(std::string_view &text, char end) {
  size_t at = text.find(end);
  std::string_view taken = text.substr(0, at);
  text = at == std::string_view::npos ? std::string_view() : text.substr(at + 1);
  return taken;
}

template <class T> bool number(std::string_view text, T &value) {
  auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), value);
  return wrong == std::errc() && end == text.data() + text.size();
}

bool readDimension(std::string_view text, TensorMapRecipe::Dimension &made) {
  if (!number(part(text, '*'), made.box) || made.box < 1 || made.box > mostBox)
    return false;
  if (!number(part(text, '*'), made.factor) || made.factor < 0 || made.factor > UINT32_MAX)
    return false;
  while (!text.empty()) {
    std::string_view size = part(text, '*');
    uint32_t index = 0;
    if (size.empty() || size.front() != 's' || !number(size.substr(1), index) || made.sizes.size() == mostSizes)
      return false;
    made.sizes.push_back(index);
  }
  return true;
}

/// Reads the step and the corners of a dimension of windows from the end of `text` into `made`. Removes them from
/// `text`. Returns false if they are missing or invalid.
bool readWindows(std::string_view &text, TensorMapRecipe::Dimension &made) {
  std::string_view corners = text;
  text = part(corners, '/');
  return number(part(corners, '@'), made.step) && made.step >= 1 && made.step <= TensorMapRecipe::mostStep &&
         number(part(corners, '@'), made.lower) && number(corners, made.upper);
}

bool cornersFit(const TensorMapRecipe &recipe) {
  const size_t rank = recipe.dimensions.size();
  if (rank < leastOfWindows)
    return false;
  const int32_t limit = TensorMapRecipe::cornerLimits[rank - leastOfWindows];
  return std::all_of(recipe.dimensions.begin(), recipe.dimensions.end(), [&](const auto &dimension) {
    return dimension.lower >= -limit && dimension.lower < limit && dimension.upper >= -limit && dimension.upper < limit;
  });
}

} // namespace

std::string TensorMapRecipe::text() const {
  std::string made = std::to_string(buffer) + ":" + std::string(names[size_t(element)]) + ":" + std::to_string(swizzle);
  if (pixels > 0)
    made += ":" + std::to_string(pixels) + "p";
  for (size_t i = 0; i < dimensions.size(); ++i) {
    made += (i ? "," : ":") + std::to_string(dimensions[i].box) + "*" + std::to_string(dimensions[i].factor);
    for (uint32_t size : dimensions[i].sizes)
      made += "*s" + std::to_string(size);
    if (hasWindows(i))
      made += "/" + std::to_string(dimensions[i].step) + "@" + std::to_string(dimensions[i].lower) + "@" +
              std::to_string(dimensions[i].upper);
  }
  return made;
}

bool TensorMapRecipe::read(std::string_view text, TensorMapRecipe &recipe) {
  recipe = TensorMapRecipe();
  if (!number(part(text, ':'), recipe.buffer))
    return false;
  std::string_view type = part(text, ':');
  const auto *name = std::find(std::begin(names), std::end(names), type);
  if (name == std::end(names))
    return false;
  recipe.element = Element(name - names);
  if (!number(part(text, ':'), recipe.swizzle) ||
      (recipe.swizzle != 0 && recipe.swizzle != 32 && recipe.swizzle != 64 && recipe.swizzle != 128))
    return false;
  if (size_t end = text.find(':'); end != std::string_view::npos) {
    if (end == 0 || text[end - 1] != 'p' || !number(text.substr(0, end - 1), recipe.pixels) || recipe.pixels < 1 ||
        recipe.pixels > mostPixels)
      return false;
    text.remove_prefix(end + 1);
  }
  while (!text.empty()) {
    std::string_view dimension = part(text, ',');
    const bool last = text.empty();
    recipe.dimensions.emplace_back();
    const bool windows = recipe.pixels > 0 && recipe.dimensions.size() > 1 && !last;
    if (recipe.dimensions.size() > mostDimensions || (windows && !readWindows(dimension, recipe.dimensions.back())) ||
        !readDimension(dimension, recipe.dimensions.back()))
      return false;
  }
  return !recipe.dimensions.empty() && (recipe.pixels == 0 || cornersFit(recipe));
}

bool TensorMapRecipe::elements(const int64_t *sizes, std::vector<uint32_t> &counts, std::string &error) const {
  counts.clear();
  for (const Dimension &dimension : dimensions) {
    int64_t count = dimension.factor;
    bool fits = true;
    for (uint32_t size : dimension.sizes)
      fits &= !__builtin_mul_overflow(count, sizes[size], &count);
    if (!fits || count < 0 || count > UINT32_MAX) {
      error = "a tensor has more elements in a dimension than the 4294967295 of a tensor map";
      return false;
    }
    counts.push_back(uint32_t(count ? count : 1));
  }
  return true;
}

} // namespace tilewright
