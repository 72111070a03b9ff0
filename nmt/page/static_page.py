"""What the page offers under the name `static_page`: to write it as static files, whose model runs elsewhere."""

from nmt.page.answers import of_model
from nmt.page.app import STATIC
from nmt.page.forced_attention import forced_by
from nmt.page.steps import looks_of

__all__ = ["STATIC", "forced_by", "looks_of", "of_model"]
