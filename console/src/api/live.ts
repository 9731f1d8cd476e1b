import { useQueryClient, type QueryKey } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { serviceNow } from './clock';
import { ROOT } from './root';
import { FROM_CONSOLE, sessionFetch } from './session';
import { Store, useStore } from './store';

/** The state of the stream of server-sent events. It is `paused` while the page is hidden. */
export type LiveState = 'connecting' | 'live' | 'paused' | 'broken';

const liveState = new Store<LiveState>('paused');
/** The time at which live updates stopped; null unless the stream is broken. */
const brokenSince = new Store<number | null>(null);
const listeners = new Set<(topics: readonly string[]) => void>();
let running: AbortController | null = null;

export function useLiveState(): LiveState {
  return useStore(liveState);
}

export function useBrokenSince(): number | null {
  return useStore(brokenSince);
}

/**
 * Refetches the queries with the given keys when the service reports a change in one of the topics, at most once a
 * second. All components share one event stream, which is closed while the page is hidden. When the page becomes
 * visible again, the stream is opened again, and all queries are refetched.
 */
export function useLive(topics: readonly string[], keys: readonly QueryKey[]): void {
  const queries = useQueryClient();
  const latest = useRef({ topics, keys });
  useEffect(() => {
    latest.current = { topics, keys };
  });
  useEffect(() => {
    let timer: number | undefined;
    const refresh = () => {
      timer = undefined;
      for (const queryKey of latest.current.keys) void queries.invalidateQueries({ queryKey });
    };
    const listener = (changed: readonly string[]) => {
      const concerns = changed === EVERYTHING || changed.some((topic) => latest.current.topics.includes(topic));
      if (concerns) timer ??= window.setTimeout(refresh, 1000);
    };
    listeners.add(listener);
    follow();
    return () => {
      listeners.delete(listener);
      window.clearTimeout(timer);
      window.setTimeout(restUnheard, HEARD_AGAIN_MS);
    };
  }, [queries]);
}

/**
 * The time, in milliseconds, for which the event stream stays open while no component uses it. During navigation to
 * another page, no component uses the stream for a moment. The stream must not be closed at this moment.
 */
const HEARD_AGAIN_MS = 5000;

function restUnheard(): void {
  if (listeners.size === 0) stop('paused');
}

/**
 * The topics that count as changed when the event stream is opened. The empty list means all topics, because any change
 * may have been missed before.
 */
const EVERYTHING: readonly string[] = [];
const AGAIN_MS = [1000, 2000, 5000, 15_000];

document.addEventListener('visibilitychange', () => (document.hidden ? stop('paused') : follow()));

function stop(state: LiveState): void {
  brokenSince.set(null);
  running?.abort();
  running = null;
  liveState.set(state);
}

function follow(): void {
  if (running !== null || document.hidden || listeners.size === 0) return;
  const controller = new AbortController();
  running = controller;
  void keepReading(controller.signal);
}

async function keepReading(signal: AbortSignal): Promise<void> {
  let failures = 0;
  while (!signal.aborted) {
    liveState.set('connecting');
    try {
      await readStream(signal, () => {
        failures = 0;
        liveState.set('live');
        brokenSince.set(null);
        tell(EVERYTHING);
      });
    } catch {
      // An error in the event stream is ignored, because `liveState` shows the failure, and this loop opens a new
      // stream.
    }
    if (signal.aborted) return;
    liveState.set('broken');
    if (brokenSince.get() === null) brokenSince.set(heardAt);
    const wait = AGAIN_MS[Math.min(failures++, AGAIN_MS.length - 1)];
    await new Promise((resolve) => setTimeout(resolve, wait));
  }
}

/**
 * The time without data, in milliseconds, after which the event stream is closed. The service sends something at least
 * every 6 seconds.
 */
const SILENT_MS = 10_000;
/** The time at which the event stream last received anything from the service. */
let heardAt = serviceNow();

/** Reads server-sent events with `fetch`, because an EventSource cannot send the header that a session requires. */
async function readStream(stopped: AbortSignal, opened: () => void): Promise<void> {
  const silence = new AbortController();
  let timer: number | undefined;
  const heard = () => {
    heardAt = serviceNow();
    window.clearTimeout(timer);
    timer = window.setTimeout(() => silence.abort(), SILENT_MS);
  };
  timer = window.setTimeout(() => silence.abort(), SILENT_MS);
  try {
    await readUntilSilent(AbortSignal.any([stopped, silence.signal]), opened, heard);
  } finally {
    window.clearTimeout(timer);
  }
}

async function readUntilSilent(signal: AbortSignal, opened: () => void, heard: () => void): Promise<void> {
  const response = await sessionFetch(
    new Request(new URL('admin/events', ROOT), { headers: { ...FROM_CONSOLE, Accept: 'text/event-stream' }, signal }),
  );
  if (!response.ok || response.body === null) throw new Error(`The service answered ${response.status}`);
  heard();
  opened();
  let rest = '';
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    heard();
    const blocks = (rest + value).split('\n\n');
    rest = blocks.pop()!;
    for (const block of blocks) {
      const [, data] = /^event: changed\ndata: (.*)$/m.exec(block) ?? [];
      if (data !== undefined) tell((JSON.parse(data) as { topics: string[] }).topics);
    }
  }
}

function tell(topics: readonly string[]): void {
  for (const listener of listeners) listener(topics);
}
