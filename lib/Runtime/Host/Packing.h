//===- Packing.h - parameters in the layout the kernels want --------------===//
//
// The `once` steps of a plan, cut into groups that share a packed buffer (mostly one step, one weight). The result
// of a group is a PackedSet: its memory and the stamps of the inputs it was made of. A set never changes; when an
// input has changed a new set takes its place, while calls under way go on reading the old one.
//
//===----------------------------------------------------------------------===//
#ifndef TILEWRIGHT_LIB_RUNTIME_HOST_PACKING_H
#define TILEWRIGHT_LIB_RUNTIME_HOST_PACKING_H

#include "lib/Runtime/Host/Frame.h"
#include "lib/Runtime/Host/Memory.h"

#include <functional>
#include <map>
#include <memory>
#include <mutex>

namespace tilewright::runtime {

/// What the caller knows of an input that once steps read: where its data lies and a number that grows when it is
/// written (torch's version counter). A null `data` says that the caller has released the input's memory; `version` is
/// then the number it was released by (see ReleaseInput), and only packs made before can stand for it.
struct InputIdentity {
  const void *data = nullptr;
  uint64_t version = 0;
};

/// What a pack remembers of an input it was made of; of a released one (data is null) the number alone.
struct InputStamp {
  const void *data = nullptr;
  uint64_t version = 0;
  uint64_t fingerprint = 0;
  bool operator==(const InputStamp &) const = default;
};

/// A hash of up to 8 cache lines of `bytes` bytes at `data`: the first, the last, the others evenly spaced. It sees
/// writes that leave the version alone, unless they are sparse.
uint64_t fingerprint(const void *data, int64_t bytes);

/// The packed buffers of one group.
struct PackedSet {
  std::shared_ptr<const Memory> memory; ///< sets that differ in stamps alone share it
  std::vector<InputStamp> stamps;       ///< in the order of PackGroup::inputs
};

struct PackGroup {
  std::vector<const plan::Step *> steps;
  std::vector<int32_t> slots;       ///< numbers of the packed buffers it makes
  std::vector<int64_t> slotOffsets; ///< where each starts in PackedSet::memory, in bytes
  std::vector<int32_t> inputs;      ///< numbers of the plan's inputs it reads
  std::vector<int64_t> inputBytes;
  int64_t bytes = 0;
  Frame frame;
  std::string recipe; ///< equal recipes on equal inputs give equal sets; empty: not to be shared

  /// Sets the pointers of its packed buffers, which lie in `memory`; null: they are nowhere.
  void point(std::vector<void *> &pointers, const Memory *memory) const {
    for (size_t k = 0; k < slots.size(); ++k)
      pointers[slots[k]] = memory ? memory->data() + slotOffsets[k] : nullptr;
  }
};

/// Asked while packing, as soon as every pack that reads `input` is made and when no other step reads it: true when the
/// caller has released the memory at `data`. From then on it passes a null pointer and `number` as the version, and
/// holds `packs` as long as the input lives: nothing can make them again.
using ReleaseInput = std::function<bool(int32_t input, const void *data, uint64_t number,
                                        std::vector<std::shared_ptr<const PackedSet>> packs)>;

/// What a group has seen of its inputs. A parameter that is trained is written between calls: its pack serves one call,
/// which makes it right before the steps that read it and gives it back behind them. Once two calls find the same,
/// packs stay.
struct PackHistory {
  std::vector<InputStamp> stamps; ///< at the last packing
  bool changing = false;

  /// The group is about to be packed of inputs with these stamps.
  void note(const std::vector<InputStamp> &now) {
    changing = !stamps.empty() && stamps != now;
    stamps = now;
  }
};

/// All groups' current sets, as one immutable value that a call holds while it runs.
struct PackSnapshot {
  std::vector<std::shared_ptr<const PackedSet>> sets; ///< by group; null before the first packing
  std::vector<void *> pointers;                       ///< by packed buffer
  uint64_t epoch = 0;                                 ///< of the last forced repacking
  std::vector<size_t> changing;                       ///< groups without a set: each call packs for itself
};

/// Cuts plan.once of a verified plan into groups. `kernelIdentities` name each kernel's machine code ("" is unknown
/// and forbids sharing). False with a reason in `error`.
bool makePackGroups(const plan::Plan &plan, const std::vector<std::string> &kernelIdentities,
                    std::vector<PackGroup> &groups, std::string &error);

/// The stamps of a group's inputs as they are now. `identities` may be null: then the pointers count alone.
std::vector<InputStamp> stampInputs(const PackGroup &group, const void *const *inputs, const InputIdentity *identities);

/// Whether `set` (null: no) still stands for the inputs. Allocates nothing.
bool isCurrent(const PackGroup &group, const PackedSet *set, const void *const *inputs,
               const InputIdentity *identities);

/// Whether the data of an input of the group is gone, so that it cannot be packed anew.
bool isReleased(const PackGroup &group, const void *const *inputs, const InputIdentity *identities);

/// Per input of the plan: its memory is read by once steps alone.
std::vector<bool> packedOnlyInputs(const plan::Plan &plan, const std::vector<PackGroup> &groups);

/// Packed sets shared between executables: the classes of one model, forward and backward, need one packing of a
/// weight. It holds no set alive.
class PackCache {
public:
  static PackCache &process();
  std::shared_ptr<const PackedSet> find(const std::string &recipe, const std::vector<InputStamp> &stamps);
  void publish(const std::string &recipe, const std::shared_ptr<const PackedSet> &set);
  /// A set of the same inputs as they were before; null when nobody holds one.
  std::shared_ptr<const PackedSet> outdated(const std::string &recipe, const std::vector<InputStamp> &stamps);

private:
  std::shared_ptr<const PackedSet> atPlace(const std::string &recipe, const std::vector<InputStamp> &stamps);
  using Key = std::pair<std::string, std::vector<std::pair<const void *, uint64_t>>>;
  static Key makeKey(const std::string &recipe, const std::vector<InputStamp> &stamps);
  std::mutex mutex;
  std::map<Key, std::weak_ptr<const PackedSet>> sets;
};

} // namespace tilewright::runtime

#endif
