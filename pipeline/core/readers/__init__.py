"""The formats of corpora, a file each: `texts` gives name and pieces of each text of a corpus, in the stream's order,
and `pieces` words and ends of paragraphs from the lines of one text (pipeline/core/text/pieces.py)."""
