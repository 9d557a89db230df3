"""Ways to damage a file: blindly, byte by byte, or knowing its form."""

import json
import math
import re
import struct
import zlib

ABSURD = (
    *(0, 1, -1, 2, 255, 65535, 2**31 - 1, 2**31, 2**32 - 1, 2**53, 2**63 - 1, 2**64, 10**12),
    *(10**40, -(2**63), 1e308, 1e-308, 5e-324, math.nan, math.inf, -math.inf, 0.5, -0.0, 1e18),
)
TEXTS = (
    *("", " ", "\0", "a\0b", "a\nb", "\x1b[2J\x07", "\r", "../../etc/passwd", "/etc/passwd"),
    *("/dev/zero", "/dev/stdin", ".", "..", "~", "C:\\x", "loop", "loop/a.png", "folder", "%s%n"),
    *("x" * 300, "x" * 5000, "\ud800", "é" * 200, "nan", "inf", "1e999", "9" * 400, "fifo.png"),
    *("1" * 5000, "-", "--help", "--out=/etc/x", "mlp", "harmonic", "F64", "BOOL", "0x10", "{}"),
    *("image", "table", "audio", "scene"),
)


def nested(depth):
    """Return a list in a list in a list …."""
    value = []
    for _ in range(depth):
        value = [value]
    return value


def hostile_value(random):
    """Return a JSON value that few readers expect."""
    kind = random.randrange(6)
    if kind <= 1:
        return random.choice(ABSURD)
    if kind == 2:
        return random.choice(TEXTS)
    if kind == 3:
        return random.choice([None, True, False, [], {}, [None], [[]], {"name": []}])
    if kind == 4:
        return [random.choice(ABSURD) for _ in range(random.choice([1, 2, 3, 4, 16, 100]))]
    return nested(random.choice([3, 50, 400]))


def mutate_value(random, value):
    """Change a JSON value in a few places at random; return it."""
    for _ in range(random.choice([1, 1, 1, 2, 4])):
        places = list(_places(value))
        if not places:
            return hostile_value(random)
        holder, key = random.choice(places)
        action = random.randrange(6)
        if action == 0:
            del holder[key]
        elif action == 1 and isinstance(holder[key], (int, float)):
            n = holder[key]
            holder[key] = random.choice([-n, n + 1, n * 10, float(n), str(n)])
        elif action == 2:
            holder[key] = _copy(random.choice(places)[0])
        elif action == 3 and isinstance(holder, list) and len(holder) < 1000:
            holder.extend(_copy(holder))
        else:
            holder[key] = hostile_value(random)
    return value


def _copy(value):
    return json.loads(json.dumps(value))


def _places(value):
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    for key, each in list(pairs) if isinstance(value, (dict, list)) else ():
        yield value, key
        if isinstance(each, (dict, list)):
            yield from _places(each)


PATHS = (
    *("../../../../../../etc/passwd", "/etc/passwd", "/dev/zero", "/dev/stdin", "/dev/tty", "/"),
    *("fifo.png", "/proc/self/environ", "loop", "loop/0.png", "images/loop/images/0.png"),
    *("folder", "images/", "images", "images_2", "~/x.png", "file:///etc/passwd", "."),
    *("a\0b", "images/0.png\0.jpg", "a\nb", "a\rb\x1b[2K", "x" * 256, "x/" * 3000, "\ud800"),
    *("..\\..\\x", "C:\\x.png", "\\\\host\\share\\x.png", "images//0.png"),
    *("./images/../images/0.png", "images_99999999999999999999/0.png"),
)


def hostile_path(random, path):
    """Return a path that is no picture of the scene, or is one on a detour."""
    chosen = random.choice(PATHS)
    return random.choice([chosen, chosen, f"images/{chosen}", f"{chosen}/{path}", path + chosen])


def json_file(random, data):
    """Change values of a JSON file; now and then its text."""
    if random.random() < 0.1:
        return deep_json(random)
    if random.random() < 0.15:
        return blind(random, data)
    text = json.dumps(mutate_value(random, json.loads(data))).encode()
    if random.random() < 0.05:
        text = text.replace(b"1", b"1" * random.choice([400, 5000]), 1)
    return text


