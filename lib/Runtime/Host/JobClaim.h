//===- JobClaim.h - decide whether a worker or the caller takes a job -------===//
#ifndef TILEWRIGHT_LIB_RUNTIME_HOST_JOBCLAIM_H
#define TILEWRIGHT_LIB_RUNTIME_HOST_JOBCLAIM_H

#include <atomic>
#include <cstdint>

namespace tilewright::runtime {

/// Decides whether a worker executes a job or the caller cancels it. Jobs are numbered in order. The worker settles a
/// job to begin it, and the caller settles a job to cancel it. The operation that settles the job first succeeds, and
/// the other operation fails. A worker may lose its core between waking up for a job and settling it, while later jobs
/// are settled. Therefore a job that is older than the last settled one can no longer be settled.
class JobClaim {
public:
  /// Settles job `ticket`. Returns false if this job or a later job was settled before.
  bool settle(uint32_t ticket) {
    uint32_t last = settled.load(std::memory_order_relaxed);
    return static_cast<int32_t>(ticket - last) > 0 && // numbers wrap around
           settled.compare_exchange_strong(last, ticket, std::memory_order_acq_rel);
  }

private:
  std::atomic<uint32_t> settled{0};
};

} // namespace tilewright::runtime

#endif
