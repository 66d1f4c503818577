// `./classify image.ppm...` prints the most likely class of each image. Each of two threads has a separate instance of
// the model, and takes the index of its next image from a shared atomic counter.
#include "images.h"
#include "resnet50.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

class Model {
public:
  Model() {
    char error[512];
    resnet50_options options = {1, nullptr, nullptr};
    model.reset(resnet50_create(&options, error, sizeof error));
    if (!model)
      throw std::runtime_error(error);
  }

  std::vector<float> scores(std::vector<float> &image) {
    std::vector<float> result(CLASSES);
    resnet50_tensor input = {image.data(), RESNET50_F32, 4, {1, 3, SIDE, SIDE}, nullptr};
    resnet50_tensor output = {result.data(), RESNET50_F32, 2, {1, CLASSES}, nullptr};
    if (resnet50_run(model.get(), &input, &output) != 0)
      throw std::runtime_error(resnet50_error(model.get()));
    return result;
  }

private:
  struct Destroy {
    void operator()(resnet50 *instance) const { resnet50_destroy(instance); }
  };
  std::unique_ptr<resnet50, Destroy> model;
};

static std::string classify(Model &model, const char *path) {
  std::vector<float> image(PIXELS);
  if (read_image(path, image.data()) != 0)
    throw std::runtime_error(std::string(path) + " is not a binary PPM image of 8 bits per channel");
  std::vector<float> scores = model.scores(image);
  auto best = std::max_element(scores.begin(), scores.end());
  char line[64];
  snprintf(line, sizeof line, ": class %d (%.4f)", int(best - scores.begin()), *best);
  return path + std::string(line);
}

int main(int argc, char **argv) {
  std::vector<std::string> lines(argc > 1 ? argc - 1 : 0);
  std::atomic<size_t> next{0};
  std::atomic<bool> failed{false};
  auto work = [&] {
    try {
      Model model;
      for (size_t i = next++; i < lines.size(); i = next++)
        lines[i] = classify(model, argv[1 + i]);
    } catch (const std::exception &error) {
      fprintf(stderr, "%s\n", error.what());
      failed = true;
    }
  };
  std::thread other(work);
  work();
  other.join();
  for (const std::string &line : lines)
    if (!failed)
      printf("%s\n", line.c_str());
  return failed;
}
