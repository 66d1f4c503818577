//===- Settlement.h - who does a job: the worker it was given to, or nobody ---===//
#ifndef TILEWRIGHT_LIB_RUNTIME_HOST_SETTLEMENT_H
#define TILEWRIGHT_LIB_RUNTIME_HOST_SETTLEMENT_H

#include <atomic>
#include <cstdint>

namespace tilewright::runtime {

/// Jobs are numbered as they are given. The worker settles one before it begins, the caller when it does without it;
/// the first of them has it. A worker may lose its core between waking for a job and settling it, until later jobs are
/// settled, too: what is older than the last one settled is nobody's.
class Settlement {
public:
  /// Whether this call is the one that settles job `ticket`.
  bool settle(uint32_t ticket) {
    uint32_t last = settled.load(std::memory_order_relaxed);
    return static_cast<int32_t>(ticket - last) > 0 && // numbers begin again after the greatest
           settled.compare_exchange_strong(last, ticket, std::memory_order_acq_rel);
  }

private:
  std::atomic<uint32_t> settled{0};
};

} // namespace tilewright::runtime

#endif
