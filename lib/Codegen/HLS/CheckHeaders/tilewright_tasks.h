// This file is part of Tilewright. It runs each task of a dataflow region on a separate thread, in parallel as in
// hardware. In a deadlock, the program prints why each waiting task waits, and ends.
#ifndef TILEWRIGHT_LIB_CODEGEN_HLS_CHECKHEADERS_TILEWRIGHT_TASKS_H
#define TILEWRIGHT_LIB_CODEGEN_HLS_CHECKHEADERS_TILEWRIGHT_TASKS_H

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

namespace tilewright {

/// Counts the running and the waiting tasks of the program, to detect deadlocks.
class Monitor {
public:
  static Monitor &get() {
    static Monitor monitor;
    return monitor;
  }

  /// Waits until `ready` returns true. `ready` is called under the lock. In a deadlock, prints the text `what` of each
  /// waiting task, and ends the program.
  void wait(std::unique_lock<std::mutex> &lock, const std::string &what, const std::function<bool()> &ready) {
    if (ready())
      return;
    waiting.push_back(&what);
    conditions.push_back(&ready);
    checkProgress();
    changed.wait(lock, ready);
    for (size_t i = 0; i < waiting.size(); ++i)
      if (waiting[i] == &what) {
        waiting.erase(waiting.begin() + (long)i);
        conditions.erase(conditions.begin() + (long)i);
        break;
      }
  }

  void started() { ++running; }
  void finished() {
    std::unique_lock<std::mutex> lock(mutex);
    --running;
    checkProgress();
    changed.notify_all();
  }

  std::mutex mutex;
  std::condition_variable changed;

private:
  /// Ends the program in a deadlock: all tasks wait, and no condition for which a task waits is true.
  void checkProgress() {
    if (running == 0 || waiting.size() < running)
      return;
    for (const std::function<bool()> *condition : conditions)
      if ((*condition)())
        return;
    fprintf(stderr, "deadlock:");
    for (const std::string *what : waiting)
      fprintf(stderr, " %s;", what->c_str());
    fprintf(stderr, "\n");
    _Exit(3);
  }

  size_t running = 0;
  std::vector<const std::string *> waiting;
  std::vector<const std::function<bool()> *> conditions;
};

/// The state of an array between two tasks. The consumer starts after the producer has ended.
class Filled {
public:
  explicit Filled(const char *name) : what(std::string("the reader of ") + name + " waits for its writer") {}
  void set() {
    std::unique_lock<std::mutex> lock(Monitor::get().mutex);
    filled = true;
    Monitor::get().changed.notify_all();
  }
  void wait() {
    std::unique_lock<std::mutex> lock(Monitor::get().mutex);
    Monitor::get().wait(lock, what, [this] { return filled; });
  }

private:
  std::string what;
  bool filled = false;
};

/// Runs tasks in parallel. run() starts one thread per task, and returns when all threads have ended.
class Tasks {
public:
  void add(std::vector<Filled *> reads, std::vector<Filled *> writes, std::function<void()> body) {
    tasks.push_back({std::move(reads), std::move(writes), std::move(body)});
  }

  void run(size_t stackBytes) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, stackBytes);
    std::vector<pthread_t> threads(tasks.size());
    for (size_t i = 0; i < tasks.size(); ++i)
      Monitor::get().started();
    for (size_t i = 0; i < tasks.size(); ++i)
      if (pthread_create(&threads[i], &attributes, runOne, &tasks[i]) != 0) {
        fprintf(stderr, "cannot create a thread with a stack of %zu bytes\n", stackBytes);
        exit(2);
      }
    for (pthread_t thread : threads)
      pthread_join(thread, nullptr);
    pthread_attr_destroy(&attributes);
  }

private:
  struct Task {
    std::vector<Filled *> reads, writes;
    std::function<void()> body;
  };
  static void *runOne(void *task) {
    Task &its = *static_cast<Task *>(task);
    for (Filled *array : its.reads)
      array->wait();
    its.body();
    for (Filled *array : its.writes)
      array->set();
    Monitor::get().finished();
    return nullptr;
  }
  std::vector<Task> tasks;
};

} // namespace tilewright

#endif
