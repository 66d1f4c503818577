/* Classifies three points with the library that `tilewright compile` compiles from classify.mlir. */
#include "classify.h"

#include <stdio.h>

int main(int argc, char **argv) {
  char error[512];
  /* One thread, and the file of external weights if an argument names it. */
  classify_options options = {.threads = 1, .weights_file = argc > 1 ? argv[1] : NULL};
  classify *model = classify_create(&options, error, sizeof error);
  if (!model) {
    fprintf(stderr, "%s\n", error);
    return 1;
  }

  float points[3][2] = {{1.0f, 0.0f}, {-1.0f, 0.5f}, {0.0f, 1.0f}}, probabilities[3][3];
  classify_tensor inputs[CLASSIFY_NUM_INPUTS] = {{points, CLASSIFY_F32, 2, {3, 2}, NULL}};
  classify_tensor outputs[CLASSIFY_NUM_OUTPUTS] = {{probabilities, CLASSIFY_F32, 2, {3, 3}, NULL}};
  int failed = classify_run(model, inputs, outputs);
  if (failed)
    fprintf(stderr, "%s\n", classify_error(model));
  for (int i = 0; i < 3 && !failed; ++i)
    printf("(%g, %g): %.4f %.4f %.4f\n", points[i][0], points[i][1], probabilities[i][0], probabilities[i][1],
           probabilities[i][2]);
  classify_destroy(model);
  return failed;
}
