"""Sources that read pages: PDF, Markdown, plain text, web pages, Word documents, e-books."""
