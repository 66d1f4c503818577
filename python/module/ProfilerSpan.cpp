//===- ProfilerSpan.cpp - a call as a span of torch.profiler ----------------------===//
#include "python/module/ProfilerSpan.h"

namespace py = pybind11;

namespace tilewright::python {

bool ProfilerSpan::isProfiling() {
  // The references to the dictionary of torch.autograd.profiler and to the name of its variable are never released.
  static PyObject *variables = [] {
    py::object module = py::module_::import("torch.autograd.profiler");
    return PyModule_GetDict(module.release().ptr());
  }();
  static PyObject *name = PyUnicode_InternFromString("_is_profiler_enabled");
  return PyDict_GetItemWithError(variables, name) == Py_True;
}

void ProfilerSpan::open(const std::string &name) {
  py::object made = py::module_::import("torch._C._profiler").attr("_RecordFunctionFast")(name);
  made.attr("__enter__")();
  span = std::move(made);
}

/// close() is also executed while a failed call unwinds, so it preserves the current Python error.
void ProfilerSpan::close() {
  py::error_scope kept;
  PyObject *result = PyObject_CallMethod(span.ptr(), "__exit__", "OOO", Py_None, Py_None, Py_None);
  if (!result)
    PyErr_Clear();
  Py_XDECREF(result);
}

void StepSpans::begin(const std::string &name) {
  py::gil_scoped_acquire gil;
  try {
    span.emplace(name);
  } catch (py::error_already_set &error) {
    error.discard_as_unraisable("tilewright: a span of torch.profiler");
  }
}

void StepSpans::end() {
  py::gil_scoped_acquire gil;
  span.reset();
}

} // namespace tilewright::python
