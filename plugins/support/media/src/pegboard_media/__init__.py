"""Images and PDF documents for tools: checked, scaled down for a model, or explained in words."""

from pegboard_media.documents import Pdf, open_pdf
from pegboard_media.errors import MediaError
from pegboard_media.kinds import media_type_of
from pegboard_media.pictures import Picture, fit_picture

__all__ = ["MediaError", "Pdf", "Picture", "fit_picture", "media_type_of", "open_pdf"]
