//===- Packing.cpp - parameters in the layout that kernels read -----------===//
#include "lib/Runtime/Host/Packing.h"
#include "lib/Runtime/Host/ProcessWide.h"
#include "lib/Runtime/Plan/Hash.h"

#include <algorithm>
#include <numeric>

namespace tilewright::runtime {

uint64_t fingerprint(const void *data, int64_t bytes) {
  constexpr int64_t line = 64, lines = 8;
  if (!data || bytes <= 0)
    return 0;
  if (bytes <= line * lines)
    return plan::hashBytes(data, size_t(bytes));
  const auto *first = static_cast<const uint8_t *>(data);
  uint64_t hash = uint64_t(bytes);
  for (int64_t i = 0; i < lines; ++i) {
    // The last line ends at the end of the data; the others are cache-line aligned if the data is.
    int64_t offset = i == lines - 1 ? bytes - line : (bytes - line) / (lines - 1) * i / line * line;
    hash = plan::hashBytes(first + offset, line, hash);
  }
  return hash;
}

static bool isReleasedInput(const PackGroup &group, size_t i, const void *const *inputs,
                            const InputIdentity *identities) {
  int32_t input = group.inputs[i];
  return group.inputBytes[i] != 0 && (!inputs[input] || (identities && !identities[input].data));
}

bool isReleased(const PackGroup &group, const void *const *inputs, const InputIdentity *identities) {
  for (size_t i = 0; i < group.inputs.size(); ++i)
    if (isReleasedInput(group, i, inputs, identities))
      return true;
  return false;
}

static InputStamp stampInput(const PackGroup &group, size_t i, const void *const *inputs,
                             const InputIdentity *identities) {
  int32_t input = group.inputs[i];
  InputStamp stamp;
  stamp.data = identities ? identities[input].data : inputs[input];
  stamp.version = identities ? identities[input].version : 0;
  stamp.fingerprint = stamp.data ? fingerprint(inputs[input], group.inputBytes[i]) : 0;
  return stamp;
}

std::vector<InputStamp> stampInputs(const PackGroup &group, const void *const *inputs,
                                    const InputIdentity *identities) {
  std::vector<InputStamp> stamps;
  for (size_t i = 0; i < group.inputs.size(); ++i)
    stamps.push_back(stampInput(group, i, inputs, identities));
  return stamps;
}

bool isCurrent(const PackGroup &group, const PackedSet *set, const void *const *inputs,
               const InputIdentity *identities) {
  if (!set)
    return false;
  for (size_t i = 0; i < group.inputs.size(); ++i) {
    int32_t input = group.inputs[i];
    const void *data = identities ? identities[input].data : inputs[input];
    const InputStamp &old = set->stamps[i];
    if (data != old.data || (identities && identities[input].version != old.version) ||
        (data && fingerprint(inputs[input], group.inputBytes[i]) != old.fingerprint))
      return false;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

/// Returns a key of the group's computation that does not depend on the numbers of its buffers. It consists of a
/// serialized plan with the group's steps, in which buffers are numbered by first use and labels are omitted, and of
/// the identities of the kernels. Returns an empty string if the group calls a host function or uses a constant, or if
/// the identity of a kernel is unknown.
static std::string makeRecipe(const plan::Plan &plan, const PackGroup &group,
                              const std::vector<std::string> &kernelIdentities) {
  plan::Plan recipe;
  std::map<int32_t, int32_t> numbers;
  for (const plan::Step *step : group.steps) {
    if (step->kind == plan::Step::Kind::Host)
      return "";
    plan::Step copy = *step;
    copy.label.clear();
    if (step->kind == plan::Step::Kind::Launch) {
      if (kernelIdentities[step->callee].empty())
        return "";
      copy.callee = int32_t(recipe.kernels.size());
      recipe.kernels.push_back(kernelIdentities[step->callee]);
    }
    for (plan::Operand &operand : copy.operands) {
      auto [entry, fresh] = numbers.try_emplace(operand.buffer, int32_t(numbers.size()));
      if (fresh) {
        plan::Buffer buffer = plan.buffers[operand.buffer];
        if (buffer.kind == plan::Buffer::Kind::Constant)
          return "";
        // Inputs are numbered by their position in the group, which is also the order of the stamps.
        auto found = std::find(group.inputs.begin(), group.inputs.end(), int32_t(buffer.index));
        buffer.index = buffer.kind == plan::Buffer::Kind::Input ? found - group.inputs.begin() : 0;
        recipe.buffers.push_back(buffer);
      }
      operand.buffer = entry->second;
    }
    recipe.once.push_back(std::move(copy));
  }
  std::vector<uint8_t> image = plan::serialize(recipe);
  return std::string(image.begin(), image.end());
}

static bool fillPackGroup(const plan::Plan &plan, const std::vector<int32_t> &slots, PackGroup &group,
                          std::string &error) {
  std::vector<bool> seen(plan.buffers.size(), false);
  for (const plan::Step *step : group.steps)
    for (const plan::Operand &operand : step->operands) {
      const plan::Buffer &buffer = plan.buffers[operand.buffer];
      bool input = buffer.kind == plan::Buffer::Kind::Input, packed = buffer.kind == plan::Buffer::Kind::Packed;
      if (seen[operand.buffer] || (!input && !packed))
        continue;
      seen[operand.buffer] = true;
      std::string where = "once step (" + step->label + ") uses buffer " + std::to_string(operand.buffer);
      if (!buffer.bytes.isSymbolFree()) {
        error = where + ", whose size depends on a symbol; pack such data inside the kernel";
        return false;
      }
      std::string problem;
      int64_t bytes = plan::fixedBytes(buffer, problem);
      if (bytes < 0) {
        error = where + ", whose size is impossible: " + problem;
        return false;
      }
      if (input) {
        group.inputs.push_back(int32_t(buffer.index));
        group.inputBytes.push_back(bytes);
        continue;
      }
      group.slots.push_back(slots[operand.buffer]);
      group.slotOffsets.push_back(group.bytes);
      group.bytes += (bytes + 63) / 64 * 64;
    }
  return resolveFrame(plan, group.steps, nullptr, group.frame, error);
}

bool makePackGroups(const plan::Plan &plan, const std::vector<std::string> &kernelIdentities,
                    std::vector<PackGroup> &groups, std::string &error) {
  // Group the steps that access the same packed buffer, with union-find over the steps.
  std::vector<size_t> parent(plan.once.size());
  std::iota(parent.begin(), parent.end(), size_t(0));
  auto root = [&](size_t step) {
    while (parent[step] != step)
      step = parent[step] = parent[parent[step]];
    return step;
  };
  std::vector<int64_t> firstStep(plan.buffers.size(), -1);
  for (size_t i = 0; i < plan.once.size(); ++i)
    for (const plan::Operand &operand : plan.once[i].operands) {
      if (plan.buffers[operand.buffer].kind != plan::Buffer::Kind::Packed)
        continue;
      int64_t &first = firstStep[operand.buffer];
      if (first < 0)
        first = int64_t(i);
      size_t a = root(size_t(first)), b = root(i);
      parent[std::max(a, b)] = std::min(a, b);
    }
  std::map<size_t, size_t> groupOfRoot;
  groups.clear();
  for (size_t i = 0; i < plan.once.size(); ++i) {
    auto [entry, fresh] = groupOfRoot.try_emplace(root(i), groups.size());
    if (fresh)
      groups.emplace_back();
    groups[entry->second].steps.push_back(&plan.once[i]);
  }
  std::vector<int32_t> slots = bufferSlots(plan);
  for (PackGroup &group : groups) {
    if (!fillPackGroup(plan, slots, group, error))
      return false;
    group.recipe = makeRecipe(plan, group, kernelIdentities);
  }
  return true;
}

std::vector<bool> packedOnlyInputs(const plan::Plan &plan, const std::vector<PackGroup> &groups) {
  std::vector<bool> only(plan.numInputs, false);
  for (const PackGroup &group : groups)
    for (int32_t input : group.inputs)
      only[input] = true;
  for (const plan::Step &step : plan.steps)
    for (const plan::Operand &operand : step.operands)
      if (const plan::Buffer &buffer = plan.buffers[operand.buffer]; buffer.kind == plan::Buffer::Kind::Input)
        only[buffer.index] = false;
  return only;
}

//===----------------------------------------------------------------------===//
// PackCache
//===----------------------------------------------------------------------===//

PackCache &PackCache::process() { return processWide<PackCache, &PackCache::mutex>(); }

PackCache::Key PackCache::makeKey(const std::string &recipe, const std::vector<InputStamp> &stamps) {
  Key key{recipe, {}};
  for (const InputStamp &stamp : stamps)
    key.second.push_back({stamp.data, stamp.data ? 0 : stamp.version});
  return key;
}

/// Returns the set that was packed from inputs at these addresses, even if the inputs have changed since then.
std::shared_ptr<const PackedSet> PackCache::atAddresses(const std::string &recipe,
                                                        const std::vector<InputStamp> &stamps) {
  if (recipe.empty())
    return nullptr;
  std::lock_guard<std::mutex> lock(mutex);
  auto entry = sets.find(makeKey(recipe, stamps));
  return entry == sets.end() ? nullptr : entry->second.lock();
}

std::shared_ptr<const PackedSet> PackCache::find(const std::string &recipe, const std::vector<InputStamp> &stamps) {
  std::shared_ptr<const PackedSet> set = atAddresses(recipe, stamps);
  return set && set->stamps == stamps ? set : nullptr;
}

std::shared_ptr<const PackedSet> PackCache::outdated(const std::string &recipe, const std::vector<InputStamp> &stamps) {
  std::shared_ptr<const PackedSet> set = atAddresses(recipe, stamps);
  return set && set->stamps != stamps ? set : nullptr;
}

void PackCache::publish(const std::string &recipe, const std::shared_ptr<const PackedSet> &set) {
  if (recipe.empty())
    return;
  std::lock_guard<std::mutex> lock(mutex);
  std::erase_if(sets, [](const auto &entry) { return entry.second.expired(); });
  sets[makeKey(recipe, set->stamps)] = set;
}

} // namespace tilewright::runtime
