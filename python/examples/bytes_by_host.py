"""A map in Python, and a combine of the engine's."""

import tegula as tg

lengths = (
    tg.text("app.log")
    .map(lambda line: (line.split(" ", 1)[0], len(line)))
    .sum()
    .run(progress=False)
    .to_dict()
)
print(lengths)
