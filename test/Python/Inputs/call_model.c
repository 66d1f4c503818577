/* Calls a library that is named model, as C programs do, by what its header says and nothing else.
 *
 *   call_model THREADS WEIGHTS FOLDER SIZES... [FOLDER SIZES...]...
 *
 * WEIGHTS is the file of external weights, or "". Each FOLDER is a call of the same instance: FOLDER/input<i> has the
 * bytes of input i, whose sizes are SIZES, "3,17"; FOLDER/output<i> gets those of output i, and a line of standard output
 * its dtype and sizes. */
#include "model.h"

#include <stdio.h>
#include <stdlib.h>

static const size_t element_bytes[] = {[MODEL_BOOL] = 1, [MODEL_U8] = 1,  [MODEL_I8] = 1,   [MODEL_I16] = 2, [MODEL_I32] = 4,
                                       [MODEL_I64] = 8,  [MODEL_F16] = 2, [MODEL_BF16] = 2, [MODEL_F32] = 4, [MODEL_F64] = 8};

static int fail(const char *what, const char *why) {
  fprintf(stderr, "%s: %s\n", what, why);
  return 1;
}

static size_t bytes_of(const model_tensor *tensor) {
  size_t bytes = element_bytes[tensor->dtype];
  for (int32_t dim = 0; dim < tensor->rank; ++dim)
    bytes *= (size_t)tensor->sizes[dim];
  return bytes;
}

/* The memory of a tensor, read from its file or to be written there. */
static int move(const char *folder, const char *kind, int number, model_tensor *tensor, const char *mode) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s%d", folder, kind, number);
  FILE *file = fopen(path, mode);
  if (!file)
    return fail(path, "cannot be opened");
  size_t bytes = bytes_of(tensor);
  size_t moved = *mode == 'r' ? fread(tensor->data, 1, bytes, file) : fwrite(tensor->data, 1, bytes, file);
  return fclose(file) != 0 || moved != bytes ? fail(path, "has not the bytes of the tensor") : 0;
}

static int call(model *instance, const char *folder, char **sizes) {
  model_tensor inputs[MODEL_NUM_INPUTS], outputs[MODEL_NUM_OUTPUTS] = {{0}};
  for (int i = 0; i < MODEL_NUM_INPUTS; ++i) {
    const model_tensor_info *info = model_input(i);
    char *text = sizes[i];
    inputs[i] = (model_tensor){.dtype = info->dtype, .rank = info->rank};
    for (int32_t dim = 0; dim < info->rank; ++dim, ++text)
      inputs[i].sizes[dim] = strtoll(text, &text, 10);
    inputs[i].data = malloc(bytes_of(&inputs[i]) + 1);
    if (!inputs[i].data || move(folder, "input", i, &inputs[i], "rb"))
      return 1;
  }
  if (model_shape(instance, inputs, outputs))
    return fail("model_shape", model_error(instance));
  for (int i = 0; i < MODEL_NUM_OUTPUTS; ++i)
    if (!(outputs[i].data = malloc(bytes_of(&outputs[i]) + 1)))
      return fail("malloc", "no memory");
  if (model_run(instance, inputs, outputs))
    return fail("model_run", model_error(instance));
  for (int i = 0; i < MODEL_NUM_OUTPUTS; ++i) {
    printf("%d", outputs[i].dtype);
    for (int32_t dim = 0; dim < outputs[i].rank; ++dim)
      printf(" %lld", (long long)outputs[i].sizes[dim]);
    printf("\n");
    if (move(folder, "output", i, &outputs[i], "wb"))
      return 1;
    free(outputs[i].data);
  }
  for (int i = 0; i < MODEL_NUM_INPUTS; ++i)
    free(inputs[i].data);
  return 0;
}

int main(int argc, char **argv) {
  if (argc < 3)
    return fail("call_model", "THREADS WEIGHTS FOLDER SIZES...");
  char error[512];
  model_options options = {.threads = atoi(argv[1]), .weights_file = *argv[2] ? argv[2] : NULL};
  model *instance = model_create(&options, error, sizeof error);
  if (!instance)
    return fail("model_create", error);
  int failed = 0;
  for (int at = 3; !failed && at + MODEL_NUM_INPUTS < argc; at += 1 + MODEL_NUM_INPUTS)
    failed = call(instance, argv[at], argv + at + 1);
  model_destroy(instance);
  return failed;
}
