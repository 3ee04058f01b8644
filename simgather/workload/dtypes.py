"""Bytes per element of the data types that parameters come in."""

from __future__ import annotations

ELEMENT_BYTES = {"fp32": 4, "bf16": 2, "fp16": 2, "fp8": 1}
