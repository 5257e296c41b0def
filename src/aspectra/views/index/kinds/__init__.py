"""The kinds of views, one file each: how each is opened, and what it stores."""
