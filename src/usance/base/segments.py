"""Segments and cells: kinds of loans, each as one number.

A segment is a funding model and a product; a cell is a segment and a funding source.

>>> segment_code(3, 1), segment_model(25).label, segment_product(25).label
(25, 'ice', 'instalment')
>>> import numpy as np
>>> key = cell_key(np.array([3]), np.array([1]), np.array([7]))
>>> [part.tolist() for part in cell_parts(key)]
[[3], [1], [7]]
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from usance.base.arrays import I64
from usance.base.codes import FundingModel, Product

_PRODUCTS = 8
_MODEL_SHIFT, _PRODUCT_SHIFT, _LOW = 32, 16, 0xFFFF


def segment_code(model: int, product: int) -> int:
    """The segment of a funding model and a product."""
    return model * _PRODUCTS + product


def segment_codes(loans: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
    """The segment of each loan, from its columns `model` and `product`."""
    return np.asarray(loans["model"].astype(np.int16) * _PRODUCTS + loans["product"])


def segment_model(segment: int) -> FundingModel:
    """The funding model of a segment."""
    return FundingModel(segment // _PRODUCTS)


def segment_product(segment: int) -> Product:
    """The product of a segment."""
    return Product(segment % _PRODUCTS)


def cell_key(model: NDArray[Any], product: NDArray[Any], source: NDArray[Any]) -> I64:
    """Model, product and source of each loan or cell as one number."""
    wide = [np.asarray(each, np.int64) for each in (model, product, source)]
    return (wide[0] << _MODEL_SHIFT) + (wide[1] << _PRODUCT_SHIFT) + wide[2]


def cell_parts(keys: I64) -> tuple[I64, I64, I64]:
    """Model, product and source of each key."""
    return keys >> _MODEL_SHIFT, keys >> _PRODUCT_SHIFT & _LOW, keys & _LOW
