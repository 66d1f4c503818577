/* Reads binary PPM images (P6, 8 bits per channel), and converts them to inputs of ResNet-50. */
#ifndef IMAGES_H
#define IMAGES_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define SIDE 224
#define PIXELS (3 * SIDE * SIDE)
#define CLASSES 1000

/* Reads an image from the file, resizes it (bilinear), normalizes red, green and blue as for ImageNet, and writes it to
 * `image`, [3, SIDE, SIDE]. Returns 0. Returns 1 if memory cannot be allocated, or if the file cannot be read, is not a
 * binary PPM image with 8 bits per channel, or has a width or height above 16384. */
static int read_image(const char *path, float *image) {
  static const float mean[3] = {0.485f, 0.456f, 0.406f}, deviation[3] = {0.229f, 0.224f, 0.225f};
  FILE *file = fopen(path, "rb");
  int width = 0, height = 0, largest = 0, failed = 1;
  unsigned char *bytes = NULL;
  if (file && fscanf(file, "P6 %d %d %d", &width, &height, &largest) == 3 && largest == 255 && fgetc(file) != EOF &&
      width > 0 && height > 0 && width <= 16384 && height <= 16384) {
    size_t count = (size_t)width * (size_t)height * 3;
    bytes = (unsigned char *)malloc(count);
    failed = !bytes || fread(bytes, 1, count, file) != count;
  }
  for (int y = 0; y < SIDE && !failed; ++y)
    for (int x = 0; x < SIDE; ++x) {
      float sy = fmaxf(0, (y + 0.5f) * height / SIDE - 0.5f), sx = fmaxf(0, (x + 0.5f) * width / SIDE - 0.5f);
      int y0 = (int)sy, x0 = (int)sx, y1 = y0 + 1 < height ? y0 + 1 : y0, x1 = x0 + 1 < width ? x0 + 1 : x0;
      float fy = sy - y0, fx = sx - x0;
      for (int c = 0; c < 3; ++c) {
#define AT(row, column) bytes[((size_t)(row) * width + (column)) * 3 + c]
        float top = AT(y0, x0) * (1 - fx) + AT(y0, x1) * fx, bottom = AT(y1, x0) * (1 - fx) + AT(y1, x1) * fx;
        image[(c * SIDE + y) * SIDE + x] = ((top * (1 - fy) + bottom * fy) / 255 - mean[c]) / deviation[c];
#undef AT
      }
    }
  free(bytes);
  if (file)
    fclose(file);
  return failed;
}

#endif
