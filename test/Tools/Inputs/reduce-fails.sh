#!/bin/sh
# Exits with 1 if the IR is interesting, which means that it contains a tw.exp, an op that the contract of the
# structured stage forbids.
tilewright-opt --tw-verify-stage=stage=structured "$1" 2>&1 | grep -q "'tw.exp' op may not remain" && exit 1
exit 0
