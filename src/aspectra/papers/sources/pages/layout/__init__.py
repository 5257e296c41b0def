"""The printed page: lines, reading order, headings and front matter, told by place, size and font."""
