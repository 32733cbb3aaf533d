"""Identifiers carry their user, print in number order, and say what is wrong with them."""

from __future__ import annotations

from hashlib import blake2b

import pytest
from hypothesis import given
from hypothesis import strategies as st

from usance.base.errors import CodeError, IdError
from usance.base.ids import (
    LIMIT,
    PER_USER,
    PREFIXES,
    fact_ref,
    owned_id,
    parse_id,
    print_id,
    shard_of,
    user_of,
)

NUMBERS = st.integers(0, LIMIT - 1)


def test_the_vector_of_the_contract() -> None:
    assert owned_id(1, 1) == 16385
    assert print_id("ln", 16385) == "ln_00000000G01"
    assert parse_id("ln_00000000G01", "ln") == 16385


@given(st.integers(1, (LIMIT >> 14) - 1), st.integers(1, 16383))
def test_an_id_carries_its_user(user: int, n: int) -> None:
    owned = owned_id(user, n)
    assert (user_of(owned), owned % PER_USER) == (user, n)
    assert owned < 2**53


@given(NUMBERS, NUMBERS, st.sampled_from(sorted(PREFIXES)))
def test_text_reads_back_and_orders_as_the_number(a: int, b: int, prefix: str) -> None:
    left, right = print_id(prefix, a), print_id(prefix, b)
    assert parse_id(left, prefix) == a
    assert (left < right) == (a < b)


def test_shards_hold_four_million_users() -> None:
    assert [shard_of(user) for user in (1, 2**22 - 1, 2**22, 250_000_000)] == [0, 0, 1, 59]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("us_00000000G01", "is a user id. Give a loan id like ln_00000000G01"),
        ("16385", "is no id"),
        ("", "is no id"),
        ("ln_G01", "has 3 characters"),
        ("ln_00000000G0", "has 10 characters"),
        ("ln_00000000GO1", "the character 'O'. Ids use 0-9 and A-Z without I, L, O and U"),
        ("ln_00000000g01", "the character 'g'"),
        ("ln_ZZZZZZZZZZZ", "out of range"),
    ],
)
def test_wrong_ids(text: str, message: str) -> None:
    with pytest.raises(IdError) as caught:
        parse_id(text, "ln", where="row 3")
    assert message in str(caught.value)
    assert caught.value.where == "row 3"


@pytest.mark.parametrize("prefix", ["xx", "", "LN"])
def test_unknown_prefixes(prefix: str) -> None:
    with pytest.raises(CodeError, match="Choices: us, ln, li, de, so, en, jr"):
        print_id(prefix, 1)


@pytest.mark.parametrize(("user", "n"), [(0, 1), (1, 0), (1, 16384), (2**39, 1), (-1, 1)])
def test_numbers_out_of_range(user: int, n: int) -> None:
    with pytest.raises(IdError):
        owned_id(user, n)


def test_no_id_beyond_what_json_can_hold() -> None:
    with pytest.raises(IdError, match="2\\^53"):
        print_id("ln", 2**53)


@given(st.integers(0, 2**63 - 1))
def test_a_key_of_digits_is_its_number(number: int) -> None:
    assert fact_ref(str(number)) == number


@given(st.text(min_size=1).filter(lambda key: not key.isdigit()))
def test_any_other_key_is_63_bits_of_its_hash(key: str) -> None:
    bits = "".join(f"{byte:08b}" for byte in blake2b(key.encode("utf-8"), digest_size=8).digest())
    assert fact_ref(key) == int(bits[:63], 2) < 2**63


def test_digits_beyond_63_bits_are_hashed() -> None:
    for key in (str(2**63), "9" * 30, "٣", "²", "-1"):
        assert (
            fact_ref(key)
            == int.from_bytes(blake2b(key.encode(), digest_size=8).digest(), "big") >> 1
        )


def test_an_empty_key_is_refused() -> None:
    with pytest.raises(IdError, match="empty key"):
        fact_ref("")
