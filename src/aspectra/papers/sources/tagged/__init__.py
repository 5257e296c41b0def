"""Sources that read tagged bibliographic formats."""
