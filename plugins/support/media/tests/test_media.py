"""The library on its own: what fits, what is explained, and that it loads nothing until it is used."""

import io
import subprocess
import sys
import threading

import pytest
from PIL import Image
from tests.pictures import noise, pdf, picture, png_promising

from pegboard_media import MediaError, fit_picture, media_type_of, open_pdf


def test_importing_the_library_loads_no_codec():
    code = "import sys, pegboard_media; print(' '.join(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"PIL", "pypdfium2"} & set(loaded)


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        (picture(), "image/png"),
        (picture("JPEG"), "image/jpeg"),
        (picture("TIFF"), "image/tiff"),
        (picture("BMP"), "image/bmp"),
        (pdf("x"), "application/pdf"),
        (b"BMW cars are fast\n", ""),
        (b"RIFFraff", ""),
        (b"", ""),
    ],
)
def test_the_kind_is_told_by_the_first_bytes(head, kind):
    assert media_type_of(head[:64]) == kind


def test_a_picture_that_fits_keeps_its_bytes():
    data = picture()
    assert fit_picture(data).data is data


def test_a_transparent_picture_that_becomes_jpeg_gets_a_white_ground():
    image = Image.effect_noise((1500, 1500), 90).convert("RGBA")
    image.putalpha(Image.effect_noise((1500, 1500), 90))
    image.paste((0, 0, 0, 0), (0, 0, 200, 200))
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    made = fit_picture(buffer.getvalue())
    assert made.media_type == "image/jpeg"
    assert min(Image.open(io.BytesIO(made.data)).getpixel((100, 100))) > 250


def test_a_header_that_promises_too_much_is_not_believed():
    with pytest.raises(MediaError, match="too many to decode"):
        fit_picture(png_promising(30_000, 5_000))


def test_a_cut_picture_is_damaged():
    with pytest.raises(MediaError, match="damaged"):
        fit_picture(noise((50, 50))[:-400])


def test_two_threads_take_turns_with_pdf():
    data, texts = pdf("Hello there"), []

    def read():
        with open_pdf(data) as document:
            texts.append(document.text(0))

    threads = [threading.Thread(target=read) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert texts == ["Hello there"] * 8
