"""Assess: who gets credit, how much, at what price, and why.

A file of applicants with outcomes becomes a calibrated, documented model; a model scores a file or
one applicant in the same way, with its reasons; and it is watched and approved before it decides.

>>> from usance.assess.scoring.scorecard import Scale
>>> int(Scale().points(-3.912))  # fifty goods to one bad, as log odds of bad
600
"""
