//===- StandardLibrary.cpp - the functions of libstdc++ that the runtime needs ---===//
//
// The runtime uses std::vector, std::string and std::unique_ptr. Compiled without exceptions and with
// _GLIBCXX_EXTERN_TEMPLATE=0, these templates need only memory allocation and error functions from libstdc++. These
// functions are defined here with local visibility: libstdc++ is neither linked nor loaded, and the libstdc++ of the
// host program is not affected.
//
// Large data of a model is allocated by Memory.h, which reports failure. Allocations here are small (lists of steps,
// strings). If such an allocation fails, the process ends, unless it is a `new` with std::nothrow.
//
//===----------------------------------------------------------------------===//
#include <cstdlib>
#include <new>

static void *allocate(size_t bytes, size_t alignment) {
  // The size that is passed to aligned_alloc must be a multiple of the alignment.
  return alignment <= __STDCPP_DEFAULT_NEW_ALIGNMENT__
             ? malloc(bytes ? bytes : 1)
             : aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

static void *allocateOrEnd(size_t bytes, size_t alignment) {
  void *memory = allocate(bytes, alignment);
  if (!memory)
    abort();
  return memory;
}

void *operator new(size_t bytes) { return allocateOrEnd(bytes, 1); }
void *operator new[](size_t bytes) { return allocateOrEnd(bytes, 1); }
void *operator new(size_t bytes, std::align_val_t alignment) { return allocateOrEnd(bytes, size_t(alignment)); }
void *operator new(size_t bytes, const std::nothrow_t &) noexcept { return allocate(bytes, 1); }
void *operator new(size_t bytes, std::align_val_t alignment, const std::nothrow_t &) noexcept {
  return allocate(bytes, size_t(alignment));
}
void operator delete(void *memory) noexcept { free(memory); }
void operator delete[](void *memory) noexcept { free(memory); }
void operator delete(void *memory, size_t) noexcept { free(memory); }
void operator delete[](void *memory, size_t) noexcept { free(memory); }
void operator delete(void *memory, std::align_val_t) noexcept { free(memory); }
void operator delete(void *memory, size_t, std::align_val_t) noexcept { free(memory); }
void operator delete(void *memory, const std::nothrow_t &) noexcept { free(memory); }
void operator delete(void *memory, std::align_val_t, const std::nothrow_t &) noexcept { free(memory); }

// NOLINTBEGIN(bugprone-std-namespace-modification, bugprone-reserved-identifier): these are parts of the library
namespace std {

const nothrow_t nothrow{};

// Functions that <bits/functexcept.h> declares. They are called only if the runtime has a bug.
[[noreturn]] void __throw_bad_alloc() { abort(); }
[[noreturn]] void __throw_bad_array_new_length() { abort(); }
[[noreturn]] void __throw_length_error(const char *) { abort(); }
[[noreturn]] void __throw_logic_error(const char *) { abort(); }
[[noreturn]] void __throw_out_of_range(const char *) { abort(); }
[[noreturn]] void __throw_out_of_range_fmt(const char *, ...) { abort(); }
[[noreturn]] void __throw_system_error(int) { abort(); }

} // namespace std
// NOLINTEND(bugprone-std-namespace-modification, bugprone-reserved-identifier)
