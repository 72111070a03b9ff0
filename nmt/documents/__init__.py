"""Documents: their text is translated, and everything that is no text is kept byte for byte."""
