"""The release: closed books, or a table of facts, as the page that is published.

`figures` makes every figure of a period from the books and rounds it by the profile; `pages`
lays facts out as tables and sentences, whoever made them; `html`, `xlsx` and `pdf` print those.
"""
