//===- Packing.h - parameters in the layout that kernels read -------------===//
//
// The `once` steps of a plan are divided into groups. Steps that access the same packed buffer are in one group, which
// usually has one step that packs one weight. The result of a group is a PackedSet: its memory and the stamps of the
// inputs from which it was packed. A set is immutable. If an input changes, a new set replaces the old set, and running
// calls continue to read the old set.
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

/// The caller's identification of an input that `once` steps read: the address of its data, and a number that grows
/// with each write (torch's version counter). If `data` is null, the caller has released the input's memory. In this
/// case, `version` is the number passed at the release (see ReleaseInput), and no new pack of the input can be
/// computed.
struct InputIdentity {
  const void *data = nullptr;
  uint64_t version = 0;
};

/// The state of an input at the time when a pack was computed from it. For a released input (`data` is null), only
/// `version` is used.
struct InputStamp {
  const void *data = nullptr;
  uint64_t version = 0;
  uint64_t fingerprint = 0;
  bool operator==(const InputStamp &) const = default;
};

/// Returns a hash of the `bytes` bytes at `data` if there are at most 512, otherwise a hash of 8 evenly spaced pieces
/// of 64 bytes, including the first and the last 64 bytes. Writes that do not change the version are detected by this
/// hash, unless they change only bytes that are not hashed. Returns 0 if `data` is null.
uint64_t fingerprint(const void *data, int64_t bytes);

/// The packed buffers of one group.
struct PackedSet {
  std::shared_ptr<const Memory> memory; ///< shared by sets that differ only in stamps
  std::vector<InputStamp> stamps;       ///< stamps of the inputs, in the order of PackGroup::inputs
};

struct PackGroup {
  std::vector<const plan::Step *> steps;
  std::vector<int32_t> slots;       ///< indices of the packed buffers that the group writes
  std::vector<int64_t> slotOffsets; ///< offset in bytes of each of these buffers in PackedSet::memory
  std::vector<int32_t> inputs;      ///< indices of the plan's inputs that the group reads
  std::vector<int64_t> inputBytes;
  int64_t bytes = 0;
  Frame frame;
  std::string recipe; ///< groups with equal recipes and equal inputs have equal sets; empty: the set must not be shared

  /// Sets the pointers of the group's packed buffers to their addresses in `memory`, or to null if `memory` is null.
  void point(std::vector<void *> &pointers, const Memory *memory) const {
    for (size_t k = 0; k < slots.size(); ++k)
      pointers[slots[k]] = memory ? memory->data() + slotOffsets[k] : nullptr;
  }
};

/// A callback for an input that only `once` steps read. It is called when all packs that depend on `input` have been
/// computed. It returns true if the caller has released the memory at `data`. From then on, the caller passes a null
/// pointer, with `number` as the version, and keeps `packs` alive as long as the input, because they cannot be computed
/// again.
using ReleaseInput = std::function<bool(int32_t input, const void *data, uint64_t number,
                                        std::vector<std::shared_ptr<const PackedSet>> packs)>;

/// Records whether a group's inputs change between calls. During training, parameters change between calls, so a pack
/// is used in one call only. The call computes the pack immediately before the steps that read it, and frees it after
/// them. Two kinds of packs are kept for later calls: the first pack of a group, and a pack of inputs whose stamps are
/// those of the last packing.
struct PackHistory {
  std::vector<InputStamp> stamps; ///< stamps of the inputs at the last packing
  bool changing = false;

  /// Records that the group is about to be packed from inputs with these stamps.
  void note(const std::vector<InputStamp> &now) {
    changing = !stamps.empty() && stamps != now;
    stamps = now;
  }
};

/// The current sets of all groups. A snapshot is immutable, and a call keeps a reference to it while it runs.
struct PackSnapshot {
  std::vector<std::shared_ptr<const PackedSet>> sets; ///< one set per group; null before the first packing
  std::vector<void *> pointers;                       ///< one pointer per packed buffer
  uint64_t epoch = 0;                                 ///< number of forced repackings before this snapshot
  std::vector<size_t> changing;                       ///< groups without a set: each call packs them itself
};

/// Divides plan.once of a verified plan into groups. `kernelIdentities` has a string for each kernel that identifies
/// its machine code. An empty string means that the code is unknown, and prevents sharing of packs. On failure, returns
/// false with a reason in `error`.
bool makePackGroups(const plan::Plan &plan, const std::vector<std::string> &kernelIdentities,
                    std::vector<PackGroup> &groups, std::string &error);

/// Returns the current stamps of a group's inputs. If `identities` is null, `inputs` identifies them.
std::vector<InputStamp> stampInputs(const PackGroup &group, const void *const *inputs, const InputIdentity *identities);

/// Returns true if `set` is not null and matches the inputs' current state. Allocates nothing.
bool isCurrent(const PackGroup &group, const PackedSet *set, const void *const *inputs,
               const InputIdentity *identities);

/// Returns true if the data of an input of the group was released, so that the group cannot be packed again.
bool isReleased(const PackGroup &group, const void *const *inputs, const InputIdentity *identities);

/// Returns a flag for each input of the plan, which is true if only `once` steps read the input.
std::vector<bool> packedOnlyInputs(const plan::Plan &plan, const std::vector<PackGroup> &groups);

/// A cache of packed sets that executables share. The forward and backward graphs of a model, compiled for several size
/// classes, then need only one pack of a weight. The cache holds weak references.
class PackCache {
public:
  static PackCache &process();
  std::shared_ptr<const PackedSet> find(const std::string &recipe, const std::vector<InputStamp> &stamps);
  void publish(const std::string &recipe, const std::shared_ptr<const PackedSet> &set);
  /// Returns a set that was packed from the same inputs before they changed. Returns null if no such set is in use.
  std::shared_ptr<const PackedSet> outdated(const std::string &recipe, const std::vector<InputStamp> &stamps);

private:
  std::shared_ptr<const PackedSet> atAddresses(const std::string &recipe, const std::vector<InputStamp> &stamps);
  using Key = std::pair<std::string, std::vector<std::pair<const void *, uint64_t>>>;
  static Key makeKey(const std::string &recipe, const std::vector<InputStamp> &stamps);
  std::mutex mutex;
  std::map<Key, std::weak_ptr<const PackedSet>> sets;
};

} // namespace tilewright::runtime

#endif
