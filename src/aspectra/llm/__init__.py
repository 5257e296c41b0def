"""Language models behind one seam: requests, replies, and what wraps them."""
