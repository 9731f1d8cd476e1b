import { Injectable } from '@nestjs/common';

/**
 * Checks a part of the service. If the part works, the result is null; otherwise the result is a text that names the
 * problem.
 */
export type ReadinessCheck = () => Promise<string | null>;

/** Collects the conditions under which this process accepts requests. Each module adds checks of its own parts. */
@Injectable()
export class Readiness {
  private readonly checks = new Map<string, ReadinessCheck>();
  private phase: 'starting' | 'stopping' | null = null;

  add(name: string, check: ReadinessCheck): void {
    this.checks.set(name, check);
  }

  /**
   * Returns the state of each part of the service: `ok`, or one word for the problem. The words contain no internal
   * details.
   */
  async report(): Promise<{ ready: boolean; parts: Record<string, string> }> {
    const parts: Record<string, string> = {};
    await Promise.all(
      [...this.checks].map(async ([name, check]) => {
        parts[name] = await check().then(
          (fault) => fault ?? 'ok',
          () => 'down',
        );
      }),
    );
    if (this.phase) parts['process'] = this.phase;
    return { ready: Object.values(parts).every((state) => state === 'ok'), parts };
  }

  /** Whether the process is about to stop. */
  get isStopping(): boolean {
    return this.phase === 'stopping';
  }

  /** Reports the process as not ready until it has started. */
  starting(): void {
    this.phase = 'starting';
  }

  started(): void {
    if (this.phase === 'starting') this.phase = null;
  }

  /** Reports the process as not ready from now on, before it finishes its last requests. */
  stop(): void {
    this.phase = 'stopping';
  }
}
