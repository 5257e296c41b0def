"""Sources that read pages: PDF, Markdown, plain text, folders."""
