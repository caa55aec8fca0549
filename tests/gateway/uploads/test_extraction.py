"""Files are read by a process that has nothing, can do nothing, and ends."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from gateway.uploads.document_extractor import DocumentExtractor, ExtractionLimits
from gateway.uploads.formats import DocumentFormat, UnreadableDocument, UnreadableReason
from tests.support.office_files import build_docx, build_paragraph

CONFINED = """
import os, socket, sys
from gateway.uploads.extraction_program import limit_process
limit_process(10, 512 * 1024 * 1024)
def tells(do):
    try:
        do()
    except (OSError, MemoryError):
        return "refused"
    return "done"
print(tells(lambda: open(sys.argv[1])), tells(socket.socket), tells(os.pipe), tells(lambda: bytearray(1 << 30)))
"""
SPY = """#!{python} -I
import json, os, sys
sys.stdin.buffer.read()
folder = os.listdir("/proc/self/fd")
found = dict(environment=sorted(os.environ), descriptors=len(folder), folder=os.getcwd())
print(json.dumps(dict(text=json.dumps(found))))
"""
SLOW = "#!/bin/sh\nexec sleep 1000\n"
CHATTY = '#!/bin/sh\nexec yes \'{"text":"x"}\'\n'


def test_the_process_can_open_nothing(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    command = [sys.executable, "-I", "-c", CONFINED, str(secret)]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["refused"] * 4


def put_in_place(monkeypatch: pytest.MonkeyPatch, folder: Path, script: str) -> None:
    """Have another program run in place of the one that reads."""
    program = folder / "program"
    program.write_text(script)
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))


async def test_the_process_inherits_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MCPIST_SECRET", "canary")
    reading, writing = os.pipe()
    os.set_inheritable(writing, True)
    put_in_place(monkeypatch, tmp_path, SPY.format(python=sys.executable))
    found = json.loads((await DocumentExtractor().extract(memoryview(b"x"), DocumentFormat.TEXT, "")).text)
    os.close(reading)
    os.close(writing)
    assert set(found["environment"]) <= {"LC_CTYPE"}, "Python sets that itself"
    assert found["descriptors"] == 4, "standard input, output and errors, and the folder that is listed"
    assert found["folder"] == "/"


async def fail(extractor: DocumentExtractor, content: bytes = b"x", format: str = "text") -> UnreadableReason:
    with pytest.raises(UnreadableDocument) as refused:
        await extractor.extract(memoryview(content), DocumentFormat(format), "")
    return refused.value.reason


def list_children() -> list[psutil.Process]:
    return psutil.Process().children()


async def test_what_takes_too_long_is_killed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    put_in_place(monkeypatch, tmp_path, SLOW)
    before = list_children()
    extractor = DocumentExtractor(ExtractionLimits(seconds=0.2))
    assert await fail(extractor) is UnreadableReason.TOO_COMPLEX
    assert list_children() == before


async def test_a_process_that_does_not_stop_talking_is_killed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    put_in_place(monkeypatch, tmp_path, CHATTY)
    assert await fail(DocumentExtractor()) is UnreadableReason.TOO_LONG


async def test_whoever_goes_away_takes_the_process_along(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    put_in_place(monkeypatch, tmp_path, SLOW)
    before = list_children()
    reading = asyncio.ensure_future(DocumentExtractor().extract(memoryview(b"x"), DocumentFormat.TEXT, ""))
    while len(list_children()) == len(before):
        await asyncio.sleep(0.01)
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    assert list_children() == before


async def test_time_and_memory_of_the_processor_end() -> None:
    page = b"<div>" * 1_000_000
    assert await fail(DocumentExtractor(ExtractionLimits(cpu_seconds=1)), page, "html") is UnreadableReason.TOO_COMPLEX
    letter = build_docx(build_paragraph("x") * 300_000)
    tight = ExtractionLimits(memory_bytes=96 * 1024 * 1024)
    assert await fail(DocumentExtractor(tight), letter, "docx") is UnreadableReason.TOO_COMPLEX


async def test_no_more_than_two_run_at_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    put_in_place(monkeypatch, tmp_path, SLOW)
    before = len(list_children())
    extractor = DocumentExtractor(ExtractionLimits(seconds=0.5))
    running = [asyncio.ensure_future(fail(extractor)) for _ in range(5)]
    most = 0
    while not all(one.done() for one in running):
        most = max(most, len(list_children()) - before)
        await asyncio.sleep(0.02)
    assert most == 2
    assert {one.result() for one in running} == {UnreadableReason.TOO_COMPLEX}
