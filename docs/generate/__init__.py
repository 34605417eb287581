"""What the site takes from elsewhere: contracts from docstrings, the gallery from examples, figures from bench/results.

hooks.py     what MkDocs calls
reference.py which page holds which public name
contracts.py docstrings as Markdown; rendered.py hands them to mkdocstrings
gallery.py   a page an example, with its picture
figures.py   the performance page
"""
