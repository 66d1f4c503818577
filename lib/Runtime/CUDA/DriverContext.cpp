//===- DriverContext.cpp - a GPU's primary context --------------------------------------===//
//
// Test: test/Unit/Runtime/CUDA/DriverTest.cpp
//
//===----------------------------------------------------------------------===//
#include "lib/Runtime/CUDA/DriverContext.h"
#include "lib/Interfaces/ForkMutex.h"

#include <map>

namespace tilewright::runtime {

std::shared_ptr<DriverContext> DriverContext::of(int ordinal, std::string &error) {
  using Contexts = std::map<int, std::weak_ptr<DriverContext>>;
  static auto &contexts = *new ForkSafe<Contexts>;
  const driver::Api *api = driver::api(error);
  if (!api)
    return nullptr;
  auto held = contexts.lock();
  if (std::shared_ptr<DriverContext> known = (*held)[ordinal].lock())
    return known;
  std::shared_ptr<DriverContext> fresh(new DriverContext(*api, ordinal));
  int count = 0;
  driver::Code code = api->deviceCount(&count);
  if (code == 0 && (ordinal < 0 || ordinal >= count)) {
    error = "there is no device cuda:" + std::to_string(ordinal) + "; the driver finds " + std::to_string(count) +
            " devices";
    return nullptr;
  }
  int major = 0, minor = 0, pools = 0;
  char name[256] = "";
  auto step = [&](auto call) {
    if (code == 0)
      code = call();
  };
  step([&] { return api->deviceGet(&fresh->device, ordinal); });
  step([&] { return api->deviceName(name, sizeof(name), fresh->device); });
  step([&] { return api->deviceAttribute(&major, driver::kCapabilityMajor, fresh->device); });
  step([&] { return api->deviceAttribute(&minor, driver::kCapabilityMinor, fresh->device); });
  step([&] { return api->deviceAttribute(&fresh->sharedOptIn, driver::kSharedOptIn, fresh->device); });
  step([&] { return api->deviceAttribute(&pools, driver::kMemoryPools, fresh->device); });
  step([&] { return api->retainPrimary(&fresh->context, fresh->device); });
  if (code != 0) {
    error = (code == driver::kOutOfMemory ? "out of memory: " : "") + ("cuda:" + std::to_string(ordinal)) +
            " cannot be used: " + api->explain(code);
    return nullptr;
  }
  fresh->capability = major * 10 + minor;
  if (api->deviceAttribute(&fresh->cacheBytes, driver::kCacheBytes, fresh->device) != 0)
    fresh->cacheBytes = 0;
  fresh->name = name;
  fresh->pools = pools != 0;
  driver::Pool pool = nullptr;
  // Keep all memory, because the pool otherwise frees it whenever the stream is synchronized.
  uint64_t keep = UINT64_MAX;
  if (fresh->pools && api->defaultPool(&pool, fresh->device) == 0)
    api->setPoolAttribute(pool, driver::kReleaseThreshold, &keep);
  (*held)[ordinal] = fresh;
  return fresh;
}

/// Returns the driver, and sets `device` to the device with number `ordinal`. Returns null if there is no driver or
/// device.
static const driver::Api *findDevice(int ordinal, driver::Device &device) {
  std::string error;
  const driver::Api *api = driver::api(error);
  int count = 0;
  const bool found =
      api && api->deviceCount(&count) == 0 && ordinal >= 0 && ordinal < count && api->deviceGet(&device, ordinal) == 0;
  return found ? api : nullptr;
}

int DriverContext::capabilityOf(int ordinal) {
  driver::Device device = 0;
  int major = 0, minor = 0;
  const driver::Api *api = findDevice(ordinal, device);
  if (!api || api->deviceAttribute(&major, driver::kCapabilityMajor, device) != 0 ||
      api->deviceAttribute(&minor, driver::kCapabilityMinor, device) != 0)
    return 0;
  return major * 10 + minor;
}

std::string DriverContext::nameOf(int ordinal) {
  driver::Device device = 0;
  char name[256] = "";
  const driver::Api *api = findDevice(ordinal, device);
  return api && api->deviceName(name, sizeof(name), device) == 0 ? name : "";
}

DriverContext::~DriverContext() {
  if (context && isOfThisProcess())
    api.releasePrimary(device);
}

std::string DriverContext::describe() const {
  return "cuda:" + std::to_string(ordinal) + " (" + name + ", sm_" + std::to_string(capability) + ")";
}

DriverContext::Current::Current(const DriverContext &context, std::string &error) : context(context) {
  if (!context.isOfThisProcess()) {
    error = context.describe() +
            " was in use when this process was forked, and CUDA does not work in the child: start " +
            "processes with multiprocessing's method \"spawn\", or use the device only in the children";
    return;
  }
  driver::Context now = nullptr;
  driver::Code code = context.api.currentContext(&now);
  if (code == 0 && now != context.context) {
    code = context.api.pushContext(context.context);
    pushed = code == 0;
  }
  good = code == 0;
  if (!good)
    error = context.describe() + " cannot be used: " + context.api.explain(code);
}

DriverContext::Current::~Current() {
  driver::Context popped = nullptr;
  if (pushed)
    context.api.popContext(&popped);
}

} // namespace tilewright::runtime
