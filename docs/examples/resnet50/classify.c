/* ./classify image.ppm... prints the most likely class of each image. All images are passed to one call of the model. */
#include "images.h"
#include "resnet50.h"

int main(int argc, char **argv) {
  int64_t count = argc - 1;
  if (count < 1 || count > 64) {
    fprintf(stderr, "usage: %s image.ppm... (up to 64)\n", argv[0]);
    return 2;
  }
  char error[512];
  resnet50 *model = resnet50_create(NULL, error, sizeof error);
  if (!model) {
    fprintf(stderr, "%s\n", error);
    return 1;
  }
  float *images = (float *)malloc((size_t)count * PIXELS * sizeof *images);
  float *scores = (float *)malloc((size_t)count * CLASSES * sizeof *scores);
  int failed = !images || !scores;
  for (int64_t i = 0; i < count && !failed; ++i)
    if ((failed = read_image(argv[1 + i], images + i * PIXELS)))
      fprintf(stderr, "%s is not a binary PPM image of 8 bits per channel\n", argv[1 + i]);
  if (!failed) {
    resnet50_tensor input = {images, RESNET50_F32, 4, {count, 3, SIDE, SIDE}, NULL};
    resnet50_tensor output = {scores, RESNET50_F32, 2, {count, CLASSES}, NULL};
    if ((failed = resnet50_run(model, &input, &output)))
      fprintf(stderr, "%s\n", resnet50_error(model));
  }
  for (int64_t i = 0; i < count && !failed; ++i) {
    const float *row = scores + i * CLASSES;
    int best = 0;
    for (int c = 1; c < CLASSES; ++c)
      if (row[c] > row[best])
        best = c;
    printf("%s: class %d (%.4f)\n", argv[1 + i], best, row[best]);
  }
  free(images);
  free(scores);
  resnet50_destroy(model);
  return failed;
}
