//===- GuardedOperands.cpp - guard pages around every buffer of a call ----------------------===//
#include "lib/Runtime/Host/GuardedOperands.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>

namespace tilewright::runtime {

static constexpr int64_t guardBytes = 4096, widestAccess = 64;
static constexpr uint8_t untouched = 0xA5;

bool &GuardedOperands::wish() {
  static bool wanted = [] {
    const char *text = getenv("TILEWRIGHT_GUARD_PAGES");
    return text && strcmp(text, "0") != 0 && *text;
  }();
  return wanted;
}

GuardedOperands::GuardedOperands(const Frame &frame, size_t begin, size_t end, void **pointers) {
  struct Use {
    uint8_t *first;
    int64_t bytes;
    bool isCallers;
    int32_t step;
  };
  std::vector<Use> uses;
  size_t step = 0;
  for (size_t i = begin; i < end; ++i) {
    while (step < frame.steps.size() && frame.operandsOf(step + 1) <= i)
      ++step;
    const Frame::Operand &operand = frame.operands[i];
    const bool isCallers = operand.space == Frame::Space::Input || operand.space == Frame::Space::Output;
    if (pointers[i] && operand.bytes > 0)
      uses.push_back({static_cast<uint8_t *>(pointers[i]), operand.bytes, isCallers, frame.steps[step].number});
  }
  std::sort(uses.begin(), uses.end(), [](const Use &a, const Use &b) { return a.first < b.first; });
  std::vector<bool> aligned;
  for (const Use &use : uses) {
    if (!regions.empty() && use.first < regions.back().original + regions.back().bytes) {
      Region &last = regions.back();
      last.bytes = std::max(last.bytes, int64_t(use.first - last.original) + use.bytes);
      continue;
    }
    regions.push_back({use.first, nullptr, nullptr, use.bytes, 0, use.step});
    aligned.push_back(!use.isCallers);
  }
  for (size_t i = 0; i < regions.size() && ready; ++i)
    ready = map(regions[i], aligned[i]);
  if (!ready)
    return;
  for (size_t i = begin; i < end; ++i) {
    auto *first = static_cast<uint8_t *>(pointers[i]);
    if (!first || frame.operands[i].bytes <= 0)
      continue;
    auto after = std::upper_bound(regions.begin(), regions.end(), first,
                                  [](uint8_t *at, const Region &region) { return at < region.original; });
    const Region &region = *(after - 1);
    pointers[i] = region.copy + (first - region.original);
  }
}

bool GuardedOperands::map(Region &region, bool aligned) {
  const int64_t wide = aligned ? (region.bytes + widestAccess - 1) / widestAccess * widestAccess : region.bytes;
  const int64_t inner = (wide + guardBytes - 1) / guardBytes * guardBytes;
  void *address = mmap(nullptr, size_t(inner + 2 * guardBytes), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED)
    return false;
  region.pages = static_cast<uint8_t *>(address);
  region.mapped = inner + 2 * guardBytes;
  uint8_t *first = region.pages + guardBytes;
  if (mprotect(first, size_t(inner), PROT_READ | PROT_WRITE) != 0)
    return false;
  region.copy = first + inner - wide;
  memset(first, untouched, size_t(inner));
  memcpy(region.copy, region.original, size_t(region.bytes));
  return true;
}

GuardedOperands::~GuardedOperands() {
  for (const Region &region : regions)
    if (region.pages)
      munmap(region.pages, size_t(region.mapped));
}

bool GuardedOperands::isReady(RunError &error) const {
  if (!ready)
    error = {RunError::Kind::OutOfMemory,
             "out of memory: the copies that TILEWRIGHT_GUARD_PAGES requires cannot be allocated"};
  return ready;
}

bool GuardedOperands::finish(RunError &error) const {
  for (const Region &region : regions) {
    auto written = [](const uint8_t *from, const uint8_t *to) {
      return std::any_of(from, to, [](uint8_t byte) { return byte != untouched; });
    };
    const uint8_t *first = region.pages + guardBytes, *last = region.pages + region.mapped - guardBytes;
    if (written(first, region.copy) || written(region.copy + region.bytes, last)) {
      error = "step " + std::to_string(region.step) + " or a later step has written outside of a buffer of " +
              std::to_string(region.bytes) + " bytes";
      return false;
    }
    if (memcmp(region.original, region.copy, size_t(region.bytes)) != 0) // unchanged buffers may be read-only
      memcpy(region.original, region.copy, size_t(region.bytes));
  }
  return true;
}

} // namespace tilewright::runtime
