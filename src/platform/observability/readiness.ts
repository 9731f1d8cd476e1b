import { Injectable } from '@nestjs/common';

/** A part of the service that can say whether it does its work; `null` means it does. */
export type ReadinessCheck = () => Promise<string | null>;

/** Conditions for traffic to this process. Modules add the checks of their own parts. */
@Injectable()
export class Readiness {
  private readonly checks = new Map<string, ReadinessCheck>();
  private phase: 'starting' | 'stopping' | null = null;

  add(name: string, check: ReadinessCheck): void {
    this.checks.set(name, check);
  }

  /** The state of each part: `ok`, or one word for what is wrong. Never a reason from inside. */
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

  /** Whether the process is about to end. */
  get isStopping(): boolean {
    return this.phase === 'stopping';
  }

  /** Keeps readiness red until the process is up. */
  starting(): void {
    this.phase = 'starting';
  }

  started(): void {
    if (this.phase === 'starting') this.phase = null;
  }

  /** Turns readiness red for good: the process is about to drain. */
  stop(): void {
    this.phase = 'stopping';
  }
}
