import { execFileSync } from 'node:child_process';

/**
 * The name of the switch of a private network. The switch connects the simulated machines, which are network
 * namespaces, and this program's own processes.
 */
const SWITCH = 'eligibility0';
const NETWORK = '10.77.17';
/** The network address of this program's own processes. */
const HERE = `${NETWORK}.254`;

function ip(...words: string[]): string {
  return execFileSync('ip', words, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
}

export class Machine {
  readonly address: string;
  private readonly port: string;

  constructor(
    readonly name: string,
    readonly number: number,
  ) {
    this.address = `${NETWORK}.${number}`;
    this.port = `eligibility${number}`;
  }

  /** The command-line prefix that makes a command run on the machine. */
  get prefix(): string[] {
    return ['ip', 'netns', 'exec', this.name];
  }

  connect(): void {
    ip('netns', 'add', this.name);
    ip('link', 'add', this.port, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', this.name);
    ip('-n', this.name, 'link', 'set', 'lo', 'up');
    ip('-n', this.name, 'address', 'add', `${this.address}/24`, 'dev', 'eth0');
    ip('-n', this.name, 'link', 'set', 'eth0', 'up');
    ip('link', 'set', this.port, 'up', 'master', SWITCH);
  }

  disconnect(): void {
    if (ip('netns', 'list').split(/\s/).includes(this.name)) {
      this.kill();
      ip('netns', 'del', this.name);
    }
    // The network device must be deleted explicitly if a process still runs in the namespace, because the namespace
    // then still exists.
    if (ip('-brief', 'link').includes(`${this.port}@`)) ip('link', 'del', this.port);
  }

  /** Disconnects the machine at the switch. No packet arrives or leaves, and no other machine is notified of this. */
  cut(): void {
    ip('link', 'set', this.port, 'nomaster');
  }

  join(): void {
    ip('link', 'set', this.port, 'master', SWITCH);
  }

  /** Makes this machine drop all further packets to the other machine. Packets to any other machine still arrive. */
  stopsReaching(other: Machine): void {
    ip('-n', this.name, 'route', 'add', 'blackhole', `${other.address}/32`);
  }

  reaches(other: Machine): void {
    ip('-n', this.name, 'route', 'del', 'blackhole', `${other.address}/32`);
  }

  /** Kills all processes of the machine at once, like a power failure. */
  kill(): void {
    for (const pid of this.pids()) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
      }
    }
  }

  private pids(): number[] {
    return ip('netns', 'pids', this.name).split('\n').filter(Boolean).map(Number);
  }
}

/** Removes the leftovers of an earlier run and creates the network. */
export function openNetwork(machines: readonly Machine[]): void {
  closeNetwork(machines);
  ip('link', 'add', SWITCH, 'type', 'bridge');
  ip('address', 'add', `${HERE}/24`, 'dev', SWITCH);
  ip('link', 'set', SWITCH, 'up');
  for (const machine of machines) machine.connect();
}

export function closeNetwork(machines: readonly Machine[]): void {
  for (const machine of machines) machine.disconnect();
  if (ip('-brief', 'link').includes(SWITCH)) ip('link', 'del', SWITCH);
}
