// This file is part of Tilewright. It replaces the vendor's header of the same name, so that ordinary compilers can
// compile and run a design. It defines a queue of at most DEPTH arrays, including the array that is being written and
// the array that is being read. A lock owns an array until the lock goes out of scope. If the macro TILEWRIGHT_THREADS
// is defined, a task that writes waits while the queue is full, and a task that reads waits while the queue is empty.
// Otherwise tasks run one after another, and the queue grows as needed. A new array is filled with the byte 0xa5, to
// detect tasks that read elements before they are written.
#ifndef TILEWRIGHT_LIB_CODEGEN_HLS_CHECKHEADERS_HLS_STREAMOFBLOCKS_H
#define TILEWRIGHT_LIB_CODEGEN_HLS_CHECKHEADERS_HLS_STREAMOFBLOCKS_H

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <deque>
#include <memory>
#include <string>
#include <type_traits>

#ifdef TILEWRIGHT_THREADS
#include "tilewright_tasks.h"
#endif

namespace hls {

/// The base class of queues of blocks. It does not depend on DEPTH, so that locks accept queues of any depth.
template <typename T> class BlockQueue {
public:
  struct Block {
    T elements;
  };
  explicit BlockQueue(size_t depth) : depth(depth) {}
  BlockQueue(const BlockQueue &) = delete;
  BlockQueue &operator=(const BlockQueue &) = delete;

  Block *beginWrite() {
#ifdef TILEWRIGHT_THREADS
    tilewright::Monitor &monitor = tilewright::Monitor::get();
    std::unique_lock<std::mutex> lock(monitor.mutex);
    const std::string what = "a queue of blocks is full";
    monitor.wait(lock, what, [this] { return used < depth; });
#endif
    ++used;
    writing.reset(new Block);
    memset(static_cast<void *>(writing.get()), 0xa5, sizeof(Block));
    return writing.get();
  }
  void endWrite() {
#ifdef TILEWRIGHT_THREADS
    std::unique_lock<std::mutex> lock(tilewright::Monitor::get().mutex);
#endif
    blocks.push_back(std::move(writing));
#ifdef TILEWRIGHT_THREADS
    tilewright::Monitor::get().changed.notify_all();
#endif
  }
  Block *beginRead() {
#ifdef TILEWRIGHT_THREADS
    tilewright::Monitor &monitor = tilewright::Monitor::get();
    std::unique_lock<std::mutex> lock(monitor.mutex);
    const std::string what = "a queue of blocks is empty";
    monitor.wait(lock, what, [this] { return !blocks.empty(); });
#else
    if (blocks.empty()) {
      fprintf(stderr, "a queue of blocks is read while it is empty\n");
      exit(3);
    }
#endif
    return blocks.front().get();
  }
  void endRead() {
#ifdef TILEWRIGHT_THREADS
    std::unique_lock<std::mutex> lock(tilewright::Monitor::get().mutex);
#endif
    blocks.pop_front();
    --used;
#ifdef TILEWRIGHT_THREADS
    tilewright::Monitor::get().changed.notify_all();
#endif
  }

private:
  size_t depth, used = 0;
  std::unique_ptr<Block> writing;
  std::deque<std::unique_ptr<Block>> blocks;
};

template <typename T, size_t DEPTH = 2> class stream_of_blocks : public BlockQueue<T> {
public:
  stream_of_blocks() : BlockQueue<T>(DEPTH) {}
};

template <typename T> class write_lock {
public:
  explicit write_lock(BlockQueue<T> &queue) : queue(queue), block(queue.beginWrite()) {}
  ~write_lock() { queue.endWrite(); }
  write_lock(const write_lock &) = delete;
  write_lock &operator=(const write_lock &) = delete;
  std::remove_extent_t<T> &operator[](size_t index) { return block->elements[index]; }

private:
  BlockQueue<T> &queue;
  typename BlockQueue<T>::Block *block;
};

template <typename T> class read_lock {
public:
  explicit read_lock(BlockQueue<T> &queue) : queue(queue), block(queue.beginRead()) {}
  ~read_lock() { queue.endRead(); }
  read_lock(const read_lock &) = delete;
  read_lock &operator=(const read_lock &) = delete;
  const std::remove_extent_t<T> &operator[](size_t index) const { return block->elements[index]; }

private:
  BlockQueue<T> &queue;
  typename BlockQueue<T>::Block *block;
};

} // namespace hls

#endif
