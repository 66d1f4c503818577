//===- WorkerProcess.cpp - a process that compiles or measures, and may crash ---------------------------===//
//
// Test: test/Tuner/tune-faults.test
//
//===----------------------------------------------------------------------===//
#include "lib/Tuner/Workers/WorkerProcess.h"
#include "lib/Interfaces/JsonText.h"
#include "lib/Interfaces/NumberText.h"
#include "llvm/Support/FormatVariadic.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

namespace json = llvm::json;

namespace tilewright {

WorkerProcess::~WorkerProcess() { stop(); }

void WorkerProcess::stop() {
  if (process < 0)
    return;
  kill(process, SIGKILL);
  int status;
  while (waitpid(process, &status, 0) < 0 && errno == EINTR)
    ;
  closePipes();
}

void WorkerProcess::closePipes() {
  close(toWorker);
  close(fromWorker);
  process = toWorker = fromWorker = -1;
  pending.clear();
}

llvm::Error WorkerProcess::start() {
  if (command.empty() || command[0].empty())
    return llvm::createStringError("the program of the worker is not specified");
  int in[2], out[2];
  if (pipe2(in, O_CLOEXEC))
    return llvm::createStringError(std::error_code(errno, std::generic_category()), "cannot create a pipe");
  if (pipe2(out, O_CLOEXEC)) {
    close(in[0]);
    close(in[1]);
    return llvm::createStringError(std::error_code(errno, std::generic_category()), "cannot create a pipe");
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
  // The exit status reports a crash; stack traces of candidate schedules are not useful.
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  std::vector<char *> arguments;
  for (std::string &word : command)
    arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t child = -1;
  int failed = posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(in[0]);
  close(out[1]);
  if (failed) {
    close(in[1]);
    close(out[0]);
    return llvm::createStringError(std::error_code(failed, std::generic_category()), "cannot start the worker '%s'",
                                   command[0].c_str());
  }
  process = child;
  toWorker = in[1];
  fromWorker = out[0];
  return llvm::Error::success();
}

/// Returns an error that states how the worker process ended.
llvm::Error WorkerProcess::died() {
  // The process has closed its end of the pipe, so it has ended or will end soon.
  int status = 0;
  bool ended = false;
  for (int i = 0; i < 200 && !ended; ++i) {
    ended = waitpid(process, &status, WNOHANG) != 0;
    if (!ended)
      usleep(10000);
  }
  if (!ended) {
    stop();
    return llvm::createStringError("the worker closed its output, did not end within 2 seconds and was killed");
  }
  closePipes();
  if (WIFSIGNALED(status))
    return llvm::createStringError("the worker died: %s", strsignal(WTERMSIG(status)));
  return llvm::createStringError("the worker ended by itself (exit %d)", WEXITSTATUS(status));
}

llvm::Expected<json::Object> WorkerProcess::exchange(const json::Object &request, double deadline,
                                                     llvm::function_ref<void(const json::Object &, double &)> onLine) {
  std::string text = jsonText(json::Value(json::Object(request))) + "\n";
  for (size_t sent = 0; sent < text.size();) {
    // If the worker process has ended, write() fails with EPIPE, because the tuner ignores SIGPIPE (WithoutSigpipe).
    // The tuner then continues.
    ssize_t count = write(toWorker, text.data() + sent, text.size() - sent);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return died();
    sent += size_t(count);
  }
  auto last = std::chrono::steady_clock::now();
  while (true) {
    if (size_t end = pending.find('\n'); end != std::string::npos) {
      llvm::Expected<json::Value> value = parseJson(llvm::StringRef(pending).take_front(end));
      pending.erase(0, end + 1);
      last = std::chrono::steady_clock::now();
      json::Object *object = value ? value->getAsObject() : nullptr;
      if (!object) {
        if (!value)
          llvm::consumeError(value.takeError());
        continue; // the line is not JSON, but for example the output of a library
      }
      if (auto error = object->getString("error")) {
        if (object->getBoolean("fatal").value_or(false))
          stop();
        return llvm::createStringError(error->str());
      }
      if (object->get("ok"))
        return std::move(*object);
      if (onLine)
        onLine(*object, deadline);
      continue;
    }
    const double waited = std::chrono::duration<double>(std::chrono::steady_clock::now() - last).count();
    if (waited >= deadline) {
      stop();
      return llvm::createStringError(numberText("it did not end within %.1f seconds", deadline));
    }
    pollfd ready{fromWorker, POLLIN, 0};
    int events = poll(&ready, 1, int(std::min(1000.0, (deadline - waited) * 1000 + 1)));
    if (events <= 0)
      continue;
    char buffer[4096];
    ssize_t count = read(fromWorker, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return died();
    pending.append(buffer, size_t(count));
  }
}

llvm::Expected<json::Object> WorkerProcess::ask(json::Object request, double deadline,
                                                llvm::function_ref<void(const json::Object &, double &)> onLine) {
  if (process < 0) {
    if (llvm::Error failed = start())
      return std::move(failed);
    if (!loaded.empty()) {
      llvm::Expected<json::Value> again = parseJson(loaded);
      llvm::Expected<json::Object> answer = exchange(*again->getAsObject(), loadDeadline, nullptr);
      if (!answer)
        return answer.takeError();
    }
  }
  return exchange(request, deadline, onLine);
}

llvm::Expected<json::Object> WorkerProcess::load(json::Object request, double deadline) {
  loaded.clear();
  loadDeadline = deadline;
  llvm::Expected<json::Object> answer = ask(json::Object(request), deadline);
  if (answer)
    loaded = jsonText(json::Value(std::move(request)));
  return answer;
}

} // namespace tilewright
