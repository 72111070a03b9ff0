"""What must be in a translation: terms of a glossary, names, protected spans, markup."""
