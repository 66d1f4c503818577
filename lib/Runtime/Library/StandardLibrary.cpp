//===- StandardLibrary.cpp - the few functions behind the C++ headers ---------===//
//
// The runtime uses std::vector, std::string and std::unique_ptr, which are templates: compiled here without exceptions
// and with _GLIBCXX_EXTERN_TEMPLATE=0, they need of libstdc++ no more than memory and a way to fail. Both are here,
// local to the library: libstdc++ is neither linked nor loaded, and a host program's own is not disturbed.
//
// Memory that a model needs for data comes from Memory.h, which reports its failure; what comes from here is small
// (lists of steps, texts), and a process that cannot have it ends.
//
//===----------------------------------------------------------------------===//
#include <cstdlib>
#include <new>

static void *allocate(size_t bytes, size_t alignment) {
  // aligned_alloc wants whole multiples of the alignment.
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

namespace std {

const nothrow_t nothrow{};

// Names of <bits/functexcept.h>. They are reached by mistakes of the runtime alone.
[[noreturn]] void __throw_bad_alloc() { abort(); }
[[noreturn]] void __throw_bad_array_new_length() { abort(); }
[[noreturn]] void __throw_length_error(const char *) { abort(); }
[[noreturn]] void __throw_logic_error(const char *) { abort(); }
[[noreturn]] void __throw_out_of_range(const char *) { abort(); }
[[noreturn]] void __throw_out_of_range_fmt(const char *, ...) { abort(); }
[[noreturn]] void __throw_system_error(int) { abort(); }

} // namespace std
