"""Word alignment: links learnt from text, gold links in the field's formats, links from a model's attention."""
