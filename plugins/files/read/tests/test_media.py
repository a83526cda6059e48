"""Pictures, documents and notebooks: a picture where one can be shown, useful words where not."""

import json
from pathlib import Path

import pytest
from tests.pictures import animation, code_cell, noise, notebook, pdf, picture, picture_output, png_promising

from pegboard import Image


@pytest.fixture
def read(call_tool, ctx):
    def read(name, data=None, **given):
        if data is not None:
            (ctx.cwd / name).write_bytes(data if isinstance(data, bytes) else data.encode())
        return call_tool("Read", file_path=name, **given)

    return read


def pictures(result):
    return [block for block in result.content if isinstance(block, Image)]


def test_a_small_picture_is_shown_as_it_is(read, ctx):
    data = picture()
    result = read("a.png", data)
    assert [block.data for block in pictures(result)] == [data]
    assert result.text == f"{ctx.cwd}/a.png: 8 x 6 pixels, {len(data)} bytes."
    assert result.value.model_dump(by_alias=True)["dimensions"]["originalWidth"] == 8


def test_a_large_picture_is_scaled_down_and_encoded_again(read):
    result = read("a.png", noise((2400, 1200)))
    (shown,) = pictures(result)
    assert shown.media_type == "image/jpeg"
    assert len(shown.data) <= 500_000
    assert "2400 x 1200 pixels" in result.text
    assert "shown at 1568 x 784" in result.text


@pytest.mark.parametrize(
    ("name", "data", "kind"),
    [
        ("a.jpg", picture("PNG"), "image/png"),
        ("a.png", picture("JPEG"), "image/jpeg"),
        ("a.webp", picture("WEBP"), "image/webp"),
        ("a.bmp", picture("BMP"), "image/png"),
        ("a.tiff", picture("TIFF"), "image/png"),
        ("cmyk.jpg", picture("JPEG", mode="CMYK"), "image/png"),
        ("nosuffix", picture("GIF", mode="P"), "image/gif"),
    ],
)
def test_the_bytes_say_what_a_picture_is_not_its_name(read, name, data, kind):
    (shown,) = pictures(read(name, data))
    assert shown.media_type == kind


def test_an_animation_shows_its_first_frame_and_says_so(read):
    result = read("a.gif", animation())
    assert len(pictures(result)) == 1
    assert result.text.endswith("only the first of 3 frames is shown.")


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("cut.png", noise((60, 60))[:2000], "but is damaged"),
        ("wide.png", png_promising(20_000, 20_000), "20,000 x 20,000 pixels (400 million), too many to decode"),
        ("bomb.png", png_promising(200_000, 200_000), "200,000 x 200,000 pixels (40000 million), too many to decode"),
        ("head.png", b"\x89PNG\r\n\x1a\n", "but is damaged"),
        ("a.heic", b"\0\0\0\x18ftypheic" + b"\0" * 40, "Convert it to PNG or JPEG first."),
        ("secret.pdf", pdf("text", encrypt=True), "It is encrypted with a password."),
        ("none.pdf", pdf(), "It has no pages."),
        ("broken.pdf", b"%PDF-1.4\nnothing", "It is damaged"),
    ],
)
def test_what_cannot_be_decoded_becomes_useful_words(read, name, data, words):
    result = read(name, data)
    assert (result.code, pictures(result)) == ("unsupported", [])
    assert words in result.text, result.text


def test_a_huge_jpeg_is_decoded_at_a_smaller_scale(read):
    result = read("a.jpg", picture("JPEG", size=(20_000, 20_000), mode="L", quality=10))
    assert pictures(result)
    assert "20000 x 20000 pixels" in result.text


def test_an_svg_is_text(read):
    assert read("a.svg", "<svg><rect/></svg>\n").text == "1\t<svg><rect/></svg>"


def test_text_with_the_name_of_a_picture_is_text(read):
    assert read("a.png", "no picture\n").text == "1\tno picture"


