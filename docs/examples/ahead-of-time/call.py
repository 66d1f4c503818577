"""Calls the library that `tilewright compile` compiles from classify.mlir, with ctypes."""

import ctypes

import numpy


class Tensor(ctypes.Structure):  # classify_tensor
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("dtype", ctypes.c_int32),
        ("rank", ctypes.c_int32),
        ("sizes", ctypes.c_int64 * 8),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
    ]


class TensorInfo(ctypes.Structure):  # classify_tensor_info
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("dtype", ctypes.c_int32),
        ("rank", ctypes.c_int32),
        ("sizes", ctypes.POINTER(ctypes.c_int64)),
        ("text", ctypes.c_char_p),
    ]


F32 = 8  # CLASSIFY_F32

library = ctypes.CDLL("./classify.so")
library.classify_create.restype = ctypes.c_void_p
library.classify_create.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t]
for name in ("shape", "run"):
    getattr(library, f"classify_{name}").argtypes = [ctypes.c_void_p, ctypes.POINTER(Tensor), ctypes.POINTER(Tensor)]
library.classify_error.restype = ctypes.c_char_p
library.classify_error.argtypes = [ctypes.c_void_p]
library.classify_destroy.argtypes = [ctypes.c_void_p]
library.classify_input.restype = ctypes.POINTER(TensorInfo)

info = library.classify_input(0).contents
print(f"classify takes {info.name.decode()}: {info.text.decode()}")

error = ctypes.create_string_buffer(512)
model = library.classify_create(None, error, len(error))
if not model:
    raise SystemExit(error.value.decode())


def check(status):
    if status:
        raise SystemExit(library.classify_error(model).decode())


points = numpy.array([[1, 0]], numpy.float32)
inputs = (Tensor * 1)(Tensor(points.ctypes.data, F32, points.ndim, points.shape))
outputs = (Tensor * 1)()
check(library.classify_shape(model, inputs, outputs))
probabilities = numpy.empty(outputs[0].sizes[: outputs[0].rank], numpy.float32)
outputs[0].data = probabilities.ctypes.data
check(library.classify_run(model, inputs, outputs))
print(probabilities.round(4))
library.classify_destroy(model)
