"""A real S3 server for tests: SeaweedFS, in a folder of its own on loopback, and it tells nobody."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from tests.collect.postgres import free_port

KEY, SECRET = "clewtestkey", "clewtestsecret"
HOST_KEY, HOST_SECRET = "clewhostkey", "clewhostsecret"  # of a host that may only write
_PATIENCE = 60.0
_PORTS = ("master.port", "volume.port", "filer.port", "s3.port")


class S3:
    """One server with one bucket, `lake`."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="clew-s3-"))
        ports = {name: free_port() for name in (*_PORTS, *(f"{name}.grpc" for name in _PORTS))}
        allowed = [
            {
                "name": "tests",
                "credentials": [{"accessKey": KEY, "secretKey": SECRET}],
                "actions": ["Admin", "Read", "Write", "List"],
            },
            {
                "name": "host",
                "credentials": [{"accessKey": HOST_KEY, "secretKey": HOST_SECRET}],
                "actions": ["Write"],
            },
        ]
        config = self.folder / "s3.json"
        config.write_text(json.dumps({"identities": allowed}))
        program = Path(sys.executable).with_name("weed")
        flags = [f"-{name}={port}" for name, port in ports.items()]
        flags += ["-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-filer", "-s3", f"-s3.config={config}", "-s3.port.iceberg=0"]
        flags += ["-s3.port.lance=0", "-master.telemetry=false", "-master.volumeSizeLimitMB=64", "-volume.max=20"]
        self.endpoint = f"http://127.0.0.1:{ports['s3.port']}"
        self.log = self.folder / "log"
        with open(self.log, "wb") as log:
            command = [str(program), "-logtostderr=true", "server", f"-dir={self.folder}", *flags]
            self.process = subprocess.Popen(command, stdout=log, stderr=log, cwd=self.folder)
        self._wait()

    @property
    def environment(self) -> dict[str, str]:
        return {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_REGION": "us-east-1"}

    def address(self, folder: str) -> str:
        return f"s3://lake/{folder}?endpoint={self.endpoint}"

    def _wait(self) -> None:
        """Until a bucket can be made and written to."""
        from pyarrow import fs

        end = time.monotonic() + _PATIENCE
        while True:
            try:
                urllib.request.urlopen(self.endpoint, timeout=5).close()
            except urllib.error.HTTPError as error:
                error.close()
                break
            except OSError:
                if self.process.poll() is not None or time.monotonic() > end:
                    pytest.fail(self.log.read_text()[-3000:])
                time.sleep(0.1)
        store = fs.S3FileSystem(
            access_key=KEY,
            secret_key=SECRET,
            endpoint_override=self.endpoint,
            region="us-east-1",
            allow_bucket_creation=True,
        )
        while True:
            try:
                store.create_dir("lake")
                with store.open_output_stream("lake/ready") as file:
                    file.write(b"yes")
                return
            except OSError:
                if time.monotonic() > end:
                    pytest.fail(self.log.read_text()[-3000:])
                time.sleep(0.1)

    def close(self) -> None:
        self.process.kill()
        self.process.wait(_PATIENCE)
        shutil.rmtree(self.folder, ignore_errors=True)
