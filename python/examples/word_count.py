"""The ten most frequent words of a folder: of all files below it, compressed ones too."""

import tegula as tg

print(tg.text("books/").words().count().run().top(10))
