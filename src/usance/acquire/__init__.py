"""Acquire: who comes through which channel, who they are, what they agreed to, and what it costs.

>>> from usance.acquire.documents import resident_number
>>> str(resident_number("11010519491231002X").born)
'1949-12-31'
"""
