"""Published models to compare with, one a file: `engnn train DATA --model NAME` takes the file of that name.

A file defines `MODEL`, a module whose constructor names what it needs of widths and depths (see
`engnn.train.models.arguments`) and which refuses a level that it cannot answer for. It is called as `ENGNN` is.
"""