def deep_json(random):
    """Return JSON that is nested deeper than a parser goes, or is no object."""
    depth = random.choice([500, 5_000, 200_000])
    start, end = random.choice([(b"[", b"]"), (b'{"frames":', b"}"), (b'{"options":', b"}")])
    return random.choice(
        [start * depth + b"0" + end * depth, start * depth, b"[]", b"null", b"NaN", b'"', b""]
    )


def blind(random, data):
    """Flip, cut, repeat, insert or overwrite bytes."""
    data = bytearray(data)
    for _ in range(random.choice([1, 1, 2, 3, 8])):
        # headers decide much: the first bytes are hit more often
        end = len(data) if random.random() < 0.4 else min(len(data), 128)
        at, order = random.randrange(end) if end else 0, random.choice("<>")
        action = random.randrange(8)
        if action <= 1 and data:
            data[at] ^= 1 << random.randrange(8)
        elif action == 2:
            del data[at:]
        elif action == 3:
            data[at:at] = data[at : at + random.choice([1, 4, 64, 1000])] * random.choice([1, 7])
        elif action == 4:
            data[at : at + 4] = struct.pack(order + "I", random.choice(_SIZES))
        elif action == 5:
            data[at : at + 8] = struct.pack(order + "Q", random.choice(_WIDE))
        elif action == 6:
            data[at : at + 2] = struct.pack(order + "H", random.choice(_SIZES) & 0xFFFF)
        else:
            del data[at : at + random.choice([1, 2, 12, 100])]
    return bytes(data)


_SIZES = (0, 1, 2, 255, 256, 65535, 65536, 10**6, 2**27, 2**31 - 1, 2**31, 2**32 - 1)
_WIDE = (0, 1, 2**31, 2**32, 2**40, 2**53, 2**62, 2**63 - 1, 2**63, 2**64 - 1)


def picture(random, data):
    """Damage a picture; of a PNG chunks with their checksums mended: what lies inside is read."""
    if not data.startswith(b"\x89PNG") or random.random() < 0.3:
        return blind(random, data)
    chunks, at = [], 8
    while at < len(data):
        (length,) = struct.unpack_from(">I", data, at)
        chunks.append([data[at + 4 : at + 8], data[at + 8 : at + 8 + length]])
        at += 12 + length
    action = random.randrange(6)
    chosen = random.choice(chunks)
    if action <= 1:
        chunks[0][1] = blind(random, chunks[0][1])[:13].ljust(13, b"\0")
    elif action == 2:
        chosen[1] = blind(random, chosen[1])
    elif action == 3:
        random.shuffle(chunks)
    elif action == 4:
        chunks.insert(random.randrange(len(chunks)), list(chosen))
    else:
        raw = blind(random, zlib.decompress(b"".join(c[1] for c in chunks if c[0] == b"IDAT")))
        first = next(c for c in chunks if c[0] == b"IDAT")
        first[1] = zlib.compress(random.choice([raw, raw * 1000]))
    return data[:8] + b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        for kind, body in chunks
    )


def safetensors(random, data):
    """Change the header of a safetensors file, the JSON inside its metadata, or its bytes."""
    if random.random() < 0.2:
        return blind(random, data)
    (size,) = struct.unpack_from("<Q", data)
    header, rest = json.loads(data[8 : 8 + size]), data[8 + size :]
    meta = header["__metadata__"]
    key = next(iter(meta))
    about = json.loads(meta[key])
    if random.random() < 0.7:
        if random.random() < 0.1 and "about" in about:  # of a checkpoint
            about["about"]["path"] = random.choice(PATHS)
        elif random.random() < 0.2 and isinstance(about.get("settings"), dict):
            about["settings"]["task"] = random.choice(["image", "table", "audio", "scene"])
        else:
            about = mutate_value(random, about)
        if random.random() < 0.05:
            about = nested(300)
        meta[key] = json.dumps(about)
    elif random.random() < 0.5:
        _other_tensor(random, header)
    elif random.random() < 0.5:
        header = mutate_value(random, header)
    else:
        # numbers that a sound file may have, but no sound model: NaN, infinities, huge ones
        word = random.choice([b"\xff", b"\0", b"\x7f", b"\x80\x7f", b"\0\0\xc0\x7f"])
        rest = (word * len(rest))[: len(rest)]
    if random.random() < 0.03:
        meta[key] = deep_json(random).decode()
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + rest


