"""Bugs planted on purpose."""


def plant(name):
    assert not name
