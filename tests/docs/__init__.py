"""The site: every code block runs, every name exists, every public name and message has its place."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs" / "pages").rglob("*.md"))
