"""torch's digest of its own files, stored between processes."""

import builtins
import json

import pytest
from torch._inductor import codecache

from tilewright.dynamo import torch_key


@pytest.fixture
def kept(tmp_path, monkeypatch):
    path = tmp_path / "tilewright" / "torch_key.json"
    monkeypatch.setattr(torch_key, "_kept_in", lambda: path)
    return path


def test_digest_covers_all_files_that_torch_reads(monkeypatch):
    read = set()

    def recording(path, *arguments):
        read.add(str(path))
        return builtins.open(path, *arguments)

    monkeypatch.setattr(codecache, "open", recording, raising=False)
    codecache.torch_key()  # another test may have computed it
    codecache.torch_key.clear()
    codecache.torch_key()
    assert len(read) > 1000
    assert read <= set(torch_key.files_read())


def test_stored_key_is_restored(kept):
    torch_key.restore_torch_key.__wrapped__()
    files = torch_key._files_digest()
    assert torch_key._read(files) == codecache.torch_key()
    codecache.torch_key.clear()
    torch_key.restore_torch_key.__wrapped__()
    right = codecache.torch_key()
    codecache.torch_key.clear()
    assert codecache.torch_key() == right


def test_stored_key_of_other_files_is_ignored(kept):
    right = codecache.torch_key()
    torch_key._write("other files", b"0" * 32)
    codecache.torch_key.clear()
    torch_key.restore_torch_key.__wrapped__()
    assert codecache.torch_key() == right
    assert json.loads(kept.read_text())["key"] == right.hex()


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"files": "F"}', '{"files": "F", "key": "zz"}', '{"files": "F", "key": "00"}', '{"files": "F", "key": 7}'])
def test_damaged_key_file_is_ignored(kept, damage):
    kept.parent.mkdir()
    kept.write_text(damage.replace("F", torch_key._files_digest()))
    assert torch_key._read(torch_key._files_digest()) is None


def test_key_folder_that_cannot_be_written_is_no_error(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(torch_key, "_kept_in", lambda: tmp_path / "file" / "torch_key.json")
    torch_key.restore_torch_key.__wrapped__()
