import { withSecretFiles } from './secret-files.js';
import { parseUrl } from './urls.js';

/**
 * Thrown when an environment variable is invalid. `faults` has one readable line for each faulty variable. The lines
 * never contain the variable's value.
 */
export class ConfigError extends Error {
  constructor(readonly faults: string[]) {
    super(faults.join('\n'));
  }
}

/** Reads environment variables and collects the faults in their values, so that one error names all faults. */
export class EnvironmentReader {
  readonly faults: string[] = [];

  private readonly env: NodeJS.ProcessEnv;

  constructor(env: NodeJS.ProcessEnv) {
    this.env = withSecretFiles(env, (name, what) => this.fault(name, what));
  }

  fault(name: string, what: string): void {
    this.faults.push(`${name} ${what}`);
  }

  raw(name: string): string | undefined {
    const value = this.env[name]?.trim();
    return value === '' ? undefined : value;
  }

  text(name: string, fallback: string): string {
    return this.raw(name) ?? fallback;
  }

  /** Reads a variable whose text must match the pattern; returns an empty string if it is not set. */
  matching(name: string, pattern: RegExp, what: string): string {
    const text = this.text(name, '');
    if (!pattern.test(text)) this.fault(name, what);
    return text;
  }

  number(name: string, fallback: number, min: number, max = Number.MAX_SAFE_INTEGER): number {
    return this.inRange(name, fallback, [min, max], /^\d+(\.\d+)?$/, 'a number');
  }

  integer(name: string, fallback: number, min: number, max: number): number {
    return this.inRange(name, fallback, [min, max], /^\d+$/, 'a whole number');
  }

  boolean(name: string, fallback: boolean): boolean {
    const raw = this.raw(name)?.toLowerCase();
    if (raw === undefined) return fallback;
    if (raw === 'true' || raw === '1') return true;
    if (raw === 'false' || raw === '0') return false;
    this.fault(name, 'must be true or false');
    return fallback;
  }

  oneOf<T extends string>(name: string, fallback: T, allowed: readonly T[]): T {
    const raw = this.raw(name);
    if (raw === undefined) return fallback;
    if ((allowed as readonly string[]).includes(raw)) return raw as T;
    this.fault(name, `must be one of ${allowed.join(', ')}`);
    return fallback;
  }

  /** Reads a variable that contains a comma-separated list. Each item must be valid. */
  list(name: string, fallback: string, isItem: (item: string) => boolean, what: string): string[] {
    const items = this.text(name, fallback)
      .split(',')
      .map((item) => item.trim());
    if (!items.every(isItem)) this.fault(name, what);
    return items;
  }

  /** Reads an http or https address, and removes a trailing slash. */
  httpUrl(name: string): string | null {
    const raw = this.raw(name);
    if (raw === undefined) return null;
    const url = parseUrl(raw);
    if (!url || !/^https?:$/.test(url.protocol) || url.search !== '' || url.hash !== '')
      this.fault(name, 'must be an http(s) URL without query and fragment');
    return raw.replace(/\/+$/, '');
  }

  private inRange(name: string, fallback: number, [min, max]: [number, number], pattern: RegExp, what: string): number {
    const raw = this.raw(name);
    if (raw === undefined) return fallback;
    const value = pattern.test(raw) ? Number(raw) : NaN;
    if (value >= min && value <= max) return value;
    this.fault(name, `must be ${what} from ${min} to ${max}`);
    return fallback;
  }
}
