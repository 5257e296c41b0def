"""Parts of the encoders of the extra ``torch``; none imports torch before a model is loaded."""
