// This file is part of Tilewright. It replaces the vendor's header of the same name, so that ordinary compilers can
// compile and run a design. It defines a queue of elements. If the macro TILEWRIGHT_THREADS is defined, a queue has at
// most DEPTH elements: a task that writes waits while the queue is full, and a task that reads waits while the queue is
// empty. In this case, the environment variable TILEWRIGHT_SHALLOWER may contain the name of a queue, which then has at
// most DEPTH - 1 elements. Tests use the variable to check that a smaller depth is not sufficient. Without the macro,
// tasks run one after another, a queue grows as needed, and reading an empty queue ends the program.
#ifndef TILEWRIGHT_LIB_CODEGEN_HLS_CHECKHEADERS_HLS_STREAM_H
#define TILEWRIGHT_LIB_CODEGEN_HLS_CHECKHEADERS_HLS_STREAM_H

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <deque>
#include <string>

#ifdef TILEWRIGHT_THREADS
#include "tilewright_tasks.h"
#endif

namespace hls {

template <typename T, size_t DEPTH = 2> class stream {
public:
  stream() = default;
  explicit stream(const char *name) : name(name) {
    const char *shallower = getenv("TILEWRIGHT_SHALLOWER");
    depth -= shallower && this->name == shallower ? 1 : 0;
  }
  stream(const stream &) = delete;
  stream &operator=(const stream &) = delete;

#ifdef TILEWRIGHT_THREADS
  void write(const T &value) {
    tilewright::Monitor &monitor = tilewright::Monitor::get();
    std::unique_lock<std::mutex> lock(monitor.mutex);
    const std::string what = name + " is full";
    monitor.wait(lock, what, [this] { return elements.size() < depth; });
    elements.push_back(value);
    if (elements.size() > most)
      most = elements.size();
    monitor.changed.notify_all();
  }
  T read() {
    tilewright::Monitor &monitor = tilewright::Monitor::get();
    std::unique_lock<std::mutex> lock(monitor.mutex);
    const std::string what = name + " is empty";
    monitor.wait(lock, what, [this] { return !elements.empty(); });
    T value = elements.front();
    elements.pop_front();
    monitor.changed.notify_all();
    return value;
  }
#else
  void write(const T &value) {
    elements.push_back(value);
    if (elements.size() > most)
      most = elements.size();
  }
  T read() {
    if (elements.empty()) {
      fprintf(stderr, "stream %s is read while it is empty\n", name.c_str());
      exit(3);
    }
    T value = elements.front();
    elements.pop_front();
    return value;
  }
#endif
  bool empty() const { return elements.empty(); }
  size_t size() const { return elements.size(); }
  /// Returns the largest number of elements that the queue has contained at a time.
  size_t highWater() const { return most; }

private:
  std::string name = "stream";
  std::deque<T> elements;
  size_t depth = DEPTH, most = 0;
};

} // namespace hls

#endif
