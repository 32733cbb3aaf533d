"""Pages: charts, tables and templates; the static site of a book.

Components and templates are written once and rendered by Jinja2 with autoescape; they need no
script, print well, and follow the reader's light or dark mode.
"""

from usance.base.public_names import public_names

__getattr__, __dir__, __all__ = public_names(__name__, __file__)
