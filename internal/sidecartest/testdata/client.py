# Sends GETs and POSTs with urllib3: with its retries as they are by default, or without.
import random
import sys
import threading
import time

import urllib3

base, name, busy, paced, seconds, ca, mode = sys.argv[1:]
finish = time.monotonic() + float(seconds)
out = threading.Lock()
client = urllib3.PoolManager(maxsize=32, **({"ca_certs": ca} if ca else {}))
options = {"retries": False} if mode == "off" else {}


def send(verb, path):
    body = path * 20 if verb == "POST" else None
    try:
        answer = client.request(verb, base + path, body=body, **options)
    except Exception as e:
        text = " ".join(f"{type(e).__name__}: {e}".split())
        return ["-", "-", "-", text]
    head = answer.headers
    return [str(answer.status), head.get("Connwise-Unprocessed", "-"), head.get("Connwise-Retries", "-"), "-"]


def lane(number, least, spread):
    count = 0
    while time.monotonic() < finish:
        count += 1
        path, verb = f"/{name}-{number}-{count}", "GET" if count % 2 else "POST"
        fields = send(verb, path)
        with out:
            print("\t".join([path, verb, *fields]), flush=True)
        time.sleep(least + random.random() * spread)


lanes = [threading.Thread(target=lane, args=(f"b{i}", 0.004, 0.008)) for i in range(int(busy))]
lanes += [threading.Thread(target=lane, args=(f"p{i}", 0.15, 0.5)) for i in range(int(paced))]
for thread in lanes:
    thread.start()
for thread in lanes:
    thread.join()
