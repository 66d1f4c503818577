//===- PrefaultPages.cpp - memory pages that are faulted in before they are needed ---===//
#include "lib/Runtime/Host/PrefaultPages.h"
#include "lib/Interfaces/ForkGeneration.h"
#include "lib/Interfaces/OutputMemory.h"
#include "lib/Runtime/Host/Affinity.h"
#include "lib/Runtime/Host/ProcessWide.h"

#include <algorithm>
#include <chrono>
#include <system_error>
#include <thread>

namespace tilewright::runtime {

static constexpr int64_t leastBrought = int64_t(4) << 20, pieceBytes = 8 * Memory::hugePageBytes;
static constexpr int64_t mostBytes = int64_t(512) << 20;
static constexpr std::chrono::milliseconds nap{100}, patience{60'000};
static constexpr uint64_t nobody = ~uint64_t(0);

PrefaultPages &PrefaultPages::process() { return processWide<PrefaultPages, &PrefaultPages::mutex>(); }

/// Writes to each page. The distance between the writes is the size of a small page.
static void touch(Memory &memory) {
  for (int64_t at = 0; at < memory.size(); at += 4096)
    *static_cast<volatile uint8_t *>(memory.data() + at) = 0;
}

void PrefaultPages::bring(int64_t bytes) {
  if (bytes < leastBrought || clipThreads(0) == 1)
    return;
  std::lock_guard<std::mutex> lock(mutex);
  wanted = std::min(mostBytes - std::min(mostBytes, ready.load()), wanted + bytes);
  wanted = wanted / Memory::hugePageBytes * Memory::hugePageBytes;
  const uint64_t generation = forkGeneration();
  if (worker == generation)
    return;
  try {
    std::thread([this, generation] { work(generation); }).detach();
    worker = generation;
  } catch (const std::system_error &) {
    wanted = 0; // no thread can be created, so each page is faulted in at its first use
  }
}

void PrefaultPages::work(uint64_t generation) {
  std::unique_lock<std::mutex> lock(mutex);
  while (true) {
    while (wanted > 0) {
      const int64_t bytes = std::min(wanted, pieceBytes);
      const uint64_t before = drops;
      lock.unlock();
      Memory piece;
      const bool made = Memory::allocate(bytes, piece);
      if (made)
        touch(piece);
      lock.lock();
      if (!made)
        wanted = 0; // stop; a later allocation of the needed memory reports the error
      if (!made || drops != before)
        continue;
      wanted -= bytes;
      ready += piece.size();
      pieces.push_back(std::move(piece));
    }
    // Poll, because a condition variable does not survive fork().
    for (auto waited = 0 * nap; waited < patience && wanted == 0 && !pieces.empty(); waited += nap) {
      lock.unlock();
      std::this_thread::sleep_for(nap);
      lock.lock();
    }
    if (wanted > 0)
      continue;
    clear();
    if (worker == generation)
      worker = nobody;
    return;
  }
}

void PrefaultPages::clear() {
  wanted = 0;
  ++drops;
  pieces.clear();
  ready = 0;
}

int64_t PrefaultPages::moveTo(Memory &block) {
  if (ready.load(std::memory_order_relaxed) == 0)
    return 0;
  std::lock_guard<std::mutex> lock(mutex);
  int64_t done = 0;
  while (!pieces.empty() && done + Memory::hugePageBytes <= block.size()) {
    Memory &piece = pieces.back();
    const int64_t before = piece.size(), moved = block.takePages(done, piece);
    ready -= before - piece.size();
    if (piece.size() == 0)
      pieces.pop_back();
    if (moved <= 0) { // the pages cannot be used, because the system does not support moving pages
      clear();
      return moved < 0 ? -1 : done;
    }
    done += moved;
  }
  return done;
}

void PrefaultPages::drop() {
  std::lock_guard<std::mutex> lock(mutex);
  if (wanted > 0 || !pieces.empty())
    clear();
}

int64_t PrefaultPages::waiting() { return ready.load(); }

void bringPages(int64_t bytes) { PrefaultPages::process().bring(bytes); }

} // namespace tilewright::runtime
