"""What the page offers under the name `static_page`: to write it as static files, whose model runs elsewhere."""

from nmt.page.app import STATIC
from nmt.page.forced_attention import forced_by
from nmt.page.serializers import of_model
from nmt.page.steps import attention_traces, query_of

__all__ = ["STATIC", "attention_traces", "forced_by", "of_model", "query_of"]
