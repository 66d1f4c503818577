"""docs/examples/resnet50: exported, compiled, called from C and C++, and compared with eager."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

ROOT = Path(__file__).resolve().parents[2]
DRIVER = Path(os.environ.get("TILEWRIGHT_BUILD", ROOT / "build")) / "bin" / "tilewright"

pytestmark = pytest.mark.skipif(not os.environ.get("TILEWRIGHT_TEST_FULL"), reason="half a minute: tools/test.sh --full")


def write_ppm(path: Path, pixels: np.ndarray) -> None:
    height, width, _ = pixels.shape
    path.write_bytes(b"P6\n%d %d\n255\n" % (width, height) + pixels.tobytes())


def test_example_programs_give_the_classes_of_eager(tmp_path):
    folder = tmp_path / "resnet50"
    shutil.copytree(ROOT / "docs/examples/resnet50", folder)
    commands = re.search(r"```sh\n(.*?)```", (ROOT / "docs/how-to/resnet50.md").read_text(), re.DOTALL)[1]
    random, images = np.random.default_rng(0), {}
    for name, size in {"cat": (224, 224, 3), "dog": (448, 448, 3)}.items():
        images[name] = random.integers(0, 256, size, dtype=np.uint8)
        write_ppm(folder / f"{name}.ppm", images[name])
    path = os.pathsep.join([str(DRIVER.parent), str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(["bash", "-ec", commands], cwd=folder, env={**os.environ, "PATH": path}, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    lines = re.findall(r"(\w+)\.ppm: class (\d+) \((.*)\)", done.stdout)
    assert [name for name, *_ in lines] == ["cat", "dog"] * 2, done.stdout
    model = torch.export.load(folder / "resnet50.pt2").module()
    for name, number, logit in lines:
        image = torch.tensor(images[name]).permute(2, 0, 1)[None].float()
        image = torch.nn.functional.interpolate(image, size=(224, 224), mode="bilinear", align_corners=False) / 255
        image = (image - torch.tensor([0.485, 0.456, 0.406])[:, None, None]) / torch.tensor([0.229, 0.224, 0.225])[:, None, None]
        logits = model(image.expand(2, -1, -1, -1).contiguous())[0]
        assert int(number) == logits.argmax()
        assert float(logit) == pytest.approx(logits.max().item(), rel=1e-4)


def test_image_reader_refuses_invalid_files(tmp_path):
    """Tests only the image reader, without a model."""
    shutil.copy(ROOT / "docs/examples/resnet50/images.h", tmp_path)
    (tmp_path / "read.c").write_text(
        '#include "images.h"\nint main(int argc, char **argv) {\n  static float image[PIXELS];\n'
        "  return argc != 2 || read_image(argv[1], image);\n}\n")
    subprocess.run(["cc", "-std=c99", "-Wall", "-Werror", "read.c", "-lm", "-o", "read"], cwd=tmp_path, check=True, timeout=60)
    write_ppm(tmp_path / "good.ppm", np.zeros((3, 5, 3), np.uint8))
    good = (tmp_path / "good.ppm").read_bytes()
    for name, data in {"short": good[:-1], "empty": b"", "text": good.replace(b"P6", b"P3"), "deep": good.replace(b"255", b"65535"),
                       "negative": good.replace(b"5 3", b"-5 3"), "huge": good.replace(b"5 3", b"99999 99999")}.items():  # fmt: skip
        (tmp_path / name).write_bytes(data)
        assert subprocess.run(["./read", name], cwd=tmp_path, timeout=60).returncode == 1, name
    assert subprocess.run(["./read", "good.ppm"], cwd=tmp_path, timeout=60).returncode == 0
    assert subprocess.run(["./read", "nothing"], cwd=tmp_path, timeout=60).returncode == 1
