"""The ten most frequent words of files, folders or patterns, compressed files too."""

import sys

import tegula as tg

for word, count in (
    tg.text(*sys.argv[1:]).words("alpha").count().run(top=10, order="value")
):
    print(word, count)
