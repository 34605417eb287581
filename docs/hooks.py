"""What MkDocs calls: add the generated pages, and put them into the navigation."""

import sys
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

sys.path.insert(0, str(Path(__file__).parents[1]))

from docs.generate import changes, contracts, figures, gallery, reference

GENERATED = {"reference": reference.navigation, "gallery": gallery.navigation}


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Replace the entries `reference` and `gallery` of the navigation by the pages that there are."""
    config.nav = [
        {title: GENERATED[target]() if str(target) in GENERATED else target}
        for entry in config.nav or []
        for title, target in entry.items()
    ]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages and pictures."""
    for source in (reference, gallery, figures, changes):
        for path, content in source.files():
            files.append(File.generated(config, path, content=content))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Let the names on the pages that are written by hand lead to their contracts."""
    return markdown if page.file.generated_by else contracts.with_links(markdown, reference.targets().get)
