"""lit tests: IR in, IR out. They need tilewright-opt and FileCheck, and no torch."""

import os

import lit.formats

config.name = "Tilewright"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.build_dir, "test")
config.excludes = ["Python", "Inputs", "Conformance", "FakeCuda"]
config.environment["PATH"] = os.pathsep.join([os.path.join(config.build_dir, "bin"), config.llvm_tools_dir, os.environ["PATH"]])
config.substitutions.append(("%target", getattr(config, "target", "cpu")))
# %fakecuda is a CUDA driver that executes kernels in the PTX interpreter (test/FakeCuda/Fake.h).
config.substitutions.append(("%fakecuda", os.path.join(config.build_dir, "lib", "libtilewright_fake_cuda.so")))
config.environment["TILEWRIGHT_PTXAS"] = "off"  # the fake CUDA driver accepts PTX
# The compiler verifies the IR after every pass and the contract of every stage. Tests of the object cache disable this.
config.environment["TILEWRIGHT_VERIFY"] = "1"
