// Serves the library of classify.mlir over HTTP. Requests that wait at the same time are batched into one call.
//
//   POST /classify    [[1, 0], [0, 1]]   ->   [[0.84, 0.08, 0.07], [0.07, 0.08, 0.85]]
//   GET  /statistics                     ->   {"calls": 3, "requests": 32, "points": 40}
//
//   ./server [PORT [MILLISECONDS]]: MILLISECONDS is the longest time that a call waits for more requests (default: 0).
#include "classify.h"

#include <algorithm>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <future>
#include <httplib.h>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>

using nlohmann::json;
using Points = std::vector<float>; // a row-major matrix: `width` numbers per point, or `classes` numbers in a result

constexpr int64_t width = 2, classes = 3, mostPoints = 4096;
constexpr size_t mostBytes = size_t(mostPoints) * width * 40; // limit of a request's body: 40 characters per number

// Owns the thread that calls `model`, an instance of the model.
class Batcher {
public:
  struct Statistics {
    int64_t calls = 0, requests = 0, points = 0;
  };

  Batcher(classify *model, std::chrono::milliseconds patience)
      : model(model), patience(patience), worker([this] { work(); }) {}

  ~Batcher() {
    {
      std::lock_guard<std::mutex> lock(mutex);
      stopping = true;
    }
    changed.notify_all();
    worker.join();
  }

  std::future<Points> submit(Points points) {
    std::lock_guard<std::mutex> lock(mutex);
    queue.push_back({std::move(points), {}});
    changed.notify_all();
    return queue.back().result.get_future();
  }

  Statistics statistics() {
    std::lock_guard<std::mutex> lock(mutex);
    return counted;
  }

private:
  struct Request {
    Points points;
    std::promise<Points> result;
  };

  void work() {
    std::unique_lock<std::mutex> lock(mutex);
    for (;;) {
      changed.wait(lock, [&] { return stopping || !queue.empty(); });
      if (queue.empty())
        return;
      changed.wait_for(lock, patience, [&] { return stopping || waiting() >= mostPoints; });
      std::vector<Request> batch;
      int64_t points = 0;
      while (!queue.empty() && points + rows(queue.front()) <= mostPoints) {
        points += rows(queue.front());
        batch.push_back(std::move(queue.front()));
        queue.pop_front();
      }
      ++counted.calls;
      counted.requests += int64_t(batch.size());
      counted.points += points;
      lock.unlock();
      call(batch, points);
      lock.lock();
    }
  }

  void call(std::vector<Request> &batch, int64_t points) {
    Points in, out(size_t(points * classes));
    for (const Request &request : batch)
      in.insert(in.end(), request.points.begin(), request.points.end());
    classify_tensor input = {in.data(), CLASSIFY_F32, 2, {points, width}, nullptr};
    classify_tensor output = {out.data(), CLASSIFY_F32, 2, {points, classes}, nullptr};
    if (classify_run(model, &input, &output) != 0) {
      for (Request &request : batch)
        request.result.set_exception(std::make_exception_ptr(std::runtime_error(classify_error(model))));
      return;
    }
    auto next = out.begin();
    for (Request &request : batch) {
      auto end = next + rows(request) * classes;
      request.result.set_value(Points(next, end));
      next = end;
    }
  }

  static int64_t rows(const Request &request) { return int64_t(request.points.size()) / width; }
  int64_t waiting() const {
    int64_t points = 0;
    for (const Request &request : queue)
      points += rows(request);
    return points;
  }

  classify *model;
  const std::chrono::milliseconds patience;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Request> queue;
  Statistics counted;
  bool stopping = false;
  std::thread worker; // the last member, because the thread uses the other members
};

// Parses the points of a request; throws an error that describes an invalid request.
static Points pointsFrom(const std::string &body) {
  // The depth is checked during parsing, because dump() is recursive: printing lists nested 100,000 deep for an error
  // message would overflow the stack.
  json rows = json::parse(body, [](int depth, json::parse_event_t event, json &) {
    if (depth > 1 && (event == json::parse_event_t::array_start || event == json::parse_event_t::object_start))
      throw std::invalid_argument("expected a list of points, which are lists of numbers, and nothing in them");
    return true;
  });
  if (!rows.is_array() || rows.empty() || rows.size() > size_t(mostPoints))
    throw std::invalid_argument("expected a list of 1 to " + std::to_string(mostPoints) + " points");
  Points points;
  for (const json &row : rows) {
    if (!row.is_array() || row.size() != size_t(width))
      throw std::invalid_argument("a point has " + std::to_string(width) +
                                  " numbers: " + row.dump(-1, ' ', true, json::error_handler_t::replace).substr(0, 80));
    for (const json &number : row)
      points.push_back(number.get<float>());
  }
  return points;
}

static json rowsOf(const Points &values) {
  json rows = json::array();
  for (size_t row = 0; row < values.size(); row += classes)
    rows.push_back(std::vector<float>(values.begin() + row, values.begin() + row + classes));
  return rows;
}

int main(int argc, char **argv) {
  sigset_t ends; // A separate thread waits for these signals, because a signal handler may call only a few functions.
  sigemptyset(&ends);
  sigaddset(&ends, SIGINT);
  sigaddset(&ends, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);

  char error[512];
  classify *model = classify_create(nullptr, error, sizeof error);
  if (!model) {
    fprintf(stderr, "%s\n", error);
    return 1;
  }
  int port = argc > 1 ? atoi(argv[1]) : 8080;
  {
    Batcher batcher(model, std::chrono::milliseconds(argc > 2 ? atoi(argv[2]) : 0));
    httplib::Server server;
    server.new_task_queue = [] { return new httplib::ThreadPool(64); }; // at most 64 requests at a time
    server.set_payload_max_length(mostBytes);                           // larger requests get status 413
    server.set_tcp_nodelay(true);              // otherwise, a response's second packet waits 40 ms for an ACK
    server.set_socket_options([](int socket) { // replaces httplib's default, which allows several servers on a port
      int yes = 1;
      setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    });
    server.Post("/classify", [&](const httplib::Request &request, httplib::Response &response) {
      try {
        Points points = pointsFrom(request.body);
        response.set_content(rowsOf(batcher.submit(std::move(points)).get()).dump() + "\n", "application/json");
      } catch (const std::runtime_error &failed) { // an error of the model
        response.status = 500;
        response.set_content(std::string(failed.what()) + "\n", "text/plain");
      } catch (const std::exception &wrong) {
        response.status = 400;
        response.set_content(std::string(wrong.what()) + "\n", "text/plain");
      }
    });
    server.Get("/statistics", [&](const httplib::Request &, httplib::Response &response) {
      Batcher::Statistics now = batcher.statistics();
      json text = {{"calls", now.calls}, {"requests", now.requests}, {"points", now.points}};
      response.set_content(text.dump() + "\n", "application/json");
    });
    std::thread ender([&] {
      int signal;
      sigwait(&ends, &signal);
      server.stop();
    });
    if (port == 0)
      port = server.bind_to_any_port("127.0.0.1");
    else if (!server.bind_to_port("127.0.0.1", port))
      port = -1;
    if (port > 0) {
      printf("http://127.0.0.1:%d/classify\n", port);
      fflush(stdout);
      server.listen_after_bind();
    } else {
      fprintf(stderr, "cannot listen on port %s\n", argc > 1 ? argv[1] : "8080");
      kill(getpid(), SIGTERM); // wakes the thread that waits for signals
    }
    ender.join();
  }
  classify_destroy(model);
  return port > 0 ? 0 : 1;
}
