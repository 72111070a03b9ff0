"""`nmt serve` for other programs: LibreTranslate's and OpenAI's addresses, metrics, logs, limits per key, reloading."""