def test_a_pdf_gives_its_text(read, ctx):
    result = read("a.pdf", pdf("Hello there", "Second page"))
    assert result.value.type == "pdf"
    assert "--- page 1 ---\nHello there\n--- page 2 ---\nSecond page" in result.text


def test_a_page_without_text_is_pointed_out_and_can_be_seen(read):
    data = pdf("Hello there", "")
    assert '(This page has no text layer; read it with pages="2" to see it as an image.)' in read("a.pdf", data).text
    result = read("a.pdf", pages="2")
    assert (result.value.type, result.value.count, len(pictures(result))) == ("parts", 1, 1)


def test_a_scan_is_shown_as_pictures_that_are_kept(read, ctx):
    result = read("a.pdf", pdf("", "", ""))
    assert (result.value.type, len(pictures(result))) == ("parts", 3)
    assert len(list(Path(result.value.output_dir).iterdir())) == 3


def test_a_long_pdf_wants_pages(read):
    data = pdf(*(f"This is page {number}" for number in range(1, 31)))
    failed = read("a.pdf", data)
    assert (failed.code, 'Give pages, such as pages="1-10".' in failed.text) == ("too_large", True)
    result = read("a.pdf", pages="5-7")
    assert [f"page {number}" in result.text for number in (4, 5, 7, 8)] == [False, True, True, False]
    assert "has 30 pages; there is no page 31." in read("a.pdf", pages="31").text


@pytest.mark.parametrize(
    ("pages", "words"),
    [
        ("abc", "pages must be a page or a range"),
        ("5-3", "must be an ascending range"),
        ("0", "must be an ascending range"),
        ("1-21", "up to 20 pages"),
    ],
)
def test_wrong_pages_are_refused_before_anything_is_opened(read, pages, words):
    assert words in read("nowhere.pdf", pages=pages).text


def test_pages_of_something_else_are_refused(read):
    assert "is not a PDF, so it has no pages." in read("a.txt", "x", pages="1").text


def test_a_notebook_shows_cells_with_outputs_and_pictures(read):
    cells = [
        {"cell_type": "markdown", "id": "m", "source": "# Title"},
        code_cell(
            "print(1)\nplot()",
            {"output_type": "stream", "text": ["1\n"]},
            picture_output(),
            {"output_type": "error", "ename": "E", "evalue": "bad", "traceback": ["Traceback", "E: bad"]},
        ),
    ]
    result = read("a.ipynb", notebook(*cells))
    assert result.value.type == "notebook"
    assert len(pictures(result)) == 1
    assert "--- cell 1, markdown, id m ---\n# Title\n--- cell 2, code [1], id c1 ---\nprint(1)\nplot()" in result.text
    assert "--- output ---\n1\n\nTraceback\nE: bad" in result.text


def test_large_outputs_of_a_notebook_are_cut_and_cells_come_in_pages(read, ctx):
    loud = code_cell("x", {"output_type": "stream", "text": "y" * 30_000})
    assert "… (cut: 20,000 more characters)" in read("a.ipynb", notebook(loud)).text
    assert not ctx.files.known(ctx.cwd / "a.ipynb").complete
    many = notebook(*(code_cell(f"x = {number}") for number in range(5)))
    result = read("b.ipynb", many, offset=2, limit=2)
    assert [cell.number for cell in result.value.cells] == [2, 3]
    assert "(PARTIAL: cells 2 to 3 of 5; continue with offset=4.)" in result.text
    assert read("b.ipynb", offset=9).text.endswith("has 5 cells; there is no cell 9.")


@pytest.mark.parametrize("text", ['{"cells": [', "[1, 2]", json.dumps({"cells": 3})])
def test_a_broken_notebook_is_shown_as_text(read, text):
    result = read("a.ipynb", text)
    assert result.text.startswith(f"1\t{text}\n(This is not a valid notebook: ")


def test_a_picture_in_a_notebook_that_is_broken_is_mentioned(read):
    output = {"output_type": "display_data", "data": {"image/png": "AAAA"}}
    result = read("a.ipynb", notebook(code_cell("x", output)))
    assert "(An image that cannot be shown." in result.text
