#!/bin/sh
# Exits with 1 if the IR is interesting: the structured stage's contract refuses tw.exp in it.
tilewright-opt --tw-verify-stage=stage=structured "$1" 2>&1 | grep -q "'tw.exp' op may not remain" && exit 1
exit 0