def _other_tensor(random, header):
    """Give a tensor another shape of as many bytes, another dtype, or another name."""
    names = [name for name in header if name != "__metadata__"]
    name = random.choice(names)
    about = header[name]
    count = math.prod(about["shape"])
    action = random.randrange(4)
    if action == 0:
        about["shape"] = random.choice([[count], [1, count], [count, 1, 1], about["shape"][::-1]])
    elif action == 1:
        same = {"F32": ["I32", "U32"], "F64": ["I64", "U64"], "BOOL": ["U8", "I8"]}
        about["dtype"] = random.choice(same.get(about["dtype"], ["F16"]))
    elif action == 2:
        other = header[random.choice(names)]
        header[name], other_about = dict(other), dict(about)
        other.update(other_about)
    else:
        header[random.choice(["x", "../x", "a\nb", name + ".x"])] = header.pop(name)


def table(random, data):
    """Damage a text of cells: cells, rows, delimiters, quotes, encodings."""
    if random.random() < 0.25:
        return blind(random, data)
    rows = [re.split(r"[,;\t ]", line) for line in data.decode().splitlines()]
    delimiter = random.choice([",", ",", ";", "\t", " ", "|"])
    for _ in range(random.choice([1, 1, 2, 10])):
        row = random.choice(rows[: random.choice([2, len(rows)])]) if rows else []
        action = random.randrange(7)
        if action <= 2 and row:
            row[random.randrange(len(row))] = _cell(random)
        elif action == 3:
            row.append(_cell(random))
        elif action == 4 and row:
            row.pop()
        elif action == 5 and rows:
            rows.insert(random.randrange(len(rows)), list(row) * random.choice([1, 1, 500]))
        elif rows:
            rows[:] = rows[: random.randrange(len(rows))]
    text = random.choice(["\n", "\n", "\r\n", "\r"]).join(delimiter.join(row) for row in rows)
    encoding = random.choice(["utf-8"] * 6 + ["utf-16", "utf-32", "utf-8-sig", "utf-16-le"])
    return text.encode(encoding, "surrogatepass")


_CELLS = (
    *("2010-13-01", "0000-00-00", "9999-12-31T23:59:60Z", "2010-01-31T24:00:00+99:99"),
    *("10000000000000-01-01", "2010-01-01", "1677-09-21T00:00:00.000000001", '"', '"a', '""'),
    *("'", "#", "1,5", "1.5.5", "١٢", "1_000", "0x1", "1e400", "-inf", "\x00"),
)


def _cell(random):
    return str(random.choice(random.choice([_CELLS, TEXTS, ABSURD])))


def lines(random, data):
    """Damage a text of numbers and words, such as COLMAP's."""
    if random.random() < 0.3:
        return blind(random, data)
    words = re.split(rb"( |\n)", data)
    for _ in range(random.choice([1, 1, 2, 5])):
        at = random.randrange(len(words))
        value = str(random.choice([*ABSURD, *TEXTS])).encode("utf-8", "replace")
        words[at] = random.choice([value, value, b"", words[at] + b" ", b"\n"])
    return b"".join(words)


def npy(random, data):
    """Damage a NumPy array: its bytes, or the text of its header."""
    if random.random() < 0.5:
        return blind(random, data)
    (size,) = struct.unpack_from("<H", data, 8)
    text, rest = data[10 : 10 + size].decode(), data[10 + size :]
    dtypes = ["'<c16'", "'<i8'", "'>f8'", "'<U1'", "'<M8[s]'", "'|V8'"]
    ends = ["}" * 9, "", ", 'x': 1}", ", 'x': __import__('os').abort()}"]
    changes = [("'<f8'", "'|O'"), ("'<f8'", random.choice(dtypes)), ("False", "True")]
    changes += [("(", f"({random.choice([2**40, 2**62, 2**64, -1, 0, 10**30])}, ")]
    changes += [("}", random.choice(ends)), ("(", "(" * random.choice([2, 100, 3000]))]
    text = text.replace(*random.choice(changes), 1)
    return data[:8] + struct.pack("<H", len(text) & 0xFFFF) + text.encode() + rest
