"""Files as people upload them, and as nobody should: Word and PDF, made here."""

import zipfile
from io import BytesIO

from pypdf import PdfWriter
from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

WORD_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
_NAMESPACE = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_STYLES = f"""<w:styles {_NAMESPACE}><w:style w:styleId="a3"><w:name w:val="Title"/></w:style>
<w:style w:styleId="1"><w:name w:val="heading 1"/></w:style></w:styles>"""


def build_paragraph(text: str, *, style: str = "", level: int | None = None, run: str = "") -> str:
    """A paragraph, with the id of its style, as an item of a list, and with properties of its run."""
    styled = f'<w:pStyle w:val="{style}"/>' if style else ""
    item = "" if level is None else f'<w:numPr><w:ilvl w:val="{level}"/></w:numPr>'
    return f"<w:p><w:pPr>{styled}{item}</w:pPr><w:r><w:rPr>{run}</w:rPr><w:t>{text}</w:t></w:r></w:p>"


def build_table(*rows: tuple[str, ...]) -> str:
    """A table."""
    cells = ["".join(f"<w:tc>{build_paragraph(cell)}</w:tc>" for cell in row) for row in rows]
    return f"<w:tbl>{''.join(f'<w:tr>{row}</w:tr>' for row in cells)}</w:tbl>"


def build_docx(body: str, *, prolog: str = "", name: str = "word/document.xml") -> bytes:
    """A Word file with this body."""
    made = BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(
            name, f'<?xml version="1.0"?>{prolog}<w:document {_NAMESPACE}><w:body>{body}</w:body></w:document>'
        )
        archive.writestr("word/styles.xml", _STYLES)
    return made.getvalue()


def build_pdf(*texts: str, title: str = "", password: str | None = None, operators: bytes | None = None) -> bytes:
    """A PDF with a page for each text, or a page with these operators."""
    writer = PdfWriter()
    streams = (
        [f"BT /F1 12 Tf 10 100 Td ({text}) Tj ET".encode() for text in texts] if operators is None else [operators]
    )
    font = {"/Type": "/Font", "/Subtype": "/Type1", "/BaseFont": "/Helvetica"}
    for content in streams:
        page = writer.add_blank_page(300, 200)
        stream = DecodedStreamObject()
        stream.set_data(content)
        named = DictionaryObject({NameObject(name): NameObject(value) for name, value in font.items()})
        fonts = DictionaryObject({NameObject("/F1"): writer._add_object(named)})  # pyright: ignore[reportPrivateUsage]
        page[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): fonts})
        added = writer._add_object(stream.flate_encode())  # pyright: ignore[reportPrivateUsage]
        page[NameObject("/Contents")] = added
    if title:
        writer.add_metadata({"/Title": title})
    if password is not None:
        writer.encrypt(password, algorithm="AES-256")
    made = BytesIO()
    writer.write(made)
    return made.getvalue()
