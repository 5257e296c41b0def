"""What reads words one by one: tokens, tables, numbers, names, terms, aspects, typing errors."""

__all__: list[str] = []
