"""One spelling for all names of a vertex type."""

from __future__ import annotations

import pytest

from tremula.frontends.poplar.codelets.names import NameTable, canonical


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("Plain", "Plain"),
        ("X< float , 3u>", "X<float,3>"),
        ("ns::X<short unsigned int, true>", "ns::X<unsigned short,true>"),
        ("X<unsigned>", "X<unsigned int>"),
        ("X<uint8_t,long long int>", "X<unsigned char,long long>"),
        ("X<signed char,char,int8_t>", "X<signed char,char,signed char>"),
        ("X<poplar::half>", "X<half>"),
        ("{anonymous}::X<int>", "X<int>"),
        ("X<ns::Op::ADD, Y<float> >", "X<ns::Op::ADD,Y<float>>"),
        ("X<class Y,enum Z>", "X<Y,Z>"),
        ("X<0x10, 007>", "X<16,007>"),
    ],
)
def test_canonical(given, expected):
    assert canonical(given) == expected
    assert canonical(expected) == expected


def test_a_table_finds_every_spelling():
    table = NameTable()
    table["X<unsigned int,2>"] = 1
    assert table["X<unsigned, 2u>"] == table.get("X<unsigned,2>") == 1
    assert "X<unsigned,2>" in table
    assert table.get("X<int,2>") is None
