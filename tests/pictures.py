"""Pictures and documents for tests, made on the spot."""

from __future__ import annotations

import base64
import io
import json
import struct
import zlib

from PIL import Image


def picture(form: str = "PNG", size: tuple[int, int] = (8, 6), mode: str = "RGB", **options: object) -> bytes:
    buffer = io.BytesIO()
    Image.new(mode, size, tuple([90] * len(mode)) if mode != "P" else 3).save(buffer, form, **options)
    return buffer.getvalue()


def noise(size: tuple[int, int]) -> bytes:
    buffer = io.BytesIO()
    Image.effect_noise(size, 90).convert("RGB").save(buffer, "PNG")
    return buffer.getvalue()


def animation() -> bytes:
    buffer = io.BytesIO()
    frames = [Image.new("RGB", (5, 5), colour) for colour in ("red", "green", "blue")]
    frames[0].save(buffer, "GIF", save_all=True, append_images=frames[1:])
    return buffer.getvalue()


def png_promising(width: int, height: int) -> bytes:
    """A small file whose header promises a very large picture."""

    def chunk(name: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))

    rows = zlib.compress(b"\0" * 1000)
    header = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def pdf(*pages: str, encrypt: bool = False) -> bytes:
    """A PDF with a line of text on each page; an empty text makes a page without a text layer."""
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>"]
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(len(pages)))
    objects.append(f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>".encode())
    objects.append(b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
    for number, text in enumerate(pages):
        stream = f"BT /F1 12 Tf 20 100 Td ({text}) Tj ET".encode() if text else b"0 0 100 100 re f"
        parts = f"/Parent 2 0 R /MediaBox [0 0 200 200] /Contents {5 + 2 * number} 0 R"
        objects.append(f"<< /Type /Page {parts} /Resources << /Font << /F1 3 0 R >> >> >>".encode())
        objects.append(f"<< /Length {len(stream)} >>\nstream\n".encode() + stream + b"\nendstream")
    out, places = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += f"{number} 0 obj\n".encode() + body + b"\nendobj\n"
    start = len(out)
    out += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n".encode()
    out += b"".join(f"{place:010d} 00000 n \n".encode() for place in places)
    key = "00" * 32
    lock = f"/Encrypt << /Filter /Standard /V 1 /R 2 /O <{key}> /U <{key}> /P -4 >> /ID [<00> <00>] " if encrypt else ""
    out += f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R {lock}>>\nstartxref\n{start}\n%%EOF\n".encode()
    return out


def notebook(*cells: dict[str, object]) -> str:
    return json.dumps({"cells": list(cells), "metadata": {"kernelspec": {"language": "python"}}, "nbformat": 4})


def code_cell(source: str, *outputs: dict[str, object], id: str = "c1", count: int = 1) -> dict[str, object]:
    return {"cell_type": "code", "id": id, "source": [source], "execution_count": count, "outputs": list(outputs)}


def picture_output() -> dict[str, object]:
    return {
        "output_type": "display_data",
        "data": {"image/png": base64.b64encode(picture()).decode(), "text/plain": "x"},
    }
