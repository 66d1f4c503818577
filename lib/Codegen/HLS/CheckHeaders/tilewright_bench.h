// This file is part of Tilewright. The test bench (test_bench.cpp) uses it to read data files, to call the design on a
// large stack, and to compare the outputs of the design with the expected outputs.
#ifndef TILEWRIGHT_LIB_CODEGEN_HLS_CHECKHEADERS_TILEWRIGHT_BENCH_H
#define TILEWRIGHT_LIB_CODEGEN_HLS_CHECKHEADERS_TILEWRIGHT_BENCH_H

#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <functional>
#include <string>
#include <type_traits>
#include <vector>

namespace tilewright {

/// The type in which a data file stores elements of type T. An ap type of at most 64 bits is stored in the smallest
/// signed integer type of 8, 16, 32 or 64 bits that has at least as many bits.
template <typename T, typename = void> struct Stored {
  typedef T type;
  static constexpr bool isInteger = std::is_integral<T>::value;
};
template <typename T> struct Stored<T, typename std::enable_if<(T::width > 0)>::type> {
  typedef typename std::conditional<
      (T::width > 32), int64_t,
      typename std::conditional<(T::width > 16), int32_t,
                                typename std::conditional<(T::width > 8), int16_t, int8_t>::type>::type>::type type;
  static constexpr bool isInteger = true;
};

class Bench {
public:
  /// The data files are in the folder that the first command line argument names, or in data/ if there is no argument.
  Bench(int argc, char **argv) : folder(argc > 1 ? argv[1] : "data") {}

  /// Returns `count` elements of the file. Ends the program if the file is missing or too short.
  template <typename T> std::vector<T> read(const char *name, size_t count) {
    typedef typename Stored<T>::type Element;
    std::vector<Element> elements(count);
    const std::string path = folder + "/" + name;
    FILE *file = fopen(path.c_str(), "rb");
    if (!file || fread(elements.data(), sizeof(Element), count, file) != count) {
      fprintf(stderr, "cannot read %zu elements of '%s'\n", count, path.c_str());
      exit(2);
    }
    fclose(file);
    return std::vector<T>(elements.begin(), elements.end());
  }

  /// Runs `body` on a thread with a stack of `stackBytes` bytes, because arrays of the design are local variables.
  void call(size_t stackBytes, const std::function<void()> &body) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, stackBytes);
    pthread_t thread;
    auto run = [](void *function) -> void * {
      (*static_cast<const std::function<void()> *>(function))();
      return nullptr;
    };
    if (pthread_create(&thread, &attributes, run, const_cast<std::function<void()> *>(&body)) != 0) {
      fprintf(stderr, "cannot create a thread with a stack of %zu bytes\n", stackBytes);
      exit(2);
    }
    pthread_join(thread, nullptr);
    pthread_attr_destroy(&attributes);
  }

  /// Compares `actual` with the file NAME.bin, where NAME is the argument `name`. If the file NAME.bound contains 0,
  /// integers must be equal. Otherwise the root mean square of the differences must be at most the number in
  /// NAME.bound, and NaN and infinities (with the same signs) must be at the same indices. Integers that are computed
  /// from floats also have a bound above 0.
  template <typename T> void compare(const char *shown, const char *name, const std::vector<T> &actual) {
    const std::vector<T> expected = read<T>((std::string(name) + ".bin").c_str(), actual.size());
    double bound = 0, squares = 0;
    const std::string path = folder + "/" + name + ".bound";
    FILE *file = fopen(path.c_str(), "r");
    if (!file || fscanf(file, "%lf", &bound) != 1) {
      fprintf(stderr, "cannot read '%s'\n", path.c_str());
      exit(2);
    }
    fclose(file);
    size_t misplaced = 0, finite = 0;
    for (size_t i = 0; i < actual.size(); ++i) {
      if (Stored<T>::isInteger && bound == 0) { // a double does not represent every int64_t
        misplaced += actual[i] != expected[i];
        continue;
      }
      const double a = (double)actual[i], e = (double)expected[i];
      if (a - a == 0 && e - e == 0) {
        squares += (a - e) * (a - e);
        ++finite;
      } else if (!(a == e || (a != a && e != e))) {
        ++misplaced;
      }
    }
    const double error = finite ? sqrt(squares / (double)finite) : 0;
    const bool good = misplaced == 0 && error <= bound;
    printf("%s: error %.3g, bound %.3g, %zu elements%s\n", shown, error, bound, actual.size(),
           good                   ? ""
           : !misplaced           ? ": FAIL"
           : Stored<T>::isInteger ? ": FAIL, integers differ"
                                  : ": FAIL, NaN or infinity misplaced");
    failures += !good;
  }

  /// Counts a failure if a stream port of the design is not empty after a call.
  void drained(const char *shown, bool empty) {
    if (!empty)
      printf("%s: FAIL, elements are left in the stream\n", shown);
    failures += !empty;
  }

  int finish() {
    printf(failures ? "FAIL\n" : "PASS\n");
    return failures ? 1 : 0;
  }

private:
  std::string folder;
  int failures = 0;
};

} // namespace tilewright

#endif
