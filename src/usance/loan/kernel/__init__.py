"""The kernel: our own products' conventions on plain integers, compiled.

`plan` makes instalments, `fold` and `facts` take a state through facts, `view` reads it; `days`,
`batch` and `single` are the loops over them. Everything here is called through `usance.loan`.
"""
