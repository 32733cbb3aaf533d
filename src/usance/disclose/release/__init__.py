"""The release: closed books, or a table of facts, as the page that is published.

`release` makes every figure of a period from the books and rounds it by the profile; `page` lays
facts out as tables and sentences; `html`, `xlsx` and `pdf` write those.
"""
