/* Classifies batches of one, three and five images with the library that `tilewright compile` compiles from
 * digits.onnx. */
#include "digits.h"

#include <stdio.h>

enum { PIXELS = 28 * 28, CLASSES = 10, MOST = 5 };

/* Draws image `number`: a ring whose radius grows with the number. */
static void draw(float *image, int number) {
  const float radius = 4.0f + 2.0f * (float)number;
  for (int at = 0; at < PIXELS; ++at) {
    const float x = (float)(at % 28) - 13.5f, y = (float)(at / 28) - 13.5f;
    const float away = x * x + y * y - radius * radius;
    image[at] = away < 12.0f && away > -12.0f ? 1.0f : 0.0f;
  }
}

int main(void) {
  static float images[MOST][PIXELS], probabilities[MOST][CLASSES];
  char error[512];
  digits *model = digits_create(NULL, error, sizeof error);
  if (!model) {
    fprintf(stderr, "%s\n", error);
    return 1;
  }
  for (int number = 0; number < MOST; ++number)
    draw(images[number], number);
  int failed = 0;
  for (int batch = 1; batch <= MOST && !failed; batch += 2) {
    digits_tensor inputs[DIGITS_NUM_INPUTS] = {{images, DIGITS_F32, 4, {batch, 1, 28, 28}, NULL}};
    digits_tensor outputs[DIGITS_NUM_OUTPUTS] = {{probabilities, DIGITS_F32, 2, {batch, CLASSES}, NULL}};
    failed = digits_run(model, inputs, outputs);
    if (failed)
      fprintf(stderr, "%s\n", digits_error(model));
    printf("batch of %d:", batch);
    for (int row = 0; row < batch && !failed; ++row) {
      int best = 0;
      for (int label = 1; label < CLASSES; ++label)
        if (probabilities[row][label] > probabilities[row][best])
          best = label;
      printf(" %d (%.3f)", best, probabilities[row][best]);
    }
    printf("\n");
  }
  digits_destroy(model);
  return failed;
}
