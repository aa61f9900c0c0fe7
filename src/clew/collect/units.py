"""Text of the units that run the collector: systemd, launchd, or a line of a crontab.

The systemd units allow no more than the collector needs: it reads session files, writes its archive and connects to
sinks. `systemd-analyze security --user` rates them 2.0 ("OK").
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape

from clew.errors import Refused
from clew.system.shell_quoting import join_command

LABEL = "clew-collect"
AGENT_LABEL = "dev.clew.collect"
MINUTES = 15

_UNIT = """\
[Unit]
Description=Keep Claude Code sessions
{failure}
[Service]
Type={type}
{environment}Nice=10
IOSchedulingClass=idle
UMask=0077
WorkingDirectory=/
ExecStart={command}
{restart}NoNewPrivileges=yes
CapabilityBoundingSet=
AmbientCapabilities=
LockPersonality=yes
PrivateDevices=yes
PrivateUsers=yes
{private_tmp}ProtectClock=yes
ProtectControlGroups=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectProc=invisible
ProtectSystem=full
RestrictAddressFamilies=AF_INET AF_INET6 AF_NETLINK AF_UNIX
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
SystemCallArchitectures=native
SystemCallErrorNumber=EPERM
SystemCallFilter=@system-service
SystemCallFilter=~@privileged
"""
_INSTALL_SERVICE = """
[Install]
WantedBy=default.target
"""
_TIMER = f"""\
[Unit]
Description=Keep Claude Code sessions every {MINUTES} minutes

[Timer]
OnBootSec=1min
OnUnitActiveSec={MINUTES}min
RandomizedDelaySec=1min

[Install]
WantedBy=timers.target
"""
_AGENT = """\
<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key><string>{label}</string>
  <key>ProgramArguments</key>
  <array>
{arguments}
  </array>
{environment}  <key>WorkingDirectory</key><string>/</string>
  {schedule}
  <key>ProcessType</key><string>Background</string>
  <key>StandardErrorPath</key><string>{log}</string>
</dict>
</plist>
"""


def service_unit(command: Sequence[str], environment: Mapping[str, str], *, watch: bool) -> str:
    """Return a systemd unit that collects once, or keeps running with `watch`."""
    is_in_tmp = any(argument.split("/", 2)[1:2] == ["tmp"] or argument.startswith("/var/tmp") for argument in command)
    text = _UNIT.format(
        failure="# A unit of yours can report failures: OnFailure=NAME.service\n",
        type="exec" if watch else "oneshot",
        environment="".join(f"Environment={_quote(f'{k}={v}')}\n" for k, v in sorted(environment.items())),
        command=" ".join(quote_systemd(argument) for argument in command),
        restart="Restart=on-failure\nRestartSec=30\n" if watch else "",
        private_tmp="" if is_in_tmp else "PrivateTmp=yes\n",
    )
    return text + (_INSTALL_SERVICE if watch else "")


def timer_unit() -> str:
    """Return the systemd timer of a service that collects once."""
    return _TIMER


_CONTROL_CODES = {code: f"\\x{code:02x}" for code in (*range(1, 32), 127)}


def quote_systemd(argument: str) -> str:
    """Quote an argument for `ExecStart` of systemd, which replaces variables; `Environment` does not."""
    return _quote(argument.replace("$", "$$"))


def _quote(text: str) -> str:
    """Quote a text for a unit: no sign of it ends the line, the quotation or an argument."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").translate(_CONTROL_CODES)
    return escaped if escaped.replace("/", "").replace("-", "").replace(".", "").isalnum() else f'"{escaped}"'


def launchd_agent(command: Sequence[str], environment: Mapping[str, str], log: str, *, watch: bool) -> str:
    """Return a launchd agent."""
    variables = "".join(f"<key>{escape(k)}</key><string>{escape(v)}</string>" for k, v in sorted(environment.items()))
    return _AGENT.format(
        label=AGENT_LABEL,
        arguments="\n".join(f"    <string>{escape(argument)}</string>" for argument in command),
        environment=f"  <key>EnvironmentVariables</key><dict>{variables}</dict>\n" if variables else "",
        schedule="<key>KeepAlive</key><true/>"
        if watch
        else f"<key>StartInterval</key><integer>{MINUTES * 60}</integer>",
        log=escape(log),
    )


def crontab_line(command: Sequence[str], environment: Mapping[str, str]) -> str:
    """Return a line for `crontab -e`, for machines without systemd and launchd. Raises Refused for a line break."""
    if any("\n" in text for text in (*command, *environment.values())):
        raise Refused(["a crontab cannot contain a path with a line break"])
    program = join_command(command, dict(sorted(environment.items()))).replace("%", "\\%")
    return f"*/{MINUTES} * * * * cd / && {program} --quiet"
