"""Make an image acceptable to a provider: intact, of a known type, not too large in pixels or bytes."""

from __future__ import annotations

import io
import warnings
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING

from pegboard_media.errors import MediaError
from pegboard_media.kinds import media_type_of

if TYPE_CHECKING:
    from PIL.Image import Image

LONGEST_SIDE = 1568
"""Providers scale larger images down themselves, so more pixels cost bytes and add no detail."""
LARGE_BYTES = 500_000
"""Above this size an image is encoded again as JPEG."""
MOST_BYTES = 3_500_000
"""What fits in a request after base64 encoding, with room to spare."""
MOST_PIXELS = 50_000_000
"""Decoding more pixels would take hundreds of megabytes; only JPEG can be decoded at a smaller scale."""
AS_THEY_ARE = {"image/png": "PNG", "image/jpeg": "JPEG", "image/gif": "GIF", "image/webp": "WEBP"}
CLASSES = {
    "image/png": ("PngImagePlugin", "PngImageFile"),
    "image/jpeg": ("JpegImagePlugin", "JpegImageFile"),
    "image/gif": ("GifImagePlugin", "GifImageFile"),
    "image/webp": ("WebPImagePlugin", "WebPImageFile"),
    "image/bmp": ("BmpImagePlugin", "BmpImageFile"),
    "image/tiff": ("TiffImagePlugin", "TiffImageFile"),
}
QUALITIES = (85, 70, 50, 30)


@dataclass(frozen=True, slots=True)
class Picture:
    """An image ready for a model."""

    data: bytes = field(repr=False)
    media_type: str
    original_type: str
    original_bytes: int
    original_width: int
    original_height: int
    width: int
    height: int
    frames: int = 1
    """The number of frames in an animation; only the first is shown."""


def fit_picture(data: bytes) -> Picture:
    """Decode an image to prove that it is intact, and make it fit; a `MediaError` says why it cannot be shown."""
    kind = media_type_of(data)
    if kind == "image/heic":
        raise MediaError("It is a HEIC or AVIF image, which cannot be decoded here. Convert it to PNG or JPEG first.")
    if not kind.startswith("image/"):
        raise MediaError("It is not an image of a supported type (PNG, JPEG, GIF, WebP, BMP or TIFF).")
    # Imported late: it takes 77 ms, and only an image needs it.
    from PIL.Image import DecompressionBombError

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Pillow warns about sizes that are checked below.
        try:
            with _opened(data, kind) as image:
                return _fitted(image, data, kind)
        except DecompressionBombError:
            raise MediaError("It declares far more pixels than can be decoded, so it was not opened.") from None
        except (OSError, SyntaxError, ValueError, IndexError, EOFError, OverflowError) as error:
            raise MediaError(f"It begins like {kind} but is damaged: {_tidy(error)}.") from None


def _opened(data: bytes, kind: str) -> Image:
    """An image of which only the header has been read.

    The class is taken directly because `Image.open` refuses by a limit of its own, before its size can be told.
    """
    module, name = CLASSES[kind]
    opened: Image = getattr(import_module(f"PIL.{module}"), name)(io.BytesIO(data))
    return opened


def _tidy(error: BaseException) -> str:
    return str(error).split("\n")[0].rstrip(".")[:120] or type(error).__name__


def _fitted(image: Image, data: bytes, kind: str) -> Picture:
    width, height = image.size
    frames = getattr(image, "n_frames", 1)
    if width * height > MOST_PIXELS and kind == "image/jpeg":
        image.draft("RGB", (LONGEST_SIDE, LONGEST_SIDE))
    if image.size[0] * image.size[1] > MOST_PIXELS:
        sizes = f"{width:,} x {height:,} pixels ({width * height / 1e6:.0f} million)"
        raise MediaError(f"It is {kind} with {sizes}, too many to decode. Scale it down or crop it first.")
    image.load()
    small = max(width, height) <= LONGEST_SIDE and len(data) <= LARGE_BYTES
    if small and frames == 1 and kind in AS_THEY_ARE and image.mode not in ("CMYK", "YCCK"):
        return Picture(data, kind, kind, len(data), width, height, width, height)
    shown, encoded, media_type = _encoded(image)
    return Picture(encoded, media_type, kind, len(data), width, height, *shown.size, frames)


def _encoded(image: Image) -> tuple[Image, bytes, str]:
    """Encode as PNG while it is small, because edges stay sharp; otherwise as JPEG at decreasing quality."""
    has_alpha = image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info
    shown = image.convert("RGBA" if has_alpha else "RGB")
    shown.thumbnail((LONGEST_SIDE, LONGEST_SIDE))
    encoded = _saved(shown, "PNG")
    if len(encoded) <= LARGE_BYTES:
        return shown, encoded, "image/png"
    flat = _on_white(shown) if has_alpha else shown
    for quality in QUALITIES:
        encoded = _saved(flat, "JPEG", quality=quality)
        if len(encoded) <= LARGE_BYTES:
            break
    if len(encoded) > MOST_BYTES:
        raise MediaError(f"It is still {len(encoded):,} bytes after scaling down, which is too large to send.")
    return flat, encoded, "image/jpeg"


def _on_white(image: Image) -> Image:
    from PIL.Image import new  # Late like all of Pillow: only a picture needs it.

    flat = new("RGB", image.size, "white")
    flat.paste(image, mask=image.getchannel("A"))
    return flat


def _saved(image: Image, form: str, **options: int) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, form, **options)
    return buffer.getvalue()
